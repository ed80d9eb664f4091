"""The audit of a team's own effects, and of a ledger's or a lease's rows: each verdict, planted."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from pipeline.audit.job import audit
from pipeline.audit.request import requested
from tests.pipeline.judge import Record
from tests.pipeline.streams_on_disk import (
    DAY,
    STREAMS,
    at,
    dead_letter,
    delivery,
    execution,
    own_effect,
    row,
    write,
)

LOCKED = ("deliveries", "rows", "effects")
BY_WORD = ("sent", "deliveries", "executions", "dead_letters")
MONTH_BEFORE = "2026-01-01"


def verdicts(root: Path) -> dict[str, tuple[str, bool]]:
    table = ds.dataset(root / "audit" / "messages", partitioning="hive").to_table()
    return {one["message_id"]: (one["verdict"], one["judged"]) for one in table.to_pylist()}


def judged(
    spark: SparkSession, root: Path, planted: dict[str, list[Record]], **asked: Any
) -> dict[str, Any]:
    """Judge messages that each go by the name of what is expected of them."""
    streams = asked.pop("streams", STREAMS)
    write(root, [record for history in planted.values() for record in history], streams)
    return audit(spark, requested(str(root), **asked))


def test_rows_are_read_as_the_stream_they_are(spark: SparkSession, tmp_path: Path) -> None:
    planted: dict[str, tuple[str, bool, list[Record]]] = {
        "once": ("performed_once", True, [
            delivery("once", at(1)), row("once", at(2), "performed"), own_effect("once", at(2)),
        ]),
        "found": ("performed_once", True, [
            delivery("found", at(1)), row("found", at(2), "found"), own_effect("found", at(1), "c"),
        ]),
        "twice": ("performed_again", True, [
            delivery("twice", at(1)), row("twice", at(2), "performed"),
            own_effect("twice", at(2), "card-1"), own_effect("twice", at(3), "card-2"),
        ]),
        "exported twice": ("performed_once", True, [
            delivery("exported twice", at(1)), row("exported twice", at(2), "performed"),
            *[own_effect("exported twice", at(2), "card")] * 2,
        ]),
        "waits": ("awaiting_decision", True, [
            delivery("waits", at(1)), row("waits", at(2), "dead_letter"),
        ]),
        "rejected": ("rejected", True, [
            delivery("rejected", at(1)), row("rejected", at(9), "rejected"),
        ]),
        "resolved": ("resolved", True, [
            delivery("resolved", at(1)), row("resolved", at(2), "dead_letter"),
            row("resolved", at(9), "resolved"),
        ]),
        "tried again": ("in_flight", True, [
            delivery("tried again", at(1)), row("tried again", at(2), "dead_letter"),
            row("tried again", at(9)),
        ]),
        "at work": ("in_flight", True, [
            delivery("at work", at(1), "failed"), row("at work", at(1)),
        ]),
        "no row": ("lost", True, [delivery("no row", at(1))]),
        "said so, and no effect": ("lost", True, [
            delivery("said so, and no effect", at(1)),
            row("said so, and no effect", at(2), "found"),
        ]),
        "rejected, and done": ("contradiction", True, [
            delivery("rejected, and done", at(1)), row("rejected, and done", at(3), "rejected"),
            own_effect("rejected, and done", at(2)),
        ]),
        "nobody asked": ("contradiction", True, [own_effect("nobody asked", at(2))]),
    }  # fmt: skip
    root = tmp_path / "planted"
    summary = judged(
        spark, root, {name: history for name, (_, _, history) in planted.items()}, streams=LOCKED
    )
    assert verdicts(root) == {name: (told, sure) for name, (told, sure, _) in planted.items()}
    assert summary["quarantine"]["lines"] == 0
    (unsaid,) = summary["cannot_judge"]
    assert "sent is missing" in unsaid
    assert summary["totals"]["executions"] == 11  # of messages that have a row
    assert summary["days"][0]["streams"]["executions"] == 13
    assert summary["exit_status"] == 1


@pytest.mark.long
def test_a_row_in_progress_is_of_a_lost_message_when_sqs_can_hold_it_no_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    old, later = at(0, MONTH_BEFORE), at(60, "2026-01-20")
    root = tmp_path
    kept = {
        "gone": [delivery("gone", old, "failed"), row("gone", old)],
        "kept": [delivery("kept", later, "failed"), row("kept", later)],
        "once": [delivery("once", at(1)), row("once", at(2), "found"), own_effect("once", at(2))],
    }
    days = [f"2026-01-{number:02}" for number in range(1, 32)]
    empty = [(stream, {"at": at(0, day)}) for stream in LOCKED for day in days]
    write(root, [record for history in kept.values() for record in history], LOCKED)
    for stream, record in empty:
        (root / stream / f"dt={record['at'][:10]}").mkdir(parents=True, exist_ok=True)
        (root / stream / f"dt={record['at'][:10]}" / "none.jsonl").touch()
    audit(spark, requested(str(root)))
    assert verdicts(root) == {
        "gone": ("lost", True),
        "kept": ("in_flight", True),
        "once": ("performed_once", True),
    }


@pytest.mark.long
def test_as_of_an_earlier_moment_a_row_does_not_make_its_message_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    decided_later: list[Record] = [delivery("m", at(1)), row("m", at(3600), "resolved")]
    summary = judged(
        spark, tmp_path, {"m": decided_later}, streams=LOCKED, as_of=f"{DAY}T00:30:00Z"
    )
    assert verdicts(tmp_path) == {"m": ("in_flight", False)}
    assert summary["exit_status"] == 3
    assert "could not be judged" in summary["sentence"]


@pytest.mark.long
def test_what_has_one_row_for_a_message_cannot_show_a_second_effect(
    spark: SparkSession, tmp_path: Path
) -> None:
    once = {
        name: [
            delivery(name, at(1)),
            execution(name, at(1), "RUNNING"),
            own_effect(name, at(2), effect_id),
            execution(name, at(2), "SUCCEEDED", "performed"),
        ]
        for name, effect_id in (("named", "card-1"), ("nameless", None))
    }
    summary = judged(spark, tmp_path, once, streams=BY_WORD)
    assert summary["sentence"] == (
        "Of 2 messages, none is known to be acted on twice or lost. Of 1 message the effects come "
        "from where there is one row for a message, so a second effect would not be seen."
    )
    assert summary["exit_status"] == 4
    summary = judged(spark, tmp_path / "named", {"named": once["named"]}, streams=BY_WORD)
    assert summary["exit_status"] == 0
    assert summary["on_trust"] == []


def test_executions_are_believed_only_where_that_is_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    def said(name: str, *end: Any) -> list[Record]:
        return [delivery(name, at(1)), execution(name, at(1), "RUNNING"), execution(name, *end)]

    planted = {
        "done": said("done", at(2), "SUCCEEDED", "performed"),
        "found": said("found", at(2), "SUCCEEDED", "found"),
        "resolved": said("resolved", at(2), "SUCCEEDED", "resolved"),
        "running": [delivery("running", at(1)), execution("running", at(1), "RUNNING")],
        "waits": [
            delivery("waits", at(1)), execution("waits", at(1), "RUNNING"),
            dead_letter("waits", at(2)),
        ],
    }  # fmt: skip
    good = {
        "done": "performed_once",
        "found": "performed_once",
        "resolved": "resolved",
        "running": "in_flight",
        "waits": "awaiting_decision",
    }
    summary = judged(spark, tmp_path, planted, streams=BY_WORD, effects_by="executions")
    assert verdicts(tmp_path) == {name: (told, True) for name, told in good.items()}
    assert summary["exit_status"] == 4
    assert summary["cannot_judge"] == []
    assert summary["sentence"] == (
        "Of 5 messages, none is known to be acted on twice or lost. That messages were acted on is "
        "their executions' own word, and no effect was counted, so one that happened twice would "
        "not be seen."
    )
    assert summary["totals"]["effects"] is None

    unasked = audit(spark, requested(str(tmp_path)))
    assert unasked["exit_status"] == 3
    assert unasked["verdicts"]["lost"] == 0
    assert "effects is missing" in unasked["sentence"]

    bad = {
        "no execution": [delivery("no execution", at(1))],
        "says it twice": [
            *said("says it twice", at(2), "SUCCEEDED", "performed"),
            execution("says it twice", at(9), "SUCCEEDED", "performed"),
        ],
        # It may have acted before: nobody knows.
        "aborted": said("aborted", at(2), "ABORTED"),
    }
    root = tmp_path / "bad"
    summary = judged(spark, root, bad, streams=BY_WORD, effects_by="executions")
    assert verdicts(root) == {
        "no execution": ("lost", True),
        "says it twice": ("contradiction", True),
        "aborted": ("in_flight", False),
    }
    assert summary["exit_status"] == 1


@pytest.mark.long
def test_effects_that_are_there_are_counted_whatever_is_believed_besides(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An execution's word stands for an effect only on days of which no stream tells them."""
    said = [
        delivery("m", at(1)),
        execution("m", at(1), "RUNNING"),
        execution("m", at(2), "SUCCEEDED", "performed"),
    ]
    twice = [own_effect("m", at(2), "card-1"), own_effect("m", at(2), "card-2")]
    summary = judged(spark, tmp_path, {"m": [*said, *twice]}, effects_by="executions")
    assert summary["verdicts"]["performed_again"] == 1
    summary = judged(spark, tmp_path / "none", {"m": said}, effects_by="executions")
    assert summary["verdicts"]["lost"] == 1
