"""The effect's function as it is deployed now, in the place of the version that executions name.

What the demo and the weather stand around a handler is put there in place, and taken away again; a
published version cannot be changed. So while they are at work, executions that begin call the
function itself: Lambda's `$LATEST`, which is what its last version was published of.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from actonce.stack.clients import Stack

_VERSION = re.compile(r"(:function:[^:]+):[0-9]+$")


def unpublished(function: str) -> str:
    """The function that a version is of; what names no version stays as it is.

    Args:
        function: a name or an ARN.
    """
    return _VERSION.sub(r"\1", function)


@contextmanager
def calling_latest(stack: Stack) -> Iterator[None]:
    """Have the executions that begin meanwhile call the effect's function itself.

    Args:
        stack: on the embedded AWS; behind a lock no execution calls anything.
    """
    if stack.ledger_table is not None:
        yield
        return
    arn = stack.state_machine
    before = stack.stepfunctions.describe_state_machine(stateMachineArn=arn)["definition"]
    definition = before
    for version in {stack.effect_function, stack.find_function or ""} - {""}:
        definition = re.sub(rf"{re.escape(version)}(?![0-9])", unpublished(version), definition)
    stack.stepfunctions.update_state_machine(stateMachineArn=arn, definition=definition)
    try:
        yield
    finally:
        stack.stepfunctions.update_state_machine(stateMachineArn=arn, definition=before)


def looks_up(stack: Stack) -> str:
    """What executions that begin now call to look an effect up; empty: nothing, or no execution."""
    named = stack.find_function or ""
    if not named or stack.ledger_table is not None:
        return ""
    machine = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
    is_named = re.search(rf"{re.escape(named)}(?![0-9])", machine["definition"])
    return named if is_named else unpublished(named)
