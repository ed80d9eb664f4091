import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.histories.day_file import added_to, json_line

RECORDS = st.lists(
    st.fixed_dictionaries({"at": st.text(max_size=3), "note": st.none() | st.text(max_size=3)}),
    max_size=4,
)


def read(file: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(file).split(b"\n") if line]


@given(RECORDS, RECORDS)
def test_no_line_is_lost_and_none_stands_twice(
    first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    one_by_one = added_to(added_to(None, first), second)

    assert sorted(map(json_line, read(one_by_one))) == sorted(set(map(json_line, first + second)))
    assert added_to(one_by_one, first) == one_by_one
    assert added_to(None, [*second, *first]) == one_by_one
    assert one_by_one[4:8] == bytes(4)  # gzip's time: the same lines, the same bytes, at any time


def test_a_last_line_without_its_line_feed_is_a_line() -> None:
    record = {"at": "2026-01-31T09:30:00.000Z", "note": "Praxis schließt\u2028heute"}
    earlier = gzip.compress(json_line(record).removesuffix(b"\n"))

    assert read(added_to(earlier, [record])) == [record]


@pytest.mark.parametrize("spoil", [lambda file: file[:-9], lambda file: b"x" + file])
def test_a_file_that_is_no_whole_gzip_is_not_replaced_in_silence(spoil: Any) -> None:
    with pytest.raises((EOFError, OSError, zlib.error)):
        added_to(spoil(added_to(None, [{"at": "2026-01-31T09:30:00.000Z"}])), [])
