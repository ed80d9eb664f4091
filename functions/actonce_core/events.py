"""Events that the functions put on the account's default event bus (docs/events.md).

They carry ids and reasons, never a body, a cause or a note, because they may end in a chat. One
call puts a batch's events, after everything else is done. If it fails, nothing is lost: the queue
and its alarm say the same. The state machine puts its own events, in the same form.
"""

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError

from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import Refusal
from actonce_core.result import DeliveryResult

SOURCE = "actonce"
DELIVERY_REFUSED = "Delivery Refused"

VERSION = 1
"""Of the detail's format; fields may be added to it."""

CLIENT_CONFIG = Config(
    connect_timeout=1,
    read_timeout=1,
    # It comes last, in the rest of the function's time: five seconds at most.
    retries={"mode": "standard", "total_max_attempts": 2},
)

_SQS_MESSAGE_ID = re.compile(r"[0-9a-fA-F-]{36}")


class EventBus:
    """The account's default event bus; `connect` makes the client, once there is an event."""

    def __init__(self, connect: Callable[[], Any], stack: str) -> None:
        self._connect = functools.cache(connect)
        self._stack = stack

    def put(self, results: Sequence[tuple[Delivery, DeliveryResult]]) -> None:
        """Put an event for each refusal of a batch, of which there are ten at most.

        Raises:
            ClientError: not all events were put.
        """
        entries: list[Any] = [
            {"Source": SOURCE, "DetailType": event[0], "Detail": json.dumps(event[1])}
            for delivery, result in results
            if (event := self._event(delivery, result))
        ]
        if not entries:
            return
        answer = self._connect().put_events(Entries=entries)
        for entry in answer["Entries"]:
            if code := entry.get("ErrorCode"):
                raise ClientError({"Error": {"Code": code}}, "PutEvents")

    def _event(
        self, delivery: Delivery, result: DeliveryResult
    ) -> tuple[str, dict[str, Any]] | None:
        if not isinstance(result.outcome, Refusal):
            return None
        message_id, sqs_id = result.outcome.message_id, delivery.original_sqs_message_id
        # It may be a producer's attribute, unchecked and larger than an event.
        if not _SQS_MESSAGE_ID.fullmatch(sqs_id):
            sqs_id = delivery.sqs_message_id
        return DELIVERY_REFUSED, {
            "version": VERSION,
            "stack": self._stack,
            "message_id": message_id,
            "execution_name": None if message_id is None else execution_name(message_id),
            "sqs_message_id": sqs_id,
            "reason": str(result.outcome.reason),
        }
