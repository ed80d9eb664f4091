"""The same records in other files: Parquet, told twice, and in places with odd names."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from actonce.cli.audit import put_page
from lab.bench.records import Records, generate, write_jsonl, write_parquet
from pipeline.audit.job import Request, audit, message_rows
from pipeline.audit.layout import list_records
from pipeline.audit.reading import records
from tests.pipeline.streams_on_disk import DAY, performed, write


@pytest.fixture(scope="module")
def planted() -> Records:
    return generate(150, seed=3)


def rows_of(spark: SparkSession, root: Path) -> dict[str, dict[str, Any]]:
    listing = list_records(spark, str(root))
    request = Request(str(root), str(root / "audit"))
    rows = message_rows(records(spark, listing.files), request, listing)
    return {row["message_id"]: row.asDict() for row in rows.collect()}


def test_parquet_gives_the_same_rows_and_a_line_told_twice_no_other_verdict(
    spark: SparkSession, tmp_path: Path, planted: Records
) -> None:
    write_jsonl(planted, tmp_path / "lines")
    write_parquet(planted, tmp_path / "parquet")
    rows = rows_of(spark, tmp_path / "lines")
    assert len(rows) == 150
    assert rows_of(spark, tmp_path / "parquet") == rows
    # Firehose delivers at least once, too.
    for file in (tmp_path / "lines").rglob("*.gz"):
        file.write_bytes(2 * file.read_bytes())
    twice = rows_of(spark, tmp_path / "lines")
    assert {key: row["verdict"] for key, row in twice.items()} == {
        key: row["verdict"] for key, row in rows.items()
    }
    assert all(twice[key]["deliveries"] == 2 * row["deliveries"] for key, row in rows.items())


def test_a_parquet_file_without_a_column_does_not_hide_it_in_others(
    spark: SparkSession, tmp_path: Path, planted: Records
) -> None:
    write_parquet(planted, tmp_path)
    (folder,) = (tmp_path / "executions").iterdir()
    (file,) = folder.iterdir()
    table = pq.read_table(file)
    bare = pc.is_null(table["error"])
    pq.write_table(table.filter(bare).drop_columns("error"), folder / "a.parquet")
    pq.write_table(table.filter(pc.invert(bare)), file)
    truth = dict(
        zip(*(planted.truth[name].to_pylist() for name in ("message_id", "verdict")), strict=True)
    )
    rows = rows_of(spark, tmp_path)
    assert {key: row["verdict"] for key, row in rows.items()} == truth


def test_a_parquet_file_with_a_number_for_a_text_costs_itself_only(
    spark: SparkSession, tmp_path: Path, planted: Records
) -> None:
    write_parquet(planted, tmp_path)
    (folder,) = (tmp_path / "dead_letters").iterdir()
    (file,) = folder.iterdir()
    table = pq.read_table(file).slice(0, 3)
    numbers = pa.array([1, 2, 3])
    wrong = table.set_column(table.schema.get_field_index("reason"), "reason", numbers)
    pq.write_table(wrong, folder / "a.parquet")
    summary = audit(spark, Request(str(tmp_path), str(tmp_path / "audit")))
    assert summary["messages"] == 150
    assert summary["quarantine"]["by_reason"] == {"wrong_type": 1}
    (example,) = summary["quarantine"]["examples"]
    assert example["file"] == str(folder / "a.parquet")
    assert summary["exit_status"] == 1  # there are lost ones among them


def test_names_may_hold_any_character_and_files_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path / "a b%20 =é+[1]{x}", performed("m"))
    day = root / "deliveries" / f"dt={DAY}"
    (day / "records.jsonl").rename(day / "odd %41 ü=[2]{y}.jsonl")
    (day / "empty.jsonl").touch()
    (day / "empty.gz").write_bytes(gzip.compress(b""))
    (root / "effects" / f"dt={DAY}" / "no%6Came [3]").write_text("{}\nno record\n")
    (root / "sent" / "dt=2026-01-30").mkdir()
    summary = audit(spark, Request(str(root), str(root / "audit")))
    assert summary["verdicts"]["performed_once"] == summary["messages"] == 1
    told = [
        (Path(example["file"]).name, example["line"], example["reason"])
        for example in summary["quarantine"]["examples"]
    ]
    assert told == [("no%6Came [3]", 1, "not_a_record"), ("no%6Came [3]", 2, "corrupt_line")]
    assert json.loads((root / "audit" / "summary.json").read_text()) == summary
    assert {path.name for path in (root / "audit").iterdir()} >= {"messages", "days", "quarantine"}


def test_the_page_goes_where_the_results_go(spark: SparkSession, tmp_path: Path) -> None:
    out = f"file://{tmp_path}/results"
    root = write(tmp_path / "records", performed("m"))

    summary = audit(spark, Request(str(root), out))

    assert put_page(spark, summary, out) == f"{out}/report.html"
    assert summary["sentence"] in (tmp_path / "results" / "report.html").read_text()
    assert put_page(spark, summary, str(tmp_path)) == f"{tmp_path}/report.html"
    assert summary["sentence"] in (tmp_path / "report.html").read_text()
