import gzip
import importlib.util
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipeline.audit.reading.lines import Line, broken_files, careful_lines, is_broken, lines_of
from pipeline.errors import CannotAudit

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


def parquet(**columns: pa.Array) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


NOW = pa.array([datetime(2026, 1, 31, tzinfo=UTC)], pa.timestamp("us", "UTC"))
IDS = pa.array(["one"])


def test_a_whole_parquet_file_is_not_broken() -> None:
    content = parquet(at=NOW, message_id=IDS, something_else=pa.array([[1]]))
    assert not is_broken("a.parquet", content)
    for torn in (b"", b"PAR1...", content[:-1], content[:8] + b"\xff" * 40 + content[48:]):
        assert is_broken("a.parquet", torn)
        assert [line.problem for line in lines_of("a.parquet", torn)] == ["corrupt_parquet"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"at": NOW, "message_id": pa.array([7])}, "column message_id is INT64, not text"),
        ({"at": NOW, "message_id": pa.array([["one"]])}, "column message_id is BYTE_ARRAY"),
        ({"at": IDS, "message_id": IDS}, "column at is BYTE_ARRAY, not a time in milli- or micro"),
        ({"at": pa.array([1]), "message_id": IDS}, "column at is INT64"),
        ({"at": NOW.cast(pa.timestamp("ns", "UTC")), "message_id": IDS}, "column at is INT64"),
    ],
)
def test_parquet_of_other_columns_is_a_wrong_type(columns: dict[str, pa.Array], said: str) -> None:
    content = parquet(**columns)
    assert is_broken("a.parquet", content)
    (line,) = lines_of("a.parquet", content)
    assert line.problem == "wrong_type"
    assert str(line.text).startswith(said)


def test_a_line_that_is_not_utf8_is_told_from_the_others() -> None:
    first, second = lines_of("a.jsonl", b"\xff\nb\n")
    assert (first.problem, second) == ("not_utf8", Line(2, "b", None))


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
