"""The sample events, given to the functions' handlers: each ends as its README says."""

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest

import appointments
import starter
from actonce_core import batch
from actonce_core.effect import NotPerformed, Rejected
from tests.support.event_cases import (
    DUPLICATES,
    EFFECT_EVENTS,
    EVENTS,
    STARTER_CASES,
    StarterCase,
    read_event,
)
from tests.support.moto_aws import MotoAws

STARTER_EVENTS = [case.event for case in STARTER_CASES] + DUPLICATES


def start(event: str) -> dict[str, Any]:
    answer: dict[str, Any] = starter.handler(read_event(event), None)
    return answer


def call_effect(event: str) -> dict[str, Any]:
    return appointments.handler(read_event(event), None)


@pytest.fixture(autouse=True)
def _handlers(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the functions find around them; each test's are made anew of it."""
    for name, value in {
        "FINGERPRINTS_TABLE": aws.fingerprints_table,
        "APPOINTMENTS_TABLE": aws.appointments_table,
        "STATE_MACHINE_ARN": aws.state_machine,
        "UNSTARTED_QUEUE_URL": aws.unstarted_queue,
        "REQUESTS_QUEUE_URL": aws.requests_queue,
        "MESSAGE_ID_FROM": "body:message_id",
        "CONTENT_FROM": "",
        "NAMES_REMEMBERED_DAYS": "25",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batch.metrics, "namespace", "ActOnce")
    starter._batch.cache_clear()
    appointments._book.cache_clear()


@pytest.fixture(scope="module")
def record_of_sam() -> dict[str, Any]:
    """The record that SAM generates for SQS."""
    run = subprocess.run(
        [sys.executable, "-m", "samcli", "local", "generate-event", "sqs", "receive-message"],
        capture_output=True,
        check=True,
        text=True,
        env={"SAM_CLI_TELEMETRY": "0", "PATH": "", "HOME": "/nonexistent"},
    )
    record: dict[str, Any] = json.loads(run.stdout)["Records"][0]
    return record


def test_every_event_file_has_a_case_and_every_case_a_file() -> None:
    assert {path.stem for path in EVENTS.glob("*.json")} == {*STARTER_EVENTS, *EFFECT_EVENTS}


def test_every_event_and_row_is_described_in_the_readme() -> None:
    readme = (EVENTS / "README.md").read_text(encoding="utf-8")
    names = [path.relative_to(EVENTS).as_posix() for path in EVENTS.rglob("*.json")]
    assert [name for name in names if f"`{name}`" not in readme] == []


FIFO_ATTRIBUTES = {"MessageGroupId", "MessageDeduplicationId", "SequenceNumber"}


@pytest.mark.parametrize("event", STARTER_EVENTS)
def test_a_starter_event_has_the_shape_of_aws(event: str, record_of_sam: dict[str, Any]) -> None:
    records = read_event(event)["Records"]
    assert 1 <= len(records) <= 10
    assert len({record["messageId"] for record in records}) == len(records)
    for record in records:
        assert record.keys() == record_of_sam.keys()
        fifo = FIFO_ATTRIBUTES if record["eventSourceARN"].endswith(".fifo") else set()
        assert record["attributes"].keys() == record_of_sam["attributes"].keys() | fifo
        assert all(isinstance(value, str) for value in record["attributes"].values())
        assert record["eventSource"] == record_of_sam["eventSource"]
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode()).hexdigest()


@pytest.mark.parametrize("case", STARTER_CASES, ids=str)
def test_a_starter_event_ends_as_documented(case: StarterCase, aws: MotoAws) -> None:
    if case.fingerprint_row:
        aws.dynamodb.put_item(
            TableName=aws.fingerprints_table, Item=read_event(case.fingerprint_row)
        )
    records = {record["messageId"]: record for record in read_event(case.event)["Records"]}

    answer = start(case.event)

    assert answer == {"batchItemFailures": []}
    assert aws.executions().total() == case.started
    unstarted = aws.unstarted()
    reasons = [message["MessageAttributes"]["reason"]["StringValue"] for message in unstarted]
    assert tuple(sorted(reasons)) == case.refused
    assert len(records) == case.started + case.suppressed + len(case.refused)
    for message in unstarted:
        source = message["MessageAttributes"]["source_message_id"]["StringValue"]
        assert message["Body"] == records.pop(source)["body"]


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_duplicate_is_acknowledged_and_starts_nothing(duplicate: str, aws: MotoAws) -> None:
    start("one_message")
    assert start(duplicate) == {"batchItemFailures": []}
    assert aws.executions() == {"request-1001": 1}
    assert aws.unstarted() == []


def test_the_duplicates_differ_as_sqs_makes_them_differ() -> None:
    original, sent_again, delivered_again = (
        read_event(event)["Records"][0] for event in ("one_message", *DUPLICATES)
    )
    assert json.loads(sent_again["body"]) == json.loads(original["body"])
    assert sent_again["body"] != original["body"]
    assert sent_again["messageId"] != original["messageId"]
    assert delivered_again["messageId"] == original["messageId"]
    assert delivered_again["body"] == original["body"]
    assert delivered_again["receiptHandle"] != original["receiptHandle"]
    assert delivered_again["attributes"]["ApproximateReceiveCount"] == "2"


def test_the_large_event_is_too_large_in_bytes_and_not_in_characters() -> None:
    body = read_event("too_large")["Records"][0]["body"]
    assert len(body) < 256 * 1024 < len(body.encode())


def test_the_odd_ids_are_odd_in_different_ways() -> None:
    ids = [json.loads(record["body"])["message_id"] for record in read_event("odd_ids")["Records"]]
    assert any(not text.isascii() for text in ids)
    assert any(len(text) > 80 for text in ids)
    assert any(len(text.encode()) == 2000 for text in ids)
    assert any(not text.isprintable() for text in ids)


def test_effect_events_end_as_documented(aws: MotoAws) -> None:
    assert call_effect("effect_find") == {"performed": False, "effect": None}
    first, second = (call_effect("effect_perform")["effect"] for _ in range(2))
    assert first["practice"] == "north"
    assert first["slot"] != second["slot"]
    assert call_effect("effect_find")["performed"]
    assert call_effect("effect_find_nothing") == {"performed": False, "effect": None}
    with pytest.raises(Rejected):
        call_effect("effect_perform_rejected")
    closed = read_event("rows/closed_book")
    aws.dynamodb.put_item(TableName=aws.appointments_table, Item=closed)
    with pytest.raises(NotPerformed):
        call_effect("effect_perform_closed_book")
