"""An effect's function with faults around it: its own handler, named by a variable, is called."""

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

import fault_injection as inject

AROUND = "FAULTS_AROUND"
"""The variable: the function's own handler, as Lambda has it."""


def handler(event: Any, context: Any) -> Any:
    """Interrupt the call as planned: before the effect, after it, in its place, or not at all.

    What ActOnce did not ask is handed on.
    """
    if not isinstance(event, dict) or "operation" not in event:
        return _own()(event, context)
    fault = inject.next_fault(event["message"]["message_id"], event["operation"])
    moment, _, name = fault.partition(":")
    if moment == "before":
        inject.interrupt(name, context)
    if moment == "late":
        inject.leave_to_a_straggler(float(name), event["message"], None)
        inject.outlast(context)
    answer = _own()(event, context)
    if moment == "after":
        inject.interrupt(name, context)
    return answer


@functools.cache
def _own() -> Callable[[Any, Any], Any]:
    module, _, name = os.environ[AROUND].rpartition(".")
    own: Callable[[Any, Any], Any] = getattr(
        importlib.import_module(module.replace("/", ".")), name
    )
    return own
