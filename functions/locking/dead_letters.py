"""Posting what a consumer cannot finish by itself to DeadLetterQueue, for a decision."""

import json
from datetime import datetime
from typing import TYPE_CHECKING

from deduplication.fingerprints import timestamp
from deduplication.message import Message
from locking.attempt import Attempt

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

VERSION = 1
MAX_CAUSE_CHARACTERS = 4096


class DeadLetterQueue:
    """The queue's edge. A dead letter has the form that the state machine's have, but no execution.

    Instead of a task token it names the row (`ledger_message_id`) that an operator's decision is
    written to.
    """

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        self._sqs = sqs
        self._queue_url = queue_url

    def post(
        self, message: Message, attempt: Attempt, reason: str, error: Exception, at: datetime
    ) -> None:
        """Post it.

        Args:
            message: whole; a person needs it.
            attempt: the one that gives up.
            reason: `rejected`, `not_performed`, `rounds_used_up` or `outcome_unknown`.
            error: why.
            at: when.

        Raises:
            ClientError: it was not posted; the message must not be completed.
        """
        self._sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=json.dumps(
                {
                    "version": VERSION,
                    "message_id": message.stored_message_id,
                    "reason": reason,
                    "error": type(error).__name__,
                    "cause": str(error)[:MAX_CAUSE_CHARACTERS],
                    "rounds": attempt.consumption_count,
                    "ledger_message_id": message.stored_message_id,
                    "execution_name": message.execution_name,
                    "posted_at": timestamp(at),
                    "message": json.loads(message.execution_input),
                },
                ensure_ascii=False,
            ),
        )
