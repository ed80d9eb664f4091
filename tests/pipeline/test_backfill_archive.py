import gzip
import os
from pathlib import Path

import pytest

from pipeline.backfill import archive as backfill_archive
from pipeline.backfill.archive import columns_of, files_of, rows_of
from pipeline.backfill.errors import WrongRequest


def rows(path: Path, content: bytes) -> list[tuple[int, dict[str, object] | None]]:
    path.write_bytes(content)
    return [(row.line, row.fields) for row in rows_of(path)]


def problems(path: Path, content: bytes) -> dict[int, str]:
    path.write_bytes(content)
    return {row.line: row.problem for row in rows_of(path) if row.problem is not None}


def test_json_lines_are_read_with_their_lines(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"a":1}\r\n\n  \n{"a":"\xc3\xa9"}'
    assert rows(tmp_path / "x.jsonl", content) == [(1, {"a": 1}), (4, {"a": "é"})]
    assert rows(tmp_path / "x.json.gz", gzip.compress(content)) == [(1, {"a": 1}), (4, {"a": "é"})]


def test_csv_rows_are_read_with_the_line_they_begin_on(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbfa,b\r\n1,"x\ny"\r\n\r\n2,"p,""q"""\n'
    expected = [(2, {"a": "1", "b": "x\ny"}), (5, {"a": "2", "b": 'p,"q"'})]
    assert rows(tmp_path / "x.csv", content) == expected
    assert rows(tmp_path / "x.CSV.gz", gzip.compress(content)) == expected


def test_bad_json_lines_do_not_hide_the_others(tmp_path: Path) -> None:
    content = b'{"a":1}\n{"a":\n[1]\n"x"\n\xff\n{"a":NaN}\n{"a":2}\n'
    path = tmp_path / "x.jsonl"
    found = problems(path, content)
    assert list(found) == [2, 3, 4, 5, 6]
    for line, said in ((2, "not JSON"), (3, "no JSON object"), (5, "not UTF-8"), (6, "NaN")):
        assert said in found[line]
    assert [row.line for row in rows_of(path) if row.fields] == [1, 7]


def test_bad_csv_rows_do_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    found = problems(path, b'a,b\n1\n1,2,3\n"x"y,2\n\xff,1\n1,"u\nv"w\n5,6\n7,"8\n')
    assert list(found) == [2, 3, 4, 5, 6, 7, 9]
    assert "1 fields, and the first line names 2" in found[2]
    assert "not UTF-8" in found[5]
    assert "It is not CSV" in found[9]  # an open quote is told where it begins
    assert [row.line for row in rows_of(path) if row.fields] == [8]
    assert rows(path, b"") == []
    assert columns_of(path) is None


@pytest.mark.parametrize("end", [b"", b'9,"q"\n', b"9,\xff\n"])
def test_each_line_behind_an_open_quote_is_named(tmp_path: Path, end: bytes) -> None:
    lines = b"".join(b"%d,x\n" % number for number in range(2000))
    found = problems(tmp_path / "x.csv", b'a,b\n0,"x\n' + lines + end)
    assert list(found) == list(range(2, 2003 + bool(end)))
    assert "It is not CSV" in found[2] or "not UTF-8" in found[2]
    assert found[3] == "It is in the row that begins on line 2, which cannot be read."


@pytest.mark.parametrize("cut", [1, 300])
def test_a_cut_gzip_file_ends_with_a_problem(tmp_path: Path, cut: int) -> None:
    lines = "".join(f'{{"a":"{os.urandom(8).hex()}"}}\n' for _ in range(2000))
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-cut])
    last = list(rows_of(path))[-1]
    assert last.problem is not None
    assert "cannot be read" in last.problem


def test_a_line_without_an_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill_archive, "LONGEST_LINE", 16)
    path = tmp_path / "x.jsonl"
    content = b'{"a":1}\n{"a":"' + b"x" * 100 + b'"}\n{"a":2}\n'
    assert problems(path, content) == {2: "The line has more than 16 bytes."}
    assert [row.line for row in rows_of(path) if row.fields] == [1, 3]


def test_a_folders_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a/z.jsonl.gz", "_SUCCESS", ".x.csv", "_t/c.csv", "a-b.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert list(files_of(tmp_path)) == ["a-b.json", "a/z.jsonl.gz", "b.csv"]


def test_what_is_no_archive_is_refused_and_nothing_in_one_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(WrongRequest, match="holds no"):
        files_of(tmp_path)
    with pytest.raises(WrongRequest, match="no file or folder"):
        files_of(tmp_path / "gone")
    (tmp_path / "b.csv").touch()
    for name, said in (("a.txt", "neither JSON Lines"), ("a.gz", "neither"), ("a\n.csv", "rename")):
        (tmp_path / name).touch()
        for archive in (tmp_path, tmp_path / name):
            with pytest.raises(WrongRequest, match=said):
                files_of(archive)
        (tmp_path / name).unlink()
