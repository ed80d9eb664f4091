"""What is cached is believed only if it fits the records, and whoever is killed spoils nothing."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.audit import cache
from pipeline.audit.cache import Cache, DayCounts, Manifest, Source, version
from pipeline.audit.reading import places
from pipeline.audit.reading.effects import Attributes
from pipeline.audit.reading.listing import File, list_records
from pipeline.audit.reading.places import ListedFile, alone_in
from pipeline.audit.times import now_ms
from pipeline.errors import CannotAudit
from tests.pipeline.nights import Killed, Row, audited, rows_of, said, settled
from tests.pipeline.streams_on_disk import DAY, EFFECTS, at, effect, file_of, performed, write

NEXT_DAY = "2026-02-01"
FILE = File("/r/sent/a", "sent", date(2026, 1, 31), 9, "stamp")
PART = Source("rows/1/day=2026-01-31/part-0.parquet", 5, "then")
MANIFEST = Manifest(FILE.day, (Source(FILE.path, 9, "stamp"),), (PART,), DayCounts(rows=2), "v1")
THERE = {PART.path: ListedFile("", PART.path, 5, stamp="then")}
NOT_WHOLE = "what was cached of it is not whole"
CHANGED = "files of it came, went or changed"


# --------------------------------------------------------------------------- the manifest


def test_a_manifest_is_read_only_as_it_was_written_and_its_rows_by_the_version_that_did() -> None:
    manifest = replace(MANIFEST, judged={"sent/dt=2026-01-31/a": "1"})
    text = manifest.text()
    assert Manifest.of(text) == manifest
    changed = text.replace('"rows": 2', '"rows": 1')
    assert changed != text
    for other in ("", "{}", text[:-20], changed):
        assert Manifest.of(other) is None
    assert MANIFEST.misfit([FILE], THERE, "v2") == "it was cached by another version"
    assert version("4.0.5") == version("4.0.5") != version("4.0.6")


@pytest.mark.parametrize(
    ("manifest", "files", "there", "why"),
    [
        (MANIFEST, [FILE], THERE, None),
        (MANIFEST, [FILE], {}, NOT_WHOLE),
        (MANIFEST, [FILE], {PART.path: replace(THERE[PART.path], size=4)}, NOT_WHOLE),
        (MANIFEST, [FILE], {PART.path: replace(THERE[PART.path], stamp="now")}, NOT_WHOLE),
        (MANIFEST, [replace(FILE, size=8)], THERE, CHANGED),
        (MANIFEST, [replace(FILE, stamp="another")], THERE, CHANGED),
        (MANIFEST, [], THERE, CHANGED),
        (MANIFEST, [FILE, replace(FILE, path="/r/sent/b")], THERE, CHANGED),
        # So young when it was read that a change might not show.
        (replace(MANIFEST, sources=(Source(FILE.path, 9, ""),)), [FILE], THERE, CHANGED),
    ],
)
def test_what_does_not_fit_is_told(
    manifest: Manifest, files: list[File], there: dict[str, ListedFile], why: str | None
) -> None:
    assert manifest.misfit(files, there, "v1") == why


# --------------------------------------------------------------------------- what is believed


def records(folder: Path) -> Path:
    """Two days, something of each in the other."""
    again = effect("one", at(9, NEXT_DAY), "appointment-again")
    return write(folder / "records", [*performed("one"), *performed("two", 5, NEXT_DAY), again])


def judged(spark: SparkSession, root: Path, day: str | None = NEXT_DAY, **asked: Any) -> Row:
    return audited(spark, root, f"{root}-out", day=day, **asked)


def manifest_of(root: Path, day: str = DAY) -> Path:
    return Path(f"{root}-out") / "cache" / f"{day}.manifest"


def part_of(root: Path, day: str = DAY) -> Path:
    """A file of the rows that are cached of a day."""
    files = json.loads(manifest_of(root, day).read_text().splitlines()[1])["files"]
    return Path(f"{root}-out") / "cache" / str(files[0]["path"])


def _again(path: Path, content: bytes) -> None:
    """As it was by its size and time of change, with another content."""
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.long
def test_what_does_not_fit_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    root = settled(records(tmp_path))
    first = judged(spark, root)
    content = bytearray(part_of(root).read_bytes())
    content[len(content) // 2] ^= 1
    _again(part_of(root), bytes(content))
    by_cache = judged(spark, root)
    assert by_cache["read"]["why"] == {DAY: NOT_WHOLE}
    assert said(by_cache) == said(first)

    file = file_of(root, "executions")
    _again(file, file.read_bytes().replace(b"SUCCEEDED", b"TIMED_OUT"))
    by_cache, raw = judged(spark, settled(root)), tmp_path / "raw"
    assert by_cache["read"]["why"] == {DAY: CHANGED}
    from_raw = audited(spark, root, raw, day=NEXT_DAY, from_raw=True)
    assert said(by_cache) == said(from_raw)
    assert rows_of(Path(f"{root}-out")) == rows_of(raw)


@pytest.mark.long
def test_the_cache_is_believed_once_a_change_would_show_and_unless_from_raw(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies below the records' root here, and is none of them."""
    root = settled(records(tmp_path))
    oldest = min(one.settles for one in list_records(spark, str(root)).files)

    def read(*, from_raw: bool = False) -> tuple[int, int]:
        summary = audited(spark, root, from_raw=from_raw)
        assert summary["quarantine"]["by_reason"] == {}
        return summary["read"]["days_cached"], summary["read"]["days_read"]

    with monkeypatch.context() as young:
        young.setattr(cache, "now_ms", lambda: oldest)
        assert read() == (0, 2)
    assert read() == (0, 2)
    assert read() == (2, 0)
    assert read(from_raw=True) == (0, 2)


