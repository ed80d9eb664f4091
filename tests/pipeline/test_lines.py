import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.lines import Line, is_broken, lines_of

TEXT = b"".join(b'{"number": %d}\n' % number for number in range(5_000))


def test_lines_are_counted_from_one_and_blank_ones_are_left_out() -> None:
    assert list(lines_of("a.jsonl", b"a\n\n  \nb")) == [Line(1, "a", None), Line(4, "b", None)]


def test_gzip_members_one_after_another_are_one_file() -> None:
    packed = gzip.compress(b"a\n") + gzip.compress(b"b\n")
    assert [line.text for line in lines_of("a", packed)] == ["a", "b"]


def test_what_firehose_compressed_a_second_time_is_opened_twice() -> None:
    packed = gzip.compress(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert [line.text for line in lines_of("a.gz", packed)] == ["a", "b"]


@given(st.integers(1, len(gzip.compress(TEXT)) - 1))
def test_a_truncated_gzip_gives_every_whole_line_before_its_end_and_says_where_it_ended(
    length: int,
) -> None:
    packed = gzip.compress(TEXT)[:length]
    *lines, last = lines_of("a.gz", packed)
    assert last.problem in {"truncated_gzip", "not_gzip"}
    assert last.number == len(lines) + 1
    whole = TEXT.split(b"\n")[: len(lines)]
    assert [line.text for line in lines] == [line.decode() for line in whole]
    assert all(line.problem is None for line in lines)


def test_all_but_the_place_of_the_break_is_read() -> None:
    packed = gzip.compress(TEXT)
    lines = list(lines_of("a.gz", packed[: len(packed) // 2]))
    assert 2_000 < len(lines) < 3_000


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "truncated_gzip"),
        (b"no gzip\n", "not_gzip"),
        (gzip.compress(TEXT)[:-8] + b"\0" * 8, "corrupt_gzip"),
        (gzip.compress(TEXT) + b"\0\0\0", "not_gzip"),
    ],
)
def test_a_file_that_is_no_gzip_is_broken_and_says_so(content: bytes, problem: str) -> None:
    assert is_broken("a.jsonl.gz", content)
    assert [line.problem for line in lines_of("a.jsonl.gz", content) if line.problem] == [problem]


def test_whole_files_are_not_broken() -> None:
    assert not is_broken("a.gz", gzip.compress(TEXT))
    assert not is_broken("a.jsonl", b"{")
    assert is_broken("a.parquet", b"PAR1...")


def test_a_line_that_is_not_utf8_is_told_from_the_others() -> None:
    first, second = lines_of("a.jsonl", b"\xff\nb\n")
    assert (first.problem, second) == ("not_utf8", Line(2, "b", None))
