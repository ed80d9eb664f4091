import gzip
import json
import resource
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import random
from typing import Any

import pytest

from actonce.records.day_files import DayFiles, file_of, files_of_others, is_final, over

MONDAY, TUESDAY, SUNDAY = date(2026, 11, 16), date(2026, 11, 17), date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def read(root: Path, day: date) -> list[Any]:
    (file,) = file_of(root, "effects", day).parent.iterdir()
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def write(root: Path, *records: tuple[date, dict[str, Any]], at: datetime = NOW) -> DayFiles:
    with DayFiles(root, "effects", [TUESDAY, MONDAY], at).replaced() as files:
        for day, record in records:
            files.write(day, record)
    return files


def test_each_day_has_one_file_and_an_empty_one_says_that_there_was_nothing(tmp_path: Path) -> None:
    with DayFiles(tmp_path, "effects", [SUNDAY], NOW).replaced() as files:
        files.write(SUNDAY, {"n": 1})
    for names in (["Ann"], ["Zoë", "Ann"]):  # written again it is replaced
        records = [(MONDAY, {"name": name}) for name in names]
        files = write(tmp_path, *records, (SUNDAY, {"n": 2}))
    assert files.lines == {MONDAY: 2, TUESDAY: 0}
    assert read(tmp_path, MONDAY) == [{"name": "Zoë"}, {"name": "Ann"}]
    assert read(tmp_path, TUESDAY) == []
    assert read(tmp_path, SUNDAY) == [{"n": 1}], "a day that was not asked for is left alone"


def test_only_a_whole_file_that_was_read_when_its_day_was_over_is_final(tmp_path: Path) -> None:
    assert not is_final(tmp_path, "effects", MONDAY), "there is none"
    for seconds in (-1, 0):
        write(tmp_path, (MONDAY, {"n": 1}), at=over(MONDAY) + timedelta(seconds=seconds))
        assert is_final(tmp_path, "effects", MONDAY) == (seconds == 0)
    file = file_of(tmp_path, "effects", MONDAY)
    for other in (b"", file.read_bytes()[:-1], b"no gzip", gzip.compress(b"", mtime=0)):
        file.write_bytes(other)
        assert not is_final(tmp_path, "effects", MONDAY), other


def test_what_was_there_stays_when_writing_fails(tmp_path: Path) -> None:
    write(tmp_path, (MONDAY, {"n": 1}))

    def fail_half_way() -> None:
        with DayFiles(tmp_path, "effects", [MONDAY], NOW).replaced() as files:
            files.write(MONDAY, {"n": 2})
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail_half_way()
    assert read(tmp_path, MONDAY) == [{"n": 1}]


def test_a_full_disk_keeps_nothing_of_what_it_did_not_take(tmp_path: Path) -> None:
    """An audit would name it, and it would hold the last bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="large"):
            write(tmp_path, *((day, {"n": random()}) for day in (MONDAY, TUESDAY) * 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_two_runs_at_once_leave_each_other_alone_and_the_last_one_counts(tmp_path: Path) -> None:
    one, two = (DayFiles(tmp_path, "effects", [MONDAY], NOW) for _ in range(2))
    with one.replaced():
        one.write(MONDAY, {"n": 1})
        with two.replaced():
            two.write(MONDAY, {"n": 2})
        folder = file_of(tmp_path, "effects", MONDAY).parent
        assert len(list(folder.iterdir())) == 2, "the file, and what the first has begun"
    assert read(tmp_path, MONDAY) == [{"n": 1}]


def test_files_of_others_are_found_however_deep(tmp_path: Path) -> None:
    write(tmp_path, (MONDAY, {"n": 1}))
    folder = file_of(tmp_path, "effects", MONDAY).parent
    (folder / ".collected.4711").write_bytes(b"half a file")
    export = folder / "AWSDynamoDB" / "data"
    export.mkdir(parents=True)
    (export / "a.json.gz").write_bytes(b"")
    assert files_of_others(tmp_path, "effects", MONDAY) == [export / "a.json.gz"]
    assert files_of_others(tmp_path, "effects", TUESDAY) == []
