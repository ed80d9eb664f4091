"""StarterFunction's handler, as a new execution environment imports it: answers, counts, lines."""

import importlib
import io
import itertools
import json
import os
import re
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from tests.support.asl import PROJECT
from tests.support.deliveries import sqs_record
from tests.support.log_filter import lets_through
from tests.support.metrics import Metric, reported_metrics
from tests.support.moto_aws import MotoAws
from tests.support.template import load, of_type

GOOD = {"message_id": "good", "secret": "carried along"}
(SUBSCRIPTION,) = of_type(
    load(PROJECT / "templates" / "records.yaml"), "AWS::Logs::SubscriptionFilter"
).values()
KEPT = SUBSCRIPTION["Properties"]["FilterPattern"]
"""Which lines are kept as records."""


_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)")


class Handled:
    """What a batch came to: the answer, and what Lambda collects from standard output.

    `counts`: by metric, those of the refused by their reason, too; `ends`: each delivery's, by its
    SQS id; `oldest_failed_age`: in seconds; `metrics`: each one's name, unit and dimensions.
    """

    def __init__(self, answer: dict[str, Any], text: str) -> None:
        self.failed = sorted(item["itemIdentifier"] for item in answer["batchItemFailures"])
        self.text = text
        lines = [json.loads(line) for line in text.splitlines()]
        deliveries = [line for line in lines if line.get("stream") == "deliveries"]
        # Lambda's JSON log format takes a line's level only beside a time in RFC 3339.
        assert all(_RFC_3339.fullmatch(line["timestamp"]) for line in lines if "level" in line)
        kept = [line for line in text.splitlines() if lets_through(KEPT, line)]
        assert [json.loads(line) for line in kept] == deliveries
        self.ends = {line["sqs_message_id"]: line["end"] for line in deliveries}
        assert len(self.ends) == len(deliveries)
        self.counts: Counter[str] = Counter()
        self.metrics: set[Metric] = set()
        for line in lines:
            for response in line.get("_aws", {}).get("CloudWatchMetrics", []):
                service = os.environ["POWERTOOLS_SERVICE_NAME"]
                assert (response["Namespace"], line["service"]) == ("ActOnce", service)
                for dimensions, metric in itertools.product(
                    response["Dimensions"], response["Metrics"]
                ):
                    name, of = metric["Name"], {*dimensions} - {"service"}
                    self.metrics.add((name, metric["Unit"], frozenset(dimensions)))
                    self.counts[" ".join([name, *(line[one] for one in of)])] += sum(line[name])
        self.oldest_failed_age = self.counts.pop("OldestFailedAge", None)


Handle = Callable[..., Handled]


