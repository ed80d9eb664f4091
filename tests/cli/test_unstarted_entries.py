import base64
import dataclasses
import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from actonce.cli import unstarted as unstarted_command
from actonce.messages import unstarted
from actonce.messages.filters import Narrowing
from actonce.messages.unstarted import Unstarted, attributes_to_send
from actonce.operate import discarding as clearing_module
from actonce.operate.bulk import Ended
from actonce.operate.discarding import Discarding, Redriving, look
from actonce.queues import scan
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Reason, Refusal
from actonce_core.unstarted import unstarted_attributes
from tests.cli.received import received
from tests.support.stacks import forbid, with_executions

CONFLICT = Refusal(Reason.CONFLICT, "Another content.")

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


def queued(body: str, attributes: Mapping[str, Mapping[str, Any]], **system: str) -> Queued:
    return Queued("entry-id", body, {"SentTimestamp": "1", **system}, attributes, "handle")


def handed_on(body: str, own: dict[str, Any], refusal: Refusal = CONFLICT) -> Queued:
    """An entry as the starter makes it."""
    delivery = Delivery("first-id", body, {"ApproximateReceiveCount": "2"}, own)
    return queued(body, unstarted_attributes(delivery, refusal))


def read(entry: Queued, message_id_from: str = "body:message_id") -> Unstarted:
    return unstarted.unstarted(entry, MessageReader(message_id_from))


def in_event_form(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {
            "dataType": value["DataType"],
            **({"stringValue": value["StringValue"]} if "StringValue" in value else {}),
            **(
                {"binaryValue": base64.b64encode(value["BinaryValue"]).decode()}
                if "BinaryValue" in value
                else {}
            ),
        }
        for name, value in attributes.items()
    }


@given(st.dictionaries(names, values, max_size=9))
def test_a_redriven_message_has_its_producers_attributes_and_its_first_sqs_id(
    own: dict[str, Any],
) -> None:
    sent = attributes_to_send(read(handed_on("{}", own)))
    assert sent is not None
    assert sent.pop("source_message_id") == {"DataType": "String", "StringValue": "first-id"}
    assert in_event_form(sent) == own


@given(st.dictionaries(names, values, max_size=9))
def test_a_message_that_sqs_moved_keeps_its_attributes_as_they_are(own: dict[str, Any]) -> None:
    as_received = {
        name: {
            "DataType": value["dataType"],
            **({"StringValue": value["stringValue"]} if "stringValue" in value else {}),
            **(
                {"BinaryValue": base64.b64decode(value["binaryValue"])}
                if "binaryValue" in value
                else {}
            ),
        }
        for name, value in own.items()
    }
    entry = read(queued("{}", as_received, ApproximateReceiveCount="6"))
    assert (entry.reason, entry.source_message_id) == ("received_too_often", "entry-id")
    sent = attributes_to_send(entry)
    assert sent is not None
    assert sent.pop("source_message_id")["StringValue"] == "entry-id"
    assert sent == as_received


def test_a_producers_own_source_group_id_is_not_taken_for_the_starters() -> None:
    own = {"source_group_id": {"dataType": "String", "stringValue": "0"}}
    sent = attributes_to_send(read(handed_on("{}", own)))
    assert sent is not None
    assert sent["source_group_id"] == {"DataType": "String", "StringValue": "0"}


def test_a_producers_own_reason_is_not_taken_for_the_starters() -> None:
    own = {"reason": {"DataType": "String", "StringValue": "conflict"}}
    assert read(queued("{}", own)).reason == "received_too_often"


def test_a_message_that_sqs_moved_keeps_attributes_of_every_name_of_a_refusal() -> None:
    own = dict(handed_on("{}", {}).message_attributes)
    own["tenant"] = {"DataType": "String", "StringValue": "a"}
    entry = read(queued("{}", own))
    assert entry.reason == "received_too_often"
    assert attributes_to_send(entry) == own


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reason", "flu"),
        ("source_attributes", "{"),
        ("source_attributes", "[]"),
        ("source_attributes", '{"a": 7}'),
        ("source_attributes", '{"a": {"stringValue": "no type"}}'),
        ("source_attributes", "[" * 100_000),
        ("receive_count", "often"),
    ],
)
def test_a_producers_own_attributes_of_the_starters_names_hide_nothing(
    name: str, value: str
) -> None:
    of_a_refusal = dict(handed_on("{}", {}).message_attributes)
    entry = queued("{}", of_a_refusal | {name: {"DataType": "String", "StringValue": value}})
    assert read(entry).reason == "received_too_often"
    assert name in read(entry).attributes


