"""StarterFunction with faults around it: the product's handler is called as it is."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import fault_injection as inject

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The starter's, with faults around it."""
    import starter  # noqa: PLC0415 - the consumer's function has no variables for it

    return around(starter.handler, event, context)


def around(handle: Handler, event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Interrupt the call before or after the batch, or let SQS deliver a message again."""
    faults = {record["messageId"]: _fault(record) for record in event["Records"]}
    _interrupt("before", faults.values(), context)
    answer = handle(event, context)
    _interrupt("after", faults.values(), context)
    # The message was acted on, and its deletion is lost: SQS brings it back.
    again = [{"itemIdentifier": id_} for id_, fault in faults.items() if fault == "delivered-again"]
    return {"batchItemFailures": answer["batchItemFailures"] + again}


def _interrupt(moment: str, faults: Iterable[str], context: Any) -> None:
    for fault in faults:
        if fault.startswith(f"{moment}:"):
            inject.interrupt(fault.removeprefix(f"{moment}:"), context)


def _fault(record: dict[str, Any]) -> str:
    try:
        message_id = json.loads(record["body"])["message_id"]
    except (ValueError, TypeError, KeyError):
        return ""
    return inject.next_fault(message_id, "delivery") if isinstance(message_id, str) else ""
