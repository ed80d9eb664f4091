"""Effects as DynamoDB's incremental export writes them: what changed on a day, not whole tables."""

import gzip
import json
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.audit.job import audit
from pipeline.audit.request import Request, requested

EXPORT = Path(__file__).parents[1] / "collect" / "fixtures" / "incremental-export"
DAY = "2026-11-20"


def exported(root: Path) -> Path:
    """A root of streams with the export where the state machine has it written."""
    for file in EXPORT.rglob("*"):
        if file.is_file():
            place = root / "effects" / f"dt={DAY}" / file.relative_to(EXPORT)
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.parent.name == "data":
                place.with_suffix(".json.gz").write_bytes(gzip.compress(file.read_bytes()))
            else:
                place.write_bytes(file.read_bytes())
    return root


def test_new_images_are_effects_and_a_day_exported_twice_is_no_second_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = exported(tmp_path / "records")
    again = root / "effects" / "dt=2026-11-21" / "again.json.gz"
    again.parent.mkdir()
    first = (EXPORT / "AWSDynamoDB" / "data" / "x7k2m5n3.json").read_bytes()
    again.write_bytes(gzip.compress(first))

    summary = audit(spark, Request(str(root), str(tmp_path / "audit")))

    assert summary["verdicts"]["performed_once"] == summary["messages"] == 2
    # Nobody deletes an effect but behind the system's back, so it is said.
    assert summary["quarantine"]["by_reason"] == {"deleted_effect": 1}
    (example,) = summary["quarantine"]["examples"]
    assert example["file"].endswith("/AWSDynamoDB/data/q1w2e3r4.json.gz")


def test_an_export_that_has_not_ended_is_no_effect_and_the_day_is_not_clean(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = exported(tmp_path / "records")
    (summary_of_export,) = root.rglob("manifest-summary.json")
    summary_of_export.unlink()
    own = {"stream": "effects", "version": 1, "at": f"{DAY}T09:00:00.000Z"}
    line = json.dumps(own | {"message_id": "request-0", "effect_id": "1"})
    (root / "effects" / f"dt={DAY}" / "own.jsonl").write_text(line)

    summary = audit(spark, Request(str(root), str(tmp_path / "audit")))

    assert summary["totals"]["effects"] == 1
    assert summary["quarantine"]["by_reason"] == {"unfinished_export": 6}
    assert summary["exit_status"] != 0
    assert f"{DAY}: an export of the effects has no manifest-summary.json" in summary["sentence"]


def test_as_of_its_end_a_day_is_judged_without_what_came_after(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What ended after midnight is still in flight, and not taken for unjudged or lost."""
    root = exported(tmp_path / "records")
    (root / "effects" / f"dt={DAY}" / "AWSDynamoDB" / "data" / "q1w2e3r4.json.gz").unlink()
    records = {
        f"deliveries/dt={DAY}": {
            "stream": "deliveries",
            "at": f"{DAY}T23:59:59.900Z",
            "end": "started",
            "fingerprint": "0" * 64,
        },
        f"executions/dt={DAY}": {
            "stream": "executions",
            "at": f"{DAY}T23:59:59.950Z",
            "status": "RUNNING",
        },
        "executions/dt=2026-11-21": {
            "stream": "executions",
            "at": "2026-11-21T00:00:00.100Z",
            "status": "SUCCEEDED",
            "outcome": "performed",
        },
    }
    exported_ones = ("request-1", "request-2")
    for folder, record in records.items():
        (root / folder).mkdir(parents=True)
        lines = [record | {"version": 1, "message_id": "across-midnight"}]
        if DAY in folder:  # the effects of the export were asked for, too
            lines += [lines[0] | {"message_id": one} for one in exported_ones]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (root / folder / "lines.jsonl").write_text(text)

    by_its_end = audit(
        spark,
        requested(str(root), out=str(tmp_path / "end"), as_of="2026-11-21T00:00:00Z", day=DAY),
    )

    assert (by_its_end["verdicts"]["in_flight"], by_its_end["exit_status"]) == (1, 0)
    assert by_its_end["verdicts"]["performed_once"] == 2
