"""Erasing the content of a message that has ended, wherever that does no harm.

What remembers that the message was acted on stays: its row, and its execution with its name. An
open message is acted on by its content, so nothing is erased before it has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from botocore.exceptions import ClientError

from actonce.messages.message_summary import (
    BROKEN_OFF,
    REDRIVEN_FOR,
    STATES,
    StateName,
    seen_nowhere,
    state_of,
)
from actonce.messages.story import Story, read_story
from actonce.records import erasing
from actonce.records.collect import EXECUTIONS_KEPT
from actonce.records.erasing import Held
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.locking.locks import COMPLETE, Outcome
from actonce_core.transient import error_code

_OPEN: Final = frozenset[StateName]({"running", "at_work", "retrying", "waiting_for_decision"})
_CONTENT_OF_ROW: Final = ("effect", "note")
_CLOCKS_DIFFER: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Erasure:
    """What the stack holds of a message that has ended, and can erase.

    Attributes:
        story: the message's.
        row: the attributes of its row to remove.
        records: files in the records' bucket that have its content, or may have it.
    """

    stack: Stack
    story: Story
    row: Sequence[str]
    records: Sequence[Held]

    def run(self) -> int:
        """Erase it; returns how many records it changed. Interrupted, it can be run again.

        Raises:
            Failed: the row has changed since it was read, or somebody else wrote a file.
        """
        if self.row:
            self._erase_in_row()
        if not self.records:
            return 0
        bucket, s3 = self.stack.outputs["RecordsBucketName"], self.stack.aws.client("s3")
        return erasing.erase(s3, bucket, [one.key for one in self.records], self.story.message_id)

    def _erase_in_row(self) -> None:
        try:
            self.stack.dynamodb.update_item(
                TableName=self.stack.fingerprints_table,
                Key={"message_id": {"S": self.story.message_id}},
                UpdateExpression=f"REMOVE {', '.join(self.row)}",
                ConditionExpression="#status = :complete AND outcome <> :dead_letter",
                ExpressionAttributeNames={"#status": "status"},
                ExpressionAttributeValues={
                    ":complete": {"S": COMPLETE},
                    ":dead_letter": {"S": Outcome.DEAD_LETTER},
                },
            )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            raise Failed("Its row is open again: nothing was erased. Look again.") from error

    def kept(self) -> list[tuple[str, str]]:
        """Where something of the message stays, and what, and until when or why."""
        outputs, story = self.stack.outputs, self.story
        ended = story.execution.stopped_at if story.execution is not None else None
        gone = f"{ended + EXECUTIONS_KEPT:%Y-%m-%d}" if ended else "90 days after its end"
        effect = outputs.get("AppointmentsTableName") or outputs.get("EffectFunctionArn")
        places = (
            (outputs["FingerprintsTableName"], "id, fingerprint, for ever: they stop duplicates"),
            (
                None if self.stack.ledger_table else f"execution {story.execution_name}",
                f"body, answers, notes, until {gone}: AWS deletes no ended execution earlier",
            ),
            (
                f"the effect: {effect}" if effect else "the effect",
                "yours: blank what is personal, keep what find looks for",
            ),
            ("SQS", "body of a duplicate, or of a letter that was decided, 14 days at most"),
            (
                outputs.get("RecordsBucketName"),
                "older versions, 30 days; errors/; what is on its way: erase again in a day",
            ),
            (outputs.get("AuditBucketName"), "id, verdict; notes until that day is audited again"),
            ("logs, traces, events", "id, fingerprint; what your function writes is yours"),
            ("backups", "the tables' recovery, 35 days; others are yours"),
            ("files", "what send, collect, backfill and discard wrote is yours"),
        )
        return [(place, told) for place, told in places if place is not None]


def look(stack: Stack, message_id: str) -> Erasure:
    """Find what can be erased of a message; changes nothing.

    Args:
        stack: that has it; its records since the message was first seen are read whole.
        message_id: the producer's id, or the name of its execution.

    Raises:
        Failed: the stack does not know the message, or it is or may be open, or can be continued.
    """
    story = read_story(stack, message_id, log=False)
    if not story.is_known:
        raise Failed(" ".join(seen_nowhere(stack, story)))
    _refuse_open(stack, story)
    row = story.row or {}
    found: list[Held] = []
    if bucket := stack.outputs.get("RecordsBucketName"):
        seen = (story.fingerprint or {}).get("first_seen")
        since = (datetime.fromisoformat(seen) - _CLOCKS_DIFFER).date() if seen else None
        found = erasing.held(stack.aws.client("s3"), bucket, story.message_id, since)
    return Erasure(stack, story, [one for one in _CONTENT_OF_ROW if one in row], found)


def _refuse_open(stack: Stack, story: Story) -> None:
    unread = [why for part, why in story.unread.items() if part != "effects"]
    if unread:
        why = unread[0].rstrip(".")
        raise Failed(f"Whether it is open could not be read: {why}. Nothing was erased.")
    state = state_of(story)
    if state in _OPEN:
        raise Failed(
            f"It is open ({STATES[state].label}): erase it when it has ended. See actonce where "
            f"{story.execution_name}{stack.options}."
        )
    execution = story.execution
    if execution is not None and state in BROKEN_OFF:
        until = (execution.stopped_at or story.read_at) + REDRIVEN_FOR
        if story.read_at <= until:
            raise Failed(
                f"It is {STATES[state].label} and undecided, and would be recorded anew if it went "
                f"on: decide it first (actonce dead-letters retry {story.execution_name}"
                f"{stack.options}), or erase it after {until:%Y-%m-%d}, when nothing continues it."
            )
    if story.unstarted or story.seen.held_elsewhere:
        raise Failed(
            "It lies in UnstartedQueue, or may, for another reader holds some of that: send it "
            f"back or discard it first. See actonce unstarted list{stack.options}."
        )
