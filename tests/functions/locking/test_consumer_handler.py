"""ConsumerFunction: what it logs, and what it refuses to begin with."""

import importlib
import io
from types import ModuleType
from typing import Any

import pytest

from actonce_core import batch
from actonce_core.backoff import redelivery_delay
from actonce_core.locking.consumer import MAX_RETRIES
from actonce_core.locking.locks import Host
from appointments import AppointmentBook
from tests.support.deliveries import sqs_record
from tests.support.event_cases import read_event
from tests.support.moto_aws import MotoAws


@pytest.fixture
def consumer(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, value in aws.variables().items():
        monkeypatch.setenv(name, value)
    module = importlib.import_module("consumer")
    monkeypatch.setattr(module.metrics, "namespace", "ActOnce")
    module._batch.cache_clear()
    return module


def test_an_effect_s_exception_is_logged_by_its_type_alone(
    consumer: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def quoting(_book: AppointmentBook, request: dict[str, Any], _fence: Any = None) -> Any:
        raise OSError(f"cannot send {request['body']}")

    monkeypatch.setattr(AppointmentBook, "perform", quoting)
    monkeypatch.setattr(AppointmentBook, "perform_fenced", quoting)
    stream = io.StringIO()
    monkeypatch.setattr(batch.logger.registered_handler, "stream", stream)
    event = {"Records": [sqs_record({"message_id": "m", "patient": "secret"})]}
    assert consumer.handler(event, None) == {"batchItemFailures": [{"itemIdentifier": "sqs-1"}]}
    logged = stream.getvalue() + "".join(capfd.readouterr())
    assert '"error":"OutcomeUnknown"' in logged
    assert "secret" not in logged


@pytest.mark.filterwarnings("ignore:No application metrics to publish")
@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FUNCTION_TIMEOUT_SECONDS", "30", "48 s"),
        # A function may run for its own time-out besides.
        ("EFFECT_FUNCTION_ARN", "cards", "63 s"),
    ],
)
def test_a_set_up_that_has_no_time_for_a_takeover_stops_the_function(
    consumer: ModuleType, variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EFFECT_TIMEOUT_SECONDS", "15")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=message):
        consumer.handler(read_event("one_message"), None)


@pytest.mark.parametrize(("function", "straggles"), [("", 30), ("cards", 30 + 15)])
def test_a_takeover_waits_while_a_function_that_was_called_may_still_run(
    consumer: ModuleType,
    aws: MotoAws,
    function: str,
    straggles: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EFFECT_FUNCTION_ARN", function)
    monkeypatch.setenv("EFFECT_TIMEOUT_SECONDS", "15")
    monkeypatch.setenv("FUNCTION_TIMEOUT_SECONDS", "120")
    waited: list[float] = []
    lease = consumer._lease(aws.dynamodb, 12.0)
    lease.host = Host(monotonic=lambda: sum(waited), sleep=waited.append)
    attempts = [lease.acquire_processing_lock("m", 12.0, fingerprint="f") for _ in range(2)]
    assert [one.straggler_seconds for one in attempts] == [0, straggles]
    assert waited == [12.0]


def test_retries_last_for_hours_because_each_calls_the_provider(consumer: ModuleType) -> None:
    growth = consumer._batch()._growth
    waits = [redelivery_delay(n, 0.0, growth) for n in range(1, MAX_RETRIES + 1)]
    assert sum(waits) > 2 * 3600
