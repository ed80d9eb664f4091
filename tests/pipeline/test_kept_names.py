"""Messages that are known by other names, on days of which only what was kept is looked at."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.audit import job
from pipeline.audit.job import audit, requested
from pipeline.audit.needed import rows_of as rows_of_hashes
from tests.pipeline.judge import Record
from tests.pipeline.nights import Row, rows_of, said, settled
from tests.pipeline.streams_on_disk import DAY, at, delivery, execution, performed, sent, write

LATER = "2026-02-02"


def under(sqs_id: str, record: Record) -> Record:
    return record[0], record[1] | {"sqs_message_id": sqs_id}


HISTORY = [
    # Sent without its id, delivered two days later: it began on the earlier day.
    sent(None, at(1), "q-waited"),
    *(under("q-waited", one) for one in performed("waited", 5, LATER)[1:]),
    # Performed; two days later a delivery fails before its id is read: nothing is lost.
    *(under("q-old", one) for one in performed("old", 10)),
    under("q-old", delivery(None, at(20, LATER), "failed", None, None)),
    # A name of two messages stands for neither: the second began when its own records did.
    sent(None, at(30), "q-shared"),
    *(under("q-shared", one) for one in performed("first", 31)),
    *(under("q-shared", one) for one in performed("second", 32, LATER)),
    *performed("last", 80_000, LATER),
    execution("last", at(80_001, LATER), "SUCCEEDED", "performed"),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return settled(write(tmp_path_factory.mktemp("names") / "records", HISTORY))


def judged(spark: SparkSession, root: Path, out: Path, **asked: bool) -> tuple[Row, list[Row]]:
    summary = audit(spark, requested(str(root), day=LATER, out=str(out), **asked))  # type: ignore[arg-type]
    return said(summary), rows_of(out)


@pytest.mark.long
def test_all_names_of_a_message_are_looked_for(
    spark: SparkSession, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary, rows = judged(spark, root, tmp_path / "out")
    assert [row["message_id"] for row in rows] == ["last", "second"]
    assert summary["late_days"] == [DAY]
    assert summary["late_alarms"] == []
    assert judged(spark, root, tmp_path / "raw", from_raw=True) == (summary, rows)
    # And each part of the search is what finds them.
    monkeypatch.setattr(job, "with_other_names", lambda touched, _: touched)
    assert judged(spark, root, tmp_path / "out")[1] != rows
    monkeypatch.undo()
    monkeypatch.setattr(job, "rows_of_any_name", rows_of_hashes)
    assert judged(spark, root, tmp_path / "out")[1] != rows
