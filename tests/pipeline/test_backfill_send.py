import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.config import Config
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from pipeline.backfill.errors import BackfillFailed
from pipeline.backfill.send import Message, Sending
from pipeline.backfill.work import Confirmations, confirmed_in
from pipeline.sqs import MAX_BATCH, MAX_BYTES, RateLimiter, batches

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


def client() -> "SQSClient":
    return boto3.client(
        "sqs",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"mode": "standard", "max_attempts": 1}),
    )


def planned(work: Path, part: int, messages: int) -> Path:
    folder = work / f"plan/end=message/part={part}"
    folder.mkdir(parents=True)
    rows = [
        {
            "file": "a.jsonl",
            "line": number + 1,
            "message_id": f"m-{part}-{number}",
            "body": json.dumps({"message_id": f"m-{part}-{number}"}),
        }
        for number in range(messages)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "x.parquet", row_group_size=7)
    return work


@pytest.fixture
def queue() -> Iterator[str]:
    with mock_aws():
        yield client().create_queue(QueueName="requests")["QueueUrl"]


def received(queue: str) -> list[str]:
    bodies: list[str] = []
    while (
        messages := client()
        .receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=0)
        .get("Messages")
    ):
        bodies += [json.loads(message["Body"])["message_id"] for message in messages]
    return bodies


def sent(work: Path, queue: str) -> list[str]:
    sending = Sending(client(), queue, work, 100_000, 60.0)
    sending.send(lambda: None)
    return sending.problems


def test_every_message_is_sent_and_confirmed_once(tmp_path: Path, queue: str) -> None:
    work = planned(planned(tmp_path, 0, 33), 1, 12)
    assert sent(work, queue) == []
    assert sent(work, queue) == []
    expected = [f"m-0-{n}" for n in range(33)] + [f"m-1-{n}" for n in range(12)]
    assert sorted(received(queue)) == sorted(expected)
    (file,) = (work / "sent").glob("dt=*/part-00000.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["stream"], line["position"], line["line"], line["message_id"])
            for line in lines] == [("sent", n, n + 1, f"m-0-{n}") for n in range(33)]  # fmt: skip
    assert len({line["sqs_message_id"] for line in lines}) == 33


