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
    assert one_row.startswith("Of 1 message an effect has no id")
    assert summary["sentence"].startswith("Of 2 messages, none is known")
    assert summary["sentence"].endswith(one_row)
    assert (summary["exit_status"], summary["alarms_total"]) == (4, 0)


def test_without_effects_nothing_is_called_done_twice_or_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    planted: Planted = {
        "done": ("performed_once", False, DONE),
        "first attempt": ("performed_once", False, [delivery("", at(1), "performed")]),
        "failed": ("in_flight", False, [*RUNS, execution("", at(2), "FAILED")]),
        "resolved": ("resolved", True, [*RUNS, execution("", at(2), "SUCCEEDED", "resolved")]),
        "waits": ("awaiting_decision", True, [*RUNS, dead_letter("", at(2))]),
    }
    streams = ("sent", "deliveries", "executions", "dead_letters")
    summary = audit_of(spark, tmp_path, planted, streams)
    assert summary["exit_status"] == 3
    assert "effects is missing" in summary["sentence"]
    assert summary["totals"]["effects"] is None
