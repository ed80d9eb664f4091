"""Sending a file's lines, each verbatim and once, also by answers that no emulator gives."""

import io
import json
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st

from actonce.queues import sent_record
from actonce.queues.rate import RateLimiter
from actonce.queues.sending import (
    MAX_BATCH,
    MAX_BYTES,
    Accepted,
    Line,
    LineResult,
    NoAnswer,
    NotSent,
    Sender,
    batches,
    read_lines,
)
from actonce.queues.sent_record import SentRecord
from actonce.stack.clients import Stack
from tests.support.moto_stack import Actonce
from tests.support.queues import received
from tests.support.stacks import deployed

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
        self.all: list[LineResult] = []

    def __call__(self, ends: Sequence[LineResult]) -> None:
        self.all += ends

    @property
    def accepted(self) -> dict[int, str]:
        return {
            end.line.number: end.sqs_message_id for end in self.all if isinstance(end, Accepted)
        }

    @property
    def not_sent(self) -> dict[int, str]:
        return {end.number: end.reason for end in self.all if isinstance(end, NotSent)}


# ------------------------------------------------------------------- reading


@given(messages, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_line_is_a_message_verbatim(
    bodies: list[str], line_end: str, last_line_ends: bool
) -> None:
    content = line_end.join(bodies) + (line_end if last_line_ends else "")
    assert read(content.encode()) == [line(number, body) for number, body in enumerate(bodies, 1)]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'\n{"a": 1}\n  \t\r\n\n{"b": 2}', [line(2, '{"a": 1}'), line(5, '{"b": 2}')]),
        # A byte order mark before the first line is the file's and not the message's.
        (b'\xef\xbb\xbf{"a":1}\n\xef\xbb\xbf{}', [line(1, '{"a":1}'), line(2, "\ufeff{}")]),
    ],
)
def test_what_is_no_message_s_is_not_sent_and_counts(content: bytes, lines: list[Line]) -> None:
    assert read(content) == lines


@pytest.mark.parametrize(("mark", "line_end"), [(b"", b""), (b"\xef\xbb\xbf", b"\r\n")])
def test_the_largest_message_is_sent_and_one_byte_more_is_not(mark: bytes, line_end: bytes) -> None:
    (largest,) = read(mark + b"x" * MAX_BYTES + line_end)
    assert isinstance(largest, Line)
    assert largest.size == MAX_BYTES
    (too_large,) = read(mark + b"x" * (MAX_BYTES + 1) + line_end)
    assert isinstance(too_large, NotSent)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("ab\ufffe".encode(), r"U\+FFFE, number 3"),
        (b"ab\xff", "not UTF-8: byte 3"),
        (b"x" * (5 * MAX_BYTES), r"It has 5,242,88\d bytes"),
    ],
)
def test_a_line_that_sqs_does_not_take_is_named(content: bytes, reason: str) -> None:
    bad, good = read(content + b"\n{}\n")
    assert isinstance(bad, NotSent)
    assert bad.number == 1
    assert re.search(reason, bad.reason)
    assert good == line(2)


# ------------------------------------------------------------------- sending


def test_every_message_arrives_verbatim_and_once_beside_bad_lines(moto_stack: Stack) -> None:
    bodies = [f'{{"message_id": "m-{n}", "text": "grüß dich {n}" }} ' for n in range(57)]
    content = "\n".join([*bodies, "\x01"]).encode()
    ends = Ends()
    Sender(moto_stack.sqs, moto_stack.requests_queue).send_all(read(content), ends)
    arrived = received(moto_stack, moto_stack.requests_queue)
    assert sorted(message["Body"] for message in arrived) == sorted(bodies)
    assert sorted(ends.accepted) == [*range(1, 58)]
    assert set(ends.accepted.values()) == {message["MessageId"] for message in arrived}
    assert set(ends.not_sent) == {58}


def test_where_nobody_answers_all_is_given_up_after_a_while() -> None:
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=1)
    sqs = boto3.client("sqs", endpoint_url="http://127.0.0.1:9", config=config)
    sender, ends = Sender(sqs, "http://127.0.0.1:9/1/q", retry_for=0), Ends()
    with pytest.raises(NoAnswer, match="SQS has not answered for 0 s: Could not connect"):
        sender.send_all(read(b"{}\n" * 1000), ends)
    assert {1, 2} <= set(ends.not_sent)
    assert len(ends.not_sent) < 200  # of eight batches at a time


