"""A worker and its queue: what it asks again, when it leaves it alone, and whom it acts by."""

import threading
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce.cli import worker as worker_command
from actonce.cli.worker import Way
from actonce.operate import worker
from actonce.operate.worker import Worker
from actonce.stack.clients import Aws, Stack
from actonce.terminal.errors import WrongUse
from actonce_core.delivery import Delivery
from actonce_core.invoked_effect import InvokedEffect

MESSAGE: dict[str, Any] = {
    "MessageId": "sqs-1",
    "ReceiptHandle": "handle-1",
    "Body": "{}",
    "Attributes": {"ApproximateReceiveCount": "1"},
    "MessageAttributes": {"kind": {"DataType": "String", "StringValue": "urgent"}},
}


class Failing:
    """A consumer that has its worker stop at the first delivery, and fails it."""

    def __init__(self, sqs: Any, first: threading.Event | None = None) -> None:
        self.told: list[dict[str, Any]] = []
        self.first = first
        consumer: Any = self
        self.worker = Worker(
            sqs, "https://q", consumer, threads=1, visibility=60, report=self.told.append
        )

    def consume(self, delivery: Delivery) -> Any:
        self.delivery = delivery
        self.worker.stop()
        assert self.first is None or self.first.wait(60)
        raise RuntimeError("not today")


def test_a_queue_that_is_paused_is_left_alone_and_one_that_is_busy_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "WHILE_PAUSED_SECONDS", 0)
    monkeypatch.setattr(worker, "AFTER_NO_ANSWER_SECONDS", 0)
    sqs = boto3.client("sqs", region_name="us-east-1")
    paused = [True, True, False, False, False]
    with Stubber(sqs) as answers:
        throttled = "AWS.SimpleQueueService.RequestThrottled"
        answers.add_client_error("receive_message", throttled, http_status_code=403)
        answers.add_client_error("receive_message", "SomethingNew", http_status_code=503)
        answers.add_response("receive_message", {"Messages": [MESSAGE]})
        answers.add_response("change_message_visibility", {})
        one = Failing(sqs)
        one.worker.is_paused = lambda: paused.pop(0)
        one.worker.run()
        answers.assert_no_pending_responses()
    assert ([record["sqs_message_id"] for record in one.told], paused) == (["sqs-1"], [])
    kind = {"dataType": "String", "stringValue": "urgent"}
    assert one.delivery.attributes == MESSAGE["Attributes"]
    assert one.delivery.message_attributes == {"kind": kind}


def test_a_worker_that_may_not_read_its_queue_says_so() -> None:
    sqs = boto3.client("sqs", region_name="us-east-1")
    with Stubber(sqs) as answers:
        answers.add_client_error("receive_message", "AccessDenied", http_status_code=403)
        with pytest.raises(ClientError, match="AccessDenied"):
            Failing(sqs).worker.run()


class HiddenFor:
    """SQS as far as a worker asks it; the heartbeat's first call comes while the end is told."""

    def __init__(self) -> None:
        self.seconds: list[int] = []
        self.hides = threading.Event()
        self.overtaken = threading.Event()

    def receive_message(self, **_: Any) -> dict[str, Any]:
        return {"Messages": [MESSAGE]}

    def change_message_visibility(self, *, VisibilityTimeout: int, **_: Any) -> None:  # noqa: N803 - boto3's
        if threading.current_thread().name == "visibility":
            self.hides.set()
            self.overtaken.wait(0.2)  # until another call has come, or for so long if none may
        self.seconds.append(VisibilityTimeout)
        if threading.current_thread().name != "visibility":
            self.overtaken.set()


def test_a_heartbeat_does_not_hide_again_what_is_to_come_back_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "HEARTBEATS_PER_VISIBILITY", 6_000)
    sqs = HiddenFor()
    Failing(sqs, sqs.hides).worker.run()
    assert sqs.seconds[-1] in range(2, 5)


@pytest.mark.parametrize(
    ("asked", "of_stack", "own_queue", "taken"),
    [
        (None, "lease", False, Way.LEASE),
        (Way.LEDGER, "ledger", False, Way.LEDGER),
        (Way.LEASE, "ledger", True, Way.LEASE),
        (Way.LEASE, None, False, Way.LEASE),
        (Way.LEASE, "ledger", False, "The stack's strategy is ledger, and a worker with a lease"),
        (None, None, False, "say --strategy ledger, or lease"),
    ],
)
def test_a_worker_deduplicates_as_the_stack_does(
    asked: Way | None, of_stack: str | None, taken: Way | str, *, own_queue: bool
) -> None:
    if isinstance(taken, Way):
        assert worker_command._strategy(asked, of_stack, own_queue=own_queue) is taken
    else:
        with pytest.raises(WrongUse, match=taken):
            worker_command._strategy(asked, of_stack, own_queue=own_queue)


def test_it_calls_a_function_of_ones_own_and_leaves_it_the_time_that_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("APPOINTMENTS_TABLE", "table")  # which the example's would else be told
    outputs = {"LedgerTableName": "rows", "EffectFunctionArn": "arn:1", "FindFunctionArn": "arn:2"}
    foreign = Stack(Aws(), "shop", outputs)
    effect, takes = worker_command._effect(None, foreign, 15)
    assert isinstance(effect, InvokedEffect)
    assert (effect._effect_function, effect._find_function, takes) == ("arn:1", "arn:2", 15)
    example = Stack(Aws(), "shop", {"LedgerTableName": "rows", "AppointmentsTableName": "table"})
    effect, takes = worker_command._effect(None, example, 15)
    assert (isinstance(effect, InvokedEffect), takes) == (False, 0)

    monkeypatch.setattr(worker_command, "find_stack", lambda *_, **__: foreign)
    monkeypatch.setattr(worker_command, "parameters", lambda _: {"EffectTimeoutSeconds": "45"})
    with pytest.raises(WrongUse, match="65 s, a function's own time-out included"):
        worker_command.worker(Way.LEDGER)
