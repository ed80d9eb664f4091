"""What lies in UnstartedQueue: read as the starter wrote it, sent back, or taken away for good."""

import base64
import dataclasses
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.messages.filters import Listing
from actonce.messages.unstarted import Unstarted, unstarted
from actonce.operate import discarding
from actonce.operate.bulk import BulkResult
from actonce.operate.discarding import BulkDiscard
from actonce.operate.sending_back import BulkSendBack, attributes_to_send
from actonce.queues import scan
from actonce.queues.scan import Queued, event_form, sqs_form
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Refusal
from tests.support.queues import fill, handed_on, lying, queued, received
from tests.support.stacks import with_outputs

names = st.text("abcdefghijklmnopqrstuvwxyz_-.0123456789", min_size=1, max_size=20).filter(
    lambda name: name not in {"source_message_id", "source_deduplication_id"}  # ours
)
values = st.one_of(
    st.builds(lambda text: {"dataType": "String", "stringValue": text}, st.text(min_size=1)),
    st.builds(lambda n: {"dataType": "Number.int", "stringValue": str(n)}, st.integers()),
    st.builds(
        lambda data: {"dataType": "Binary", "binaryValue": base64.b64encode(data).decode()},
        st.binary(min_size=1),
    ),
)


def read(entry: Queued, message_id_from: str = "body:message_id") -> Unstarted:
    return unstarted(entry, MessageReader(message_id_from))


# ------------------------------------------------------------------ one of them


@given(st.dictionaries(names, values, max_size=9), st.booleans())
@example({"source_group_id": {"dataType": "String", "stringValue": "0"}}, False)
def test_a_message_goes_back_with_its_producers_attributes_and_its_first_sqs_id(
    own: dict[str, Any], was_moved: bool
) -> None:
    """Handed on by the starter, or moved by SQS."""
    as_received = {name: sqs_form(value) for name, value in own.items()}
    entry = read(queued("{}", as_received) if was_moved else handed_on("{}", own))
    assert entry.reason == ("received_too_often" if was_moved else "conflict")
    sent = attributes_to_send(entry)
    assert sent is not None
    first = "entry-id" if was_moved else "first-id"
    assert sent.pop("source_message_id") == {"DataType": "String", "StringValue": first}
    assert {name: event_form(value) for name, value in sent.items()} == own


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tenant", "a"),
        ("reason", "flu"),
        ("source_attributes", "{"),
        ("source_attributes", '{"a": {"stringValue": "no type"}}'),
        ("receive_count", "often"),
    ],
)
def test_a_producers_own_attributes_of_the_starters_names_hide_nothing(
    name: str, value: str
) -> None:
    own = dict(handed_on("{}", {}).message_attributes)
    own[name] = {"DataType": "String", "StringValue": value}
    entry = read(queued("{}", own))
    assert (entry.reason, name in entry.attributes) == ("received_too_often", True)
    if name == "tenant":
        assert attributes_to_send(entry) == own


def test_an_entry_says_what_the_starter_said_and_has_its_names() -> None:
    long_id = "x" * 2000
    entry = read(handed_on(json.dumps({"message_id": long_id}), {}))
    assert (entry.reason, entry.detail, entry.receive_count) == ("conflict", "Another content.", 2)
    ids = (long_id, execution_name(long_id), "entry-id", "first-id", "sqs:first-id")
    assert all(entry.is_named(name) for name in ids)
    assert not any(entry.is_named(name) for name in ("x", "entry", "sqs:entry-id"))


def test_what_the_starter_had_no_room_to_read_is_read_again() -> None:
    body = json.dumps({"message_id": "m-1", "x": "y" * 300_000})
    too_large = MessageReader().read(Delivery("first-id", body, {}, {}))
    assert isinstance(too_large, Refusal)
    assert too_large.message_id is None
    assert read(handed_on(body, {}, too_large)).message_id == "m-1"
    # Nor for its reason.
    vast = read(queued(json.dumps({"message_id": "vast", "x": "y" * (1024 * 1024 - 100)}), {}))
    assert (vast.reason, vast.message_id) == ("too_large", "vast")


def test_a_message_without_room_goes_back_without_its_first_sqs_id_unless_that_is_its_id() -> None:
    ten = {f"a{n}": {"dataType": "String", "stringValue": "v"} for n in range(10)}
    sent = attributes_to_send(read(handed_on('{"message_id": "m"}', ten)))
    assert sent is not None
    assert {name: event_form(value) for name, value in sent.items()} == ten
    assert attributes_to_send(read(handed_on("{}", ten), "sqs-message-id")) is None
    assert attributes_to_send(read(queued('"' + "x" * (1024 * 1024 - 2) + '"', {}))) == {}


# ------------------------------------------------------------------ back


def sending_back(stack: Stack, reader: MessageReader | None = None, **outputs: str) -> BulkSendBack:
    to = with_outputs(stack, **outputs)
    return BulkSendBack(to, lying(to), reader or MessageReader(), wait_for_others=0)


def failures(work: BulkSendBack) -> list[BulkResult[Unstarted]]:
    work.run()
    return [one for one in work.ended if not one.happened]


def test_a_message_group_keeps_its_order_also_where_one_cannot_go(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SQS gives a message group to one receive at a time; moto does not in several threads.
    monkeypatch.setattr(scan, "READERS", 1)
    sqs = moto_stack.sqs
    url, to = (
        sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})["QueueUrl"]
        for name in ("u.fifo", "r.fifo")
    )
    group = {"MessageGroupId": "g", "SequenceNumber": "1"}
    shown = []
    for number in range(24):
        sent = sqs.send_message(
            QueueUrl=url,
            MessageBody=str(number),
            MessageGroupId="g",
            MessageDeduplicationId=str(number),
        )
        entry = dataclasses.replace(queued("", {}, **group), sqs_message_id=sent["MessageId"])
        shown.append(read(entry))

    def stuck(params: dict[str, Any], **_: Any) -> None:
        if b'"MessageBody": "12"' in params["body"]:
            raise ClientError({"Error": {"Code": "Invalid", "Message": "no"}}, "SendMessage")

    sqs.meta.events.register("before-call.sqs.SendMessage", stuck)
    stack = with_outputs(moto_stack, UnstartedQueueUrl=url, RequestsQueueUrl=to)
    work = BulkSendBack(stack, Listing(shown, 0), MessageReader(), wait_for_others=5)
    failed = [one.text for one in failures(work)]
    assert [one.happened for one in work.ended] == [True] * 12 + [False] * 12
    assert [message["Body"] for message in received(moto_stack, to)] == list(map(str, range(10)))
    # Of the same receive, and of one after it; the last two do not come before those are gone.
    assert all(reason.startswith("A message before it in its group") for reason in failed[1:10])
    assert all(reason.startswith("It was not received") for reason in failed[10:])


# ------------------------------------------------------------------ for good


def test_what_the_disk_does_not_take_is_not_discarded(
    moto_stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    fill(moto_stack, 2)
    file = tmp_path / "discarded.jsonl"
    work = BulkDiscard(
        moto_stack, lying(moto_stack), MessageReader(), file, "a test", wait_for_others=0
    )
    monkeypatch.setattr(discarding, "sync_folder", lambda _: None)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Failed, match="No space left"):
        work.run()
    assert (work.kept_in, work.notes, len(lying(moto_stack).entries)) == (None, [], 2)
