"""Stands around a function's own handler, and interrupts the call as planned.

`function_processes` calls it in the place of the handler while there is a plan. What neither SQS
nor ActOnce asked is handed on.
"""

import json
from collections.abc import Callable
from typing import Any

import failing_services
import fault_injection as inject

Handler = Callable[[Any, Any], Any]

_context: Any = None


def call(own: Handler, event: Any, context: Any) -> Any:
    """What the function's own handler answers, unless a fault comes before, after or instead."""
    global _context  # noqa: PLW0603 - one invocation at a time, as in Lambda
    _context = context
    failing_services.stand_before_services()
    if isinstance(event, dict) and "Records" in event:
        return _batch(own, event, context)
    if isinstance(event, dict) and {"operation", "message"} <= event.keys():
        return _effect(own, event, context)
    return own(event, context)


def _effect(own: Handler, event: dict[str, Any], context: Any) -> Any:
    after = _interrupt_before(event["message"]["message_id"], event["operation"])
    answer = own(event, context)
    inject.interrupt(after, context)
    return answer


def _batch(own: Handler, event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Interrupt the call before or after the batch, or let SQS deliver a message again."""
    faults = {record["messageId"]: _of_delivery(record) for record in event["Records"]}
    for moment in ("before:", "after:"):
        if moment == "after:":
            answer = own(event, context)
        for fault in faults.values():
            if fault.startswith(moment):
                inject.interrupt(fault.removeprefix(moment), context)
    # The message was acted on, and its deletion is lost: SQS brings it back.
    again = [{"itemIdentifier": id_} for id_, fault in faults.items() if fault == "delivered-again"]
    return {"batchItemFailures": answer["batchItemFailures"] + again}


def _of_delivery(record: dict[str, Any]) -> str:
    try:
        message_id = json.loads(record["body"])["message_id"]
    except (ValueError, TypeError, KeyError):
        return ""
    return inject.next_fault(message_id, "delivery") if isinstance(message_id, str) else ""


def _interrupt_before(message_id: str, operation: str) -> str:
    """Interrupt if the fault comes before; else what comes after."""
    moment, _, name = inject.next_fault(message_id, operation).partition(":")
    if moment == "before":
        inject.interrupt(name, _context)
    return name if moment == "after" else ""
