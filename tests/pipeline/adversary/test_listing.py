"""Whatever lies below the root is read, or counted and named; what an audit wrote is neither."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import pytest

from actonce_pipeline.audit.reading.listing import (
    Listing,
    _problem,
    _results_below,
    list_records,
)
from actonce_pipeline.audit.reading.storage import ListedFile
from actonce_pipeline.errors import CannotAudit
from tests.pipeline.streams_on_disk import DAY, performed, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_SPARK = cast("SparkSession", None)  # a folder here is listed without


def listed(root: Path, out: Path | None = None) -> Listing:
    return list_records(NO_SPARK, str(root), str(out or root / "audit"))


def reasons(listing: Listing) -> dict[str, str]:
    return {Path(one.path).name: one.reason for one in listing.unread}


def test_nothing_below_the_root_is_passed_over(tmp_path: Path) -> None:
    root = write(tmp_path / "records", performed("m"))
    read = len(listed(root).files)
    day = f"effects/dt={DAY}"
    found = {"round": "linked_folder", "pipe": "unreadable_file"}
    # From 23:00 on the next day is one of which records may be, by a clock that is ahead.
    later = datetime.now(UTC) + timedelta(days=2)
    (root / day / "round").symlink_to(root)
    os.mkfifo(root / day / "pipe")
    for name, text, reason in (
        (f"{day}/table.parquet", "", "unreadable_parquet"),
        (f"{day}/empty.gz", "", "truncated_gzip"),
        (f"{day}/_SUCCESS", "", None),
        (f"{day}/.hidden", "x", "hidden_file"),
        (f"{day}/.records.jsonl.crc", "x", "hidden_file"),
        (f"{day}/AWSDynamoDB/1/manifest-summary.json", "x", None),
        (f"{day}/AWSDynamoDB/1/manifest-files.md5", "x" * 24, None),
        (f"{day}/AWSDynamoDB/1/manifest-summary.checksum", "x" * 200, None),
        (f"{day}/deeper/dt=2026-01-30/two-days.jsonl", "x", "misplaced_file"),
        (f"effects/dt={later.date()}/of-later.jsonl", "x", "misplaced_file"),
        ("quarantine/part-0.json", "x", "misplaced_file"),
        ("summary.json", "{}", "misplaced_file"),
        ("messages/day=2026-01-31/mine.jsonl", "x", "misplaced_file"),
        (f"Effects/dt={DAY}/other-case.jsonl", "x", "misplaced_file"),
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        found |= {file.name: reason} if reason else {}
    listing = listed(root)
    assert reasons(listing) == found
    assert len(listing.files) == read + 2  # the export's own files


def test_a_folder_is_named_that_may_be_listed_and_not_entered() -> None:
    user = os.geteuid()
    with TemporaryDirectory() as top:
        root = write(Path(top) / "records", performed("m"))
        for folder, mode in ((Path(top), 0o755), (root / "effects", 0o444)):
            folder.chmod(mode)
        try:
            os.seteuid(user or 65534)  # nothing is refused to root
            unread = list_records(NO_SPARK, str(root)).unread
        finally:
            os.seteuid(user)
            (root / "effects").chmod(0o755)
    assert [(Path(one.path).name, one.reason) for one in unread] == [
        (f"dt={DAY}", "unreadable_folder")
    ]


@pytest.mark.parametrize("above", ["messages", f"effects/dt={DAY}"])
def test_the_roots_own_path_says_nothing(tmp_path: Path, above: str) -> None:
    root = write(tmp_path / above / "records", performed("m"))
    (root / "stray.txt").write_text("x")
    listing = listed(root, root / "days" / "out")
    assert {file.stream for file in listing.files} == {
        "sent", "deliveries", "executions", "effects", "dead_letters",
    }  # fmt: skip
    assert reasons(listing) == {"stray.txt": "misplaced_file"}


def test_results_of_this_audit_are_no_records_and_those_of_others_are_named(tmp_path: Path) -> None:
    root = write(tmp_path, performed("m"))
    modified = listed(root).modified
    for audit in ("audit", "another"):
        for name in (
            f"messages/day={DAY}/part-0.parquet",
            "cache/rows/_temporary/x",
            "summary.json",
        ):
            (root / audit / name).parent.mkdir(parents=True, exist_ok=True)
            (root / audit / name).write_text("x")
    (root / "audit" / "quarantine").symlink_to(tmp_path)
    later = modified / 1000 + 1000
    for file in root.rglob("audit/**/*"):
        os.utime(file, (later, later))
    listing = listed(root)
    assert len(listing.unread) == 3
    assert all("/another/" in one.path for one in listing.unread)
    assert listing.modified == modified  # and they do not make records look newer


@pytest.mark.parametrize("out", ["", "effects", f"sent/dt={DAY}", "audit/../deliveries/x"])
def test_results_do_not_go_where_records_lie(tmp_path: Path, out: str) -> None:
    root = write(tmp_path, performed("m"))
    with pytest.raises(CannotAudit, match=r"is for records: .*--out"):
        listed(root, root / out)
    for whole in (f"s3://bucket/{out}", f"s3://bucket/{out}/"):
        if ".." not in out:
            with pytest.raises(CannotAudit, match="is for records"):
                _results_below("s3://bucket", whole)
    assert _results_below("s3://bucket/", "s3://bucket/audit") == "audit/"
    assert _results_below("s3://bucket/", "s3://another/audit") is None


def test_an_unread_file_says_whose_it_may_be(tmp_path: Path) -> None:
    root = write(tmp_path, performed("m"))
    for name in (
        "errors/effects/processing-failed/dt=2026-01-30/1", "lost", f"effects/dt={DAY}/_hidden",
        f"effects/dt={DAY}/sent/dt={DAY}/of-two", f"effects/dt={DAY}/x._COPYING_",
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    unread = {Path(one.path).name: (one.stream, str(one.day)) for one in listed(root).unread}
    assert unread == {
        "1": ("effects", "2026-01-30"),
        "lost": (None, "None"),
        "_hidden": ("effects", DAY),
        "x._COPYING_": ("effects", DAY),
        "of-two": (None, "None"),
    }


EXPORTED = {
    # DynamoDB writes the data of a full export below its id, that of incremental ones beside it.
    "a full one that ended": (["1/_started", "1/data/x.json.gz", "1/manifest-summary.json"], []),
    "an incremental one that ended": (["1/_started", "1/manifest-summary.json", "data/x.json"], []),
    "one that has only begun": (["1/_started"], ["1/_started"]),
    "a full one at work": (
        ["1/_started", "1/data/x.json.gz", "1/manifest-files.json"],
        ["1/_started", "1/data/x.json.gz", "1/manifest-files.json"],
    ),
    "one at work beside one that ended": (
        ["1/data/x.json.gz", "1/manifest-summary.json", "2/_started", "2/data/y.json.gz"],
        ["2/_started", "2/data/y.json.gz"],
    ),
    "an incremental one at work beside one that ended": (
        ["1/manifest-summary.json", "2/_started", "data/x.json.gz"],
        ["2/_started"],
    ),
}


@pytest.mark.parametrize("case", EXPORTED)
def test_an_export_is_read_when_its_summary_is_there(tmp_path: Path, case: str) -> None:
    there, unfinished = EXPORTED[case]
    root = write(tmp_path, performed("m"))
    export = root / "effects" / f"dt={DAY}" / "AWSDynamoDB"
    for name in there:
        (export / name).parent.mkdir(parents=True, exist_ok=True)
        (export / name).write_text("" if name.endswith("_started") else "x")
    listing = listed(root)
    unread = {(one.path.partition("/AWSDynamoDB/")[2], one.reason) for one in listing.unread}
    assert unread == {(name, "unfinished_export") for name in unfinished}
    assert all((one.stream, str(one.day)) == ("effects", DAY) for one in listing.unread)
    data = {name for name in there if re.search("data/|summary", name)} - set(unfinished)
    read = {one.path.partition("/AWSDynamoDB/")[2] for one in listing.files}
    assert read - {""} == data


def test_what_is_in_a_bucket_and_fits_in_no_memory_is_named() -> None:
    for place, problem in (("s3://bucket/", "too_large"), ("file:///", None)):
        assert _problem(ListedFile(f"{place}sent/dt={DAY}/a", "a", 2**31), "sent") == problem


def test_where_nothing_can_be_read_it_says_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "effects" / f"dt={DAY}" / "records.parquet"
    path.parent.mkdir(parents=True)
    path.touch()
    with pytest.raises(CannotAudit, match=r"records.parquet \(unreadable_parquet\)"):
        listed(tmp_path)
