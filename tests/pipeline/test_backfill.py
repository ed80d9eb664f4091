"""A backfill's plan: every line of an archive ends somewhere, whichever exporter wrote it."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce.terminal.files import sync_folder
from actonce_pipeline.backfill import archive as archives
from actonce_pipeline.backfill import plan
from actonce_pipeline.backfill.plan import Counts
from actonce_pipeline.backfill.rows import BackfillFailed, Selection, WrongRequest
from actonce_pipeline.spark.session import spark_session
from tests.support import appointments as real
from tests.support import java

pytestmark = [java.needed, pytest.mark.usefixtures("spark")]

BY_ID = Selection.of_options("id")
Files = dict[str, bytes]


class Planned:
    """An archive of these files, and the plan that was made of it."""

    def __init__(self, folder: Path, files: Files, selection: Selection = BY_ID) -> None:
        for name, content in files.items():
            path = folder / "archive" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.folder = folder / "plan"
        self.counts = plan.make(
            lambda: spark_session("tests"),
            folder / "archive",
            selection,
            self.folder,
            sync_folder,
        )
        self.messages = self.lines("messages")
        self.conflicts = self.lines("conflicts")
        self.quarantine = {
            (one["file"], one["line"]): one["reason"] for one in self.lines("quarantine")
        }

    def lines(self, end: str) -> list[dict[str, Any]]:
        text = "".join(part.read_text() for part in sorted((self.folder / end).iterdir()))
        return [json.loads(line) for line in text.splitlines()]

    @property
    def ids(self) -> list[str]:
        return [one["message_id"] for one in self.messages]


def test_each_row_ends_where_it_belongs_in_the_archive_s_order(
    tmp_path: Path, spark: SparkSession
) -> None:
    files = {
        "a b.jsonl": b'{"id": 1, "x": 1}\n{"id": 1, "x": 2}\n{\n\n'
        + '{"x": [1.50, "\\r"], "id": "ü/%"}\n{}\n'.encode(),
        "b%20.jsonl.gz": gzip.compress(
            b'{"x": 1, "id": 1}\n{"id": "1", "x": "}"}\n\n{"id": 2}\n[]\n'
        ),
        "dt=1/c.csv": b"id, x\r\n\r\n2,1\r\n\r\n7},8\n7},8,9\n7},9\n",
        "_SUCCESS": b"", ".hidden.csv": b"no", "empty.csv": b"",
    }  # fmt: skip
    spark.range(3).selectExpr("id + 7 as id").coalesce(1).write.parquet(f"{tmp_path}/archive/z")
    planned = Planned(tmp_path, files)
    assert planned.counts == Counts(rows=16, messages=7, duplicates=1, conflicts=4, quarantined=4)
    assert json.loads((planned.folder / "counts.json").read_text())["messages"] == 7
    assert sorted(path.name for path in planned.folder.iterdir()) == [
        "conflicts", "counts.json", "messages", "quarantine"
    ]  # fmt: skip
    assert planned.messages == [
        {"id": 1, "message_id": "1", "x": 1},
        {"id": "ü/%", "message_id": "ü/%", "x": [1.5, "\r"]},
        {"id": 2, "message_id": "2"},
        {"id": "7}", "message_id": "7}", " x": "8"},
        *({"id": number, "message_id": str(number)} for number in (7, 8, 9)),
    ]
    where = ("file", "line", "first_file", "first_line")
    assert [tuple(one[name] for name in where) for one in planned.conflicts] == [
        ("a b.jsonl", 2, "a b.jsonl", 1), ("b%20.jsonl.gz", 2, "a b.jsonl", 1),
        ("dt=1/c.csv", 3, "b%20.jsonl.gz", 4), ("dt=1/c.csv", 7, "dt=1/c.csv", 5)
    ]  # fmt: skip
    assert planned.conflicts[1]["body"] == {"id": "1", "message_id": "1", "x": "}"}
    assert [*planned.quarantine] == [
        ("a b.jsonl", 3), ("a b.jsonl", 6), ("b%20.jsonl.gz", 5), ("dt=1/c.csv", 6)
    ]  # fmt: skip
    assert all(planned.quarantine.values())


def test_rows_of_parquet_keep_each_microsecond_and_their_columns_names(
    tmp_path: Path, spark: SparkSession
) -> None:
    for column, microseconds in (("x", 1), ("X", 999)):
        time = f"timestamp_micros(1769850000000000 + {microseconds}) as at"
        rows = spark.range(1).selectExpr("id", time, f"1 as {column}")
        rows.write.parquet(f"{tmp_path}/archive/{column}")
    planned = Planned(tmp_path, {}, Selection.of_options("id,at"))
    assert planned.counts == Counts(rows=2, messages=2, duplicates=0, conflicts=0, quarantined=0)
    assert [(one["at"], one["X"], one["x"]) for one in planned.messages] == [
        ("2026-01-31T09:00:00.000999Z", 1, None), ("2026-01-31T09:00:00.000001Z", None, 1)
    ]  # fmt: skip


def test_one_file_is_read_by_many_tasks_and_each_line_keeps_its_number(
    tmp_path: Path, spark: SparkSession
) -> None:
    many = {"files.maxPartitionBytes": "1500", "files.openCostInBytes": "0"}
    many["adaptive.coalescePartitions.enabled"] = "false"
    before = {name: str(spark.conf.get(f"spark.sql.{name}")) for name in many}
    for name, value in many.items():
        spark.conf.set(f"spark.sql.{name}", value)
    try:
        lines = [b"id,x", *(b"%d,%s" % (n, b"x" * (n % 50)) for n in range(2, 200)), b"bad", b""]
        planned = Planned(tmp_path, {"a.csv": b"\n".join(lines), "b.csv": b"id,x\n0,0\n0,1"})
        read = spark.read.text(f"{tmp_path}/archive/a.csv").rdd.getNumPartitions()
    finally:
        for name, value in before.items():
            spark.conf.set(f"spark.sql.{name}", value)
    assert read > 2
    assert len(list((planned.folder / "messages").iterdir())) > 1
    assert planned.ids == [*map(str, range(2, 200)), "0"]
    assert [*planned.quarantine] == [("a.csv", 200)]
    assert planned.conflicts[0]["line"] == 3


FAULTS: dict[str, tuple[bytes, int, dict[int, str]]] = {
    "joined.csv": (
        b"id,x\n11,a\nid,x\n12,b\n\xef\xbb\xbfid,x\n", 2,
        {3: "is a header", 5: "is a header"},
    ),
    "bad.csv": (
        b'id,x\n21\n21,2,3\n"x"y,2\n\xff,1\nb"c"d,1\n22,a\rb\n"2""3","a,b"\n,1\n8,'
        + b"x" * 1024 * 1024, 1,
        {2: "1 fields", 3: "3 fields", 4: "not CSV", 5: "not UTF-8: byte 1", 6: "not CSV",
         7: "carriage return", 9: "no message id", 10: "more than 1,048,576 bytes"},
    ),
    "bad.jsonl": (
        b'{"id":31}\n{"id":\n[1]\n"x"\n\xff\n{"id":NaN}\n{"id":32}{"id":33}\n\xef\xbb\xbf{}\n'
        b'  \t\r\n{"id":34}\r{"id":35}\n{"id":"' + b"x" * 1024 * 1024 + b'"}\n{"id":36}',
        2,
        {2: "not JSON", 3: "no JSON object", 4: "no JSON object", 5: "not UTF-8", 6: "NaN",
         7: "not JSON", 8: "no message id", 10: "not JSON", 11: "more than 1,048,576 bytes"},
    ),
    "mark.jsonl": (b'\xef\xbb\xbf{"id":41}\n\xef\xbb\xbf{"id":42}\n{', 2, {3: "not JSON"}),
    "mark.csv.gz": (gzip.compress(b"\xef\xbb\xbfid\n51\n"), 1, {}),
    "no suffix": (b'{"id":61}\n{"id":NaN}\n', 1, {2: "NaN"}),
}  # fmt: skip
"""By file: what is in it, how many messages, and the lines that are quarantined."""

EXPORTS: dict[str, tuple[bytes, int, int]] = {
    "excel utf-8.csv": (b'\xef\xbb\xbfid,note\r\ne1,"a ""b"", c"\r\n', 1, 0),
    "athena/0a1b.csv": (b'"id","at"\n"a1","2026-11-20 08:15:30.000"\n"a2",\n', 2, 0),
    "mysqldump/into_outfile.csv": (b'id,note\nm1,"a \\"b\\" c"\nm2,\\N\n\\N,x\n', 1, 2),
    "firehose/2026/11/26/08/s-1-2026": (b'{"id":"f1"}\n{"id":"f3"}{"id":"f4"}\n', 1, 1),
    "r/write.csv": (b'"id","x"\n"r1",NA\nNA,2\n', 1, 1),
    "postgres/copy.csv": (b"id,x\ng1,\n,x\n\\.\n", 1, 2),
    "bigquery/out-000000000000.json": (b'{"id":"9007199254740993","x":"1"}\n', 1, 0),
}
"""By an exporter's file: what is in it, messages, quarantined."""


