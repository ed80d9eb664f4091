import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws
from pyspark.sql import SparkSession

from pipeline.backfill import archive as backfill_archive
from pipeline.backfill import job as backfill
from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.backfill.job import Summary
from pipeline.backfill.plan import ENDS, Plan
from pipeline.backfill.rows import Selection
from pipeline.spark.session import spark_session
from tests import java
from tests.support import appointments as real

pytestmark = java.needed

BY_ID = Selection.of_options("id")


@pytest.fixture(scope="session")
def make_session() -> Callable[[], SparkSession]:
    """Spark as the command starts it: classic, or on SPARK_REMOTE."""
    return lambda: spark_session("tests")


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("sqs", region_name="us-east-1")


def no_session() -> SparkSession:
    raise AssertionError("Spark is not needed here")


# An archive's file: its rows' ids and contents; None is a line that is not JSON.
rows = st.none() | st.tuples(st.integers(0, 4) | st.just(""), st.integers(0, 1))
archives = st.dictionaries(st.sampled_from("abcde"), st.lists(rows, max_size=8), min_size=1)


def judged_plainly(archive: dict[str, list[Any]]) -> dict[str, list[tuple[str, int]]]:
    first: dict[int, int] = {}
    ends: dict[str, list[tuple[str, int]]] = {
        end: [] for end in ("message", "duplicate", "conflict", "quarantined")
    }
    for name in sorted(archive):
        for line, row in enumerate(archive[name], 1):
            if row is None or row[0] == "":
                end = "quarantined"
            elif row[0] not in first:
                first[row[0]] = row[1]
                end = "message"
            else:
                end = "duplicate" if first[row[0]] == row[1] else "conflict"
            ends[end].append((f"{name}.jsonl", line))
    return ends


def written(folder: Path, archive: dict[str, list[Any]]) -> Path:
    for name, lines in archive.items():
        text = "".join(
            ("{" if row is None else json.dumps({"id": row[0], "x": row[1]})) + "\n"
            for row in lines
        )
        (folder / f"{name}.jsonl").write_text(text)
    return folder


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(archives)
@pytest.mark.long
def test_each_row_ends_where_plain_python_says(
    make_session: Callable[[], SparkSession],
    tmp_path_factory: pytest.TempPathFactory,
    archive: dict[str, list[Any]],
) -> None:
    folder = written(tmp_path_factory.mktemp("archive"), archive)
    work = tmp_path_factory.mktemp("work")
    with backfill.opened(make_session, folder, BY_ID, work) as planned:
        summary = planned.summary()
    expected = judged_plainly(archive)
    plan = Plan(work / "plan")
    for end, places in expected.items():
        assert [(row["file"], row["line"]) for row in plan.rows(end)] == places
    assert summary.rows == sum(map(len, archive.values()))
    for name, end in (("conflicts", "conflict"), ("quarantine", "quarantined")):
        lines = map(json.loads, (work / f"{name}.jsonl").read_text().splitlines())
        assert [(line["file"], line["line"]) for line in lines] == expected[end]


