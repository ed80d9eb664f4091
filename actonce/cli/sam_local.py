"""`actonce sam-local`: a function in a container, on the embedded AWS."""

from pathlib import Path
from typing import Annotated

import typer

from actonce.embedded import lifecycle
from actonce.embedded.sam_local import invoke
from actonce.stack.embedded_folder import Paths
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed


def sam_local(
    function: Annotated[
        str, typer.Argument(metavar="FUNCTION", help="Its logical id, such as StarterFunction.")
    ],
    event: Annotated[Path, typer.Argument(metavar="EVENT", help="A file of events/.")],
) -> None:
    """Run a function in a container, on the embedded AWS.

    It does so by sam local invoke. It prints what it answers; exit 1 where it raised. Needs a
    container engine.

    Example:

        actonce sam-local StarterFunction events/one_message.json
    """
    paths = Paths.default()
    state = lifecycle.running(paths)
    if state is None:
        raise Failed("The embedded AWS is not up; actonce up brings it up.")
    stack = find_stack(TargetOptions(embedded=True))
    answer = invoke(paths, state, stack, function, event, console.say)
    console.print_json(answer.value)
    if answer.raised:
        raise Failed(f"{function} raised {answer.value['errorType']}.")
