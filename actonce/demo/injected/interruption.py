"""The faults by name; imports nothing of whatever function it interrupts."""

import importlib
from typing import Any

import fault_injection as inject

STOOD_STILL = "stood-still-"
"""Followed by the seconds after which the process goes on."""


def interrupt(name: str, context: Any) -> None:
    """Let the named fault happen; none if it is empty."""
    if not name:
        return
    if name == "killed":
        inject.die()
    if name.startswith(STOOD_STILL):
        inject.stand_still(float(name.removeprefix(STOOD_STILL)))
        return
    if name == "timed-out":
        inject.outlast(context)
    if name == "out-of-memory":
        inject.use_up_memory()
    if name in {"NotPerformed", "Rejected"}:
        raise _of_contract(name)("injected by the demo")
    inject.fail_as(name)


def _of_contract(name: str) -> type[Exception]:
    """The contract's own class where the function has it; Step Functions goes by the name."""
    try:
        found: type[Exception] = getattr(importlib.import_module("actonce_core.effect"), name)
    except ImportError:  # a function that knows nothing of ActOnce
        return type(name, (Exception,), {})
    return found