def test_another_audit_s_folder_is_not_written_into_until_that_has_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    out = root / "audit"
    with alone_in(str(out)):
        out.joinpath("summary.json").write_text('{"exit_status": 2, "of": "the other one"}')
        with pytest.raises(CannotAudit, match=r"Another audit writes into .*--out"):
            audited(spark, root)
        assert "the other one" in out.joinpath("summary.json").read_text()
    assert "the other one" not in str(audited(spark, root))


@pytest.mark.long
def test_what_was_cached_of_days_that_are_gone_goes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not of one that was judged, before somebody has looked."""
    root = settled(records(tmp_path))
    judged(spark, root, None)
    part = part_of(root)
    for file in root.glob(f"*/dt={DAY}/*"):
        file.unlink()
    judged(spark, root, None)
    assert manifest_of(root).exists()
    judged(spark, root, None, from_raw=True)
    assert not manifest_of(root).exists()
    assert part.exists()  # another audit may be reading it
    later = now_ms() + 2 * 86_400_000
    monkeypatch.setattr(cache, "now_ms", lambda: later)
    judged(spark, root, None)
    assert not part.exists()
    assert part_of(root, NEXT_DAY).exists()


# --------------------------------------------------------------------------- killed, or not alone


def _killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """End in the middle of the n-th write into the cache, or after it."""
    half, index = number % 2 == 0, number // 2
    count = 0

    def dying(write: Callable[..., Any], halve: Callable[..., None]) -> Callable[..., Any]:
        def written(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count - 1 != index:
                return write(*arguments, **named)
            write(*arguments, **named)
            if half:
                halve(*arguments)
            raise Killed

        return written

    def half_a_text(there: Any, path: str, text: str) -> None:
        (Path(there.root) / path).write_text(text[: len(text) // 2])

    def some_rows(_: Any, folder: str, *__: Any) -> None:
        for part in sorted(Path(folder).rglob("*.parquet"))[::2]:
            part.write_bytes(part.read_bytes()[:100])

    class Dying(places._Here):
        write = dying(places._Here.write, half_a_text)

    monkeypatch.setattr(cache, "place", lambda _, name: Dying(name))
    monkeypatch.setattr(cache, "write_rows", dying(cache.write_rows, some_rows))
    return lambda: count


OF_CHANGES = {"changed", "cannot_judge", "sentence"}
"""What names the files that came since the day was judged."""


@pytest.mark.long
def test_killed_at_each_write_the_next_night_says_what_it_would_have(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    never = said(judged(spark, root))
    rows = rows_of(Path(f"{root}-out"))
    writes = 0
    for number in range(100):
        folder = root / "sent" / f"dt={DAY if number % 2 else NEXT_DAY}"
        (folder / f"more-{number}.jsonl").write_text("\n")  # a day is to be read again
        settled(root)
        with pytest.MonkeyPatch.context() as patch:
            count = _killed_at(patch, number)
            try:
                judged(spark, root)
            except Killed:
                writes += 1
            else:
                assert count() * 2 <= number  # no write is left that it was not killed at
                break
        now = said(judged(spark, root))
        assert {name: now[name] for name in now.keys() - OF_CHANGES} == {
            name: never[name] for name in never.keys() - OF_CHANGES
        }, number
        assert rows_of(Path(f"{root}-out")) == rows, number
    assert writes == 4  # rows and a manifest, each in the middle and after


def test_two_that_cache_the_same_days_at_once_spoil_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = settled(records(tmp_path))
    listing = list_records(spark, str(root))
    named = Attributes.of_output(EFFECTS)
    both = [Cache(spark, f"{root}-out", from_raw=True, effects=named) for _ in range(2)]
    with ThreadPoolExecutor() as threads:
        list(
            threads.map(
                lambda one: one.bring_up_to_date(listing, listing.days(), lambda: listing), both
            )
        )
    after = Cache(spark, f"{root}-out", effects=named)
    after.bring_up_to_date(listing, listing.days(), lambda: listing)
    assert after.again == {}
    told = [sorted(one.rows().collect()) for one in (*both, after)]
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 11
