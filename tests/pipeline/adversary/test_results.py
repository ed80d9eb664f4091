"""What an audit replaces, what it leaves behind when it does not end, and what it bears."""

import errno
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit import job
from actonce_pipeline.audit.reading import listing, storage
from actonce_pipeline.audit.results import summary
from actonce_pipeline.audit.results.tables import empty_days, refuse_others
from actonce_pipeline.errors import CannotAudit
from tests.pipeline.nights import audited, requested
from tests.pipeline.streams_on_disk import (
    DAY,
    FINGERPRINTS,
    at,
    delivery,
    performed,
    write,
)


def test_hadoop_lists_what_a_folder_here_holds(spark: SparkSession, tmp_path: Path) -> None:
    """In a bucket, where Spark passes over what is hidden or empty."""
    root = write(tmp_path, performed("m"))
    for name in (".hidden", "empty.gz", "a; isDirectory=true; length=7; b"):
        (root / "effects" / name).write_text("" if "empty" in name else "x")
    listed = {(one.below, one.size) for one in storage._Hadoop(spark, f"file://{root}").files()}
    assert listed == {(one.below, one.size) for one in storage.place(spark, str(root)).files()}
    nowhere = storage._Hadoop(spark, f"file://{root}/nowhere")
    with pytest.raises(CannotAudit):
        nowhere.files()
    assert storage.files_below(nowhere) == []


def test_a_folder_that_may_not_be_listed_is_not_taken_for_none() -> None:
    """What is cached there would be forgotten, and a judged file's change with it."""

    class Closed:
        def files(self) -> list[storage.ListedFile]:
            raise CannotAudit("s3://b cannot be read: Access Denied") from RuntimeError()

    with pytest.raises(CannotAudit, match="Access Denied"):
        storage.files_below(Closed())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("there", "text", "is_own"),
    [
        (None, "", True),
        ("mine.txt", "", True),  # as a folder's mark in S3, which is empty
        ("mine.txt", "mine", False),
        ("messages/day=1/part-1.parquet", "mine", False),
        ("summary.json", '{"of": "mine"}', False),
        ("summary.json", '{"exit_status": 0}', True),
        ("cache/2026-01-31.manifest", "{}", True),
        ("2026-01-31.manifest", "{}", False),
    ],
)
def test_what_no_audit_wrote_is_never_replaced(
    tmp_path: Path, there: str | None, text: str, is_own: bool
) -> None:
    """Nothing has been read or written by then."""
    if there:
        (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / there).write_text(text)
    with nullcontext() if is_own else pytest.raises(CannotAudit, match=r"empty folder with --out"):
        refuse_others(None, str(tmp_path))  # type: ignore[arg-type]


def test_a_run_that_does_not_end_leaves_no_clean_result(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "records", performed("m"))
    out = tmp_path / "out"
    out.mkdir()
    (out / "summary.json").write_text('{"sentence": "All is well.", "exit_status": 0}')
    (out / "report.html").write_text("<title>ActOnce audit</title> clean")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("actonce_pipeline.audit.job.message_rows", killed)
    with pytest.raises(KeyboardInterrupt):
        audited(spark, root, out)
    assert "has not come to its end" in (out / "summary.json").read_text()
    assert not (out / "report.html").exists()


def test_without_room_for_a_word_the_last_result_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("summary.json", "report.html"):
        (tmp_path / name).write_text("All is well.")

    def full(path: Path, text: str, **_: str) -> None:
        path.write_bytes(text[:9].encode())
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        job._begin(None, requested("records", out=str(tmp_path)))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_opened_cost_themselves_only(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They went after they were listed, or may be listed and not read."""
    root = write(tmp_path / "records", [*performed("m"), *performed("last", 80_000)])
    ghosts = ("a", "b.jsonl", "c.jsonl.gz", "d.parquet")

    def with_ghosts(*arguments: Any) -> listing.Listing:
        found = listing.list_records(*arguments)
        day = f"file://{root}/effects/dt={DAY}"
        files = [
            listing.File(f"{day}/{name}", "effects", date.fromisoformat(DAY)) for name in ghosts
        ]
        return listing.Listing((*found.files, *files), found.unread, found.modified)

    monkeypatch.setattr(job, "list_records", with_ghosts)
    found = audited(spark, root, tmp_path / "out")
    assert found["quarantine"]["by_reason"] == {"unreadable_file": 3, "unreadable_parquet": 1}
    assert found["verdicts"]["performed_once"] == found["messages"] == 2
    assert found["exit_status"] == 3


def test_a_message_that_came_very_often_makes_no_page_of_its_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "MAX_EVENTS", 4)
    often = [delivery("odd", at(n), "suppressed", None, FINGERPRINTS[n % 2]) for n in range(10)]
    root = write(tmp_path / "records", [*performed("odd"), *often])
    (alarm,) = audited(spark, root, tmp_path / "out")["alarms"]
    assert alarm["verdict"] == "conflict"
    assert [one["what"] for one in alarm["timeline"]] == [
        "accepted by SQS", "suppressed", "… and 11 more records …", "suppressed", "suppressed",
    ]  # fmt: skip


def test_a_day_without_rows_is_emptied_and_no_other(tmp_path: Path) -> None:
    days = [date(2026, 1, day) for day in (28, 29, 30, 31)]
    for day in days:
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "part-1.parquet").touch()
    empty_days(None, str(tmp_path), (days[1], days[2]), {days[1]})  # type: ignore[arg-type]
    kept = {file.parent.name for file in tmp_path.rglob("*.parquet")}
    assert kept == {f"day={day}" for day in (days[0], days[1], days[3])}
