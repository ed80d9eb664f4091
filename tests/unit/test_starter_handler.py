import importlib
import io
import json
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from tests.support.deliveries import sqs_record
from tests.support.moto_aws import MotoAws

Handle = Callable[..., dict[str, Any]]

GOOD = {"message_id": "good", "secret": "carried along"}


class Output:
    """What a run of the function wrote to standard output, where Lambda collects it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.service = os.environ["POWERTOOLS_SERVICE_NAME"]
        lines = [json.loads(line) for line in text.splitlines()]
        self.deliveries = [line for line in lines if line.get("stream") == "deliveries"]
        self.metrics: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        for line in lines:
            for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
                assert directive["Namespace"] == "ActOnce"
                for dimensions in directive["Dimensions"]:
                    where = tuple(sorted((name, line[name]) for name in dimensions))
                    for metric in directive["Metrics"]:
                        is_age = metric["Name"] == "OldestFailedAge"
                        assert metric["Unit"] == ("Seconds" if is_age else "Count")
                        self.metrics[metric["Name"], where] += sum(line[metric["Name"]])

    def per_stack(self) -> dict[str, float]:
        """The counts whose one dimension is the service."""
        return {
            name: value
            for (name, where), value in self.metrics.items()
            if where == (("service", self.service),) and name != "OldestFailedAge"
        }

    def oldest_failed_age(self) -> float | None:
        """In seconds."""
        return self.metrics.get(("OldestFailedAge", (("service", self.service),)))

    def refused_by_reason(self) -> dict[str, float]:
        return {
            dict(where)["reason"]: value
            for (name, where), value in self.metrics.items()
            if name == "Refused" and len(where) == 2 and ("service", self.service) in where
        }

    def ends(self) -> dict[str, str]:
        """Each delivery's end, by its SQS id."""
        return {line["sqs_message_id"]: line["end"] for line in self.deliveries}


