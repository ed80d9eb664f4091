"""Records as AWS delivers them: envelopes, concatenation, exports; and lines that are none."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.audit.job import audit
from pipeline.audit.request import Request
from tests.pipeline.streams_on_disk import (
    DAY,
    at,
    delivery,
    effect,
    execution,
    line_of,
    performed,
    sent,
    write,
)

SHAPES = Path(__file__).parent / "shapes"


def shape(name: str) -> bytes:
    """A recorded shape as it travels: on one line."""
    return json.dumps(json.loads((SHAPES / f"{name}.json").read_text())).encode()


def put(root: Path, stream: str, name: str, content: bytes) -> None:
    path = root / stream / f"dt={DAY}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def judged(spark: SparkSession, root: Path) -> dict[str, Any]:
    return audit(spark, Request(str(root), str(root / "audit")))


def firehose_objects(root: Path) -> None:
    """As Firehose puts them: no extension, members one after another, no line feed between."""
    logs = [gzip.compress(shape(name)) for name in ("logs_control_message", "logs_data_message")]
    put(root, "deliveries", "actonce-1-2026-01-31-09-30-00-5f1d", b"".join(logs))
    events = shape("eventbridge_running") + shape("eventbridge_succeeded")
    put(root, "executions", "actonce-1-2026-01-31-09-30-00-77aa.gz", gzip.compress(events))
    items = shape("dynamodb_export_book") + b"\n" + shape("dynamodb_export_appointment") + b"\n"
    export = "AWSDynamoDB/01738315800000-a1b2c3d4"
    put(root, "effects", f"{export}/data/x7.json.gz", gzip.compress(items))
    put(root, "effects", f"{export}/manifest-summary.json", b'{"version": "2020-06-30"}')
    put(root, "effects", f"{export}/_started", b"")
    put(root, "dead_letters", "none.jsonl", b"")
    put(root, "sent", "sent.jsonl", line_of(*sent("request-1", at(34_199.9))).encode())


def test_every_real_shape_is_read(spark: SparkSession, tmp_path: Path) -> None:
    firehose_objects(tmp_path)
    summary = judged(spark, tmp_path)
    assert summary["quarantine"] == {"lines": 0, "by_reason": {}, "examples": []}
    assert summary["verdicts"]["performed_once"] == 1
    # The body of one had no id, so SQS's stands for it; another's deliveries failed.
    assert summary["verdicts"]["refused"] == 2
    assert summary["messages"] == 3
    assert summary["totals"] == {
        "sent": 1,
        "deliveries": 3,
        "started": 1,
        "suppressed": 0,
        "refused": {"not_json": 1},
        "failed": 1,
        "executions": 1,
        "effects": 1,
        "dead_letters": 0,
    }
    assert summary["latency"]["sent_to_effect"]["max"] == 1000
    assert summary["latency"]["first_delivery_to_effect"]["p50"] == 777
    assert summary["exit_status"] == 0
    assert summary["cannot_judge"] == []


def spoiled(good: str, **fields: Any) -> str:
    return json.dumps(json.loads(good) | fields)


GOOD = line_of(*delivery("m", at(0.1)))
SPOILED: dict[str, Callable[[], str]] = {
    "corrupt_line": lambda: GOOD[:-9],
    "unknown_version": lambda: spoiled(GOOD, version=2),
    "not_a_record": lambda: spoiled(GOOD, stream="sent"),
    "wrong_type": lambda: spoiled(GOOD, message_id=5),
    "missing_field": lambda: spoiled(GOOD, fingerprint=None),
    "unknown_value": lambda: spoiled(GOOD, end="swallowed"),
}


def test_what_is_no_record_is_quarantined_with_its_place_and_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, performed("m"))
    lines = [GOOD, *(spoil() for spoil in SPOILED.values()), GOOD + "xyz", spoiled(GOOD, at="soon")]
    put(tmp_path, "deliveries", "spoiled.jsonl", "\n".join(lines).encode())
    (tmp_path / "stray.txt").write_text("no record")
    summary = judged(spark, tmp_path)
    told = {
        (Path(example["file"]).name, example["line"]): example["reason"]
        for example in summary["quarantine"]["examples"]
    }
    expected: dict[tuple[str, int | None], str] = {
        ("stray.txt", None): "misplaced_file",
        **{("spoiled.jsonl", line): reason for line, reason in enumerate(SPOILED, 2)},
        ("spoiled.jsonl", 8): "corrupt_line",
        ("spoiled.jsonl", 9): "wrong_type",
    }
    assert told == expected
    assert summary["quarantine"]["lines"] == 9
    assert summary["verdicts"]["performed_once"] == summary["messages"] == 1
    assert summary["exit_status"] == 3
    assert "9 lines or files could not be read" in summary["sentence"]


def test_a_truncated_gzip_costs_its_own_end_only(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, performed("m"))
    many = "".join(
        line_of(*record) + "\n"
        for number in range(2_000)
        for record in [delivery(f"k{number}", at(number / 10))]
    )
    packed = gzip.compress(many.encode())
    put(tmp_path, "deliveries", "half.jsonl.gz", packed[: len(packed) // 2])
    put(tmp_path, "sent", "nothing.jsonl.gz", b"")
    summary = judged(spark, tmp_path)
    assert summary["quarantine"]["by_reason"] == {"truncated_gzip": 2}
    half = next(e for e in summary["quarantine"]["examples"] if "half" in e["file"])
    assert 500 < half["line"] < 1_500
    assert summary["messages"] == half["line"]  # the lines before it, and m
    assert summary["verdicts"]["performed_once"] == 1


@pytest.mark.parametrize(
    ("missing", "history", "verdict", "judged_all"),
    [
        ("effects", [delivery("m", at(1)), execution("m", at(2), "RUNNING")], "in_flight", False),
        ("effects", [execution("m", at(2), "SUCCEEDED", "performed")], "performed_once", False),
        ("executions", [delivery("m", at(1))], "in_flight", False),
        ("deliveries", [sent("m", at(1))], "in_flight", False),
        ("sent", [delivery("m", at(1))], "lost", True),
        ("sent", performed("m")[1:], "performed_once", True),
        # Who asked for it may stand in what is missing; or nobody did.
        ("deliveries", [effect("m", at(1))], "performed_once", False),
    ],
)
def test_what_a_missing_stream_would_tell_is_not_guessed(
    spark: SparkSession,
    tmp_path: Path,
    missing: str,
    history: list[tuple[str, dict[str, Any]]],
    verdict: str,
    judged_all: bool,
) -> None:
    streams = {"sent", "deliveries", "executions", "effects", "dead_letters"} - {missing}
    summary = judged(spark, write(tmp_path, history, sorted(streams)))
    assert summary["verdicts"][verdict] == 1
    assert summary["days"][0]["streams"][missing] is None
    assert any(f"{missing} is missing" in sentence for sentence in summary["cannot_judge"])
    assert any("could not be judged" in s for s in summary["cannot_judge"]) is not judged_all


def test_an_envelope_is_known_by_its_content_not_by_the_order_of_its_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    recorded = Path(__file__).parents[1] / "collect" / "fixtures"
    for stream, name in (
        ("deliveries", "firehose-of-logs.gz"),
        ("executions", "firehose-of-eventbridge"),
        ("effects", "dynamodb-export.json.gz"),
    ):
        path = tmp_path / stream / "dt=2026-11-21" / name
        path.parent.mkdir(parents=True)
        path.write_bytes((recorded / name).read_bytes())
    summary = judged(spark, tmp_path)
    assert summary["quarantine"]["lines"] == 0
    assert summary["totals"]["deliveries"] > 0
    assert summary["totals"]["executions"] > 0
    assert summary["totals"]["effects"] > 0