def test_an_entry_says_what_the_starter_said() -> None:
    entry = read(handed_on('{"message_id": "m-1"}', {}))
    assert (entry.reason, entry.detail, entry.receive_count) == ("conflict", "Another content.", 2)
    assert (entry.message_id, entry.source_message_id) == ("m-1", "first-id")


@pytest.mark.parametrize(
    ("message_id_from", "body", "own", "message_id"),
    [
        ("body:message_id", '{"message_id": 7}', {}, "7"),
        ("body:message_id", "{not json", {}, None),
        ("body:message_id", '{"id": "x"}', {}, None),
        ("body:id", '{"id": "x"}', {}, "x"),
        ("attribute:id", "{}", {"id": {"dataType": "String", "stringValue": "from-it"}}, "from-it"),
        ("sqs-message-id", "{}", {}, "first-id"),
    ],
)
def test_the_message_id_is_read_as_the_starter_reads_it(
    message_id_from: str, body: str, own: dict[str, Any], message_id: str | None
) -> None:
    assert read(handed_on(body, own), message_id_from).message_id == message_id


def test_an_entry_is_found_by_its_message_id_and_by_both_sqs_ids() -> None:
    long_id = "x" * 2000
    entry = read(handed_on(json.dumps({"message_id": long_id}), {}))
    assert entry.message_id == long_id
    ids = (long_id, execution_name(long_id), "entry-id", "first-id", "sqs:first-id")
    assert all(entry.is_named(name) for name in ids)
    assert not any(entry.is_named(name) for name in ("x", "entry", "sqs:entry-id"))


TEN = {f"a{n}": {"dataType": "String", "stringValue": "v"} for n in range(10)}


def test_a_message_with_ten_attributes_goes_back_without_its_first_sqs_id() -> None:
    sent = attributes_to_send(read(handed_on('{"message_id": "m"}', TEN)))
    assert sent is not None
    assert in_event_form(sent) == TEN


def test_a_message_whose_id_is_sqss_is_not_sent_back_without_it() -> None:
    assert attributes_to_send(read(handed_on("{}", TEN), "sqs-message-id")) is None


def test_a_body_of_the_largest_size_goes_back_without_its_first_sqs_id() -> None:
    body = '"' + "x" * (1024 * 1024 - 2) + '"'
    assert attributes_to_send(read(queued(body, {}))) == {}


# ------------------------------------------------------------------- with queues


def hand_on(stack: Stack, body: str, own: dict[str, Any] | None = None) -> str:
    entry = handed_on(body, own or {})
    attributes: Any = entry.message_attributes
    return stack.sqs.send_message(
        QueueUrl=stack.unstarted_queue, MessageBody=body, MessageAttributes=attributes
    )["MessageId"]