def entries(*bodies: str) -> dict[str, Any]:
    requests = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    return {"QueueUrl": ANY, "Entries": requests}


def answer(*took: str, **failed: tuple[str, bool]) -> dict[str, Any]:
    """Of the entries by their numbers: those that SQS took, and others with code and fault."""
    return {
        "Successful": [
            {"Id": one, "MessageId": f"sqs-{one}", "MD5OfMessageBody": "0" * 32} for one in took
        ],
        "Failed": [
            {"Id": one[1:], "Code": code, "Message": "said SQS", "SenderFault": fault}
            for one, (code, fault) in failed.items()
        ],
    }


SPOILED = ("AWS.SimpleQueueService.BatchRequestTooLong", 400)


@pytest.mark.parametrize(
    ("answers", "accepted", "not_sent"),
    [
        (
            [
                (answer("0", _1=("RequestThrottled", True), _2=("InvalidMessage", True)), "abc"),
                (answer("0"), "b"),
            ],
            {1: "sqs-0", 2: "sqs-0"},
            {3: "InvalidMessage: said SQS"},
        ),
        # What it does not answer for.
        (
            [(answer("0"), "abc"), (answer("0", "1"), "bc")],
            {1: "sqs-0", 2: "sqs-0", 3: "sqs-1"},
            {},
        ),
        (
            [
                (("RequestThrottled", 400), "abc"),
                (("ServiceUnavailable", 503), "abc"),
                (answer("0", "1", "2"), "abc"),
            ],
            {1: "sqs-0", 2: "sqs-1", 3: "sqs-2"},
            {},
        ),
        # One message that spoils a batch is found.
        (
            [
                (SPOILED, "abc"),
                (answer("0"), "a"),
                (SPOILED, "bc"),
                (SPOILED, "b"),
                (answer("0"), "c"),
            ],
            {1: "sqs-0", 3: "sqs-0"},
            {2: "BatchRequestTooLong"},
        ),
    ],
    ids=["again", "unanswered", "throttled", "spoiled"],
)
def test_entries_of_a_batch_that_sqs_did_not_take_are_sent_again(
    monkeypatch: pytest.MonkeyPatch,
    answers: list[tuple[Any, str]],
    accepted: dict[int, str],
    not_sent: dict[int, str],
) -> None:
    monkeypatch.setattr("actonce.queues.sending.random.uniform", lambda *_: 0.0)
    sqs = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    ends = Ends()
    with Stubber(sqs) as stub:
        for given_back, requests in answers:
            if isinstance(given_back, dict):
                stub.add_response("send_message_batch", given_back, entries(*requests))
            else:
                code, status = given_back
                stub.add_client_error(
                    "send_message_batch",
                    code,
                    http_status_code=status,
                    expected_params=entries(*requests),
                )
        Sender(sqs, QUEUE_URL).send([line(n, body) for n, body in enumerate("abc", 1)], ends)
        stub.assert_no_pending_responses()
    assert ends.accepted == accepted
    assert {number: not_sent[number] in reason for number, reason in ends.not_sent.items()} == (
        dict.fromkeys(not_sent, True)
    )


def test_a_refusal_ends_the_sending_and_a_busy_queue_is_given_up() -> None:
    sqs = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    sender, ends = Sender(sqs, QUEUE_URL, retry_for=0), Ends()
    with Stubber(sqs) as stub:
        stub.add_response("send_message_batch", answer("1", _0=("InternalError", False)))
        stub.add_client_error("send_message_batch", "AccessDenied", http_status_code=403)
        sender.send([line(7), line(8)], ends)
        with pytest.raises(ClientError, match="AccessDenied"):
            sender.send([line(9)], ends)
    assert ends.accepted == {8: "sqs-1"}
    assert list(ends.not_sent) == [7]
    assert re.search(r"Given up after 1 attempt.*InternalError", ends.not_sent[7])


@given(st.floats(0.01, 5000), st.lists(st.tuples(st.integers(1, 10), st.floats(0, 3)), max_size=40))
def test_the_rate_is_never_exceeded_by_more_than_one_batch(
    rate: float, work: list[tuple[int, float]]
) -> None:
    now = 0.0

    def sleep(seconds: float) -> bool:
        nonlocal now
        now += max(0.0, seconds)
        return False

    limiter = RateLimiter(rate, sleep, clock=lambda: now)
    let_through: list[tuple[float, int]] = []
    for messages, answer_took in work:
        assert limiter.wait(messages)
        let_through.append((now, messages))
        now += answer_took
    for first, (begin, _) in enumerate(let_through):
        sent = 0
        for at, messages in let_through[first:]:
            sent += messages
            assert sent <= rate * (at - begin) + MAX_BATCH + 1e-6 * sent


