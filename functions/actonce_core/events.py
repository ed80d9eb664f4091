"""What the functions tell people: events on the account's default event bus (docs/events.md).

Ids and reasons, never a body, a cause or a note: who listens may be a chat. The state machine puts
its own, in the same form. Each is put after what it tells of has been done, by one call for a
batch, and a call that fails changes nothing: the queue and its alarm tell the same.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from botocore.config import Config
from botocore.exceptions import ClientError

from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name, unusable_id
from actonce_core.message import Refusal
from actonce_core.start import End

SOURCE = "actonce"
DELIVERY_REFUSED = "Delivery Refused"
DECISION_NEEDED = "Decision Needed"

VERSION = 1
"""Of a detail's form; fields may be added to it."""

CLIENT_CONFIG = Config(
    connect_timeout=1,
    read_timeout=1,
    # It comes last, in what is left of the function's time: five seconds at most.
    retries={"mode": "standard", "total_max_attempts": 2},
)

_SQS_MESSAGE_ID = re.compile(r"[0-9a-fA-F-]{36}")

_LETTER = ("message_id", "execution_name", "reason", "error", "rounds")


class EventBridge(Protocol):
    """The client, as far as it is used here."""

    def put_events(self, *, Entries: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:  # noqa: N803
        """See PutEvents, API reference."""


class EventBus:
    """The account's default event bus.

    Args:
        connect: makes its client, when there is something to tell; most functions never have.
        stack: the name of the stack that tells.
    """

    def __init__(self, connect: Callable[[], EventBridge], stack: str) -> None:
        self._connect = functools.cache(connect)
        self._stack = stack

    def tell(self, ends: Sequence[tuple[Delivery, End]]) -> None:
        """Tell what of a batch people want to hear of: what was refused, and each dead letter.

        Args:
            ends: of ten deliveries at most, which PutEvents takes at once.

        Raises:
            ClientError: not all of it was put.
        """
        entries = [
            {"Source": SOURCE, "DetailType": kind, "Detail": json.dumps(detail)}
            for delivery, end in ends
            for kind, detail in self._events(delivery, end)
        ]
        if not entries:
            return
        answer = self._connect().put_events(Entries=entries)
        for entry in answer["Entries"]:
            if code := entry.get("ErrorCode"):
                raise ClientError({"Error": {"Code": code}}, "PutEvents")

    def _events(self, delivery: Delivery, end: End) -> list[tuple[str, dict[str, Any]]]:
        head = {"version": VERSION, "stack": self._stack}
        if isinstance(end.outcome, Refusal):
            message_id, sqs_id = end.outcome.message_id, delivery.original_sqs_message_id
            # Both may be a producer's attribute that nobody has looked at, larger than an event.
            if message_id is not None and unusable_id(message_id):
                message_id = None
            if not _SQS_MESSAGE_ID.fullmatch(sqs_id):
                sqs_id = delivery.sqs_message_id
            detail = head | {
                "message_id": message_id,
                "execution_name": None if message_id is None else execution_name(message_id),
                "sqs_message_id": sqs_id,
                "reason": str(end.outcome.reason),
            }
            return [(DELIVERY_REFUSED, detail)]
        if end.letter is not None:
            return [(DECISION_NEEDED, head | {name: end.letter[name] for name in _LETTER})]
        return []