@pytest.mark.parametrize("killed_at", [0, 3])
def test_a_kill_before_a_confirmation_repeats_that_batch_and_no_other(
    tmp_path: Path, queue: str, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    work = planned(tmp_path, 0, 33)
    calls = 0
    append = Confirmations.append

    def killed(self: Confirmations, *arguments: Any) -> None:
        nonlocal calls
        if calls == killed_at:
            raise KeyboardInterrupt
        calls += 1
        append(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Confirmations, "append", killed)
        with pytest.raises(KeyboardInterrupt):
            sent(work, queue)
    assert sent(work, queue) == []
    expected = [*range(33), *range(killed_at * 10, min(33, killed_at * 10 + 10))]
    assert sorted(received(queue)) == sorted(f"m-0-{number}" for number in expected)


def test_a_confirmation_that_cannot_be_written_or_a_torn_plan_ends_all(
    tmp_path: Path, queue: str
) -> None:
    work = planned(tmp_path, 0, 33)
    (work / "sent").touch()
    with pytest.raises(BackfillFailed, match="sent"):
        sent(work, queue)
    assert len(received(queue)) == MAX_BATCH
    (file,) = (work / "plan").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(BackfillFailed, match="Parquet"):
        sent(work, queue)
    assert received(queue) == []


@pytest.mark.parametrize(
    "spoiled",
    [
        b"\0" * 150,
        b'{"part": 0, "position": 99}',
        b'{"part": 0, "position": -1}',
        b'{"part": 0, "position": true}',
        b'{"part": 1, "position": 1}',
        b"7",
    ],
    ids=["zeroes after a power cut", "too far", "negative", "no number", "another's", "no object"],
)
def test_a_damaged_confirmation_is_neither_passed_over_nor_believed(
    tmp_path: Path, queue: str, spoiled: bytes
) -> None:
    work = planned(tmp_path, 0, 12)
    assert sent(work, queue) == []
    received(queue)
    (file,) = (work / "sent").glob("dt=*/part-00000.jsonl")
    lines = file.read_bytes().splitlines()
    damaged = b"\n".join([lines[0], spoiled, *lines[2:], b""])
    file.write_bytes(damaged)
    with pytest.raises(BackfillFailed, match=r"part-00000\.jsonl, line 2 is damaged"):
        sent(work, queue)
    assert received(queue) == []
    assert file.read_bytes() == damaged


def test_a_disk_that_is_full_in_the_middle_of_a_confirmation_repeats_what_it_lacks(
    tmp_path: Path, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some lines are whole, one is torn; the next run takes the torn one away."""
    work = planned(tmp_path, 0, 33)

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[: len(data) // 2])

    def opened(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        return Full(path, mode) if mode == "ab" else open(path, mode, *arguments, **named)  # noqa: PTH123

    with monkeypatch.context() as full:
        full.setattr(Path, "open", opened)
        with pytest.raises(BackfillFailed, match="No space left"):
            sent(work, queue)
    assert len(received(queue)) == MAX_BATCH
    whole = confirmed_in(work)
    assert 0 < whole < MAX_BATCH
    assert sent(work, queue) == []
    assert sorted(received(queue)) == sorted(f"m-0-{n}" for n in range(whole, 33))
    assert confirmed_in(work) == 33


def accepted(*ids: str) -> list[dict[str, str]]:
    return [{"Id": one, "MessageId": f"sqs-{one}", "MD5OfMessageBody": ""} for one in ids]


def stubbed(work: Path, monkeypatch: pytest.MonkeyPatch, retry_for: float = 60.0) -> Any:
    monkeypatch.setattr("pipeline.sqs.random.uniform", lambda *_: 0.0)
    sqs = client()
    return Sending(sqs, "https://sqs/requests", work, 100_000, retry_for), Stubber(sqs)


def test_of_a_batch_only_what_was_not_accepted_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending, stub = stubbed(planned(tmp_path, 0, 3), monkeypatch)
    busy = {"Id": "0", "Code": "InternalError", "Message": "busy", "SenderFault": False}
    bad = {"Id": "2", "Code": "InvalidMessageContents", "Message": "bad", "SenderFault": True}
    entry = {"Id": "0", "MessageBody": '{"message_id": "m-0-0"}'}
    stub.add_response("send_message_batch", {"Successful": accepted("1"), "Failed": [busy, bad]})
    stub.add_client_error("send_message_batch", "ThrottlingException", http_status_code=400)
    stub.add_response(
        "send_message_batch",
        {"Successful": accepted("0"), "Failed": []},
        {"QueueUrl": ANY, "Entries": [entry]},
    )
    with stub:
        sending.send(lambda: None)
    assert sending.problems == ["a.jsonl, line 3: InvalidMessageContents: bad"]
    stub.assert_no_pending_responses()
    assert Confirmations(tmp_path, 0, 3).confirmed == bytes([1, 1, 0])


@pytest.mark.parametrize(
    ("code", "status", "retry_for", "told"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue", 400, 60.0, "NonExistentQueue"),
        ("ServiceUnavailable", 503, 0.0, "took nothing for 0 s"),
    ],
)
def test_a_queue_that_takes_nothing_ends_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    status: int,
    retry_for: float,
    told: str,
) -> None:
    sending, stub = stubbed(planned(tmp_path, 0, 30), monkeypatch, retry_for)
    stub.add_client_error("send_message_batch", code, http_status_code=status)
    with stub:
        sending.send(lambda: None)
    [problem] = sending.problems
    assert told in problem


@given(st.floats(0.01, 5000), st.lists(st.tuples(st.integers(1, 10), st.floats(0, 3)), max_size=40))
def test_no_span_of_time_has_more_than_its_rate_and_one_batch(
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


def test_who_waits_for_its_turn_notices_the_end() -> None:
    stopping = threading.Event()
    limiter = RateLimiter(0.001, stopping.wait)
    assert limiter.wait(1)
    threading.Timer(0.05, stopping.set).start()
    assert not limiter.wait(1)


@given(st.lists(st.integers(0, 600_000), max_size=30), st.integers(1, 10))
def test_batches_keep_to_the_limits_of_sqs_and_to_the_order(sizes: list[int], most: int) -> None:
    bodies = {size: "x" * size for size in sizes}
    messages = [Message(n, "f", n, str(n), bodies[size]) for n, size in enumerate(sizes)]
    made = list(batches(messages, most))
    assert [message for batch in made for message in batch] == messages
    for batch in made:
        assert 0 < len(batch) <= most
        assert sum(len(message.body) for message in batch) <= MAX_BYTES
