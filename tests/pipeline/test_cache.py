"""What is cached is believed only if it fits the records, and whoever is killed spoils nothing."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession

from actonce_pipeline.audit import cache
from actonce_pipeline.audit.cache import (
    Cache,
    DayCounts,
    Manifest,
    differences,
    is_all_there_is,
    version,
    why_read,
)
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.storage import _of_status, alone_in, hash_of
from actonce_pipeline.errors import CannotAudit
from tests.pipeline.nights import Killed, Row, audited, rows_of, said
from tests.pipeline.streams_on_disk import (
    DAY,
    EFFECTS,
    at,
    effect,
    file_of,
    performed,
    write,
)

NAMED = Attributes.of_output(EFFECTS)
NEXT_DAY = "2026-02-01"
PART = f"rows/day={DAY}/part-0.parquet"
FILES = {"sent/a": "1", "sent/b": "2"}
MANIFEST = Manifest(FILES, {PART: 5}, DayCounts(effects=2), "v1", judged={"sent/a": "1"})
NOT_WHOLE = "what was cached of it is not whole"
CHANGED = "files of it came, went or changed"


def test_a_manifest_is_read_only_as_it_was_written() -> None:
    text = json.dumps(asdict(MANIFEST))
    assert Manifest.of(text) == MANIFEST
    for other in ("", "{}", "[]", text[:-20], text.replace("effects", "effect")):
        assert Manifest.of(other) is None


def test_rows_of_which_spark_does_not_say_how_many_they_are_are_not_believed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "records", performed("m-1"))
    monkeypatch.setattr(Observation, "get", {})
    with pytest.raises(CannotAudit, match=r"did not say what it wrote below .*: audit again"):
        audited(spark, tmp_path / "records", tmp_path / "audit")


LISTED = (
    "{path=s3a://b/a; isDirectory=false; length=3; replication=1; blocksize=33554432; "
    "modification_time=7; access_time=0; owner=o; group=o; permission=rw-rw-rw-; isSymlink=false; "
    "hasAcl=false; isEncrypted=true; isErasureCoded=false}"
)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        (f"S3ALocatedFileStatus{LISTED}[eTag='0a-2', versionId='null']", "0a-2"),
        (f"S3AFileStatus{LISTED} isEmptyDirectory=FALSE eTag=0a-2 versionId=null", "0a-2"),
        (f"S3ALocatedFileStatus{LISTED}[eTag='null', versionId='null']", ""),
        (f"LocatedFileStatus{LISTED}", ""),
        (
            f"LocatedFileStatus{LISTED.replace('/a;', '/a eTag=x; isDirectory=false; length=1;')}",
            "",
        ),
    ],
)
def test_a_file_elsewhere_is_known_by_its_etag_where_one_is_listed(text: str, tag: str) -> None:
    path, *numbers, found = _of_status(SimpleNamespace(toString=lambda: text))
    assert (path[:9], numbers, found) == ("s3a://b/a", [3, 7], tag)


@pytest.mark.parametrize(
    ("manifest", "sources", "there", "why"),
    [
        (MANIFEST, FILES, {PART: 5, "more": 1}, None),
        (None, FILES, {PART: 5}, "nothing was cached of it"),
        (replace(MANIFEST, version="v0"), FILES, {PART: 5}, "it was cached by another version"),
        (MANIFEST, FILES, {}, NOT_WHOLE),
        (MANIFEST, FILES, {PART: 4}, NOT_WHOLE),
        (MANIFEST, FILES | {"sent/b": "3"}, {PART: 5}, CHANGED),
        (MANIFEST, FILES | {"sent/c": "3"}, {PART: 5}, CHANGED),
        (MANIFEST, {"sent/a": "1"}, {PART: 5}, CHANGED),
    ],
)
def test_what_does_not_fit_is_told(
    manifest: Manifest | None, sources: cache.Files, there: dict[str, int], why: str | None
) -> None:
    assert why_read(manifest, sources, there, "v1") == why


@pytest.mark.parametrize(
    ("manifest", "sources", "there", "right"),
    [
        (replace(MANIFEST, version="v0"), {"sent/a": "1"}, {PART: 5}, True),
        (MANIFEST, {}, {PART: 5}, True),
        (MANIFEST, FILES, {PART: 5}, False),
        (MANIFEST, {"sent/a": "2"}, {PART: 5}, False),
        (MANIFEST, {"sent/c": "3"}, {PART: 5}, False),
        (MANIFEST, {}, {}, False),
        (replace(MANIFEST, form="another"), {}, {PART: 5}, False),
    ],
)
def test_of_a_day_that_has_expired_the_rows_are_all_there_is(
    manifest: Manifest, sources: cache.Files, there: dict[str, int], right: bool
) -> None:
    assert is_all_there_is(manifest, sources, there) == right


def test_what_became_of_files_is_told() -> None:
    judged = {"same": "1", "other": "1", "left": "1", "unread": "1"}
    now = {"same": "1", "other": "2", "new": "1", "unread": ""}
    assert differences(judged, now) == {
        "left": "gone", "new": "come", "other": "changed", "unread": "changed",
    }  # fmt: skip


def test_each_source_is_a_part_of_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of a reason that is added may be one that another record had."""
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path / package)
    for package in ("actonce_pipeline.audit", "actonce_pipeline.spark", "actonce_core"):
        (tmp_path / package / "below").mkdir(parents=True)
    source = tmp_path / "actonce_core" / "below" / "reason.py"
    found = [version("4")]
    for text in ("a", "b"):
        source.write_text(text)
        found.append(version("4"))
    found += [version("5"), version("5", Attributes("order_id", "sent_at"))]
    assert len(set(found)) == len(found)
    source.with_suffix(".pyc").write_text("c")
    assert version("4") == found[2]


