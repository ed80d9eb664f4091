"""What `actonce send` says of messages that SQS took and that could not be recorded."""

import os
from pathlib import Path

import pytest

from actonce.cli import send as send_command
from actonce.cli.app import app
from actonce.queues import sent_record
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.message import MessageReader
from tests.cli.test_deciding import ledger

__all__ = ["ledger"]


def test_what_sqs_took_is_counted_also_where_the_disk_is_full(
    ledger: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text("".join(f'{{"message_id": "m-{number}"}}\n' for number in range(45)))
    monkeypatch.setattr(send_command, "find_stack", lambda *_, **__: ledger)
    monkeypatch.setattr(send_command, "message_reader", lambda *_: MessageReader())
    append = sent_record._append
    written: list[Path] = []

    def full(path: Path, member: bytes) -> None:
        if written:
            raise OSError(28, os.strerror(28), str(path))
        append(path, member)
        written.append(path)

    monkeypatch.setattr(sent_record, "_append", full)
    with pytest.raises(Failed) as told:
        app(["send", str(file), "--record", str(tmp_path)], standalone_mode=False)
    queued = int(
        ledger.sqs.get_queue_attributes(
            QueueUrl=ledger.requests_queue, AttributeNames=["ApproximateNumberOfMessages"]
        )["Attributes"]["ApproximateNumberOfMessages"]
    )
    assert queued >= 20
    assert str(told.value).startswith(
        f"Stopped after {queued} messages were sent, of which {queued - 10} are not in the record "
    )
    assert "No space left on device" in str(told.value)
