"""From files to lines, byte by byte."""

import gzip
import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipeline.audit.reading.lines import Line, broken_files, careful_lines, lines_of
from pipeline.errors import CannotAudit

# mtime=0: contents are in tests' names, which each of pytest-xdist's processes makes for itself.
TEXT = b"".join(b'{"number": %d}\n' % number for number in range(5_000))
PACKED = gzip.compress(TEXT, mtime=0)
A_AND_B = gzip.compress(b"a\n", mtime=0) + gzip.compress(b"b\n", mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.jsonl", b"a\n\n  \nb", [Line(1, "a", None), Line(4, "b", None)]),
        ("a", A_AND_B, [Line(1, "a", None), Line(2, "b", None)]),
        # Firehose compresses what Logs had compressed before it.
        ("a.gz", gzip.compress(A_AND_B, mtime=0), [Line(1, "a", None), Line(2, "b", None)]),
        ("a.jsonl", b"\xff\nb\n", [Line(1, "\ufffd", "not_utf8"), Line(2, "b", None)]),
        ("a.gz", b"", [Line(1, "", "truncated_gzip")]),
        ("a.gz", b"no gzip\n", [Line(1, "", "not_gzip")]),
    ],
)
def test_each_line_of_a_file_is_told(name: str, content: bytes, lines: list[Line]) -> None:
    assert list(lines_of(name, content)) == lines


@given(st.integers(1, len(PACKED) - 1))
def test_a_truncated_gzip_gives_every_whole_line_before_its_end_and_says_where_it_ended(
    length: int,
) -> None:
    *lines, last = lines_of("a.gz", PACKED[:length])
    assert last.problem in {"truncated_gzip", "not_gzip"}
    assert last.number == len(lines) + 1
    whole = TEXT.split(b"\n")[: len(lines)]
    assert [line.text for line in lines] == [line.decode() for line in whole]
    assert all(line.problem is None for line in lines)


@pytest.mark.parametrize(
    ("content", "problem", "at_least"),
    [
        (PACKED[: len(PACKED) // 2], "truncated_gzip", 2_000),
        (PACKED[:-8] + b"\0" * 8, "corrupt_gzip", 3_000),
        (PACKED + b"\0\0\0", "not_gzip", 5_000),
    ],
)
def test_all_but_the_place_of_the_break_is_read(
    content: bytes, problem: str, at_least: int
) -> None:
    *lines, last = lines_of("a.jsonl.gz", content)
    assert len(lines) >= at_least
    assert last.problem == problem


def test_without_what_hands_files_to_python_it_says_what_to_install(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pandas" else found(name)
    )
    for read in (careful_lines, broken_files):
        with pytest.raises(CannotAudit, match=r"pandas, which it then needs.*make everything"):
            read(spark, ["/nowhere"])
