"""ConsumerFunction: what it logs, and what it refuses to begin with."""

import importlib
import io
from types import ModuleType
from typing import Any

import pytest

from actonce_core import batch
from appointments import AppointmentBook
from tests.support.deliveries import sqs_record
from tests.support.event_cases import read_event
from tests.support.moto_aws import MotoAws


@pytest.fixture(params=["ledger", "lease"])
def consumer(
    request: pytest.FixtureRequest, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    for name, value in (aws.variables() | {"STRATEGY": request.param}).items():
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
    ("consumer", "variable", "value", "said"),
    [
        ("lease", "STRATEGY", "hope", "STRATEGY is 'hope'"),
        # A lease that has no time for a takeover.
        ("lease", "FUNCTION_TIMEOUT_SECONDS", "30", "48 s"),
    ],
    indirect=["consumer"],
)
def test_a_set_up_that_cannot_work_stops_the_function(
    consumer: ModuleType, variable: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=said):
        consumer.handler(read_event("one_message"), None)
