"""What is kept is believed only if it fits the records, and whoever is killed spoils nothing."""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.audit import kept
from pipeline.audit.job import audit, is_brief
from pipeline.audit.kept import Counted, KeptDay, KeptState, Source, misfit, version
from pipeline.audit.reading import places
from pipeline.audit.reading.listing import File, Kind, list_records
from pipeline.audit.reading.places import Found
from pipeline.audit.request import requested
from pipeline.audit.results.tables import alone_in
from pipeline.errors import CannotAudit
from tests.pipeline.nights import Row, rows_of, said, settled
from tests.pipeline.streams_on_disk import DAY, at, effect, performed, write

NEXT_DAY = "2026-02-01"
FILE = File("/r/sent/a", "sent", date(2026, 1, 31), Kind.TEXT, 9, "stamp")
PART = Source("rows/1/day=2026-01-31/part-0.parquet", 5, "then")
KEPT = KeptDay(FILE.day, (Source(FILE.path, 9, "stamp"),), (PART,), Counted(rows=2), "v1")
THERE = {PART.path: Found("", PART.path, 5, stamp="then")}


# --------------------------------------------------------------------------- the manifest


def test_a_manifest_reads_as_it_was_written() -> None:
    assert KeptDay.of(KEPT.text()) == KEPT


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", KEPT.text()[:-20]],
    ids=["empty", "no fields", "a list", "null", "torn"],
)
def test_what_is_no_whole_manifest_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        KeptDay.of(text)