def test_each_attempt_waits_for_its_turn_and_no_batch_is_more_than_a_second_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns: list[int] = []

    def turn(_: RateLimiter, messages: int) -> bool:
        turns.append(messages)
        return len(turns) == 1  # from then on all is being stopped

    monkeypatch.setattr(RateLimiter, "wait", turn)
    sqs = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    sender, ends = Sender(sqs, QUEUE_URL, rate=2.5), Ends()
    with Stubber(sqs) as stub:
        stub.add_response("send_message_batch", answer("0", _1=("InternalError", False)))
        sender.send([line(1), line(2)], ends)
        assert (turns, list(ends.accepted), ends.not_sent) == ([2, 1], [1], {})
        sender.send_all(read(b"{}\n" * 5), ends)
        assert sorted(turns[2:]) == [1, 2, 2]


@given(st.lists(st.integers(0, 600_000), max_size=30), st.integers(1, 10))
def test_batches_keep_to_the_limits_of_sqs_and_to_the_order(sizes: list[int], most: int) -> None:
    lines = [Line(number, "", size) for number, size in enumerate(sizes)]
    made = list(batches(lines, most))
    assert [one for batch in made for one in batch] == lines
    for batch in made:
        assert 0 < len(batch) <= most
        assert sum(one.size for one in batch) <= MAX_BYTES


# ------------------------------------------------------------------- the command


def test_a_killed_send_goes_on_with_what_is_not_confirmed(
    moto_stack: Stack, actonce: Actonce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a folder in which a file lacks its last line end."""
    stack, named = deployed(moto_stack), tmp_path / "messages"
    lines = [f'{{"message_id": "{number}"}}' for number in range(1, 51)]
    named.mkdir()
    file = named / "0.jsonl"
    file.write_text("\n".join(lines[:33]))
    (named / "1.jsonl").write_text("\n".join(lines[33:]))
    append, confirmed, one_at_a_time = SentRecord.append, list[int](), threading.Lock()

    def killed(record: SentRecord, accepted: Sequence[Accepted]) -> None:
        with one_at_a_time:
            if len(confirmed) == 20:
                raise KeyboardInterrupt
            append(record, accepted)
            confirmed.extend(one.line.number for one in accepted)

    def arrived() -> list[int]:
        messages = received(stack, stack.requests_queue)
        return sorted(int(json.loads(message["Body"])["message_id"]) for message in messages)

    words = ("send", str(named), "--yes", "--record", "r", "--resume", "--rate", "10000", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(SentRecord, "append", killed)
        assert actonce(*words, stack=stack).status == 130
    assert len(arrived()) > len(confirmed) == 20
    for left in (sorted(set(range(1, 51)).difference(confirmed)), []):
        ended = actonce(*words, stack=stack)
        assert (ended.status, arrived()) == (0, left)
        summary = json.loads(ended.out)
        assert (summary["sent"], summary["already_sent"]) == (len(left), 50 - len(left))
    file.write_text(file.read_text().replace('"1"', '"x"'))
    assert actonce(*words, stack=stack).status == 2
    (named / "counts.json").touch()  # nothing in a folder is passed over
    assert "holds counts.json" in actonce(*words, stack=stack).err
    assert arrived() == []


def test_what_sqs_took_is_counted_also_where_the_disk_is_full(
    moto_stack: Stack, actonce: Actonce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = deployed(moto_stack)
    append = sent_record._append
    written: list[int] = []

    def full(descriptor: int, member: bytes) -> None:
        if written:
            raise OSError(28, os.strerror(28))
        append(descriptor, member)
        written.append(descriptor)

    monkeypatch.setattr(sent_record, "_append", full)
    text = "".join(f'{{"message_id": "m-{number}"}}\n' for number in range(45))
    ended = actonce("send", "-", "--yes", "--record", str(tmp_path), stack=stack, text=text)
    queued = len(received(stack, stack.requests_queue))
    assert queued >= 20
    reason = (
        f"Stopped after {queued} messages were sent, of which {queued - 10} are not in the record"
    )
    assert ended.status == 1
    assert reason in ended.err
    assert "No space left on device" in ended.err