@pytest.fixture
def handle(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> Handle:
    for name, value in aws.variables().items():
        monkeypatch.setenv(name, value)
    # Powertools keeps one logger per service and process, with the output of its first use.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", f"stack-{uuid.uuid4()}")
    for module in ("starter", "actonce_core.batch"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    stdout = io.StringIO()
    with redirect_stdout(stdout):
        starter = importlib.import_module("starter")

    def handle_records(*records: dict[str, Any], milliseconds: int = 30_000) -> Handled:
        stdout.seek(0)
        stdout.truncate()
        context = SimpleNamespace(get_remaining_time_in_millis=lambda: milliseconds)
        with redirect_stdout(stdout):
            answer = starter.handler({"Records": list(records)}, context)
        return Handled(answer, stdout.getvalue())

    return handle_records


@pytest.mark.parametrize("on_lambda", [True, False])
def test_lambda_makes_the_clients_before_the_first_batch(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch, on_lambda: bool
) -> None:
    for name, value in aws.variables().items():
        monkeypatch.setenv(name, value)
    if on_lambda:
        monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
    made: list[str] = []
    make: Any = boto3.client

    def note(service: str, **options: Any) -> Any:
        made.append(service)
        return make(service, **options)

    monkeypatch.setattr(boto3, "client", note)
    monkeypatch.delitem(sys.modules, "starter", raising=False)
    importlib.import_module("starter")
    assert made == (["dynamodb", "stepfunctions", "sqs"] if on_lambda else [])


def record(number: int, body: Any, **more: Any) -> dict[str, Any]:
    return sqs_record(body, sqs_message_id=f"sqs-{number}", **more)


def register(monkeypatch: pytest.MonkeyPatch, event: str, hook: Callable[..., Any]) -> None:
    """Call a hook at an event of every client of boto3 that is made from now on."""
    make: Any = boto3.client

    def make_hooked(service: str, **options: Any) -> Any:
        client = make(service, **options)
        client.meta.events.register_first(event, hook)
        return client

    monkeypatch.setattr(boto3, "client", make_hooked)


def lose_starts(monkeypatch: pytest.MonkeyPatch, of: str = "") -> None:
    """Lose the way to Step Functions for executions whose names begin so."""

    def lose(params: dict[str, Any], **_: Any) -> None:
        if json.loads(params["body"])["name"].startswith(of):
            raise ConnectionResetError(f"while sending {params['body']}")

    register(monkeypatch, "before-call.stepfunctions.StartExecution", lose)


def test_each_record_is_started_or_refused_and_no_line_has_a_body(
    aws: MotoAws, handle: Handle
) -> None:
    bodies = [
        GOOD,
        {"message_id": "good too", "secret": "carried along"},
        '{"secret": "carried along',
        '{"message_id": "m", "secret": "carried along", "secret": 1}',
        {"secret": "carried along"},
        {"message_id": {"secret": "carried along"}},
        {"message_id": "large", "secret": "carried along" * 30_000},
    ]
    handled = handle(*(record(n, body) for n, body in enumerate(bodies)))
    assert handled.failed == []
    assert sum(aws.executions().values()) == 2
    assert len(aws.unstarted()) == 5
    refused = {"Refused not_json": 2, "Refused no_message_id": 2, "Refused too_large": 1}
    assert handled.counts == {"Started": 2, "Refused": 5, **refused}
    assert sorted(handled.ends) == [f"sqs-{n}" for n in range(len(bodies))]
    assert "carried along" not in handled.text
    assert "secret" not in handled.text


def test_refusals_are_put_on_the_bus_by_one_call_whose_failure_changes_nothing(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    def lose(params: dict[str, Any], **_: Any) -> None:
        called.append(json.loads(params["body"])["Entries"])
        raise ConnectionResetError

    register(monkeypatch, "before-call.events.PutEvents", lose)
    handled = handle(record(0, GOOD), record(1, "{"), record(2, {"secret": 1}))
    assert (handled.failed, handled.counts["Started"], handled.counts["Refused"]) == ([], 1, 2)
    assert len(aws.unstarted()) == 2
    ((first, second),) = called
    assert json.loads(first["Detail"])["stack"] == aws.variables()["STACK_NAME"]
    assert {first["DetailType"], second["DetailType"]} == {"Delivery Refused"}
    assert '"error":"ConnectionResetError"' in handled.text


def test_only_the_delivery_that_failed_comes_back_and_soon(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = {"message_id": "unlucky", "secret": 1}
    aws.sqs.send_message(QueueUrl=aws.requests_queue, MessageBody=json.dumps(unlucky))
    (received,) = aws.sqs.receive_message(QueueUrl=aws.requests_queue)["Messages"]
    changed: list[dict[str, Any]] = []
    lose_starts(monkeypatch, "unlucky")
    register(
        monkeypatch,
        "provide-client-params.sqs.ChangeMessageVisibilityBatch",
        lambda params, **_: changed.append(params),
    )
    handled = handle(
        record(0, GOOD), record(1, unlucky) | {"receiptHandle": received["ReceiptHandle"]}
    )
    assert handled.failed == ["sqs-1"]
    assert aws.executions() == {"good": 1}
    assert handled.counts == {"Started": 1, "Failed": 1}
    assert "secret" not in handled.text
    assert '"message_id":"unlucky","execution_name":"unlucky","end":"failed"' in handled.text
    ((entry,),) = [params["Entries"] for params in changed]
    assert entry["VisibilityTimeout"] in range(2, 5)
    assert changed[0]["QueueUrl"] == aws.requests_queue


def test_the_age_of_the_oldest_failed_delivery_is_a_metric(
    handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sent(number: int, message_id: str, seconds_ago: float) -> dict[str, Any]:
        at = {"SentTimestamp": str(int((time.time() - seconds_ago) * 1000))}
        return record(number, {"message_id": message_id}, attributes=at)

    lose_starts(monkeypatch, "unlucky")
    lucky = sent(0, "lucky", 9_000)
    handled = handle(lucky, sent(1, "unlucky-1", 40), sent(2, "unlucky-2", 3_000))
    assert handled.oldest_failed_age == pytest.approx(3_000, abs=60)
    assert handle(lucky).oldest_failed_age is None
    # A clock of ours that is behind SQS's.
    assert handle(sent(3, "unlucky-3", -30)).oldest_failed_age == 0


def test_message_id_and_content_come_from_where_the_parameters_say(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESSAGE_ID_FROM", "body:id")
    monkeypatch.setenv("CONTENT_FROM", "content")
    assert handle(record(0, {"id": "m-1", "content": 1, "retry": 1})).ends == {"sqs-0": "started"}
    aws.stepfunctions.stop_execution(executionArn=aws.execution_arn("m-1"))
    again = handle(record(1, {"id": "m-1", "content": 1, "retry": 2}))
    assert again.ends == {"sqs-1": "suppressed"}
    assert again.counts == {"Suppressed": 1}  # nothing of the batch before


def test_metrics_are_those_of_the_docs(
    invoked: list[Any],  # noqa: ARG001 - first attempts, of which one performs
    handle: Handle,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lose_starts(monkeypatch, "unlucky")
    bodies = (GOOD, "no JSON", {"message_id": "unlucky"}, {"message_id": "Rejected"})
    first = handle(*(record(number, body) for number, body in enumerate(bodies)))
    again = handle(record(4, GOOD))
    ends = [*first.ends.values(), *again.ends.values()]
    assert sorted(ends) == ["failed", "performed", "refused", "started", "suppressed"]
    assert first.metrics | again.metrics == reported_metrics()


class RawAnswer:
    """What urllib3 would give."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"}).encode()


def test_a_start_that_is_always_throttled_fails_before_the_function_s_time_out(
    handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deliveries wait side by side, so a batch waits as long as one."""
    slept: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=slept.append))
    register(
        monkeypatch,
        "before-send.stepfunctions.StartExecution",
        lambda request, **_: AWSResponse(request.url, 400, HTTPHeaders(), RawAnswer()),
    )
    assert handle(record(0, GOOD)).failed == ["sqs-0"]
    config: Any = importlib.import_module("starter").CLIENT_CONFIG
    slowest_answers = 4 * (config.connect_timeout + config.read_timeout)
    assert len(slept) == 3
    assert sum(slept) + slowest_answers < 30  # StarterTimeoutSeconds


@pytest.fixture
def invoked(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """First attempts of ids that begin with `good` perform; what each was called with."""
    called: list[Any] = []
    for name, value in aws.first_attempt_variables().items():
        monkeypatch.setenv(name, value)

    def answer(params: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]]:
        event = json.loads(params["body"])
        called.append((params["url_path"], event))
        message_id = event["message"]["message_id"]
        response: Any = {"performed": True, "effect": {"order": "o-7"}}
        failed = {}
        if not message_id.startswith("good"):
            failed = {"FunctionError": "Unhandled"}
            response = {"errorType": message_id, "errorMessage": "carried along"}
        payload = io.BytesIO(json.dumps(response).encode())
        return SimpleNamespace(status_code=200), {"Payload": payload} | failed

    register(monkeypatch, "before-call.lambda.Invoke", answer)
    return called


def test_first_attempts_start_executions_for_trouble_only_and_log_why(
    aws: MotoAws, invoked: list[Any], handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: list[dict[str, Any]] = []
    register(
        monkeypatch,
        "provide-client-params.sqs.ChangeMessageVisibilityBatch",
        lambda params, **_: changed.append(params),
    )
    several = {"ApproximateReceiveCount": "6"}
    handled = handle(
        record(0, GOOD),
        record(1, {"message_id": "NotPerformed"}, attributes=several),
        record(2, {"message_id": "Sandbox.Timedout"}),
        record(3, {"message_id": "Rejected"}),
    )
    assert handled.failed == ["sqs-1"]
    assert handled.counts == {"Started": 2, "Performed": 1, "Failed": 1}
    ((entry,),) = [params["Entries"] for params in changed]
    assert entry["VisibilityTimeout"] in range(80, 130)  # after a failed attempt, not a start
    assert len(invoked) == 4
    path, event = next(one for one in invoked if one[1]["message"]["message_id"] == "good")
    assert "function%3Aeffect%3A3/" in path
    message = {"message_id": "good", "body": json.dumps(GOOD)}
    assert event == {"operation": "perform", "attempt": 1, "message": message}
    assert aws.executions().total() == 2
    for name in aws.executions():
        arn = aws.execution_arn(name)
        started = json.loads(aws.stepfunctions.describe_execution(executionArn=arn)["input"])
        version = {"perform": "arn:aws:lambda:us-east-1:123456789012:function:effect:3",
                   "find": "arn:aws:lambda:us-east-1:123456789012:function:find",
                   "timeout": 15, "margin": 60}  # fmt: skip
        assert (started["redrives"], started["version"]) == (-1, version)
    lines = [json.loads(line) for line in handled.text.splitlines()]
    errors = {one["message_id"]: one["error"] for one in lines if one.get("level") == "WARNING"}
    assert errors == {"Sandbox.Timedout": "RuntimeError", "Rejected": "Rejected"}
    assert "carried along" not in handled.text


def test_after_a_rest_first_attempts_use_new_connections(
    invoked: list[Any], handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen sandbox does not see them end, and a call that fails so is not repeated."""
    starter: Any = importlib.import_module("starter")
    now, closed = [1000.0], list[int]()
    monkeypatch.setattr(starter, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(
        "botocore.client.BaseClient.close", lambda _: closed.append(len(invoked)), raising=True
    )
    handle(record(0, {"message_id": "good-0"}))
    closed.clear()
    for number, rest in enumerate((1.0, 6.0, 1.0)):
        now[0] += rest
        handle(record(number, {"message_id": f"good-{number + 1}"}))
    assert closed == [2]  # once, and before the third call
    assert len(invoked) == 4


def test_a_first_attempt_is_not_begun_without_time_for_the_function(
    aws: MotoAws, invoked: list[Any], handle: Handle
) -> None:
    assert handle(record(0, GOOD), milliseconds=20_000).failed == ["sqs-0"]
    assert (invoked, aws.fingerprint_row("good")) == ([], None)