@pytest.mark.parametrize(
    ("manifest", "files", "there", "why"),
    [
        (KEPT, [FILE], THERE, None),
        (None, [FILE], THERE, "nothing was kept of it"),
        (replace(KEPT, version="v0"), [FILE], THERE, "another version of the audit has read it"),
        (KEPT, [FILE], {}, "what was kept of it is not whole"),
        (
            KEPT,
            [FILE],
            {PART.path: replace(THERE[PART.path], size=4)},
            "what was kept of it is not whole",
        ),
        (
            KEPT,
            [FILE],
            {PART.path: replace(THERE[PART.path], stamp="now")},
            "what was kept of it is not whole",
        ),
        (KEPT, [replace(FILE, size=8)], THERE, "1 file changed"),
        (KEPT, [replace(FILE, stamp="another")], THERE, "1 file changed"),
        (KEPT, [], THERE, "1 file went"),
        (
            KEPT,
            [replace(FILE, path=f"/r/sent/{n}") for n in range(1200)],
            THERE,
            "1,200 files came, 1 file went",
        ),
        (
            replace(KEPT, sources=(Source(FILE.path, 9, ""),)),
            [FILE],
            THERE,
            "1 file changed",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(
    manifest: KeptDay | None, files: list[File], there: dict[str, Found], why: str | None
) -> None:
    assert misfit(manifest, files, there, "v1") == why


def test_another_spark_is_another_version() -> None:
    assert version("4.0.5") == version("4.0.5") != version("4.0.6")


def test_where_little_is_to_be_read_starting_is_most_of_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = records(tmp_path)
    assert is_brief(requested(str(root)))
    assert is_brief(requested(str(tmp_path / "nowhere")))  # which is told later
    assert not is_brief(requested("s3://records/", out=str(tmp_path)))
    monkeypatch.setattr("pipeline.audit.job._LITTLE", 100)
    assert not is_brief(requested(str(root)))


# --------------------------------------------------------------------------- what is believed


def records(folder: Path) -> Path:
    """Two days, something of each in the other."""
    return write(
        folder / "records",
        [
            *performed("one"),
            *performed("two", 5, NEXT_DAY),
            effect("one", at(9, NEXT_DAY), "appointment-again"),
        ],
    )


def judged(spark: SparkSession, root: Path, day: str | None = NEXT_DAY, **asked: Any) -> Row:
    return audit(spark, requested(str(root), day=day, out=f"{root}-out", **asked))


def manifest_of(root: Path, day: str = DAY) -> Path:
    return Path(f"{root}-out") / "kept" / f"{day}.json"


def part_of(root: Path, day: str = DAY) -> Path:
    """A file of the rows that are kept of a day."""
    files = json.loads(manifest_of(root, day).read_text())["files"]
    return Path(f"{root}-out") / "kept" / str(files[0]["path"])


def _again(path: Path, content: bytes) -> None:
    """As it was by its size and time of change, with another content."""
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _flipped(path: Path) -> bytes:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    return bytes(content)


def _no_manifest(root: Path) -> None:
    manifest_of(root).unlink()


def _torn_manifest(root: Path) -> None:
    text = manifest_of(root).read_text()
    manifest_of(root).write_text(text[: len(text) // 2])


def _older_version(root: Path) -> None:
    told = KeptDay.of(manifest_of(root).read_text())
    manifest_of(root).write_text(replace(told, version="1").text())


def _no_rows(root: Path) -> None:
    part_of(root).unlink()


def _torn_rows(root: Path) -> None:
    content = part_of(root).read_bytes()
    part_of(root).write_bytes(content[: len(content) // 2])


def _other_rows(root: Path) -> None:
    _again(part_of(root), _flipped(part_of(root)))


def _another_file(root: Path) -> None:
    (root / "sent" / f"dt={DAY}" / "empty.jsonl").touch()


def _a_file_less(root: Path) -> None:
    (root / "dead_letters" / f"dt={DAY}" / "records.jsonl").unlink()


def _another_content(root: Path) -> None:
    """Of the same size and time of change."""
    file = root / "executions" / f"dt={DAY}" / "records.jsonl"
    _again(file, file.read_bytes().replace(b"SUCCEEDED", b"TIMED_OUT"))


NOT_WHOLE = "what was kept of it is not whole"
DAMAGES = [
    (_no_manifest, "nothing was kept of it"),
    (_torn_manifest, "nothing was kept of it"),
    (_older_version, "another version of the audit has read it"),
    (_no_rows, NOT_WHOLE),
    (_torn_rows, NOT_WHOLE),
    (_other_rows, NOT_WHOLE),
    (_another_file, "1 file came"),
    (_a_file_less, "1 file went"),
    (_another_content, "1 file changed"),
]


@pytest.mark.parametrize(
    "damages",
    [
        [DAMAGES[-1]],
        pytest.param(DAMAGES, marks=pytest.mark.long),
    ],
    ids=["one", "all"],
)
def test_what_does_not_fit_is_read_again(
    spark: SparkSession, tmp_path: Path, damages: list[tuple[Callable[[Path], None], str]]
) -> None:
    root = settled(records(tmp_path))
    judged(spark, root)
    assert judged(spark, root)["read"]["why"] == {}
    for damage, why in damages:
        damage(root)
        settled(root)
        by_kept = judged(spark, root)
        from_raw = audit(
            spark, requested(str(root), day=NEXT_DAY, out=str(tmp_path / "raw"), from_raw=True)
        )
        assert by_kept["read"]["why"] == {DAY: why}, damage
        assert said(by_kept) == said(from_raw), damage
        assert rows_of(Path(f"{root}-out")) == rows_of(tmp_path / "raw"), damage


def test_from_raw_believes_nothing_and_leaves_what_it_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    judged(spark, root)
    before = manifest_of(root).read_text()
    summary = judged(spark, root, from_raw=True)
    assert (summary["read"]["from_raw"], summary["read"]["days_read"]) == (True, 2)
    assert manifest_of(root).read_text() != before
    assert judged(spark, root)["read"] == {
        "from_raw": False, "days_kept": 2, "days_read": 0, "why": {},
    }  # fmt: skip


@pytest.mark.long
def test_a_file_so_young_that_a_change_might_not_show_is_read_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = records(tmp_path)
    newest = max(one.settles for one in list_records(spark, str(root)).files)
    monkeypatch.setattr(kept, "now_ms", lambda: newest)
    judged(spark, root)
    monkeypatch.undo()
    why = judged(spark, settled(root))["read"]["why"]
    assert why
    assert all(told.endswith("changed") for told in why.values())


def test_what_is_kept_below_the_records_is_none_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    for _ in range(2):
        summary = audit(spark, requested(str(root)))
        assert summary["quarantine"]["by_reason"] == {}
    assert summary["read"]["days_kept"] == 2


def test_a_folder_of_others_is_not_written_into(spark: SparkSession, tmp_path: Path) -> None:
    root = records(tmp_path)
    (root / "audit" / "kept").mkdir(parents=True)
    (root / "audit" / "kept" / "mine.txt").write_text("mine")
    with pytest.raises(CannotAudit, match=r"holds kept/mine\.txt"):
        audit(spark, requested(str(root)))


def test_another_audit_s_folder_is_not_written_into_until_that_has_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    out = root / "audit"
    with alone_in(str(out)):
        out.joinpath("summary.json").write_text('{"exit_status": 2, "of": "the other one"}')
        with pytest.raises(CannotAudit, match=r"Another audit writes into .*--out"):
            audit(spark, requested(str(root)))
        assert "the other one" in out.joinpath("summary.json").read_text()
    assert "the other one" not in str(audit(spark, requested(str(root))))


@pytest.mark.long
def test_what_was_kept_of_days_that_are_gone_goes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = settled(records(tmp_path))
    judged(spark, root)
    part = part_of(root)
    for file in root.glob(f"*/dt={DAY}/*"):
        file.unlink()
    judged(spark, root, None)
    assert not manifest_of(root).exists()
    assert part.exists()  # another audit may be reading it
    (root / "sent" / f"dt={NEXT_DAY}" / "empty.jsonl").touch()
    later = kept.now_ms() + 2 * 86_400_000
    monkeypatch.setattr(kept, "now_ms", lambda: later)
    judged(spark, root, None)
    assert not part.exists()
    assert part_of(root, NEXT_DAY).exists()


# --------------------------------------------------------------------------- killed, or not alone


class Killed(BaseException):
    """As the end of the process: nothing catches it."""


def _killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """End at the n-th write of what is kept: before it, in the middle of it, or after it."""
    moment, index = number % 3, number // 3
    count = 0

    def dying(write: Callable[..., Any], halve: Callable[..., None]) -> Callable[..., Any]:
        def written(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count - 1 != index:
                return write(*arguments, **named)
            if moment:
                write(*arguments, **named)
            if moment == 1:
                halve(*arguments)
            raise Killed

        return written

    def half_a_text(there: Any, path: str, text: str, *_: Any) -> None:
        (Path(there.root) / path).write_text(text[: len(text) // 2])

    def some_rows(_: Any, folder: str, *__: Any) -> None:
        for part in sorted(Path(folder).rglob("*.parquet"))[::2]:
            part.write_bytes(part.read_bytes()[:100])

    class Dying(places._Here):
        write = dying(places._Here.write, half_a_text)

    monkeypatch.setattr(kept, "place", lambda _, name: Dying(name))
    monkeypatch.setattr(kept, "write_rows", dying(kept.write_rows, some_rows))
    return lambda: count


@pytest.mark.long
def test_killed_at_each_write_the_next_night_says_what_it_would_have(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    never = said(judged(spark, root))
    rows = rows_of(Path(f"{root}-out"))
    writes = 0
    for number in range(100):
        file = root / "sent" / f"dt={DAY if number % 2 else NEXT_DAY}" / "more.jsonl"
        file.write_text("\n" * number)  # a day is to be read again
        settled(root)
        with pytest.MonkeyPatch.context() as patch:
            count = _killed_at(patch, number)
            try:
                judged(spark, root)
            except Killed:
                writes += 1
            else:
                assert count() * 3 <= number  # no write is left that it was not killed at
                break
        assert said(judged(spark, root)) == never, number
        assert rows_of(Path(f"{root}-out")) == rows, number
    assert writes == 6  # rows and a manifest, each before, in the middle and after


def test_two_that_keep_the_same_days_at_once_spoil_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    listing = list_records(spark, str(root))
    states = [KeptState(spark, f"{root}-out", from_raw=True) for _ in range(2)]
    failed: list[Exception] = []

    def keep(state: KeptState) -> None:
        try:
            state.bring_up_to_date(listing, listing.days())
        except Exception as error:  # noqa: BLE001 - a thread's own is not seen
            failed.append(error)

    threads = [threading.Thread(target=keep, args=(state,)) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    after = KeptState(spark, f"{root}-out")
    after.bring_up_to_date(listing, listing.days())
    assert after.again == {}
    told = [sorted(state.rows().collect()) for state in (*states, after)]
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 11
