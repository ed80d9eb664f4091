"""What was judged stays as it was; if it does not, that is said, and nothing is judged on it."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from pipeline.audit import job
from pipeline.audit.reading import places
from pipeline.audit.results.digests import BrokenChain, Chain, following, read_chain
from pipeline.audit.sealing import changed_files
from pipeline.errors import CannotAudit
from tests.pipeline import streams_on_disk as on_disk
from tests.pipeline.nights import Killed, Row, audited, settled
from tests.pipeline.streams_on_disk import DAY, at, effect, line_of, performed, write

DAYS = (DAY, "2026-02-01", "2026-02-02")


def test_files_are_missed_only_on_days_that_were_read() -> None:
    first, middle, _ = days = [date.fromisoformat(day) for day in DAYS]
    path = f"sent/dt={middle}/a"
    chain = Chain(days={middle: (7, {path: "1"})})
    assert changed_files(chain, {}, days, first) == [{"file": path, "what": "removed", "digest": 7}]
    assert changed_files(chain, {}, days, days[2]) == []


@pytest.fixture(scope="module")
def judged_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of records and one of results: three days, judged whole."""
    place = tmp_path_factory.mktemp("sealed")
    history = [one for day in DAYS for one in performed(f"m-{day}", 5, day)]
    write(place / "records", history)
    assert judged(spark, place)["digest"]["number"] == 1
    return place


