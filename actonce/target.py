"""Which stack a command talks to."""

import os

from actonce import console
from actonce.aws import Aws, Stack
from actonce.embedded import lifecycle
from actonce.embedded.paths import Paths

_AWS_IS_NAMED_BY = ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_ACCESS_KEY_ID")


def find_stack(stack_name: str) -> Stack:
    """The named stack, on AWS or on the embedded AWS.

    Where the usual variables name an account or an endpoint, they decide. Where they do not and
    the embedded AWS of this clone is up, it is meant; the person is told so.

    Raises:
        Failed: there is no such stack.
    """
    if not any(os.environ.get(name) for name in _AWS_IS_NAMED_BY):
        state = lifecycle.running(Paths.default())
        if state is not None:
            console.say(f"On the embedded AWS at {state.endpoint_url}")
            return Stack.find(Aws(state.endpoint_url), stack_name)
    return Stack.find(Aws(), stack_name)
