"""An operator behind a ledger or a lease: writes the decision to the row, and sends anew.

What the command line does for `actonce dead-letters`, over the same table.
"""

import json
from typing import Any

from actonce_core.locking.locks import Outcome, ProcessingTable
from lab.conformance.process import Ended, Process
from lab.conformance.stage import DEAD_LETTERS, MEMORY_TABLE, Stage
from lab.conformance.stepfunctions import TRUTHFULLY, Untrue

HOUR = 3_600_000

_DECISIONS = {"resolved": "resolve", "rejected": "reject"}


def decide_behind_locks(stage: Stage, outcome: str | None) -> None:
    """Twelve hours later, decide every dead letter, twice; and once more when it is done.

    By then there has to be one: nothing is left to the queue for as long as it keeps it.

    Args:
        stage: whose way may be one with executions; then nothing is done.
        outcome: `resolved` or `rejected`; None: it is to be tried again; `TRUTHFULLY`: it is
            resolved if it has happened, and else to be performed without a look.
    """
    if stage.way.strategy == "step-functions":
        return

    def end(ended: Ended) -> None:
        if ended.error is not None:
            raise ended.error

    def code() -> None:
        rows = ProcessingTable(stage.dynamodb, MEMORY_TABLE)
        texts = _decide_all(stage, rows, outcome)
        if not texts:
            raise Untrue("nobody was asked within twelve hours")
        stage.world.sleep(12 * HOUR / 1000)
        if outcome == TRUTHFULLY:  # performed on that word, it may be unknown once more
            _decide_all(stage, rows, outcome)
            return
        for text in texts:
            letter = json.loads(text)
            if _reject(stage, rows, letter):
                raise Untrue(f"{letter['message_id']} was decided when it was done")

    stage.world.at(
        12 * HOUR,
        "operator",
        lambda: stage.world.spawn(Process("operator", disturbed=False), code, end),
    )


def _decide_all(stage: Stage, rows: ProcessingTable, outcome: str | None) -> list[str]:
    texts = list(stage.kept.bodies(DEAD_LETTERS))
    for text in texts:
        _decide(stage, rows, json.loads(text), outcome)
        stage.kept.remove(DEAD_LETTERS, text)
    return texts


def _decide(stage: Stage, rows: ProcessingTable, letter: Any, outcome: str | None) -> None:
    message = letter["message"]
    message_id, attempt_id = letter["ledger_message_id"], letter["attempt_id"]
    is_told = outcome == TRUTHFULLY
    if is_told:
        outcome = "resolved" if stage.happened(message) else None
    is_decided = rows.decide(
        message_id,
        attempt_id,
        None if outcome is None else Outcome(outcome),
        stage.world.wall(),
        "seen to",
        nothing_happened=is_told or letter["reason"] in ("rejected", "not_performed"),
    )
    if not is_decided:
        raise Untrue(f"{message_id} is no dead letter any more")
    if _reject(stage, rows, letter):
        raise Untrue(f"{message_id} was decided twice")
    stage.decided("retry" if outcome is None else _DECISIONS[outcome], letter["message"])
    if outcome is None:
        source = letter["source"]
        stage.queue.send(
            message["body"],
            group="group",
            deduplication_id="2",
            message_attributes=source["message_attributes"],
        )


def _reject(stage: Stage, rows: ProcessingTable, letter: Any) -> bool:
    message_id, attempt_id = letter["ledger_message_id"], letter["attempt_id"]
    return rows.decide(message_id, attempt_id, Outcome.REJECTED, stage.world.wall())
