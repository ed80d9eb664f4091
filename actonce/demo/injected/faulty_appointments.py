"""AppointmentsFunction with faults around it: the product's handler is called as it is."""

from typing import Any

import appointments
import effect
import fault_injection as inject

STOOD_STILL = "stood-still-"
"""Followed by the seconds after which the process goes on."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Interrupt the call as planned: before the effect, after it, in its place, or not at all."""
    fault = inject.next_fault(event["message"]["message_id"], event["operation"])
    moment, _, name = (fault or "").partition(":")
    if moment == "before":
        interrupt(name, context)
    if moment == "late":
        inject.leave_to_a_straggler(float(name), event["message"], None)
        inject.outlast(context)
    answer = appointments.handler(event, context)
    if moment == "after":
        interrupt(name, context)
    return answer


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
    if name == "NotPerformed":
        raise effect.NotPerformed("injected by the demo")
    if name == "Rejected":
        raise effect.Rejected("injected by the demo")
    inject.fail_as(name)