@pytest.fixture
def stdout() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def starter(aws: MotoAws, monkeypatch: pytest.MonkeyPatch, stdout: io.StringIO) -> ModuleType:
    """The module as a new execution environment imports it."""
    monkeypatch.setenv("STATE_MACHINE_ARN", aws.state_machine)
    monkeypatch.setenv("FINGERPRINTS_TABLE", aws.fingerprints_table)
    monkeypatch.setenv("UNSTARTED_QUEUE_URL", aws.unstarted_queue)
    monkeypatch.setenv("REQUESTS_QUEUE_URL", aws.requests_queue)
    monkeypatch.setenv("MESSAGE_ID_FROM", "body:message_id")
    monkeypatch.setenv("CONTENT_FROM", "")
    monkeypatch.setenv("NAMES_REMEMBERED_DAYS", "25")
    # Powertools keeps one logger per service and process, with the output of its first use.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", f"stack-{uuid.uuid4()}")
    for module in ("starter", "actonce_core.batch"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with redirect_stdout(stdout):
        return importlib.import_module("starter")


@pytest.fixture
def handle(starter: ModuleType, stdout: io.StringIO) -> Handle:
    def handle_records(*records: dict[str, Any], context: Any = None) -> dict[str, Any]:
        with redirect_stdout(stdout):
            answer = starter.handler({"Records": list(records)}, context)
        assert isinstance(answer, dict)
        return answer

    return handle_records


@pytest.fixture
def output(stdout: io.StringIO) -> Callable[[], Output]:
    def take() -> Output:
        text = stdout.getvalue()
        stdout.seek(0)
        stdout.truncate()
        return Output(text)

    return take


def failed(answer: dict[str, Any]) -> list[str]:
    return sorted(item["itemIdentifier"] for item in answer["batchItemFailures"])


def record(number: int, body: Any) -> dict[str, Any]:
    return sqs_record(body, sqs_message_id=f"sqs-{number}")


def lose_starts(monkeypatch: pytest.MonkeyPatch, of: Callable[[str], bool]) -> None:
    """Lose the way to Step Functions for executions of some names."""

    def lose(params: dict[str, Any], **_: Any) -> None:
        if of(json.loads(params["body"])["name"]):
            raise ConnectionResetError(f"while sending {params['body']}")

    make: Any = boto3.client

    def make_lossy(service: str, **options: Any) -> Any:
        client = make(service, **options)
        client.meta.events.register("before-call.stepfunctions.StartExecution", lose)
        return client

    monkeypatch.setattr(boto3, "client", make_lossy)


def test_bad_records_are_refused_and_the_others_do_not_suffer(
    aws: MotoAws, handle: Handle, output: Callable[[], Output]
) -> None:
    answer = handle(
        record(0, GOOD),
        record(1, "{"),
        record(2, '{"message_id": NaN}'),
        record(3, {"message_id": True}),
        record(4, {"message_id": "large", "text": "x" * 262_144}),
        record(5, {"message_id": "good too"}),
    )
    assert answer == {"batchItemFailures": []}
    assert sum(aws.executions().values()) == 2
    assert len(aws.unstarted()) == 4
    seen = output()
    assert seen.per_stack() == {"Started": 2, "Refused": 4}
    assert seen.refused_by_reason() == {"not_json": 2, "no_message_id": 1, "too_large": 1}


def test_a_later_batch_of_the_same_environment_is_counted_anew(
    aws: MotoAws, handle: Handle, output: Callable[[], Output]
) -> None:
    handle(record(0, GOOD))
    aws.stepfunctions.stop_execution(executionArn=aws.execution_arn("good"))
    output()
    answer = handle(record(1, GOOD), record(2, GOOD | {"secret": "changed"}), record(3, "{"))
    assert answer == {"batchItemFailures": []}
    seen = output()
    assert seen.per_stack() == {"Suppressed": 1, "Refused": 2}
    assert seen.refused_by_reason() == {"conflict": 1, "not_json": 1}
    assert seen.ends() == {"sqs-1": "suppressed", "sqs-2": "refused", "sqs-3": "refused"}


def test_without_its_unstarted_queue_only_what_had_to_go_there_comes_back(
    aws: MotoAws, handle: Handle, output: Callable[[], Output]
) -> None:
    aws.sqs.delete_queue(QueueUrl=aws.unstarted_queue)
    answer = handle(
        record(0, GOOD), record(1, "{"), record(2, {"message_id": "other"}), record(3, {})
    )
    assert failed(answer) == ["sqs-1", "sqs-3"]
    assert aws.executions() == {"good": 1, "other": 1}
    seen = output()
    assert seen.per_stack() == {"Started": 2, "Failed": 2}
    assert seen.refused_by_reason() == {}
    assert seen.ends() == {
        "sqs-0": "started",
        "sqs-1": "failed",
        "sqs-2": "started",
        "sqs-3": "failed",
    }


def test_a_delivery_that_could_not_be_started_comes_back_alone(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch, output: Callable[[], Output]
) -> None:
    lose_starts(monkeypatch, lambda name: name == "unlucky")
    answer = handle(record(0, GOOD), record(1, {"message_id": "unlucky", "secret": 1}))
    assert failed(answer) == ["sqs-1"]
    assert aws.executions() == {"good": 1}
    seen = output()
    assert seen.per_stack() == {"Started": 1, "Failed": 1}
    assert "secret" not in seen.text


def test_a_batch_of_which_every_record_failed_is_still_answered(
    handle: Handle, monkeypatch: pytest.MonkeyPatch, output: Callable[[], Output]
) -> None:
    lose_starts(monkeypatch, lambda _: True)
    answer = handle(*(record(n, {"message_id": f"m-{n}"}) for n in range(10)))
    assert failed(answer) == [f"sqs-{n}" for n in range(10)]
    seen = output()
    assert seen.per_stack() == {"Failed": 10}
    assert set(seen.ends().values()) == {"failed"}


def test_how_old_the_oldest_is_that_failed_is_told_and_nothing_of_what_did_not(
    handle: Handle, monkeypatch: pytest.MonkeyPatch, output: Callable[[], Output]
) -> None:
    def sent(number: int, message_id: str, seconds_ago: float) -> dict[str, Any]:
        at = {"SentTimestamp": str(int((time.time() - seconds_ago) * 1000))}
        return sqs_record({"message_id": message_id}, sqs_message_id=f"sqs-{number}", attributes=at)

    lose_starts(monkeypatch, lambda name: name.startswith("unlucky"))
    handle(sent(0, "lucky", 9_000), sent(1, "unlucky-1", 40), sent(2, "unlucky-2", 3_000))
    assert output().oldest_failed_age() == pytest.approx(3_000, abs=60)
    handle(sent(0, "lucky", 9_000))
    assert output().oldest_failed_age() is None
    handle(sent(3, "unlucky-3", -30))  # a clock of ours that is behind SQS's
    assert output().oldest_failed_age() == 0


def test_every_delivery_has_one_log_line_and_none_has_its_body(
    handle: Handle, output: Callable[[], Output]
) -> None:
    bodies = [
        GOOD,
        {"message_id": "other", "secret": "carried along"},
        '{"secret": "carried along',
        '{"message_id": "m", "secret": "carried along", "secret": 1}',
        {"secret": "carried along"},
        {"message_id": {"secret": "carried along"}},
        {"message_id": "large", "secret": "carried along" * 30_000},
    ]
    handle(*(record(n, body) for n, body in enumerate(bodies)))
    seen = output()
    assert sorted(line["sqs_message_id"] for line in seen.deliveries) == [
        f"sqs-{n}" for n in range(len(bodies))
    ]
    assert "carried along" not in seen.text
    assert "secret" not in seen.text


def test_message_id_and_content_are_where_the_stack_s_parameters_say(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch, output: Callable[[], Output]
) -> None:
    monkeypatch.setenv("MESSAGE_ID_FROM", "body:id")
    monkeypatch.setenv("CONTENT_FROM", "content")
    handle(record(0, {"id": "m-1", "content": 1, "retry": 1}))
    aws.stepfunctions.stop_execution(executionArn=aws.execution_arn("m-1"))
    handle(record(1, {"id": "m-1", "content": 1, "retry": 2}))
    assert output().ends() == {"sqs-0": "started", "sqs-1": "suppressed"}


@pytest.mark.filterwarnings("ignore:No application metrics to publish")
def test_parameters_that_cannot_be_understood_stop_the_function_and_lose_nothing(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESSAGE_ID_FROM", "somewhere")
    with pytest.raises(ValueError, match="MessageIdFrom 'somewhere'"):
        handle(record(0, GOOD))
    assert not aws.executions()


def throttle_starts(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """Throttle the first calls of StartExecution; the names of all that were called."""
    called: list[str] = []

    def throttle(request: Any, **_: Any) -> AWSResponse | None:
        called.append(json.loads(request.body)["name"])
        if len(called) > times:
            return None
        answer = json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"})
        return AWSResponse(request.url, 400, HTTPHeaders(), RawAnswer(answer.encode()))

    make: Any = boto3.client

    def make_throttled(service: str, **options: Any) -> Any:
        client = make(service, **options)
        client.meta.events.register_first("before-send.stepfunctions.StartExecution", throttle)
        return client

    monkeypatch.setattr(boto3, "client", make_throttled)
    return called


class RawAnswer:
    """What urllib3 would give."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._content


def test_a_throttled_start_is_tried_again_in_the_same_invocation(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch, output: Callable[[], Output]
) -> None:
    called = throttle_starts(monkeypatch, 1)
    assert handle(record(0, GOOD)) == {"batchItemFailures": []}
    assert called == ["good"] * 2
    assert aws.executions() == {"good": 1}
    assert output().per_stack() == {"Started": 1}


def test_a_delivery_that_is_throttled_to_the_last_call_ends_before_the_function_s_time_out(
    handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deliveries wait side by side, so a batch waits as long as one."""
    slept: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=slept.append))
    throttle_starts(monkeypatch, sys.maxsize)
    assert failed(handle(record(0, GOOD))) == ["sqs-0"]
    config: Any = importlib.import_module("starter").CLIENT_CONFIG
    slowest_answers = 4 * (config.connect_timeout + config.read_timeout)
    assert len(slept) == 3
    assert sum(slept) + slowest_answers < 30  # StarterTimeoutSeconds


def test_what_could_not_be_started_is_visible_again_before_its_time(
    aws: MotoAws, handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = aws.requests_queue
    aws.sqs.send_message(QueueUrl=url, MessageBody=json.dumps(GOOD))
    (received,) = aws.sqs.receive_message(QueueUrl=url)["Messages"]
    changed: list[dict[str, Any]] = []
    lose_starts(monkeypatch, lambda _: True)
    make: Any = boto3.client

    def watched(service: str, **options: Any) -> Any:
        client = make(service, **options)
        client.meta.events.register(
            "provide-client-params.sqs.ChangeMessageVisibilityBatch",
            lambda params, **_: changed.append(params),
        )
        return client

    monkeypatch.setattr(boto3, "client", watched)
    answer = handle(record(0, GOOD) | {"receiptHandle": received["ReceiptHandle"]})
    assert failed(answer) == ["sqs-0"]
    ((entry,),) = [params["Entries"] for params in changed]
    assert entry["VisibilityTimeout"] in range(2, 5)
    assert changed[0]["QueueUrl"] == url
