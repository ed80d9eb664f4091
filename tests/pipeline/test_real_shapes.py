"""Records as AWS delivers them: envelopes, concatenation, exports; and lines that are none."""

import gzip
import json
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession

from actonce.cli.audit import put_page
from tests.pipeline.nights import audited, judgements_of
from tests.pipeline.streams_on_disk import (
    DAY,
    at,
    delivery,
    line_of,
    performed,
    put,
    sent,
    write,
)
from tests.records.report.summaries import all_good

SHAPES = Path(__file__).parent / "shapes"


def shape(name: str) -> bytes:
    """A recorded shape as it travels: on one line."""
    return json.dumps(json.loads((SHAPES / f"{name}.json").read_text())).encode()


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
    summary = audited(spark, tmp_path)
    assert summary["quarantine"] == {"lines": 0, "by_reason": {}, "examples": []}
    assert summary["verdicts"]["performed_once"] == 1
    # The body of one had no id, so SQS's stands for it; a failed delivery's is not known.
    assert summary["verdicts"]["refused"] == 1
    assert summary["messages"] == 2
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
    assert summary["exit_status"] == 0
    assert summary["cannot_judge"] == []


def test_what_cannot_be_read_is_named_with_its_place_and_costs_itself_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also where names hold any character."""
    root = write(tmp_path / "a b%20 =é+[1]{x}", performed("m"))
    put(root, "effects", "no%6Came [3]", b"{}\nno record\n")
    (root / "stray.txt").write_text("no record")

    summary = audited(spark, root)

    examples = [tuple(example.values()) for example in summary["quarantine"]["examples"]]
    odd = str(root / "effects" / f"dt={DAY}" / "no%6Came [3]")
    assert examples == [
        (str(root / "stray.txt"), None, "misplaced_file"),
        (odd, 1, "not_a_record"),
        (odd, 2, "corrupt_line"),
    ]
    assert summary["messages"] == summary["verdicts"]["performed_once"] == 1
    assert "3 lines or files could not be read" in summary["sentence"]
    assert (summary["exit_status"], summary["cannot_judge"]) == (3, [])
    assert json.loads((root / "audit" / "summary.json").read_text()) == summary


def test_an_unread_line_that_may_be_of_another_stream_makes_no_message_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, [delivery("m", at(1)), *performed("last", 80_000)])
    put(root, "sent", "misplaced.jsonl", b"{}")
    assert audited(spark, root)["exit_status"] == 3
    assert judgements_of(root / "audit")["m"] == ("in_flight", False)


def test_the_page_goes_where_the_results_go(tmp_path: Path) -> None:
    nobody = cast("SparkSession", None)  # is asked to write into a folder here
    summary = all_good()
    for out in (f"file://{tmp_path}", str(tmp_path)):
        assert put_page(nobody, summary, out) == f"{out}/report.html"
        assert summary["sentence"] in (tmp_path / "report.html").read_text()
        (tmp_path / "report.html").unlink()
