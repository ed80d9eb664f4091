import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from actonce.records.day_files import DayFiles, day_folder, files_of_others

MONDAY, TUESDAY, SUNDAY = date(2026, 11, 16), date(2026, 11, 17), date(2026, 11, 22)


def read(root: Path, day: date) -> list[Any]:
    (file,) = day_folder(root, "effects", day).iterdir()
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def write(root: Path, *records: tuple[date | None, dict[str, Any]]) -> DayFiles:
    with DayFiles(root, "effects", [TUESDAY, MONDAY]).replaced() as files:
        for day, record in records:
            files.write(day, record)
    return files


def test_each_day_has_one_file_and_an_empty_one_says_that_there_was_nothing(tmp_path: Path) -> None:
    with DayFiles(tmp_path, "effects", [SUNDAY]).replaced() as files:
        files.write(SUNDAY, {"n": 1})
    for names in (["Ann"], ["Zoë", "Ann"]):  # written again it is replaced
        records = [(MONDAY, {"name": name}) for name in names]
        files = write(tmp_path, *records, (SUNDAY, {"n": 2}), (None, {"n": 3}))
    assert files.lines == {MONDAY: 2, TUESDAY: 0}
    assert read(tmp_path, MONDAY) == [{"name": "Zoë"}, {"name": "Ann"}]
    assert read(tmp_path, TUESDAY) == []
    assert read(tmp_path, SUNDAY) == [{"n": 1}], "a day that was not asked for is left alone"


def test_the_same_records_make_the_same_bytes_in_whatever_order_they_come(tmp_path: Path) -> None:
    ordered = [(MONDAY, {"n": number}) for number in (1, 2, 2)]
    counts: dict[bytes, int] = {}
    for root, records in (("one", ordered), ("two", ordered), ("one", ordered[::-1])):
        write(tmp_path / root, *records)
        (file,) = day_folder(tmp_path / root, "effects", MONDAY).iterdir()
        counts.setdefault(file.read_bytes(), file.stat().st_mtime_ns)
    (content,) = counts
    assert b"collected" not in content, "its name while it was written"
    first = day_folder(tmp_path / "one", "effects", MONDAY) / "collected.jsonl.gz"
    assert first.stat().st_mtime_ns > counts[content], "as new as what was read"
    for others in (ordered[:2], [*ordered[:2], (MONDAY, {"n": 1})]):
        write(tmp_path / "one", *others)
        assert read(tmp_path / "one", MONDAY) == [record for _, record in others]


def test_what_was_there_stays_when_writing_fails(tmp_path: Path) -> None:
    write(tmp_path, (MONDAY, {"n": 1}))

    def fail_half_way() -> None:
        with DayFiles(tmp_path, "effects", [MONDAY]).replaced() as files:
            files.write(MONDAY, {"n": 2})
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail_half_way()
    assert read(tmp_path, MONDAY) == [{"n": 1}]


def test_two_runs_at_once_leave_each_other_alone_and_the_last_one_counts(tmp_path: Path) -> None:
    one, two = (DayFiles(tmp_path, "effects", [MONDAY]) for _ in range(2))
    with one.replaced():
        one.write(MONDAY, {"n": 1})
        with two.replaced():
            two.write(MONDAY, {"n": 2})
        folder = day_folder(tmp_path, "effects", MONDAY)
        assert len(list(folder.iterdir())) == 2, "the file, and what the first has begun"
    assert read(tmp_path, MONDAY) == [{"n": 1}]


def test_files_of_others_are_found_however_deep(tmp_path: Path) -> None:
    write(tmp_path, (MONDAY, {"n": 1}))
    folder = day_folder(tmp_path, "effects", MONDAY)
    (folder / ".collected.4711").write_bytes(b"half a file")
    export = folder / "AWSDynamoDB" / "data"
    export.mkdir(parents=True)
    (export / "a.json.gz").write_bytes(b"")
    assert files_of_others(tmp_path, "effects", MONDAY) == [export / "a.json.gz"]
    assert files_of_others(tmp_path, "effects", TUESDAY) == []
