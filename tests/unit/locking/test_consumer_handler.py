"""ConsumerFunction, given the sample events: they end as they do with the starter."""

import importlib
import io
import json
import os
from types import ModuleType
from typing import Any

import pytest

from actonce_core import batch
from appointments import AppointmentBook
from tests.support.deliveries import sqs_record
from tests.support.event_cases import STARTER_CASES, StarterCase, read_event
from tests.support.moto_aws import MotoAws

CASES = [case for case in STARTER_CASES if case.fingerprint_row is None]


@pytest.fixture(params=["ledger", "lease"])
def consumer(
    request: pytest.FixtureRequest, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    for name, value in {
        "STRATEGY": request.param,
        "LEDGER_TABLE": aws.ledger_table,
        "APPOINTMENTS_TABLE": aws.appointments_table,
        "UNSTARTED_QUEUE_URL": aws.unstarted_queue,
        "DEAD_LETTER_QUEUE_URL": aws.dead_letter_queue,
        "CLOCK_SKEW_SECONDS": "300",
        "LEASE_SECONDS": "12",
        "FUNCTION_TIMEOUT_SECONDS": "60",
        "STRAGGLER_MARGIN_SECONDS": "30",
        "MAX_ROUNDS": "3",
    }.items():
        monkeypatch.setenv(name, value)
    module = importlib.import_module("consumer")
    monkeypatch.setattr(module.metrics, "namespace", "ActOnce")
    module._batch.cache_clear()
    return module


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_event_ends_as_with_the_starter(
    consumer: ModuleType, case: StarterCase, aws: MotoAws
) -> None:
    # One by one: a duplicate in the same batch may find the first still in progress, and comes
    # again; and moto's conditions race between threads.
    for record in read_event(case.event)["Records"]:
        assert consumer.handler({"Records": [record]}, None) == {"batchItemFailures": []}
    assert len(_appointments(aws)) == case.started
    reasons = [entry["MessageAttributes"]["reason"]["StringValue"] for entry in aws.unstarted()]
    assert sorted(reasons) == sorted(case.refused)
    assert aws.dead_letters() == []


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


def test_a_strategy_that_there_is_not_stops_the_function(
    consumer: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "STRATEGY", "hope")
    with pytest.raises(ValueError, match="STRATEGY is 'hope'"):
        consumer.handler(read_event("one_message"), None)


@pytest.mark.parametrize("consumer", ["lease"], indirect=True)
def test_a_lease_that_has_no_time_for_a_takeover_stops_the_function(
    consumer: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "FUNCTION_TIMEOUT_SECONDS", "30")
    with pytest.raises(ValueError, match="48 s"):
        consumer.handler(read_event("one_message"), None)


def _appointments(aws: MotoAws) -> list[dict[str, Any]]:
    items = aws.dynamodb.scan(TableName=aws.appointments_table)["Items"]
    found = [item for item in items if item["appointment_id"]["S"].startswith("appointment-")]
    for item in found:
        json.loads(item["request"]["S"])
    return found
