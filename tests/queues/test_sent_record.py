"""The `sent` stream: what its lines say, and what is left of it wherever a process ends."""

import gzip
import io
import json
import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actonce.queues.sending import Accepted, Fifo, Line
from actonce.queues.sent_record import Resumable, SentRecord
from actonce.terminal.errors import UsageError
from actonce_core.message import MessageReader

AT = datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC)
AFTER_MIDNIGHT = datetime(2026, 2, 1, 0, 0, 0, 1_000, tzinfo=UTC)


def accepted(number: int, body: str, at: datetime = AT) -> Accepted:
    fifo = Fifo(MessageGroupId="none", MessageDeduplicationId=f"dedup-{number}")
    return Accepted(Line(number, body, len(body.encode()), fifo), f"sqs-{number}", at)


def resumed(folder: Path, content: bytes = b"\n" * 9, queue: str = "q") -> SentRecord:
    """The record of a file of ten lines, to go on from."""
    what = Resumable.of(folder / "a.jsonl", io.BytesIO(content), queue)
    return SentRecord(folder, "a.jsonl", MessageReader(), what)


def has(record: SentRecord) -> list[int]:
    return [number for number in range(12) if record.has(number)]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in sorted(folder.glob("sent/dt=*/*.jsonl.gz"))
        for line in gzip.decompress(file.read_bytes()).decode().splitlines()
    ]


def test_a_line_lies_in_the_folder_of_its_utc_day_and_runs_do_not_meet(tmp_path: Path) -> None:
    record = SentRecord(tmp_path, "requests.jsonl", MessageReader())
    record.append([accepted(3, '{"message_id": "réq-1", "secret": 1}')])
    record.append([accepted(4, "{}", AFTER_MIDNIGHT)])
    SentRecord(tmp_path, "f", MessageReader()).append([accepted(5, "{}", AFTER_MIDNIGHT)])
    assert len(list(tmp_path.glob("sent/dt=2026-02-01/*"))) == 2
    (file,) = tmp_path.glob("sent/dt=2026-01-31/*")
    assert json.loads(gzip.decompress(file.read_bytes())) == {
        "stream": "sent",
        "version": 1,
        "at": "2026-01-31T23:59:59.999Z",
        "message_id": "réq-1",
        "sqs_message_id": "sqs-3",
        "line": 3,
        "file": "requests.jsonl",
    }


@pytest.mark.parametrize(
    ("message_id_from", "body", "message_id"),
    [
        ("body:message_id", '{"message_id": 12}', "12"),
        ("sqs-message-id", "{}", "sqs-1"),
        ("deduplication-id", "{}", "dedup-1"),
        ("attribute:id", "{}", None),  # what is sent has no attributes
        # It can never be started, so it is not parsed.
        ("body:message_id", '{"message_id": "big", "x": "' + "x" * 300_000 + '"}', None),
    ],
)
def test_the_message_id_is_the_starters(
    tmp_path: Path, message_id_from: str, body: str, message_id: str | None
) -> None:
    record = SentRecord(tmp_path, "f", MessageReader(message_id_from))
    assert record.line(accepted(1, body))["message_id"] == message_id


def test_a_full_disk_is_an_error_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, write = SentRecord(tmp_path, "f", MessageReader()), os.write
    record.append([accepted(1, "{}")])
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
        with pytest.raises(OSError, match="No space left"):
            record.append([accepted(2, "{}")])
    record.append([accepted(3, "{}")])
    assert [line["line"] for line in lines_of(tmp_path)] == [1, 3]


# ------------------------------------------------------------------- going on


def test_a_run_goes_on_from_what_earlier_ones_confirmed_of_that_content_and_queue(
    tmp_path: Path,
) -> None:
    SentRecord(tmp_path, "a.jsonl", MessageReader()).append([accepted(9, "{}")])
    for number, at in ((1, AT), (4, AT), (10, AFTER_MIDNIGHT)):
        with closing(resumed(tmp_path)) as record:
            record.append([accepted(number, "{}", at)])
    with closing(resumed(tmp_path)) as record:
        assert (has(record), record.confirmed) == ([1, 4, 10], 3)
        with pytest.raises(UsageError, match="Another actonce send writes"):
            resumed(tmp_path)
    with closing(resumed(tmp_path, queue="another")) as record:
        assert (has(record), record.confirmed) == ([], 0)
    with pytest.raises(UsageError, match="is not what it was"):
        resumed(tmp_path, b"\n" * 10)


@settings(max_examples=30)
@given(cut=st.integers(0), batches=st.sampled_from([[(1, 2, 3, 4)], [(1,), (2, 3), (4,)]]))
def test_what_a_crash_cut_off_is_not_confirmed_and_can_be_confirmed_again(
    tmp_path_factory: pytest.TempPathFactory, cut: int, batches: list[tuple[int, ...]]
) -> None:
    folder, ends = tmp_path_factory.mktemp("record"), [0]
    with closing(resumed(folder)) as record:
        for batch in batches:
            record.append([accepted(number, "{}") for number in batch])
            (path,) = folder.glob("sent/dt=*/*")
            ends.append(path.stat().st_size)
    size = cut % (ends[-1] + 1)
    os.truncate(path, size)
    whole = sum(size >= end for end in ends[1:])
    kept = [number for batch in batches[:whole] for number in batch]
    with closing(resumed(folder)) as record:
        assert has(record) == kept
        record.append([accepted(7, "{}")])
    assert [line["line"] for line in lines_of(folder)] == [*kept, 7]


@pytest.mark.parametrize(
    "spoiled",
    [b"\0" * 150, b"7", b'{"line": 11}', b'{"line": true}', b'{"file": "a"}'],
    ids=["zeroes after a power cut", "no object", "too far", "no number", "no line"],
)
def test_a_damaged_record_is_neither_passed_over_nor_believed(
    tmp_path: Path, spoiled: bytes
) -> None:
    with closing(resumed(tmp_path)) as record:
        record.append([accepted(1, "{}")])
    (path,) = tmp_path.glob("sent/dt=*/*")
    damaged = spoiled if spoiled[0] == 0 else gzip.compress(spoiled)
    path.write_bytes(path.read_bytes() + damaged + path.read_bytes())
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is damaged"):
        resumed(tmp_path)
    assert path.read_bytes() == before


def test_what_append_returned_for_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda one: synced.append(os.fstat(one).st_ino))
    record = resumed(tmp_path)
    record.append([accepted(1, "{}")])
    (file,) = tmp_path.glob("sent/dt=*/*")
    there = [path.stat().st_ino for path in (file, *file.parents[:3])]
    assert sorted(synced) == sorted(there)
    record.append([accepted(2, "{}")])
    assert synced[4:] == there[:1]