def records(folder: Path) -> Path:
    """Two days, something of each in the other."""
    again = effect("one", at(9, NEXT_DAY), "appointment-again")
    return write(folder / "records", [*performed("one"), *performed("two", 5, NEXT_DAY), again])


def judged(spark: SparkSession, root: Path, day: str | None = NEXT_DAY, **asked: Any) -> Row:
    return audited(spark, root, f"{root}-out", day=day, **asked)


def manifest_of(root: Path, day: str = DAY) -> Path:
    return Path(f"{root}-out") / "cache" / f"{day}.manifest"


def part_of(root: Path) -> Path:
    """A file of the rows that are cached of the first day."""
    (name, *_) = json.loads(manifest_of(root).read_text())["rows"]
    return manifest_of(root).parent / str(name)


@pytest.mark.long
def test_what_is_cached_is_believed_while_it_fits(spark: SparkSession, tmp_path: Path) -> None:
    """It lies below the records' root here, and is none of them."""
    root, raw = records(tmp_path), tmp_path / "raw"

    def read(**asked: Any) -> tuple[int, dict[str, str]]:
        told = judged(spark, root, out=f"{root}/audit", **asked)
        assert told["quarantine"]["by_reason"] == {}
        return told["read"]["days_cached"], told["read"]["why"]

    first = judged(spark, root)
    for file in root.rglob("*.jsonl"):
        os.utime(file, (0, 0))  # copied, say
    part = part_of(root)
    part.write_bytes(part.read_bytes() + b"x")
    by_cache = judged(spark, root)
    assert by_cache["read"]["why"] == {DAY: NOT_WHOLE}
    assert by_cache["verdicts"] == first["verdicts"]
    assert judged(spark, root)["read"]["days_cached"] == 2

    file = file_of(root, "executions")
    status = file.stat()
    file.write_bytes(file.read_bytes().replace(b"SUCCEEDED", b"TIMED_OUT"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    by_cache = judged(spark, root)
    assert by_cache["read"]["why"] == {DAY: CHANGED}
    from_raw = audited(spark, root, raw, day=NEXT_DAY, from_raw=True)
    assert said(by_cache) == said(from_raw)
    assert rows_of(Path(f"{root}-out")) == rows_of(raw)
    assert judged(spark, root, from_raw=True)["read"]["days_read"] == 2


def test_another_audit_s_folder_is_not_written_into_until_that_has_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = records(tmp_path)
    out = root / "audit"
    with alone_in(str(out)):
        out.joinpath("summary.json").write_text('{"exit_status": 2, "of": "the other one"}')
        with pytest.raises(CannotAudit, match=r"Another audit writes into .*--out"):
            audited(spark, root)
        assert "the other one" in out.joinpath("summary.json").read_text()
    assert "the other one" not in str(audited(spark, root))


@pytest.mark.long
def test_what_was_cached_of_days_that_are_gone_goes(spark: SparkSession, tmp_path: Path) -> None:
    """But not of one that was judged, before somebody has looked."""
    root = records(tmp_path)
    judged(spark, root, None)
    part = part_of(root)
    for file in root.glob(f"*/dt={DAY}/*"):
        file.unlink()
    judged(spark, root, None)
    assert manifest_of(root).exists()
    judged(spark, root, None, from_raw=True)
    assert not manifest_of(root).exists()
    assert not part.exists()
    assert manifest_of(root, NEXT_DAY).exists()


def cached(spark: SparkSession, root: Path, **asked: Any) -> Cache:
    """The cache of records, brought up to date by whoever may not be alone."""
    found, listing = (
        Cache(spark, f"{root}-out", effects=NAMED, **asked),
        list_records(spark, str(root)),
    )
    found.bring_up_to_date(listing, lambda: listing)
    return found


def test_two_that_cache_the_same_days_at_once_spoil_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = records(tmp_path)
    with ThreadPoolExecutor() as threads:
        both = list(threads.map(lambda _: cached(spark, root, from_raw=True), range(2)))
    told = [sorted(one.rows().collect()) for one in both]
    monkeypatch.setattr(cache, "_ABANDONED_MS", -1)
    after = cached(spark, root)
    assert after.again == {}
    assert told[0] == told[1] == sorted(after.rows().collect())
    assert len(told[0]) == sum(one.counts.rows for one in after.days.values()) == 11
    parts = {path.name for path in tmp_path.rglob("part-*")}
    assert parts == {Path(row).name for day in after.days.values() for row in day.rows}
    assert {path.name for path in tmp_path.rglob(".part-*")} == {f".{name}.crc" for name in parts}


def test_rows_that_are_not_where_they_were_written_are_not_believed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has another file system for the place than is looked at here, say."""
    root, write_rows = records(tmp_path), cache.write_rows

    def elsewhere(rows: DataFrame, folder: str, day: date) -> DayCounts:
        counts = write_rows(rows, folder, day)
        for part in Path(folder).glob("part-*"):
            part.unlink()
        return counts

    monkeypatch.setattr(cache, "write_rows", elsewhere)
    with pytest.raises(CannotAudit, match=r"Of 5 rows .*/cache/rows/.*, 0 are there: .* --out"):
        cached(spark, root)
    assert not manifest_of(root).exists()


def test_a_file_is_hashed_once_to_compare_and_not_again_to_be_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, hashed = records(tmp_path), list[str]()

    def hash_noting(path: str) -> str:
        hashed.append(path)
        return hash_of(path)

    monkeypatch.setattr(cache, "hash_of", hash_noting)
    files = len(list(root.rglob("*.jsonl")))
    counts = []
    for asked in ({}, {}, {"from_raw": True}):
        hashed.clear()
        cached(spark, root, **asked)
        counts.append(len(hashed))
    assert counts == [2 * files, files, 2 * files], "before they are read, and after"


def test_what_nobody_cached_is_read_or_kept_and_what_audits_left_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In the folder of an audit that kept its cache in another form, below the records' root."""
    root = records(tmp_path)
    rows = f"rows/{'0a' * 16}"
    left = (
        "2026-01-30.manifest", f".{DAY}.manifest.{'0a' * 16}", f"{rows}/day={DAY}/part-1.parquet",
        f"{rows}/day={DAY}/.part-1.parquet.crc", f"{rows}/_SUCCESS", f"{rows}/_temporary/0/x",
        f"rows/day={DAY}/part-1.snappy.parquet",
    )  # fmt: skip
    young = f"{rows}/part-of-another-at-work.parquet"
    for name in (*left, f"{DAY}.manifest", young):
        file = root / "audit" / "cache" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{'0' * 64}\n{{}}")
        if name != young:
            os.utime(file, (time.time() - 90_000,) * 2)
    summary = audited(spark, root)
    assert not summary["quarantine"]["examples"]
    assert summary["read"]["why"][DAY] == "nothing was cached of it"
    there = {
        str(file.relative_to(root / "audit" / "cache")) for file in root.glob("audit/cache/**/*")
    }
    assert there.isdisjoint({*left, f"rows/day={DAY}"})
    assert young in there


def test_what_another_writes_is_not_old_by_this_machines_clock(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The place has a clock of its own, four hours behind."""
    root = records(tmp_path)
    audited(spark, root)
    at_work = root / "audit" / "cache" / "rows" / ("0a" * 16) / "part-1.parquet"
    at_work.parent.mkdir()
    at_work.write_text("")
    for file in root.glob("audit/cache/**/*"):
        os.utime(file, (time.time() - 4 * 3_600,) * 2)
    audited(spark, root)
    assert at_work.exists()


def test_a_manifest_that_somebody_copied_is_no_days_and_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = records(tmp_path)
    mine = root / "audit" / "cache" / f"{DAY} (1).manifest"
    mine.parent.mkdir(parents=True)
    mine.write_text(json.dumps(asdict(MANIFEST)))
    with pytest.raises(CannotAudit, match=r"holds cache/.* \(1\)\.manifest, which no audit"):
        audited(spark, root)
    assert mine.exists()


OF_CHANGES = {"changed", "cannot_judge", "sentence"}
"""What names the files that came since the day was judged."""


@pytest.mark.long
@pytest.mark.parametrize("write", ["write_rows", "Cache._write"])
def test_killed_while_it_writes_the_next_night_says_what_it_would_have(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    root = records(tmp_path)
    never = said(judged(spark, root))
    rows = rows_of(Path(f"{root}-out"))
    more = [root / "sent" / f"dt={day}" / "more.jsonl" for day in (DAY, NEXT_DAY)]
    for file in more:  # each day is to be read again
        file.write_text("\n")

    def dying(*_: Any) -> None:
        for part in (Path(f"{root}-out") / "cache").rglob("*.parquet"):
            part.write_bytes(part.read_bytes()[:100])
        raise Killed

    with monkeypatch.context() as dies:
        dies.setattr(f"actonce_pipeline.audit.cache.{write}", dying)
        with pytest.raises(Killed):
            judged(spark, root)
    now = said(judged(spark, root))
    assert {name: now[name] for name in now.keys() - OF_CHANGES} == {
        name: never[name] for name in never.keys() - OF_CHANGES
    }
    assert rows_of(Path(f"{root}-out")) == rows
