"""A file of a judged day that is another now is named until somebody has looked."""

import hashlib
import json
import os
import shutil
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit import cache
from actonce_pipeline.audit.cache import Cache, DayCounts, Manifest
from actonce_pipeline.audit.job import _check_one_stack
from actonce_pipeline.errors import CannotAudit
from tests.pipeline import streams_on_disk as on_disk
from tests.pipeline.nights import Row, audited, verdicts_of
from tests.pipeline.streams_on_disk import DAY, STREAMS, at, effect, line_of, performed, write

DAYS = (DAY, "2026-02-01", "2026-02-02")
PATH = f"effects/dt={DAYS[1]}/records.jsonl"


@pytest.fixture(scope="module")
def judged_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of records and one of results: three days, judged whole."""
    place = tmp_path_factory.mktemp("judged")
    write(place / "records", [one for day in DAYS for one in performed(f"m-{day}", 5, day)])
    assert audit_again(spark, place)["exit_status"] == 0
    return place


@pytest.fixture
def place(judged_once: Path, tmp_path: Path) -> Path:
    """A copy of it, which changes the times of its files and nothing in them."""
    shutil.copytree(judged_once, tmp_path / "copy")
    return tmp_path / "copy"


def audit_again(spark: SparkSession, place: Path, **options: Any) -> Row:
    return audited(spark, place / "records", place / "out", **options)


def status_and_files(summary: Row) -> tuple[int, dict[str, str]]:
    files = {one["file"]: one["what"] for one in summary["changed"]["files"]}
    return summary["exit_status"], files


def file_of(place: Path) -> Path:
    return on_disk.file_of(place / "records", "effects", DAYS[1])


def test_it_is_judged_anew_and_named_until_it_is_back_or_accepted(
    spark: SparkSession, place: Path
) -> None:
    file = file_of(place)
    status, content = file.stat(), file.read_bytes()
    file.write_bytes(content.replace(b'"m-2026-02-01"', b'"m-2026-02-02"'))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    summary = audit_again(spark, place, day=DAYS[2])
    assert status_and_files(summary)[1] == {PATH: "changed"}
    assert f"{PATH} has changed since" in summary["sentence"]
    assert "--from-raw" in summary["sentence"]
    assert summary["exit_status"] == 1, "m-2026-02-02 has two effects"
    file.unlink()
    late = file.with_name("late.jsonl")
    late.write_bytes(content)
    names = {PATH: "gone", f"effects/dt={DAYS[1]}/late.jsonl": "come"}
    assert status_and_files(audit_again(spark, place)) == (3, names)
    assert status_and_files(audit_again(spark, place, from_raw=True)) == (0, names)
    assert status_and_files(audit_again(spark, place)) == (0, {})


def test_a_change_shows_across_a_new_release_that_counts_less(
    spark: SparkSession, place: Path
) -> None:
    for manifest in (place / "out" / "cache").glob("*.manifest"):
        fields = json.loads(manifest.read_text())
        fields["counts"]["unknown_ids"] = 0
        manifest.write_text(json.dumps(fields | {"version": "of before"}))
    file_of(place).write_bytes(file_of(place).read_bytes() + b"\n")
    assert status_and_files(audit_again(spark, place)) == (3, {PATH: "changed"})


def test_a_whole_day_that_is_gone_is_named_and_what_expired_is_judged_by_what_was_cached(
    spark: SparkSession, place: Path
) -> None:
    root, last = place / "records", "2026-03-03"
    for folder in root.glob(f"*/dt={DAYS[1]}"):
        shutil.rmtree(folder)
    status, files = status_and_files(audit_again(spark, place, day=DAYS[2]))
    assert (status, set(files.values()), len(files)) == (3, {"gone"}, 4)

    again = effect(f"m-{DAYS[1]}", at(9, last), "appointment-again")
    write(root, [*performed("new", 5, last), again], streams=())
    for day in (DAYS[0], DAYS[2]):  # a part of a day, and a whole one
        (root / "effects" / f"dt={day}" / "records.jsonl").unlink()
    shutil.rmtree(root / "executions" / f"dt={DAYS[0]}")
    summary = audit_again(spark, place, day=last)
    assert status_and_files(summary) == (1, {f"effects/dt={DAYS[2]}/records.jsonl": "gone"}), (
        summary
    )
    assert summary["late_alarms"] == [DAYS[1]], "it knows the first effect by the cache alone"

    manifest = place / "out" / "cache" / f"{DAYS[1]}.manifest"
    kept = json.loads(manifest.read_text()) | {"form": "of another release"}
    manifest.write_text(json.dumps(kept))
    audit_again(spark, place, day=last, from_raw=True)
    assert json.loads(manifest.read_text()) == kept, "which knows it again"
    assert all((manifest.parent / name).exists() for name in kept["rows"])


def test_a_file_that_comes_to_a_day_that_has_expired_joins_what_was_cached_of_it(
    spark: SparkSession, place: Path
) -> None:
    """As what the night of a day that is audited again writes of it."""
    root, known = place / "records", file_of(place).read_text()
    for folder in root.glob(f"*/dt={DAYS[1]}"):
        shutil.rmtree(folder)
    write(root, performed("new", 5, "2026-03-03"), streams=())
    on_disk.put(root, "executions", "collected.jsonl", b"", DAYS[1])
    again = line_of(*effect(f"m-{DAYS[1]}", at(9, DAYS[1]), "appointment-again"))
    on_disk.put(root, "effects", "records.jsonl", f"{known}{again}".encode(), DAYS[1])
    names = {PATH: "changed", f"executions/dt={DAYS[1]}/collected.jsonl": "come"}
    assert status_and_files(audit_again(spark, place, day=DAYS[1])) == (1, names)
    file_of(place).unlink()
    summary = audit_again(spark, place, from_raw=True)
    assert (summary["alarms_total"], summary["totals"]["effects"]) == (1, 5)


def test_a_file_that_changes_while_it_is_read_is_named_and_then_read_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put back as it was, too."""
    root = write(tmp_path / "records", [*performed("one"), effect("one", at(9), "again")])
    file = on_disk.file_of(root, "effects")
    content = file.read_bytes()
    write_rows = cache.write_rows

    def meanwhile(*arguments: Any) -> cache.DayCounts:
        file.write_text(line_of(*effect("one", at(0.4), "appointment-2")) + "\n")
        return write_rows(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(cache, "write_rows", meanwhile)
        with pytest.raises(CannotAudit, match=r"effects/dt=.* changed while it was read: audit"):
            audit_again(spark, tmp_path)
    file.write_bytes(content)
    audit_again(spark, tmp_path)
    assert verdicts_of(tmp_path / "out") == {"one": "performed_again"}
    manifest = cache.Manifest.of((tmp_path / "out" / "cache" / f"{DAY}.manifest").read_text())
    assert manifest is not None
    now = hashlib.sha256(file.read_bytes()).hexdigest()
    assert manifest.sources[f"effects/dt={DAY}/records.jsonl"] == now


def test_records_of_two_stacks_are_not_judged_on_whichever_day_they_lie() -> None:
    days = [date.fromisoformat(day) for day in DAYS]
    counts = [DayCounts(sources=[f"stack {name}", "log group g"]) for name in "abb"]
    held = Cache(cast("SparkSession", None), "out")
    held.days = {
        day: Manifest({}, {}, of_day, "v") for day, of_day in zip(days, counts, strict=True)
    }
    with pytest.raises(
        CannotAudit, match=r"two stacks, stack a \(2026-01-31\) and stack b \(2026-02-01\)"
    ):
        _check_one_stack(held, days)
    _check_one_stack(held, days[1:])


@pytest.mark.long
def test_another_stack_that_was_cached_in_the_same_results_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its days have expired there, and are judged by what was cached of them."""
    for name, day in (("a", DAY), ("b", "2026-03-31")):
        found = performed("m", 5, day)
        records = [(stream, one | {"source": name}) for stream, one in found]
        write(tmp_path / name, records, STREAMS if name == "a" else ())
    out = tmp_path / "out"
    assert audited(spark, tmp_path / "a", out)["exit_status"] == 0
    with pytest.raises(CannotAudit, match=r"two stacks, stack a \(2026-01-31\) and stack b"):
        audited(spark, tmp_path / "b", out)