@pytest.fixture
def place(judged_once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(judged_once, tmp_path / "copy")
    return tmp_path / "copy"


def judged(spark: SparkSession, place: Path, **asked: Any) -> Row:
    settled(place / "records")
    return audited(spark, place / "records", place / "out", **asked)


def file_of(place: Path, stream: str, day: str = DAYS[1]) -> Path:
    return on_disk.file_of(place / "records", stream, day)


def digests(place: Path) -> list[Row]:
    files = sorted((place / "out" / "digests").iterdir())
    return [json.loads(file.read_text()) for file in files]


def test_a_byte_of_a_judged_day_is_noticed_and_nothing_is_judged_on_it_until_it_is_back(
    spark: SparkSession, place: Path
) -> None:
    file = file_of(place, "executions")
    status, content = file.stat(), file.read_bytes()
    file.write_bytes(content.replace(b"performed", b"performee"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    for _ in range(2):  # what was cached of it in between is no excuse
        summary = judged(spark, place)
        assert summary["exit_status"] == 1
        assert summary["changed"] == {
            "total": 1,
            "files": [
                {"file": f"executions/dt={DAYS[1]}/records.jsonl", "what": "changed", "digest": 1}
            ],
        }
        assert "digests/000001.json" in summary["sentence"]
        assert "--accept" in summary["sentence"]
        assert "verdicts" not in summary
        assert json.loads((place / "out" / "summary.json").read_text()) == summary
    assert len(digests(place)) == 1
    file.write_bytes(content)
    assert judged(spark, place)["exit_status"] == 0


def test_what_came_late_is_judged_and_named_by_the_next_digest(
    spark: SparkSession, place: Path
) -> None:
    again = effect(f"m-{DAYS[1]}", at(9, DAYS[1]), "appointment-again")
    late = file_of(place, "effects").with_name("late.jsonl")
    late.write_text(f"{line_of(*again)}\n")
    summary = judged(spark, place, day=DAYS[2])
    assert (summary["exit_status"], summary["digest"]["number"]) == (0, 2)
    first, second = digests(place)
    assert (first["previous"], first["days"].keys()) == (None, set(DAYS))
    assert second["days"].keys() == {DAYS[1]}
    before, after = (
        [one["path"] for one in digest["days"][DAYS[1]]["files"]] for digest in (first, second)
    )
    assert set(after) - set(before) == {f"effects/dt={DAYS[1]}/late.jsonl"}
    assert set(before) < set(after)
    assert first["days"][DAYS[1]]["verdicts"]["performed_once"] == 1
    assert second["days"][DAYS[1]]["verdicts"] is None  # it was not asked for
    whole = judged(spark, place)
    assert whole["verdicts"]["performed_again"] == 1
    assert whole["digest"] == summary["digest"]  # nothing new to say


def test_only_days_that_are_judged_and_over_and_whole_are_vouched_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = [one for day in DAYS for one in performed(f"m-{day}", 5, day)]
    write(tmp_path / "records", history)
    as_of = f"{DAYS[1]}T12:00:00Z"
    assert judged(spark, tmp_path, since=DAYS[1], until=DAYS[1], as_of=as_of)["digest"] is None
    spoiled = file_of(tmp_path, "sent", DAYS[2]).with_name("spoiled.jsonl")
    spoiled.write_text("no record\n")
    summary = judged(spark, tmp_path, since=DAYS[1], until=DAYS[2])
    assert (summary["exit_status"], digests(tmp_path)[0]["days"].keys()) == (3, {DAYS[1]})
    spoiled.unlink()
    judged(spark, tmp_path)
    assert digests(tmp_path)[1]["days"].keys() == {DAYS[0], DAYS[2]}


def _rewritten(digest: Path) -> None:
    told = json.loads(digest.read_text())
    told["at"] = "another time"
    digest.write_text(json.dumps(told))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: _rewritten(folder / "000001.json"),
        lambda folder: _rewritten(folder / "000003.json"),
        lambda folder: (folder / "000003.json").unlink(),
        lambda folder: (folder / "000002.json").unlink(),
        lambda folder: (folder / "000003.json").write_text(""),
        shutil.rmtree,
    ],
    ids=["a middle one", "the last one", "no last one", "no middle one", "torn", "none at all"],
)
def test_a_digest_that_is_not_what_was_written_keeps_the_audit_from_judging(
    spark: SparkSession,
    place: Path,
    spoil: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = place / "out" / "digests"
    chain = read_chain(places.place(None, str(folder)), None)
    for number in (2, 3):
        name, text, head = following(chain, "then", "/r", {})
        (place / "out" / name).write_text(text)
        chain = read_chain(places.place(None, str(folder)), head)
        assert chain.head() == head
        assert head["number"] == number
    summary = json.loads((place / "out" / "summary.json").read_text())
    (place / "out" / "summary.json").write_text(json.dumps(summary | {"digest": head}))
    spoil(folder)
    monkeypatch.setattr(job, "Cache", None)  # nothing is read
    for _ in range(2):  # it stays so
        with pytest.raises(BrokenChain):
            judged(spark, place)
        told = json.loads((place / "out" / "summary.json").read_text())
        assert (told["exit_status"], told["digest"]) == (2, head)
        assert "digests/" in told["sentence"]


def test_killed_or_without_room_around_a_digest_the_chain_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "records", performed("one"))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    create = places._Here.create
    monkeypatch.setattr(places._Here, "create", full)
    with pytest.raises(CannotAudit, match="No space left"):
        judged(spark, tmp_path)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["exit_status"] == 2
    assert not (tmp_path / "out" / "digests").exists()

    def then_killed(place: Any, path: str, text: str) -> None:
        create(place, path, text)
        raise Killed

    monkeypatch.setattr(places._Here, "create", then_killed)
    with pytest.raises(Killed):
        judged(spark, tmp_path)
    (first,) = digests(tmp_path)
    monkeypatch.setattr(places._Here, "create", create)
    assert judged(spark, tmp_path)["digest"]["number"] == first["number"] == 1


def test_what_hadoop_reaches_has_the_hashes_of_its_bytes_and_no_digest_is_written_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    if os.environ.get("SPARK_REMOTE"):
        pytest.skip("a client of Spark Connect has no Hadoop")
    root = write(tmp_path / "a b%20 =é+[1]{x}", performed("m"))
    (root / "effects" / f"dt={DAY}" / "no%6Came [3]").write_bytes(b"\x00\r\n")
    elsewhere = places._Hadoop(spark, f"file://{root}")
    paths = [one.path for one in elsewhere.files()]
    assert not any(path.startswith(places.HERE) for path in paths)
    hashes = places.hashes(spark, paths)
    (empty,) = set(paths) - hashes.keys()
    assert hashes | {empty: places.HASH_OF_NOTHING} == {
        path: hashlib.sha256(Path(path.removeprefix("file:")).read_bytes()).hexdigest()
        for path in paths
    }
    elsewhere.create("digests/000001.json", "first")
    with pytest.raises(Py4JError):
        elsewhere.create("digests/000001.json", "second")
    assert elsewhere.read("digests/000001.json") == "first"


def test_a_digest_is_never_written_over(tmp_path: Path) -> None:
    here = places.place(None, str(tmp_path))
    here.create("digests/000001.json", "first")
    with pytest.raises(FileExistsError):
        here.create("digests/000001.json", "second")
    assert (tmp_path / "digests" / "000001.json").read_text() == "first"
