import io
import itertools
import re
from collections.abc import Sequence
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import strategies as st

from actonce.queues.sending import (
    Accepted,
    End,
    Line,
    NoAnswer,
    NotSent,
    Sender,
    read_lines,
    spread_over_lines,
)
from actonce.stack.clients import Stack
from pipeline.sqs import MAX_BYTES, batches
from tests.cli.received import received

QUEUE_URL = "https://sqs.us-east-1.amazonaws.com/123456789012/requests"

taken_by_sqs = st.text(
    st.characters(
        exclude_categories=["Cs"],
        exclude_characters=[*map(chr, range(32)), "\ufeff", "\ufffe", "\uffff"],
    ),
    min_size=1,
    max_size=40,
)
messages = st.lists(taken_by_sqs.filter(lambda text: text.strip(" ") != ""), max_size=40)


def line(number: int, body: str = "{}") -> Line:
    return Line(number, body, len(body.encode()))


def read(content: bytes) -> list[Line | NotSent]:
    return list(read_lines(io.BytesIO(content)))


class Ends:
    def __init__(self) -> None:
        self.all: list[End] = []

    def __call__(self, ends: Sequence[End]) -> None:
        self.all += ends

    @property
    def accepted(self) -> list[int]:
        return sorted(end.line.number for end in self.all if isinstance(end, Accepted))

    @property
    def not_sent(self) -> dict[int, str]:
        return {end.number: end.reason for end in self.all if isinstance(end, NotSent)}


# ------------------------------------------------------------------- reading


@given(messages, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_line_is_a_message_verbatim(
    bodies: list[str], line_end: str, last_line_ends: bool
) -> None:
    content = line_end.join(bodies) + (line_end if last_line_ends else "")
    lines = read(content.encode())
    assert [one.body for one in lines if isinstance(one, Line)] == bodies
    assert [one.number for one in lines] == list(range(1, len(bodies) + 1))
    assert [one.size for one in lines if isinstance(one, Line)] == [
        len(body.encode()) for body in bodies
    ]


def test_blank_lines_are_no_messages_but_count_as_lines() -> None:
    assert read(b'\n{"a": 1}\n  \t\r\n\n{"b": 2}') == [line(2, '{"a": 1}'), line(5, '{"b": 2}')]


def test_a_byte_order_mark_is_the_files_and_not_the_messages() -> None:
    assert read(b'\xef\xbb\xbf{"a":1}\n\xef\xbb\xbf{}') == [
        line(1, '{"a":1}'),
        line(2, "\ufeff{}"),
    ]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_largest_message_is_sent_and_one_byte_more_is_not(mark: bytes, line_end: bytes) -> None:
    largest = read(mark + b"x" * MAX_BYTES + line_end)
    assert [one.size for one in largest if isinstance(one, Line)] == [MAX_BYTES]

    too_large = read(mark + b"x" * (MAX_BYTES + 1) + line_end)
    assert [type(one) for one in too_large] == [NotSent]
    assert "bytes" in getattr(too_large[0], "reason", "")


def test_a_line_far_too_long_is_named_and_the_next_one_read() -> None:
    content = b'{"a":1}\n' + b"x" * (5 * MAX_BYTES) + b'\n{"b":2}\n'
    first, long, last = read(content)
    assert (first, last) == (line(1, '{"a":1}'), line(3, '{"b":2}'))
    assert isinstance(long, NotSent)
    assert long.number == 2
    assert re.search(r"5,242,88\d bytes", long.reason)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\x01b", "U+0001, number 2"),
        ("ab\ufffe".encode(), "U+FFFE, number 3"),
        (b"\x00", "U+0000, number 1"),
        (b"ab\xff", "not UTF-8: byte 3"),
        (b"\xed\xa0\x80", "not UTF-8: byte 1"),
    ],
)
def test_what_sqs_does_not_take_is_named(content: bytes, reason: str) -> None:
    bad, good = read(content + b"\n{}\n")
    assert isinstance(bad, NotSent)
    assert bad.number == 1
    assert reason in bad.reason
    assert good == line(2)


# ------------------------------------------------------------------- batches


@given(st.lists(st.integers(1, MAX_BYTES), max_size=60))
def test_batches_keep_order_and_limits_and_are_as_full_as_they_may_be(sizes: list[int]) -> None:
    lines = [Line(number, "", size) for number, size in enumerate(sizes, 1)]
    made = list(batches(lines))
    assert [one for batch in made for one in batch] == lines
    for batch in made:
        assert 1 <= len(batch) <= 10
        assert sum(one.size for one in batch) <= MAX_BYTES
    for batch, following in itertools.pairwise(made):
        assert len(batch) == 10 or sum(one.size for one in [*batch, following[0]]) > MAX_BYTES


