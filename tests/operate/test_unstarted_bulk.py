"""Sending back and discarding what lies in UnstartedQueue: nothing is lost, and nothing twice."""

import json
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from actonce.operate.bulk import UNKNOWN
from actonce.operate.discarding import BulkDiscard
from actonce.operate.sending_back import BulkSendBack
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.message import MessageReader
from tests.support.queues import fill, lying, send_to_unstarted
from tests.support.stacks import fail, fed, forbid, with_outputs

UNPRINTABLE = '{"message_id": "m-1", "x": "\u202e\x1b ü"}'


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is listed has an order."""
    monkeypatch.setattr(scan, "READERS", 1)


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    return fed(moto_stack)


def send_back(stack: Stack, message_id_from: str = "body:message_id") -> BulkSendBack:
    return BulkSendBack(stack, lying(stack), MessageReader(message_id_from), wait_for_others=0)


def discard(stack: Stack, file: Path) -> BulkDiscard:
    return BulkDiscard(stack, lying(stack), MessageReader(), file, "a test", wait_for_others=0)


def test_what_cannot_be_sent_back_stays_where_it_is(stack: Stack) -> None:
    send_to_unstarted(stack, "{}")
    gone = with_outputs(stack, RequestsQueueUrl=f"{stack.requests_queue}-gone")
    for where, message_id_from, why in (
        (gone, "body:message_id", "NonExistentQueue"),
        (stack, "deduplication-id", "SQS replaced that when it moved the message here"),
    ):
        (work := send_back(where, message_id_from)).run()
        assert work.results_by_end == {"failed": 1}
        assert why in work.ended[0].text
    assert len(lying(stack).entries) == 1


def test_what_was_sent_back_without_an_answer_may_be_sent_and_stays(stack: Stack) -> None:
    fill(stack, 3)
    work = send_back(stack)
    fail(stack, "sqs", "SendMessage", ReadTimeoutError(endpoint_url="here"), after=1)
    with pytest.raises(ReadTimeoutError):
        work.run()
    assert ([one.end for one in work.ended], work.left) == (["sent_back", UNKNOWN], 1)
    assert work.ended[1].text.startswith("It is not known whether it was sent back")
    assert len(lying(stack).entries) == 2


def test_what_is_discarded_stands_in_the_file_whole(stack: Stack, tmp_path: Path) -> None:
    binary = {"kind": {"dataType": "Binary", "binaryValue": "AAH/"}}
    entry = send_to_unstarted(stack, UNPRINTABLE, binary)
    (work := discard(stack, file := tmp_path / "discarded.jsonl")).run()
    assert work.results_by_end == {"discarded": 1}
    (note,) = work.notes
    assert str(file) in note
    assert file.read_bytes().isascii()
    assert file.stat().st_mode & 0o077 == 0
    kept = json.loads(file.read_text())
    assert kept | {"discarded_at": "", "since": ""} == {
        "discarded_at": "",
        "note": "a test",
        "sqs_message_id": entry,
        "message_id": None,
        "reason": "conflict",
        "detail": "Another content.",
        "since": "",
        "receive_count": 2,
        "source_message_id": "first-id",
        "attributes": {"kind": {"binaryValue": "AAH/", "dataType": "Binary"}},
        "message_group_id": None,
        "body": UNPRINTABLE,
    }
    assert not lying(stack).entries


def test_what_cannot_be_written_is_not_discarded(stack: Stack, tmp_path: Path) -> None:
    fill(stack, 2)
    work = discard(stack, file := tmp_path / "discarded.jsonl")
    file.write_text("mine")
    with pytest.raises(Failed, match="cannot be written: File exists"):
        work.run()
    assert (file.read_text(), work.left, len(lying(stack).entries)) == ("mine", 2, 2)


def test_nor_is_what_may_not_be_deleted(stack: Stack, tmp_path: Path) -> None:
    fill(stack, 2)
    work = discard(stack, tmp_path / "discarded.jsonl")
    forbid(stack, "sqs", "DeleteMessageBatch")
    with pytest.raises(ClientError, match="AccessDenied"):
        work.run()
    assert work.results_by_end == {"failed": 2}
    assert "may still be in the queue. Discard it again." in work.ended[0].text
    del stack.aws._clients["sqs"]
    assert len(lying(stack).entries) == 2
