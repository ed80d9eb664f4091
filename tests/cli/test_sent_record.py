"""The `sent` stream: what its lines say, and what is left of it wherever a process ends."""

import gzip
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from actonce.queues.sending import Accepted, Line
from actonce.queues.sent_record import SentRecord
from actonce_core.message import MessageReader

AT = datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC)
AFTER_MIDNIGHT = datetime(2026, 2, 1, 0, 0, 0, 1_000, tzinfo=UTC)

# Appends batches of ten for ever; says so after each, when `append` has returned.
ENDLESS = """
import itertools, sys
from datetime import UTC, datetime
from pathlib import Path
from actonce_core.message import MessageReader
from actonce.queues.sending import Accepted, Line
from actonce.queues.sent_record import SentRecord
record = SentRecord(Path(sys.argv[1]), "requests.jsonl", MessageReader())
at = datetime(2026, 1, 31, tzinfo=UTC)
for batch in itertools.count():
    numbers = range(batch * 10 + 1, batch * 10 + 11)
    record.append([Accepted(Line(n, "{}", 2), f"sqs-{n}", at) for n in numbers])
    print(flush=True)
"""


def accepted(number: int, body: str, at: datetime = AT) -> Accepted:
    return Accepted(Line(number, body, len(body.encode())), f"sqs-{number}", at)


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


def test_a_kill_leaves_a_file_that_holds_all_that_was_acknowledged(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(25):
            assert process.stdout.readline() == b"\n"
        process.send_signal(signal.SIGKILL)
        acknowledged = 10 * (25 + process.stdout.read().count(b"\n"))
    numbers = [line["line"] for line in lines_of(tmp_path)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) in (acknowledged, acknowledged + 10)


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
