"""Decisions on a row of the ledger or the lease, where there are no executions."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from actonce.messages.dead_letters import DeadLetter, none_seen
from actonce.operate.decisions.answers import ANOTHER_SINCE, Answer, DecisionEnd
from actonce.operate.decisions.offered import AGAIN, Decision, why_not
from actonce.operate.sending_back import attributes_again
from actonce.queues.sending import for_fifo
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.delivery import SOURCE_DEDUPLICATION_ID, SOURCE_MESSAGE_ID
from actonce_core.locking.locks import COMPLETE, Outcome, ProcessingTable

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

    def answer(self, name: str, letters: Sequence[DeadLetter], held_elsewhere: int = 0) -> Answer:
        """See `Decider`."""
        if not letters:
            raise Failed(f"{none_seen(name, held_elsewhere)}.")
        newest = letters[0]
        refusal = self._refusal(newest)
        if refusal is not None:
            return Answer(DecisionEnd.NOT_DECIDED, refusal)
        # The row is one attempt's; the letters of the others tell of nothing that waits.
        if any(self.answer_older(letter) for letter in letters):
            return Answer(DecisionEnd.DECIDED, f"Decided: {self._decision}.")
        row = self._row(newest.message_id)
        if row is None:
            said = (
                "Its row is no longer in the table. Find out by hand whether the effect happened."
            )
            return Answer(DecisionEnd.NOT_DECIDED, said)
        if row["status"] == COMPLETE:
            return self._is_done(row.get("outcome"))
        if self._decision in AGAIN:
            self._send_anew(newest)
            said = "No consumer has completed it, so ActOnce sent it again."
            return Answer(DecisionEnd.CONTINUED, said)
        return Answer(
            DecisionEnd.NOT_DECIDED,
            "A consumer began it and has not completed it, so it does not wait for a decision yet. "
            "retry sends it again.",
        )

    def answer_older(self, letter: DeadLetter) -> bool:
        """See `Decider`."""
        if letter.attempt_id is None or (
            self._decision in AGAIN and self._sendable(letter) is None
        ):
            return False  # what is freed and not sent would be taken by nobody
        decided = self._rows.decide(
            letter.message_id,
            letter.attempt_id,
            _OUTCOMES.get(self._decision),
            datetime.now(UTC),
            self._note,
            nothing_happened=self._decision == "perform" or letter.nothing_happened,
        )
        if decided and self._decision in AGAIN:
            self._send_anew(letter)
        return decided

    def _refusal(self, letter: DeadLetter) -> str | None:
        """Why this decision is not possible on a letter that waits; None: it is."""
        if self._decision in AGAIN and self._sendable(letter) is None:
            return (
                "It cannot be sent again: its dead letter does not contain the message, or the "
                "message has no room for the id that SQS gave it."
            )
        refusal = why_not(self._stack, self._decision, letter.reason, letter.cause)
        if refusal is not None:
            row = self._row(letter.message_id) or {}
            return refusal if row.get("outcome") == Outcome.DEAD_LETTER else None
        return None

    def _is_done(self, outcome: str | None) -> Answer:
        if outcome is not None and outcome == _OUTCOMES.get(self._decision):
            return Answer(DecisionEnd.ALREADY, f"It was already decided: {self._decision}.")
        if outcome == Outcome.DEAD_LETTER:
            said = f"This dead letter no longer waits for a decision: {ANOTHER_SINCE}. Look again."
            return Answer(DecisionEnd.OVER, said)
        said = f"It no longer waits for a decision: its row says {outcome}."
        return Answer(DecisionEnd.OVER, said)

    def _row(self, message_id: str) -> dict[str, str] | None:
        row = self._stack.dynamodb.get_item(
            TableName=self._table, Key={"message_id": {"S": message_id}}, ConsistentRead=True
        ).get("Item")
        if row is None:
            return None
        return {name: str(row[name].get("S")) for name in ("status", "outcome") if name in row}

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
