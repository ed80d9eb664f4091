"""Decisions on a row of the lease, where there are no executions."""

from datetime import UTC, datetime
from typing import Any

from actonce.messages.dead_letters import DeadLetter, describe_missing_letter
from actonce.operate.decisions.allowed import RETRYING, Decision, why_not
from actonce.operate.decisions.results import ANOTHER_SINCE, Answer, DecisionOutcome
from actonce.operate.sending_back import attributes_again
from actonce.queues.sending import for_fifo
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.delivery import SOURCE_DEDUPLICATION_ID, SOURCE_MESSAGE_ID
from actonce_core.locking.processing_table import COMPLETE, Outcome, ProcessingTable

_OUTCOMES: dict[Decision, Outcome] = {"resolve": Outcome.RESOLVED, "reject": Outcome.REJECTED}
"""The outcome with which a decision completes the row; the other decisions try again."""


class InLockRow:
    """Writes the decision to the row.

    Then it sends a message that is to be tried again anew; its dead letter is deleted last. After a
    crash in between the message is sent again, and its row makes one of them a duplicate.
    """

    def __init__(self, stack: Stack, table: str, decision: Decision, note: str) -> None:
        self._stack = stack
        self._table = table
        self._rows = ProcessingTable(stack.dynamodb, table)
        self._decision = decision
        self._note = note

    def answer(self, letter: DeadLetter) -> Answer:
        """See `ByTaskToken.answer`."""
        refusal = self._refusal(letter)
        if refusal is not None:
            return Answer(DecisionOutcome.NOT_DECIDED, refusal)
        if self._is_decided(letter):
            return Answer(DecisionOutcome.DECIDED, f"Decided: {self._decision}.")
        row = self._row(letter.message_id)
        if row is None:
            text = (
                "Its row is no longer in the table. Find out by hand whether the effect happened."
            )
            return Answer(DecisionOutcome.NOT_DECIDED, text)
        if row["status"] == COMPLETE:
            return self._is_done(row.get("outcome"))
        if self._decision in RETRYING:
            self._send_anew(letter)
            text = "No consumer has completed it, so ActOnce sent it again."
            return Answer(DecisionOutcome.CONTINUED, text)
        return Answer(
            DecisionOutcome.NOT_DECIDED,
            "A consumer began it and has not completed it, so it does not wait for a decision yet. "
            "retry sends it again.",
        )

    def retry_without_letter(self, name: str, in_flight_elsewhere: int) -> Answer:
        """Only the letter has the message, so nothing can be done."""
        raise Failed(f"{describe_missing_letter(name, in_flight_elsewhere)}.")

    def is_closed(self, letter: DeadLetter) -> bool:
        """See `ByTaskToken`. Until the row is complete, the attempt that posted may complete it."""
        row = self._row(letter.message_id)
        if row is None:
            return False
        may_wait = row.get("outcome") in (None, Outcome.DEAD_LETTER)
        return not (may_wait and letter.attempt_id in (None, row.get("attempt_id")))

    def _is_decided(self, letter: DeadLetter) -> bool:
        """Write the decision, if the row still waits for it by this letter's attempt."""
        decided = self._rows.decide(
            letter.message_id,
            str(letter.attempt_id),
            _OUTCOMES.get(self._decision),
            datetime.now(UTC),
            self._note,
            nothing_happened=self._decision == "perform" or letter.nothing_happened,
        )
        if decided and self._decision in RETRYING:
            self._send_anew(letter)
        return decided

    def _refusal(self, letter: DeadLetter) -> str | None:
        """Why this decision is not possible on a letter; None: it is."""
        # What is freed and not sent would be taken by nobody.
        if self._decision in RETRYING and self._sendable(letter) is None:
            return (
                "It cannot be sent again: its dead letter does not contain the message, or the "
                "message has no room for the id that SQS gave it."
            )
        return why_not(self._stack, self._decision, letter.reason, letter.cause)

    def _is_done(self, outcome: str | None) -> Answer:
        if outcome is not None and outcome == _OUTCOMES.get(self._decision):
            return Answer(DecisionOutcome.ALREADY, f"It was already decided: {self._decision}.")
        if outcome == Outcome.DEAD_LETTER:
            text = f"This dead letter no longer waits for a decision: {ANOTHER_SINCE}. Look again."
            return Answer(DecisionOutcome.SUPERSEDED, text)
        text = f"It no longer waits for a decision: its row says {outcome}."
        return Answer(DecisionOutcome.SUPERSEDED, text)

    def _row(self, message_id: str) -> dict[str, str] | None:
        row = self._stack.dynamodb.get_item(
            TableName=self._table, Key={"message_id": {"S": message_id}}, ConsistentRead=True
        ).get("Item")
        if row is None:
            return None
        names = ("status", "outcome", "attempt_id")
        return {name: str(row[name].get("S")) for name in names if name in row}

    def _send_anew(self, letter: DeadLetter) -> None:
        sendable = self._sendable(letter)
        if sendable is not None:  # which was looked at before
            self._stack.sqs.send_message(**sendable)

    def _sendable(self, letter: DeadLetter) -> Any | None:
        """The arguments to send its message again with; None: it cannot be sent as it was."""
        to, source, message = self._stack.requests_queue, letter.source, letter.message
        if source is None or message is None:
            return None
        ids = {
            SOURCE_MESSAGE_ID: source["sqs_message_id"],
            SOURCE_DEDUPLICATION_ID: source["deduplication_id"],
        }
        own, body = source["message_attributes"], message["body"]
        attributes = attributes_again(body, own, ids, letter.message_id)
        if attributes is None:
            return None
        sent = {"QueueUrl": to, "MessageBody": body, "MessageAttributes": attributes}
        return {**sent, **for_fifo(to, source["message_group_id"], letter.entry)}
