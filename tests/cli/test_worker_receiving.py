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

QUEUE_URL = "https://sqs.us-east-1.amazonaws.com/123456789012/requests"
MESSAGE = {"MessageId": "sqs-1", "ReceiptHandle": "handle-1", "Body": "{}"}


class LastDelivery:
    """A consumer that has its worker stop at the first delivery, and fails it."""

    def __init__(self) -> None:
        self.worker: Worker | None = None

    def consume(self, delivery: Delivery) -> Any:  # noqa: ARG002 - as a consumer
        assert self.worker is not None
        self.worker.stop()
        raise RuntimeError("not today")


def working(sqs: Any) -> tuple[Worker, list[dict[str, Any]]]:
    told: list[dict[str, Any]] = []
    consumer: Any = LastDelivery()
    one = Worker(sqs, QUEUE_URL, consumer, threads=1, batch=1, visibility=60, report=told.append)
    consumer.worker = one
    return one, told


def test_in_front_of_a_function_of_ones_own_that_is_called_and_not_the_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("APPOINTMENTS_TABLE", "table")  # which the example's would else be told
    outputs = {"LedgerTableName": "rows", "EffectFunctionArn": "arn:1", "FindFunctionArn": "arn:2"}
    aws = Aws()
    foreign = Stack(aws, "shop", outputs)
    effect, takes = worker_command._effect(None, foreign, 15)
    assert isinstance(effect, InvokedEffect)
    assert (effect._effect_function, effect._find_function, takes) == ("arn:1", "arn:2", 15)

    example = Stack(aws, "shop", {"LedgerTableName": "rows", "AppointmentsTableName": "table"})
    effect, takes = worker_command._effect(None, example, 15)
    assert not isinstance(effect, InvokedEffect)
    assert takes == 0

    # It may be at work for its own time besides, and a ledger has to leave it that.
    monkeypatch.setattr(worker_command, "find_stack", lambda *_, **__: foreign)
    monkeypatch.setattr(worker_command, "parameters", lambda _: {"EffectTimeoutSeconds": "45"})
    with pytest.raises(WrongUse, match="65 s, a function's own time-out included"):
        worker_command.worker(worker_command.Way.LEDGER, stack_name="shop")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ThrottlingException", 400),
        ("AWS.SimpleQueueService.RequestThrottled", 403),
        ("OverLimit", 403),
        ("InternalFailure", 500),
        ("SomethingNew", 503),
    ],
)
def test_a_busy_queue_is_asked_again(
    code: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "AFTER_NO_ANSWER_SECONDS", 0)
    sqs = boto3.client("sqs", region_name="us-east-1")
    with Stubber(sqs) as answers:
        answers.add_client_error("receive_message", code, http_status_code=status)
        answers.add_response("receive_message", {"Messages": [MESSAGE]})
        answers.add_response("change_message_visibility", {})
        one, told = working(sqs)
        one.run()
        answers.assert_no_pending_responses()
    assert [record["sqs_message_id"] for record in told] == ["sqs-1"]


def test_a_worker_that_may_not_read_its_queue_says_so() -> None:
    sqs = boto3.client("sqs", region_name="us-east-1")
    with Stubber(sqs) as answers:
        answers.add_client_error("receive_message", "AccessDenied", http_status_code=403)
        one, _ = working(sqs)
        with pytest.raises(ClientError, match="AccessDenied"):
            one.run()


def test_a_worker_whose_queue_is_paused_receives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "WHILE_PAUSED_SECONDS", 0)
    sqs = boto3.client("sqs", region_name="us-east-1")
    paused = [True, True, False]
    with Stubber(sqs) as answers:
        answers.add_response("receive_message", {"Messages": [MESSAGE]})
        answers.add_response("change_message_visibility", {})
        one, told = working(sqs)
        one.is_paused = lambda: paused.pop(0)
        one.run()
        answers.assert_no_pending_responses()
    assert (len(told), paused) == (1, [])


@pytest.mark.parametrize(
    ("asked", "of_stack", "own_queue", "taken"),
    [
        (None, "lease", False, Way.LEASE),
        (Way.LEDGER, "ledger", False, Way.LEDGER),
        (Way.LEASE, "ledger", True, Way.LEASE),
        (Way.LEASE, None, False, Way.LEASE),
    ],
)
def test_a_worker_deduplicates_as_the_stack_does(
    asked: Way | None, of_stack: str | None, taken: Way, *, own_queue: bool
) -> None:
    assert worker_command._strategy(asked, of_stack, own_queue=own_queue) is taken


def test_a_worker_refuses_a_strategy_that_is_not_the_stack_s() -> None:
    with pytest.raises(WrongUse, match="The stack's strategy is ledger, and a worker with a lease"):
        worker_command._strategy(Way.LEASE, "ledger", own_queue=False)
    with pytest.raises(WrongUse, match="say --strategy ledger, or lease"):
        worker_command._strategy(None, None, own_queue=False)


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
        else:
            self.seconds.append(VisibilityTimeout)
            self.overtaken.set()


def test_a_heartbeat_does_not_hide_again_what_is_to_come_back_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "HEARTBEATS_PER_VISIBILITY", 6_000)
    sqs = HiddenFor()
    one, _ = working(sqs)

    class FailsInAHeartbeat:
        def consume(self, delivery: Delivery) -> Any:  # noqa: ARG002 - as a consumer
            one.stop()
            assert sqs.hides.wait(60)
            raise RuntimeError("not today")

    consumer: Any = FailsInAHeartbeat()
    one.consumer = consumer
    one.run()
    assert sqs.seconds[-1] in range(2, 5)