@pytest.mark.usefixtures("spark")
def test_each_kind_of_row_ends_where_it_belongs(
    make_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    first = '{"id": 1, "x": 1}\n{"id": 1, "x": 2}\n{\n\n{"id": "ü/%", "x": [1.50]}\n{}\n'
    (folder / "a.jsonl").write_text(first)
    (folder / "b.jsonl.gz").write_bytes(
        gzip.compress(b'{"x": 1, "id": 1}\n{"id": "1", "x": 1}\n{"id": 2}\n[]\n')
    )
    (folder / "c.csv").write_text("id,x\n1,1\n7,8\n7,8,9\n7,9\n")
    work = tmp_path / "work"
    with backfill.opened(make_session, folder, BY_ID, work) as planned:
        assert planned.summary() == Summary(13, 4, 0, 0, 4, 1, 4, 4)
    ends = {
        end: [(row["file"][0], row["line"]) for row in Plan(work / "plan").rows(end)]
        for end in ENDS
    }
    assert ends == {
        "message": [("a", 1), ("a", 5), ("b", 3), ("c", 3)],
        "duplicate": [("b", 1)],
        "conflict": [("a", 2), ("b", 2), ("c", 2), ("c", 5)],
        "quarantined": [("a", 3), ("a", 6), ("b", 4), ("c", 4)],
    }


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
    with backfill.opened(make_session, archive, selection, tmp_path) as planned:
        assert planned.summary() == Summary(1000, 985, 0, 0, 985, duplicates, conflicts, 0)
    bodies = [json.loads(row["body"]) for row in Plan(tmp_path / "plan").rows("message")]
    assert len({body["message_id"] for body in bodies}) == 985
    assert any("SMS_received" in body for body in bodies) != ("SMS_received" in left_out)


def test_a_plan_is_sent_once_and_its_summary_adds_up(
    make_session: Callable[[], SparkSession], tmp_path: Path, sqs: Any
) -> None:
    queue = sqs.create_queue(QueueName="requests")["QueueUrl"]
    archive = tmp_path / "archive"
    archive.mkdir()
    written(archive, {"a": [(n, 0) for n in range(100)] + [None], "b": [(1, 0), (2, 1)]})
    work = tmp_path / "work"
    told: list[int] = []
    sqs.delete_queue(QueueUrl=queue)
    with backfill.opened(make_session, archive, BY_ID, work) as planned:
        problems = planned.send(sqs, queue, 10_000, lambda *_: None)
        assert problems
        assert all("NonExistentQueue" in problem for problem in problems)
        assert planned.summary().not_sent == 100
        with pytest.raises(WrongRequest, match=r"has sent to .*requests"):
            planned.send(sqs, f"{queue}-other", 10_000, lambda *_: None)
    sqs.create_queue(QueueName="requests")
    # It is planned, so Spark is not even started.
    with backfill.opened(no_session, archive, BY_ID, work) as planned:
        assert planned.send(sqs, queue, 10_000, lambda done, _: told.append(done)) == []
        assert planned.summary() == Summary(103, 100, 100, 0, 0, 1, 1, 1)
    assert told[-1] == 100
    assert told == sorted(told)
    with backfill.opened(no_session, archive, BY_ID, work) as planned:
        assert planned.send(sqs, queue, 10_000, lambda *_: None) == []
        assert planned.summary() == Summary(103, 100, 0, 100, 0, 1, 1, 1)
    received: Counter[str] = Counter()
    while messages := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        received.update(json.loads(message["Body"])["message_id"] for message in messages)
    assert received == Counter(map(str, range(100)))

    def refused(said: str, selection: Selection = BY_ID) -> None:
        with (
            pytest.raises(WrongRequest, match=said),
            backfill.opened(no_session, archive, selection, work),
        ):
            pass

    refused("was made with other options", Selection.of_options("id", leave_out="x"))
    (archive / "b.jsonl").write_text("{}")
    refused(r"b\.jsonl of the archive is not what it was")
    (archive / "b.jsonl").unlink()
    refused(r"b\.jsonl of the archive is not what it was")
    (work / "plan.json").unlink()  # a plan made anew would have other places
    refused("has confirmations and no plan that they belong to")


def test_a_plan_that_does_not_come_to_its_end_is_made_again(
    make_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    """The archive grows while it is read; then the disk is full."""
    archive, work = tmp_path / "a.jsonl", tmp_path / "work"
    archive.write_text('{"id":1}\n')

    def grown(files: dict[str, Path]) -> dict[str, str]:
        found = backfill_archive.digests(files)
        archive.write_text('{"id":1}\n{"id":2}\n')
        return found

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name, broken, said in (
        ("digests", grown, "changed while it was read"),
        ("write_whole", full, "plan cannot be made: .*No space left"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"pipeline.backfill.job.{name}", broken)
            with (
                pytest.raises(BackfillFailed, match=said),
                backfill.opened(make_session, archive, BY_ID, work),
            ):
                pass
    with backfill.opened(make_session, archive, BY_ID, work) as planned:
        assert planned.summary().messages == 2