# ------------------------------------------------------------------- sending


def test_every_message_arrives_verbatim_and_once(moto_stack: Stack) -> None:
    bodies = [f'{{"message_id": "m-{n}", "text": "grüß dich {n}" }} ' for n in range(57)]
    ends = Ends()
    sender = Sender(moto_stack.sqs, moto_stack.requests_queue)
    sender.send_all(io.BytesIO("\n".join(bodies).encode()), ends)

    arrived = received(moto_stack, moto_stack.requests_queue)
    assert sorted(message["Body"] for message in arrived) == sorted(bodies)
    assert ends.accepted == list(range(1, 58))
    ids = {end.sqs_message_id for end in ends.all if isinstance(end, Accepted)}
    assert ids == {message["MessageId"] for message in arrived}


def test_bad_lines_do_not_keep_their_neighbours_from_being_sent(moto_stack: Stack) -> None:
    ends = Ends()
    content = b'{"a":1}\n\x01\n{"b":2}\n' + b"x" * (MAX_BYTES + 1) + b'\n{"c":3}\n'
    Sender(moto_stack.sqs, moto_stack.requests_queue).send_all(io.BytesIO(content), ends)
    assert ends.accepted == [1, 3, 5]
    assert set(ends.not_sent) == {2, 4}


@pytest.mark.usefixtures("moto_stack")
def test_a_queue_that_is_gone_ends_it_with_awss_word() -> None:
    sqs = boto3.client("sqs")
    with pytest.raises(ClientError, match=r"NonExistentQueue|QueueDoesNotExist"):
        Sender(sqs, QUEUE_URL).send_all(io.BytesIO(b"{}\n" * 200), Ends())


def test_an_endpoint_that_cannot_be_reached_is_tried_until_the_deadline() -> None:
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=1)
    sqs = boto3.client("sqs", endpoint_url="http://127.0.0.1:9", config=config)
    ends = Ends()
    # All of them would be tried for so long, eight batches at a time.
    with pytest.raises(NoAnswer, match="SQS has not answered for 0 s: Could not connect"):
        Sender(sqs, "http://127.0.0.1:9/1/q", retry_for=0).send_all(
            io.BytesIO(b"{}\n" * 1000), ends
        )
    assert {1, 2} <= set(ends.not_sent)
    assert len(ends.not_sent) < 200
    assert "Could not connect" in ends.not_sent[1]


# ------------------------------------------------------------------- answers no emulator gives


def _stubbed() -> tuple[Any, Stubber]:
    sqs = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    return sqs, Stubber(sqs)


def _entries(*bodies: str) -> dict[str, Any]:
    return {
        "QueueUrl": QUEUE_URL,
        "Entries": [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)],
    }


def _success(entry: int, sqs_message_id: str) -> dict[str, str]:
    return {"Id": str(entry), "MessageId": sqs_message_id, "MD5OfMessageBody": "0" * 32}


def _failure(entry: int, code: str, *, sender_fault: bool) -> dict[str, Any]:
    return {"Id": str(entry), "Code": code, "Message": "said SQS", "SenderFault": sender_fault}


def test_only_what_failed_is_sent_again() -> None:
    sqs, stubber = _stubbed()
    stubber.add_response(
        "send_message_batch",
        {
            "Successful": [_success(0, "first")],
            "Failed": [
                _failure(1, "InternalError", sender_fault=False),
                _failure(2, "RequestThrottled", sender_fault=True),
            ],
        },
        _entries("a", "b", "c"),
    )
    stubber.add_response(
        "send_message_batch",
        {"Successful": [_success(0, "second"), _success(1, "third")], "Failed": []},
        _entries("b", "c"),
    )
    ends = Ends()
    with stubber:
        Sender(sqs, QUEUE_URL).send([line(1, "a"), line(2, "b"), line(3, "c")], ends)
    assert [(e.line.number, e.sqs_message_id) for e in ends.all if isinstance(e, Accepted)] == [
        (1, "first"),
        (2, "second"),
        (3, "third"),
    ]


