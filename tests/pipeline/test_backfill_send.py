import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from pipeline.backfill import send as backfill_send
from pipeline.backfill.send import Message, Pace, Queue, Run, RunOver, Sender, Stopped, batches
from pipeline.backfill.work import Confirmations, let_send, the_only_run

REGION = "us-east-1"
ENDPOINT = f"https://sqs.{REGION}.amazonaws.com"
KEYS = ("testing", "testing")


def plan(work: Path, part: int, messages: int) -> None:
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


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    with the_only_run(tmp_path):
        let_send(tmp_path, "run")
        yield tmp_path


@pytest.fixture
def queue() -> Iterator[Queue]:
    with mock_aws():
        queue = Queue("", ENDPOINT, REGION, KEYS)
        url = queue.client().create_queue(QueueName="requests")["QueueUrl"]
        yield Queue(url, ENDPOINT, REGION, KEYS)


def received(queue: Queue) -> list[str]:
    bodies: list[str] = []
    while (
        messages := queue.client()
        .receive_message(QueueUrl=queue.url, MaxNumberOfMessages=10, WaitTimeSeconds=0)
        .get("Messages")
    ):
        bodies += [json.loads(message["Body"])["message_id"] for message in messages]
    return bodies


def run(work: Path, queue: Queue, retry_for: float = 60.0) -> Run:
    return Run(work, "run", queue, 100_000, retry_for)


def test_every_message_is_sent_and_confirmed_once(work: Path, queue: Queue) -> None:
    plan(work, 0, 33)
    sender = Sender(run(work, queue))
    assert sender.send(0) == []
    assert sender.send(0) == []
    assert sorted(received(queue)) == sorted(f"m-0-{number}" for number in range(33))
    (file,) = (work / "sent").glob("dt=*/part-00000.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["position"] for line in lines] == list(range(33))
    assert lines[4]["line"] == 5
    assert lines[4]["message_id"] == "m-0-4"
    assert {line["stream"] for line in lines} == {"sent"}
    assert len({line["sqs_message_id"] for line in lines}) == 33


@pytest.mark.parametrize("killed_at", range(4))
def test_a_kill_before_a_confirmation_repeats_that_batch_and_no_other(
    work: Path, queue: Queue, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    plan(work, 0, 33)
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
            Sender(run(work, queue)).send(0)
    assert Sender(run(work, queue)).send(0) == []
    expected = [*range(33), *range(killed_at * 10, min(33, killed_at * 10 + 10))]
    assert sorted(received(queue)) == sorted(f"m-0-{number}" for number in expected)


def test_nothing_is_sent_once_the_run_is_over(work: Path, queue: Queue) -> None:
    plan(work, 0, 33)
    let_send(work, "another")
    with pytest.raises(RunOver):
        Sender(run(work, queue)).send(0)
    assert received(queue) == []
    assert not list(work.glob("sent/*/*"))


def accepted(*ids: str) -> list[dict[str, str]]:
    return [{"Id": one, "MessageId": f"sqs-{one}", "MD5OfMessageBody": ""} for one in ids]


def stubbed(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> Stubber:
    sqs = boto3.client("sqs", region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
    monkeypatch.setattr(sender, "_sqs", sqs)
    monkeypatch.setattr("pipeline.backfill.send.random.uniform", lambda *_: 0.0)
    return Stubber(sqs)


def test_of_a_batch_only_what_was_not_accepted_is_sent_again(
    work: Path, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(work, 0, 3)
    sender = Sender(run(work, queue))
    stub = stubbed(sender, monkeypatch)
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
        assert sender.send(0) == ["a.jsonl, line 3: InvalidMessageContents: bad"]
    stub.assert_no_pending_responses()
    assert Confirmations(work, 0, 3).confirmed == bytes([1, 1, 0])


@pytest.mark.parametrize("code", ["AccessDenied", "AWS.SimpleQueueService.NonExistentQueue"])
def test_a_queue_that_takes_nothing_stops_the_sender(
    work: Path, queue: Queue, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    plan(work, 0, 30)
    sender = Sender(run(work, queue))
    stub = stubbed(sender, monkeypatch)
    stub.add_client_error("send_message_batch", code, http_status_code=400)
    with stub, pytest.raises(Stopped, match=code):
        sender.send(0)


def test_a_queue_that_stays_busy_is_given_up(
    work: Path, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(work, 0, 30)
    sender = Sender(run(work, queue, retry_for=0.0))
    stub = stubbed(sender, monkeypatch)
    stub.add_client_error("send_message_batch", "ServiceUnavailable", http_status_code=503)
    with stub, pytest.raises(Stopped, match="took nothing for 0 s"):
        sender.send(0)


@given(st.floats(0.01, 5000), st.lists(st.tuples(st.integers(1, 10), st.floats(0, 3)), max_size=40))
def test_no_span_of_time_has_more_than_its_rate_and_one_batch(
    rate: float, work: list[tuple[int, float]]
) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    pace = Pace(rate, clock=lambda: now, sleep=sleep)
    let_through: list[tuple[float, int]] = []
    for asked, answer_took in work:
        messages = min(asked, pace.batch)
        pace.wait(messages, lambda: False)
        let_through.append((now, messages))
        now += answer_took
    for first, (begin, _) in enumerate(let_through):
        sent = 0
        for at, messages in let_through[first:]:
            sent += messages
            assert sent <= rate * (at - begin) + pace.batch + 1e-6 * sent


def test_a_slow_pace_notices_the_runs_end_while_it_waits() -> None:
    slept: list[float] = []
    pace = Pace(0.001, clock=lambda: sum(slept), sleep=slept.append)
    pace.wait(1, lambda: False)
    with pytest.raises(RunOver):
        pace.wait(1, lambda: len(slept) == 3)
    assert max(slept) <= backfill_send.LOOK_EVERY_SECONDS


@given(st.lists(st.integers(0, 600_000), max_size=30), st.integers(1, 10))
def test_batches_keep_to_the_limits_of_sqs_and_to_the_order(sizes: list[int], most: int) -> None:
    bodies = {size: "x" * size for size in sizes}
    messages = [Message(n, "f", n, str(n), bodies[size]) for n, size in enumerate(sizes)]
    made = list(batches(messages, most))
    assert [message for batch in made for message in batch] == messages
    for batch in made:
        assert 0 < len(batch) <= most
        assert sum(len(message.body) for message in batch) <= backfill_send.MAX_BATCH_BYTES
