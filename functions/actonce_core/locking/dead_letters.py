"""Posts a message that a consumer cannot finish to DeadLetterQueue, for a person's decision."""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from actonce_core.delivery import Delivery
from actonce_core.locking.processing_table import Attempt
from actonce_core.message import Message
from actonce_core.reason import DeadLetterReason
from actonce_core.records import timestamp
from actonce_core.unstarted import LARGEST_MESSAGE

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

VERSION = 1
MAX_CAUSE_CHARACTERS = 4096


def dead_letter(  # noqa: PLR0913 - its parts
    delivery: Delivery,
    message: Message,
    attempt: Attempt,
    reason: DeadLetterReason,
    error: Exception,
    at: datetime,
) -> dict[str, Any]:
    """The dead letter, in the format of the state machine's.

    It has no task token to answer. A decision is written to the message's row (`ledger_message_id`)
    if this attempt still owns that; to be tried again, the message is sent anew, as `source` says.
    """
    return {
        "version": VERSION,
        "message_id": message.message_id,
        "reason": reason,
        "error": type(error).__name__,
        "cause": str(error)[:MAX_CAUSE_CHARACTERS],
        "rounds": attempt.rounds,
        "ledger_message_id": message.message_id,
        "attempt_id": attempt.attempt_id,
        "execution_name": message.execution_name,
        "posted_at": timestamp(at),
        "message": json.loads(message.execution_input),
        "source": {
            "sqs_message_id": delivery.original_sqs_message_id,
            "message_attributes": {
                name: dict(value) for name, value in delivery.message_attributes.items()
            },
            "message_group_id": delivery.message_group_id,
            "deduplication_id": delivery.deduplication_id,
        },
    }


class DeadLetterQueue:
    """Sends to the queue."""

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        self._sqs = sqs
        self._queue_url = queue_url

    def post(self, letter: dict[str, Any]) -> None:
        """Post it; without its `source` if it would be too large for SQS.

        Raises:
            ClientError: it was not posted; the message must not be completed.
        """
        # A message of MAX_INPUT_BYTES fits even as escapes; its producer's attributes may not.
        # Without them it cannot be sent anew.
        text = json.dumps(letter)
        if len(text) > LARGEST_MESSAGE:
            text = json.dumps({**letter, "source": None})
        self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=text)
