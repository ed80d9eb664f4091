"""An operator behind a lease, who writes decisions to rows and sends messages anew.

The same as `actonce dead-letters` does, by the same table.
"""

import json
from typing import Any

from actonce_core.locking.processing_table import Outcome, ProcessingTable
from actonce_core.reason import NOTHING_HAPPENED
from lab.conformance.process import Process, ProcessResult
from lab.conformance.simulated_stack import DEAD_LETTERS, MEMORY_TABLE, SimulatedStack
from lab.conformance.stepfunctions import TRUTHFULLY, InvariantViolation

HOUR = 3_600_000

_DECISIONS = {"resolved": "resolve", "rejected": "reject"}


def decide_behind_locks(stack: SimulatedStack, outcome: str | None) -> None:
    """Twelve hours later, decide each dead letter twice, and once more when it is done.

    By then there must be one, because the queue must not go on retrying for longer.

    Args:
        stack: with executions nothing is done.
        outcome: `resolved` or `rejected`; None: try again; `TRUTHFULLY`: `resolved` if it has
            happened, otherwise perform it without a look-up.
    """
    if stack.way.strategy == "step-functions":
        return

    def end(ended: ProcessResult) -> None:
        if ended.error is not None:
            raise ended.error

    def code() -> None:
        rows = ProcessingTable(stack.dynamodb, MEMORY_TABLE)
        texts = _decide_all(stack, rows, outcome)
        if not texts:
            raise InvariantViolation("nobody was asked within twelve hours")
        stack.world.sleep(12 * HOUR / 1000)
        if outcome == TRUTHFULLY:  # performed on that word, it may be unknown once more
            _decide_all(stack, rows, outcome)
            return
        for text in texts:
            letter = json.loads(text)
            if _reject(stack, rows, letter):
                raise InvariantViolation(f"{letter['message_id']} was decided when it was done")

    stack.world.at(
        12 * HOUR,
        "operator",
        lambda: stack.world.spawn(Process("operator", disturbed=False), code, end),
    )


def _decide_all(stack: SimulatedStack, rows: ProcessingTable, outcome: str | None) -> list[str]:
    texts = list(stack.output.bodies(DEAD_LETTERS))
    for text in texts:
        _decide(stack, rows, json.loads(text), outcome)
        stack.output.remove(DEAD_LETTERS, text)
    return texts


def _decide(stack: SimulatedStack, rows: ProcessingTable, letter: Any, outcome: str | None) -> None:
    message = letter["message"]
    message_id, attempt_id = letter["ledger_message_id"], letter["attempt_id"]
    is_told = outcome == TRUTHFULLY
    if is_told:
        outcome = "resolved" if stack.happened(message) else None
    is_decided = rows.decide(
        message_id,
        attempt_id,
        None if outcome is None else Outcome(outcome),
        stack.world.wall(),
        "seen to",
        nothing_happened=is_told or letter["reason"] in NOTHING_HAPPENED,
    )
    if not is_decided:
        raise InvariantViolation(f"{message_id} is no dead letter any more")
    if _reject(stack, rows, letter):
        raise InvariantViolation(f"{message_id} was decided twice")
    stack.decided("retry" if outcome is None else _DECISIONS[outcome], letter["message"])
    if outcome is None:
        source = letter["source"]
        stack.queue.send(
            message["body"],
            group="group",
            deduplication_id="2",
            message_attributes=source["message_attributes"],
        )


def _reject(stack: SimulatedStack, rows: ProcessingTable, letter: Any) -> bool:
    message_id, attempt_id = letter["ledger_message_id"], letter["attempt_id"]
    return rows.decide(message_id, attempt_id, Outcome.REJECTED, stack.world.wall())
