"""The audit of a team's own effects: each verdict, planted."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

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


def test_where_there_is_one_row_for_a_message_a_second_effect_would_not_be_seen(
    spark: SparkSession, tmp_path: Path
) -> None:
    planted: Planted = {
        "once": ("performed_once", True, [*DONE, own_effect("", at(2), "card-1")]),
        "nameless": ("performed_once", True, [*DONE, own_effect("", at(2))]),
    }
    summary = audit_of(spark, tmp_path, planted, STREAMS)
    (one_row,) = summary["on_trust"]
    assert one_row.startswith("Of 1 message the effects come from where there is one row")
    assert summary["sentence"].startswith("Of 2 messages, none is known")
    assert summary["sentence"].endswith(one_row)
    assert (summary["exit_status"], summary["alarms_total"]) == (4, 0)


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