def test_each_fault_has_a_line_and_each_exporter_s_file_is_read(tmp_path: Path) -> None:
    files = {name: content for name, (content, *_) in (FAULTS | EXPORTS).items()}
    planned = Planned(tmp_path, files)
    reasons: dict[str, dict[int, str]] = {name: {} for name in files}
    for (name, line), reason in planned.quarantine.items():
        reasons[name][line] = reason
    for name, (_, _, expected) in FAULTS.items():
        assert reasons[name].keys() == expected.keys(), name
        for line, reason in expected.items():
            assert reason in reasons[name][line], (name, line)
    quarantined = {name: len(of) for name, of in reasons.items()}
    assert {name: of for name, of in quarantined.items() if name in EXPORTS} == {
        name: of for name, (_, _, of) in EXPORTS.items()
    }
    sent = sum(of for _, of, _ in FAULTS.values()) + sum(of for _, of, _ in EXPORTS.values())
    assert (planned.counts.messages, planned.counts.duplicates, planned.counts.conflicts) == (
        sent, 0, 0
    )  # fmt: skip
    assert planned.counts.rows == sent + len(planned.quarantine)


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("excel.csv", "id;x\n1;2\n", "the columns 'id;x': .* 'id' to be among them"),
        ("excel unicode.csv", "id\tx\n".encode("utf-16"), "first line .* not UTF-8"),
        ("excel mac.csv", "id,x\r1,2\r", "first line .* carriage return"),
        ("excel.xlsx", b"PK\x03\x04", "first line .* not Parquet has to be JSON Lines"),
        ("firehose.jsonl", '{"id":1}{"id":2}', "first line .* Extra data.* jq -c"),
        ("jq.json", '\n{"rows": [\n{"id": 1}\n]}\n', "first line .* jq -c"),
        ("array.json.gz", gzip.compress(b'\xef\xbb\xbf\n[\n{"id": 1}]', mtime=0), "first line"),
        ("array.json", '[{"id": 1}]', "no JSON object. .* jq -c '.\\[\\]'"),
        ("long.json", b"[" + b" " * 1024 * 1024, "first line .* more than 1,048,576 bytes"),
        ("deep.json", "[" * 100_000, "first line"),
        ("packed.jsonl", gzip.compress(b'{"id":1}\n', mtime=0), "gzip file end in .gz"),
        ("plain.jsonl.gz", '{"id":1}\n', "plain.jsonl.gz cannot be read: Not a gzipped file"),
        ("pandas.csv", ",id\n0,1\n", "pandas index=False"),
        ("blank.csv", "\nid\n", "a name of its own"),
        ("cut.csv", 'id,"x\n', "first line cannot be read"),
        ("cut.jsonl.gz", gzip.compress(b'{"id":1}\n', mtime=0)[:14], "cut.jsonl.gz cannot be read"),
        ("excel.csv", 'id,x\n\n1,a\n2,"two\nlines"\n', "excel.csv, line 4: It ends within"),
        ("joined.csv", "id,x\n1,a\nx,id\nb,2\n", "joined.csv, line 3: It is a header in another"),
        ("put.jsonl._COPYING_", '{"id":1}\n', "_COPYING_ cannot be read"),
        ("10:00.jsonl", '{"id":1}\n', "10:00.jsonl cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_row_by_row_is_refused(
    tmp_path: Path, name: str, content: str | bytes, refusal: str
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(WrongRequest, match=refusal):
        Planned(tmp_path, {name: raw})
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    lines = "".join(f'{{"id":"{os.urandom(8).hex()}"}}\n' for _ in range(2000))
    with pytest.raises(BackfillFailed, match=r"archive/x\.jsonl\.gz"):
        Planned(tmp_path, {"x.jsonl.gz": gzip.compress(lines.encode())[:-1]})


@real.needed
@pytest.mark.parametrize(
    ("left_out", "duplicates", "conflicts"),
    [("AppointmentID,No-show,SMS_received", 15, 0), ("AppointmentID,No-show", 6, 9)],
)
def test_real_double_bookings_are_duplicates_or_conflicts_by_their_content(
    tmp_path: Path, left_out: str, duplicates: int, conflicts: int
) -> None:
    selection = Selection.of_options("PatientId,ScheduledDay,AppointmentDay", left_out)
    real_ones = {"a.csv": Path(os.environ["APPOINTMENTS_CSV"]).read_bytes()}
    planned = Planned(tmp_path, real_ones, selection)
    assert planned.counts == Counts(1000, 985, duplicates, conflicts, 0)
    assert any("SMS_received" in one for one in planned.messages) != ("SMS_received" in left_out)


def test_a_plan_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """The archive grows while it is read; then the disk is full."""
    archive, listed = tmp_path / "archive", archives.listed

    def grown(*arguments: Any) -> Any:
        found = listed(*arguments)
        (archive / "b.jsonl").write_text('{"id":2}\n')
        return found

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for module, name, broken, message in (
        (archives, "listed", grown, "changed while it was read"),
        (plan, "_read", full, "No space left"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, broken)
            with pytest.raises(BackfillFailed, match=message):
                Planned(tmp_path, {"a.jsonl": b'{"id":1}\n'})
        assert list(tmp_path.iterdir()) == [archive]


def no_session() -> SparkSession:
    raise AssertionError("Spark is not needed here")


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    archive = tmp_path / "a.jsonl"
    archive.write_text('{"id":1}\n')
    for source, to, refusal, message in (
        (archive, tmp_path, WrongRequest, "is there already"),
        (archive, archive, WrongRequest, "is there already"),
        (archive, archive / "plan", WrongRequest, "lies in the archive"),
        (tmp_path, tmp_path / "plan", WrongRequest, "lies in the archive"),
        (tmp_path / "gone", tmp_path / "new", WrongRequest, "no file or folder"),
    ):
        with pytest.raises(refusal, match=message):
            plan.make(no_session, source, BY_ID, to, sync_folder)
    assert list(tmp_path.iterdir()) == [archive]
    assert archive.read_text() == '{"id":1}\n'


@pytest.mark.parametrize("target", ["nowhere", "."], ids=["of nothing", "back up"])
def test_what_cannot_be_read_of_an_archive_is_named_and_not_left_out(
    tmp_path: Path, target: str
) -> None:
    archive, folder = tmp_path / "archive", tmp_path / "plan"
    archive.mkdir()
    (archive / "a.jsonl").write_text('{"id": 1}\n')
    (archive / "linked.jsonl").symlink_to(target)
    with pytest.raises(WrongRequest, match=r"linked\.jsonl cannot be read"):
        plan.make(no_session, archive, BY_ID, folder, sync_folder)
    assert list(tmp_path.iterdir()) == [archive]
