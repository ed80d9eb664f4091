import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce.terminal.files import sync_folder
from pipeline.backfill import plan
from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.backfill.plan import Counts
from pipeline.backfill.rows import Selection
from pipeline.spark.session import spark_session
from tests import java
from tests.support import appointments as real

pytestmark = [java.needed, pytest.mark.usefixtures("spark")]

BY_ID = Selection.of_options("id")


@pytest.fixture(scope="session")
def make_session() -> Callable[[], SparkSession]:
    """Spark as the command starts it: classic, or on SPARK_REMOTE."""
    return lambda: spark_session("tests")


def no_session() -> SparkSession:
    raise AssertionError("Spark is not needed here")


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_kind_of_row_ends_where_it_belongs_in_the_archive_s_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")  # several are written
    folder, to = tmp_path / "archive", tmp_path / "plan"
    folder.mkdir()
    text = '{"id": 1, "x": 1}\n{"id": 1, "x": 2}\n{\n\n{"x": [1.50, "\\r"], "id": "ü/%"}\n{}\n'
    (folder / "a.jsonl").write_text(text)
    (folder / "b.jsonl.gz").write_bytes(
        gzip.compress(b'{"x": 1, "id": 1}\n{"id": "1", "x": "}"}\n{"id": 2}\n[]\n')
    )
    (folder / "c.csv").write_text("id,x\n2,1\n7},8\n7},8,9\n7},9\n")
    counts = plan.make(lambda: spark, folder, BY_ID, to, sync_folder)
    spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    assert counts == Counts(rows=13, messages=4, duplicates=1, conflicts=4, quarantined=4)
    assert {path.stem for path in to.iterdir()} == {
        "messages", "conflicts", "quarantine", "counts"
    }  # fmt: skip
    assert Counts(**json.loads((to / "counts.json").read_text())) == counts
    assert (to / "messages.jsonl").read_text() == (
        '{"id":1,"message_id":"1","x":1}\n'
        '{"id":"ü/%","message_id":"ü/%","x":[1.5,"\\r"]}\n'
        '{"id":2,"message_id":"2"}\n'
        '{"id":"7}","message_id":"7}","x":"8"}\n'
    )
    conflicts = lines(to / "conflicts.jsonl")
    assert [(one["file"][0], one["line"], one["first_file"][0], one["first_line"])
            for one in conflicts] == [
        ("a", 2, "a", 1), ("b", 2, "a", 1), ("c", 2, "b", 3), ("c", 5, "c", 3)
    ]  # fmt: skip
    assert conflicts[1]["message_id"] == "1"
    assert conflicts[1]["body"] == {"id": "1", "message_id": "1", "x": "}"}
    quarantine = lines(to / "quarantine.jsonl")
    assert [(one["file"][0], one["line"]) for one in quarantine] == [
        ("a", 3), ("a", 6), ("b", 4), ("c", 4)
    ]  # fmt: skip
    assert all(one["reason"] for one in quarantine)


@real.needed
@pytest.mark.parametrize(
    ("left_out", "duplicates", "conflicts"),
    [("AppointmentID,No-show,SMS_received", 15, 0), ("AppointmentID,No-show", 6, 9)],
)
def test_real_double_bookings_are_duplicates_or_conflicts_by_their_content(
    make_session: Callable[[], SparkSession],
    tmp_path: Path,
    left_out: str,
    duplicates: int,
    conflicts: int,
) -> None:
    archive = Path(os.environ["APPOINTMENTS_CSV"])
    selection = Selection.of_options("PatientId,ScheduledDay,AppointmentDay", left_out)
    counts = plan.make(make_session, archive, selection, tmp_path, sync_folder)
    assert counts == Counts(1000, 985, duplicates, conflicts, 0)
    bodies = lines(tmp_path / "messages.jsonl")
    assert len({body["message_id"] for body in bodies}) == 985
    assert any("SMS_received" in body for body in bodies) != ("SMS_received" in left_out)


def test_a_plan_is_there_whole_or_not_at_all(
    make_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    """The archive grows while it is read; then the disk is full."""
    archive, to = tmp_path / "a.jsonl", tmp_path / "plan"
    archive.write_text('{"id":1}\n')
    sorted_out = plan._sorted_out

    def grown(*arguments: Path) -> Counts:
        archive.write_text('{"id":1}\n{"id":2}\n')
        return sorted_out(*arguments)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for broken, said in ((grown, "changed while it was read"), (full, "No space left")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan, "_sorted_out", broken)
            with pytest.raises(BackfillFailed, match=said):
                plan.make(make_session, archive, BY_ID, to, sync_folder)
        assert list(tmp_path.iterdir()) == [archive]
    assert plan.make(make_session, archive, BY_ID, to, sync_folder).messages == 2


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    archive, draft = tmp_path / "a.jsonl", tmp_path / "plan.draft"
    archive.write_text('{"id":1}\n')
    draft.mkdir()
    for to, said in (
        (tmp_path, "is there already"),
        (archive, "is there already"),
        (tmp_path / "plan", "is there: another backfill"),
        (archive / "plan", "cannot be written"),
    ):
        with pytest.raises(WrongRequest, match=said):
            plan.make(no_session, archive, BY_ID, to, sync_folder)
    assert sorted(tmp_path.iterdir()) == [archive, draft]
    assert archive.read_text() == '{"id":1}\n'
