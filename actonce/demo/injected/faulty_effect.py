"""An effect's function with faults around it: its own handler, named by a variable, is called."""

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

import fault_injection as inject
from interruption import interrupt

AROUND = "FAULTS_AROUND"
"""The variable: the function's own handler, as Lambda has it."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Interrupt the call as planned: before the effect, after it, in its place, or not at all."""
    fault = inject.next_fault(event["message"]["message_id"], event["operation"])
    moment, _, name = (fault or "").partition(":")
    if moment == "before":
        interrupt(name, context)
    if moment == "late":
        inject.leave_to_a_straggler(float(name), event["message"], None)
        inject.outlast(context)
    answer = _own()(event, context)
    if moment == "after":
        interrupt(name, context)
    return answer


@functools.cache
def _own() -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    module, _, name = os.environ[AROUND].rpartition(".")
    own: Callable[[dict[str, Any], Any], dict[str, Any]] = getattr(
        importlib.import_module(module.replace("/", ".")), name
    )
    return own
