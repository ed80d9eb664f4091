"""The audit of a team's own effects: each verdict, planted."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from actonce_pipeline.audit.judging.verdict_names import VERDICTS
from actonce_pipeline.audit.results.summary import Findings
from tests.pipeline.judge import Record
from tests.pipeline.nights import audited, judgements_of
from tests.pipeline.streams_on_disk import (
    STREAMS,
    at,
    dead_letter,
    delivery,
    execution,
    own_effect,
    with_ids,
    write,
)

BY_WORD = ("sent", "deliveries", "executions", "dead_letters")
CAME = delivery("", at(1))
RUNS = [CAME, execution("", at(1), "RUNNING")]
DONE = [*RUNS, execution("", at(2), "SUCCEEDED", "performed")]
Planted = dict[str, tuple[str, bool, list[Record]]]
"""By a message's id its verdict, whether it is sure, and what is recorded of it."""


def audit_of(
    spark: SparkSession, root: Path, planted: Planted, streams: tuple[str, ...], **options: Any
) -> dict[str, Any]:
    """What is said of the messages, once each has its verdict."""
    write(root, with_ids({name: history for name, (_, _, history) in planted.items()}), streams)
    summary = audited(spark, root, **options)
    assert judgements_of(root / "audit") == {
        name: (verdict, sure) for name, (verdict, sure, _) in planted.items()
    }
    return summary


def test_what_effect_check_left_is_told_by_itself_where_all_who_ask_were_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What else is of none, see the plain judge in test_verdicts.py."""
    twice = [own_effect("", at(2), "card-1"), own_effect("", at(3), "card-2")]
    left: Planted = {
        "actonce-check-0a1b2c3d-1-twice": ("effect_check", True, twice),
        "once": ("performed_once", True, [*DONE, own_effect("", at(2), "card-1")]),
        # Where there is one row for a message, a second effect would not be seen.
        "nameless": ("performed_once", True, [*DONE, own_effect("", at(2))]),
    }
    summary = audit_of(spark, tmp_path / "left", left, STREAMS)
    one_row, sentence = summary["on_trust"]
    assert one_row.startswith("Of 1 message the effects come from where there is one row")
    assert sentence.startswith("Left out: 1 message of actonce effect check.")
    assert summary["sentence"].startswith("Of 2 messages, none is known")
    assert summary["sentence"].endswith(f"{one_row} {sentence}")
    assert (summary["exit_status"], summary["alarms_total"]) == (4, 0)
    assert summary["verdicts"]["effect_check"] == 1
    alone = Findings(
        dict.fromkeys(VERDICTS, 0) | {"effect_check": 1}, trusted=[sentence]
    ).sentence()
    assert alone == f"There was no message. {sentence}"


def test_executions_are_believed_only_where_that_is_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    def ended(*end: str) -> list[Record]:
        return [*RUNS, execution("", at(2), *end)]

    good: Planted = {
        "done": ("performed_once", True, DONE),
        "first attempt": ("performed_once", True, [delivery("", at(1), "performed")]),
        "found": ("performed_once", True, ended("SUCCEEDED", "found")),
        "resolved": ("resolved", True, ended("SUCCEEDED", "resolved")),
        "running": ("in_flight", True, RUNS),
        "waits": ("awaiting_decision", True, [*RUNS, dead_letter("", at(2))]),
    }
    summary = audit_of(spark, tmp_path / "good", good, BY_WORD, by_executions=True)
    assert summary["exit_status"] == 4
    assert summary["cannot_judge"] == []
    assert "their executions' own word" in summary["sentence"]
    assert summary["totals"]["effects"] is None

    unasked = audited(spark, tmp_path / "good")
    assert unasked["exit_status"] == 3
    assert unasked["verdicts"]["lost"] == 0
    assert "effects is missing" in unasked["sentence"]