def test_of_a_conflict_both_contents_are_shown(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = with_executions(moto_stack, "m-1")
    hand_on(stack, '{"message_id": "m-1", "day": "another"}')
    hand_on(stack, '{"message_id": "m-2", "day": "another"}')  # the first of it was not started
    monkeypatch.setattr(unstarted_command, "find_stack", lambda *_, **__: stack)
    monkeypatch.setattr(unstarted_command, "message_reader", lambda _: MessageReader())
    monkeypatch.setattr(console, "out", console.SafeConsole())

    def shown(name: str) -> str:
        unstarted_command.show(name)
        return capsys.readouterr().out

    body, heading, *message = shown("m-1").splitlines()[-5:]
    assert body == '{"message_id": "m-1", "day": "another"}'
    assert heading == "What was started under the id m-1:"
    assert json.loads("".join(message)) == {"message_id": "m-1"}
    assert shown("m-2").endswith('{"message_id": "m-2", "day": "another"}\n')
    unstarted_command.show("m-1", json=True)
    (told,) = json.loads(capsys.readouterr().out)["unstarted"]
    assert told["started"] == {"message_id": "m-1"}

    forbid(stack, "stepfunctions", "DescribeExecution")
    assert shown("m-1").endswith(f"{body}\n"), "who may not look is shown the rest"


def entries(stack: Stack) -> list[Unstarted]:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        return unstarted.entries(queue, MessageReader())


def clearing(stack: Stack, requests_queue: str = "") -> Redriving:
    outputs = stack.outputs | ({"RequestsQueueUrl": requests_queue} if requests_queue else {})
    to = dataclasses.replace(stack, outputs=outputs)
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        shown = look(queue, MessageReader(), Narrowing({}))
    return Redriving(to, MessageReader(), shown, wait_for_others=0)


def redrive_all(stack: Stack, requests_queue: str = "") -> list[Ended[Unstarted]]:
    """What could not be sent back."""
    redriving = clearing(stack, requests_queue)
    redriving.run()
    return [one for one in redriving.ended if not one.happened]


def test_what_is_redriven_leaves_one_queue_for_the_other_verbatim(moto_stack: Stack) -> None:
    body = '{ "message_id":"m-1",  "x": "ü" }'
    own = {"kind": {"dataType": "Binary", "binaryValue": "AAH/"}}
    hand_on(moto_stack, body, own)
    assert redrive_all(moto_stack) == []

    assert entries(moto_stack) == []
    (message,) = received(moto_stack, moto_stack.requests_queue)
    assert message["Body"] == body
    assert message["MessageAttributes"]["kind"]["BinaryValue"] == b"\x00\x01\xff"
    assert message["MessageAttributes"]["source_message_id"]["StringValue"] == "first-id"
    assert set(message["MessageAttributes"]) == {"kind", "source_message_id"}


def test_a_message_that_sqs_moved_is_listed_and_redriven(moto_stack: Stack) -> None:
    sqs = moto_stack.sqs
    arn = sqs.get_queue_attributes(
        QueueUrl=moto_stack.unstarted_queue, AttributeNames=["QueueArn"]
    )["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    queue = sqs.create_queue(QueueName="received", Attributes={"RedrivePolicy": policy})["QueueUrl"]
    sent = sqs.send_message(
        QueueUrl=queue,
        MessageBody='{"message_id": "m-2"}',
        MessageAttributes={"n": {"DataType": "Number", "StringValue": "1"}},
    )["MessageId"]
    for _ in range(2):
        sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)

    (entry,) = entries(moto_stack)
    assert (entry.reason, entry.message_id) == ("received_too_often", "m-2")
    assert redrive_all(moto_stack) == []
    (message,) = received(moto_stack, moto_stack.requests_queue)
    assert message["MessageAttributes"]["n"]["StringValue"] == "1"
    assert message["MessageAttributes"]["source_message_id"]["StringValue"] == sent


def test_what_cannot_be_sent_stays_where_it_is(moto_stack: Stack) -> None:
    entry_id = hand_on(moto_stack, "{}")
    (failure,) = redrive_all(moto_stack, moto_stack.requests_queue + "-gone")
    assert failure.entry.sqs_message_id == entry_id
    assert "exist" in failure.said
    assert [entry.sqs_message_id for entry in entries(moto_stack)] == [entry_id]


def test_a_crash_after_the_send_leaves_the_message_in_both_queues(moto_stack: Stack) -> None:
    entry_id = hand_on(moto_stack, "{}")

    def crash(**_: Any) -> None:
        raise KeyboardInterrupt

    events = moto_stack.sqs.meta.events
    events.register("before-call.sqs.DeleteMessageBatch", crash, unique_id="crash")
    with pytest.raises(KeyboardInterrupt):
        redrive_all(moto_stack)
    events.unregister("before-call.sqs.DeleteMessageBatch", unique_id="crash")

    assert len(received(moto_stack, moto_stack.requests_queue)) == 1
    assert [entry.sqs_message_id for entry in entries(moto_stack)] == [entry_id]


def test_who_may_not_is_told_so_once_and_nothing_is_lost(moto_stack: Stack) -> None:
    ids = {hand_on(moto_stack, "{}") for _ in range(3)}

    def forbid(**_: Any) -> None:
        error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise ClientError(error, "SendMessage")  # type: ignore[arg-type]

    redriving = clearing(moto_stack)
    moto_stack.sqs.meta.events.register("before-call.sqs.SendMessage", forbid)
    with pytest.raises(ClientError, match="AccessDenied"):
        redriving.run()
    assert redriving.left == 3
    assert {entry.sqs_message_id for entry in entries(moto_stack)} == ids


def test_a_message_group_keeps_its_order_also_where_one_cannot_go(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SQS gives a message group to one receive at a time; moto does not in several threads.
    monkeypatch.setattr(scan, "READERS", 1)
    url = moto_stack.sqs.create_queue(QueueName="u.fifo", Attributes={"FifoQueue": "true"})
    to = moto_stack.sqs.create_queue(QueueName="r.fifo", Attributes={"FifoQueue": "true"})
    outputs = {"UnstartedQueueUrl": url["QueueUrl"], "RequestsQueueUrl": to["QueueUrl"]}
    fifo = dataclasses.replace(moto_stack, outputs=moto_stack.outputs | outputs)
    for number in range(4):
        moto_stack.sqs.send_message(
            QueueUrl=url["QueueUrl"],
            MessageBody=str(number),
            MessageGroupId="g",
            MessageDeduplicationId=str(number),
        )

    def not_the_second(params: dict[str, Any], **_: Any) -> None:
        if b'"MessageBody": "1"' in params["body"]:
            raise ClientError({"Error": {"Code": "Invalid", "Message": "no"}}, "SendMessage")

    redriving = clearing(fifo)
    fifo.sqs.meta.events.register("before-call.sqs.SendMessage", not_the_second)
    redriving.run()
    sent = fifo.sqs.receive_message(QueueUrl=to["QueueUrl"], MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in sent] == ["0"]
    assert [one.happened for one in redriving.ended] == [True, False, False, False]


# ------------------------------------------------------------------- for good


def discarding(stack: Stack, file: Path) -> Discarding:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        shown = look(queue, MessageReader(), Narrowing({}))
    return Discarding(stack, MessageReader(), shown, file, note="a test", wait_for_others=0)


def test_what_is_discarded_stands_in_the_file_whole(moto_stack: Stack, tmp_path: Path) -> None:
    own = {"kind": {"dataType": "Binary", "binaryValue": "AAH/"}}
    bodies = {f'{{"message_id": "m-{n}", "x": "\u202e\x1b ü"}}' for n in range(12)}
    for body in bodies:
        hand_on(moto_stack, body, own)
    file = tmp_path / "discarded.jsonl"
    discarding(moto_stack, file).run()

    assert entries(moto_stack) == []
    text = file.read_text(encoding="ascii")
    lines = [json.loads(line) for line in text.splitlines()]
    assert {line["body"] for line in lines} == bodies
    assert {line["reason"] for line in lines} == {"conflict"}
    assert all(line["attributes"] == own and line["note"] == "a test" for line in lines)
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_is_there_is_not_written_over(moto_stack: Stack, tmp_path: Path) -> None:
    hand_on(moto_stack, "{}")
    file = tmp_path / "discarded.jsonl"
    file.write_text("mine")
    with pytest.raises(Failed, match="File exists"):
        discarding(moto_stack, file).run()
    assert (file.read_text(), len(entries(moto_stack))) == ("mine", 1)


def test_what_cannot_be_written_is_not_deleted(
    moto_stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_on(moto_stack, "{}")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    work = discarding(moto_stack, tmp_path / "discarded.jsonl")
    monkeypatch.setattr(clearing_module, "sync_folder", lambda _: None)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Failed, match="No space left"):
        work.run()
    assert len(entries(moto_stack)) == 1


def test_nothing_is_written_behind_a_line_that_was_cut_off(
    moto_stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full for one batch, and has room again for those that wait behind it."""
    for _ in range(30):
        hand_on(moto_stack, "{}")
    write, written = os.write, []

    def full_once(file: int, data: bytes) -> int:
        written.append(data)
        if len(written) == 1:
            return write(file, data[:50])
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    file = tmp_path / "discarded.jsonl"
    work = discarding(moto_stack, file)
    with monkeypatch.context() as full:
        full.setattr(os, "write", full_once)
        with pytest.raises(Failed, match="No space left"):
            work.run()
    assert (len(entries(moto_stack)), len(file.read_bytes())) == (30, 50)


def test_what_stands_behind_a_stuck_message_stays_with_later_receives_too(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    redriving = clearing(moto_stack)
    monkeypatch.setattr(redriving, "_end", lambda *_, **__: None)
    monkeypatch.setattr(redriving, "_send", lambda _: "It cannot be sent.")
    group = {"MessageGroupId": "g", "SequenceNumber": "1"}
    first, second = (
        dataclasses.replace(queued("{}", {}), sqs_message_id=name, attributes=group)
        for name in ("first", "second")
    )
    assert [one.goes for one in redriving._batch([first])] == [False]
    monkeypatch.setattr(redriving, "_send", lambda _: None)
    assert [one.goes for one in redriving._batch([second])] == [False]


def test_an_entry_that_the_starter_did_not_read_is_known_by_its_id_all_the_same() -> None:
    body = json.dumps({"message_id": "m-1", "x": "y" * 300_000})
    too_large = MessageReader().read(Delivery("first-id", body, {}, {}))
    assert isinstance(too_large, Refusal)
    assert too_large.message_id is None
    assert read(handed_on(body, {}, too_large)).message_id == "m-1"


def test_the_reason_of_what_had_no_room_for_it_is_read_again() -> None:
    body = json.dumps({"message_id": "vast", "x": "y" * (1024 * 1024 - 100)})
    entry = read(queued(body, {}))
    assert (entry.reason, entry.message_id) == ("too_large", "vast")
