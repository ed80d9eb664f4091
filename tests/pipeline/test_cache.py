"""What is cached is believed only if it fits the records, and whoever is killed spoils nothing."""

import json
import os
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from actonce_pipeline.audit import cache
from actonce_pipeline.audit.cache import (
    Cache,
    DayCounts,
    Manifest,
    differences,
    version,
)
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.storage import _of_status, alone_in
from actonce_pipeline.errors import CannotAudit
from tests.pipeline.nights import audited
from tests.pipeline.streams_on_disk import (
    DAY,
    EFFECTS,
    at,
    delivery,
    effect,
    file_of,
    performed,
    write,
)

NAMED = Attributes.of_output(EFFECTS)
NEXT_DAY = "2026-02-01"
FIRST, NEXT = date.fromisoformat(DAY), date.fromisoformat(NEXT_DAY)
PART = f"rows/day={DAY}/part-0.parquet"
FILES = {"sent/a": "1", "sent/b": "2"}
MANIFEST = Manifest(FILES, {PART: 5}, DayCounts(effects=2), "v1", judged={"sent/a": "1"})


def test_a_manifest_is_read_only_as_it_was_written() -> None:
    text = json.dumps(asdict(MANIFEST))
    assert Manifest.of(text) == MANIFEST
    for other in ("", "{}", "[]", text[:-20], text.replace("effects", "effect")):
        assert Manifest.of(other) is None


LISTED = (
    "{path=s3a://b/a; isDirectory=false; length=3; replication=1; blocksize=33554432; "
    "modification_time=7; access_time=0; owner=o; group=o; permission=rw-rw-rw-; isSymlink=false; "
    "hasAcl=false; isEncrypted=true; isErasureCoded=false}"
)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        (f"S3ALocatedFileStatus{LISTED}[eTag='0a-2', versionId='null']", "0a-2"),
        (f"S3ALocatedFileStatus{LISTED}[eTag='null', versionId='null']", ""),
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
    ("manifest", "sources", "there", "fits"),
    [
        (MANIFEST, FILES, {PART: 5, "more": 1}, True),
        (replace(MANIFEST, version="v0"), FILES, {PART: 5}, False),
        (MANIFEST, FILES, {}, False),
        (MANIFEST, FILES, {PART: 4}, False),
        (MANIFEST, FILES | {"sent/b": "3"}, {PART: 5}, False),
        (MANIFEST, FILES | {"sent/c": "3"}, {PART: 5}, False),
        (MANIFEST, {"sent/a": "1"}, {PART: 5}, False),
    ],
)
def test_rows_are_believed_that_fit_the_files_of_their_day(
    manifest: Manifest, sources: cache.Files, there: dict[str, int], fits: bool
) -> None:
    assert manifest.fits(sources, there, "v1") == fits


@pytest.mark.parametrize(
    ("manifest", "sources", "there", "right"),
    [
        (replace(MANIFEST, version="v0"), {"sent/a": "1"}, {PART: 5}, True),
        (MANIFEST, {}, {PART: 5}, True),
        (MANIFEST, FILES | {"sent/a": "2"}, {PART: 5}, False),
        (MANIFEST, {"sent/a": "2"}, {PART: 5}, True),
        (MANIFEST, {"sent/c": "3"}, {PART: 5}, True),
        (MANIFEST, {}, {}, False),
        (replace(MANIFEST, form="another"), {}, {PART: 5}, False),
    ],
)
def test_of_a_day_that_has_expired_the_rows_are_all_there_is(
    manifest: Manifest, sources: cache.Files, there: dict[str, int], right: bool
) -> None:
    assert manifest.is_all_there_is(sources, there) == right


def test_what_became_of_files_is_told() -> None:
    before = {"same": "1", "other": "1", "left": "1", "unread": "1"}
    now = {"same": "1", "other": "2", "new": "1", "unread": ""}
    assert differences(before, now) == {
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
    """Two days, something of each in the other, and a first attempt."""
    more = [effect("one", at(9, NEXT_DAY), "again"), delivery("three", at(99), "performed")]
    return write(folder / "records", [*performed("one"), *performed("two", 5, NEXT_DAY), *more])


def test_what_is_cached_is_believed_while_it_fits(spark: SparkSession, tmp_path: Path) -> None:
    root = records(tmp_path)
    first = cached(spark, root)
    assert first.again == {FIRST, NEXT}
    counts = first.days[FIRST].counts
    assert (counts.performed, counts.effects) == (1, 1), "and none that ended in the first minute"
    for file in root.rglob("*.jsonl"):
        os.utime(file, (0, 0))  # copied, say
    assert cached(spark, root).again == set()
    (part, *_) = (
        Path(f"{root}-out") / "cache" / name for name in cached(spark, root).days[FIRST].rows
    )
    part.write_bytes(part.read_bytes() + b"x")
    file = file_of(root, "executions", NEXT_DAY)
    status = file.stat()
    file.write_bytes(file.read_bytes().replace(b"SUCCEEDED", b"TIMED_OUT"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cached(spark, root).again == {FIRST, NEXT}
    assert cached(spark, root, from_raw=True).again == {FIRST, NEXT}


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


def cached(spark: SparkSession, root: Path, **options: Any) -> Cache:
    """The cache of records, brought up to date."""
    found, listing = (
        Cache(spark, f"{root}-out", effects=NAMED, **options),
        list_records(spark, str(root)),
    )
    found.bring_up_to_date(listing, lambda: listing)
    return found


def test_what_no_manifest_names_goes(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that were replaced, and what an audit left that was killed."""
    root = records(tmp_path)
    folder = Path(f"{root}-out") / "cache"
    before = sorted(cached(spark, root).rows().collect())
    rows = f"rows/{'0a' * 16}"
    left = (
        "2026-01-30.manifest", f".{DAY}.manifest.{'0a' * 16}", f"{rows}/part-1.parquet",
        f"{rows}/.part-1.parquet.crc", f"{rows}/_SUCCESS", f"{rows}/_temporary/0/x",
    )  # fmt: skip
    for name in left:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    cached(spark, root, from_raw=True)
    after = cached(spark, root)
    assert after.again == set()
    assert sorted(after.rows().collect()) == before
    assert len(before) == sum(one.counts.rows for one in after.days.values()) == 13
    parts = {path.name for path in folder.rglob("part-*")}
    assert parts == {Path(row).name for day in after.days.values() for row in day.rows}
    assert not any((folder / name).exists() for name in left)


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
    with pytest.raises(
        CannotAudit, match=r"wrote 7 rows, and none is below .*/cache/rows/.* --out"
    ):
        cached(spark, root)
    assert list(Path(f"{root}-out/cache").glob("*.manifest")) == []
