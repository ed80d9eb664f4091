"""Which stack a command talks to."""

import os

from actonce import console
from actonce.aws import Aws, Stack
from actonce.embedded.paths import Paths
from actonce.embedded.running import running
from actonce.sources import version
from actonce.versions import misfit

_AWS_IS_NAMED_BY = ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_ACCESS_KEY_ID")


def find_aws() -> Aws:
    """AWS, or the embedded AWS.

    Where the usual variables name an account or an endpoint, they decide. Where they do not and
    the embedded AWS of this project is up (`Paths.default`), it is meant; the person is told so.
    """
    if not any(os.environ.get(name) for name in _AWS_IS_NAMED_BY):
        state = running(Paths.default())
        if state is not None:
            console.say(f"On the embedded AWS at {state.endpoint_url}")
            return Aws(state.endpoint_url)
    return Aws()


def find_stack(stack_name: str, *, warn: bool = True) -> Stack:
    """The named stack, where `find_aws` looks; or the one that is nested in it.

    Args:
        stack_name: as the person names it.
        warn: whether the person is told if its version does not fit.

    Raises:
        Failed: there is no such stack.
    """
    stack = Stack.find(find_aws(), stack_name)
    told = misfit(stack.called, stack.version, version()) if warn else None
    if told is not None:
        console.say_warning(told)
    return stack