def test_what_the_sender_did_wrong_is_not_sent_again() -> None:
    sqs, stubber = _stubbed()
    stubber.add_response(
        "send_message_batch",
        {
            "Successful": [_success(1, "second")],
            "Failed": [_failure(0, "InvalidMessageContents", sender_fault=True)],
        },
    )
    ends = Ends()
    with stubber:
        Sender(sqs, QUEUE_URL).send([line(1), line(2)], ends)
    assert ends.accepted == [2]
    assert ends.not_sent == {1: "InvalidMessageContents: said SQS"}


def test_what_sqs_does_not_answer_for_is_sent_again() -> None:
    sqs, stubber = _stubbed()
    stubber.add_response("send_message_batch", {"Successful": [], "Failed": []})
    stubber.add_response(
        "send_message_batch", {"Successful": [_success(0, "first")], "Failed": []}, _entries("a")
    )
    ends = Ends()
    with stubber:
        Sender(sqs, QUEUE_URL).send([line(1, "a")], ends)
    assert ends.accepted == [1]


@pytest.mark.parametrize(
    ("code", "status"),
    [("RequestThrottled", 400), ("ThrottlingException", 400), ("ServiceUnavailable", 503)],
)
def test_a_throttled_request_is_sent_again(code: str, status: int) -> None:
    sqs, stubber = _stubbed()
    stubber.add_client_error("send_message_batch", code, http_status_code=status)
    stubber.add_response("send_message_batch", {"Successful": [_success(0, "1")], "Failed": []})
    ends = Ends()
    with stubber:
        Sender(sqs, QUEUE_URL).send([line(1)], ends)
    assert ends.accepted == [1]


def test_what_sqs_is_too_busy_for_is_given_up_at_the_deadline() -> None:
    sqs, stubber = _stubbed()
    stubber.add_response(
        "send_message_batch",
        {
            "Successful": [_success(1, "second")],
            "Failed": [_failure(0, "InternalError", sender_fault=False)],
        },
    )
    ends = Ends()
    with stubber:
        Sender(sqs, QUEUE_URL, retry_for=0).send([line(7), line(8)], ends)
    assert ends.accepted == [8]
    assert "Given up after 1 attempt" in ends.not_sent[7]
    assert "InternalError" in ends.not_sent[7]


def test_a_refusal_ends_it_and_what_was_accepted_is_reported() -> None:
    sqs, stubber = _stubbed()
    stubber.add_response("send_message_batch", {"Successful": [_success(0, "1")], "Failed": []})
    stubber.add_client_error("send_message_batch", "AccessDenied", http_status_code=403)
    ends = Ends()
    sender = Sender(sqs, QUEUE_URL)
    with stubber:
        sender.send([line(1)], ends)
        with pytest.raises(ClientError, match="AccessDenied"):
            sender.send([line(2)], ends)
    assert ends.accepted == [1]
    assert ends.not_sent == {}


def test_one_message_that_spoils_a_batch_is_found() -> None:
    sqs, stubber = _stubbed()
    spoiled = "AWS.SimpleQueueService.BatchRequestTooLong"
    stubber.add_client_error("send_message_batch", spoiled, http_status_code=400)
    stubber.add_response(
        "send_message_batch", {"Successful": [_success(0, "1")], "Failed": []}, _entries("a")
    )
    stubber.add_client_error(
        "send_message_batch", spoiled, http_status_code=400, expected_params=_entries("b")
    )
    ends = Ends()
    with stubber:
        Sender(sqs, QUEUE_URL).send([line(1, "a"), line(2, "b")], ends)
    assert ends.accepted == [1]
    assert "BatchRequestTooLong" in ends.not_sent[2]


@pytest.mark.parametrize(
    ("text", "cut_off", "spread"),
    [
        ('{"message_id": "a"}\n{"message_id": "b"}\n', False, False),
        ('{\n  "message_id": "a"\n}\n', False, True),
        ('\ufeff\n {"message_id": "a",\n "x": 1}', False, True),
        ('[\n  {"message_id": "a"}\n]', False, True),
        ('[{"message_id": "a"}]\n', False, False),
        ('{"message_id": "cut off\n{"message_id": "b"}\n', False, False),
        ("{\n", False, False),  # one message, and no JSON
        ('{\n  "message_id": "a",\n', True, True),
        ('{"message_id": "a", "x": "' + "y" * 9000, True, False),
        ("no JSON\n{\n}\n", False, False),
        ("[" * 100_000, True, False),
        ("", False, False),
    ],
    ids=range(12),
)
def test_json_that_takes_several_lines_is_recognised_and_nothing_else(
    text: str, *, cut_off: bool, spread: bool
) -> None:
    assert spread_over_lines(text.encode(), cut_off=cut_off) is spread
