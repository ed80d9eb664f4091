import contextlib
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

import appointments
import starter
from actonce_core import batch
from actonce_core.effect import NotPerformed, Rejected
from tests.event_cases import (
    DUPLICATES,
    EFFECT_EVENTS,
    EVENTS,
    STARTER_CASES,
    StarterCase,
    read_event,
)

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef
    from mypy_boto3_stepfunctions import SFNClient

STARTER_EVENTS = [case.event for case in STARTER_CASES] + DUPLICATES


@dataclass(frozen=True, slots=True)
class HandlersOnMoto:
    """The functions' handlers, wired to queues, tables and a state machine of moto."""

    sqs: "SQSClient"
    dynamodb: "DynamoDBClient"
    stepfunctions: "SFNClient"
    unstarted_queue: str
    fingerprints_table: str
    appointments_table: str
    state_machine: str

    def start(self, event: str) -> dict[str, Any]:
        answer: dict[str, Any] = starter.handler(read_event(event), None)
        return answer

    def call_effect(self, event: str) -> dict[str, Any]:
        return appointments.handler(read_event(event), None)

    def put_row(self, table: str, row: str) -> None:
        self.dynamodb.put_item(TableName=table, Item=read_event(row))

    def execution_names(self) -> list[str]:
        pages = self.stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=self.state_machine
        )
        return [execution["name"] for page in pages for execution in page["executions"]]

    def take_unstarted(self) -> "list[MessageTypeDef]":
        messages: list[MessageTypeDef] = []
        while batch := self.sqs.receive_message(
            QueueUrl=self.unstarted_queue,
            MessageAttributeNames=["All"],
            MaxNumberOfMessages=10,
        ).get("Messages"):
            messages += batch
        return messages


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[HandlersOnMoto]:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "POWERTOOLS_METRICS_NAMESPACE": "ActOnce",
        "POWERTOOLS_SERVICE_NAME": "actonce",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batch.metrics, "namespace", "ActOnce")
    with mock_aws(), _made_anew(starter._batch), _made_anew(appointments._book):
        dynamodb = boto3.client("dynamodb")
        sqs = boto3.client("sqs")
        stepfunctions = boto3.client("stepfunctions")
        _create_table(dynamodb, "fingerprints", "message_id")
        _create_table(dynamodb, "appointments", "message_id", "appointment_id")
        machine = stepfunctions.create_state_machine(
            name="process-message",
            definition=json.dumps({"StartAt": "Wait", "States": {"Wait": {"Type": "Succeed"}}}),
            roleArn="arn:aws:iam::123456789012:role/process-message",
        )
        queue = sqs.create_queue(QueueName="unstarted")["QueueUrl"]
        monkeypatch.setenv("FINGERPRINTS_TABLE", "fingerprints")
        monkeypatch.setenv("APPOINTMENTS_TABLE", "appointments")
        monkeypatch.setenv("STATE_MACHINE_ARN", machine["stateMachineArn"])
        monkeypatch.setenv("UNSTARTED_QUEUE_URL", queue)
        monkeypatch.setenv("REQUESTS_QUEUE_URL", "https://sqs.us-east-1.amazonaws.com/1/requests")
        monkeypatch.setenv("MESSAGE_ID_FROM", "body:message_id")
        monkeypatch.setenv("CONTENT_FROM", "")
        monkeypatch.setenv("NAMES_REMEMBERED_DAYS", "25")
        yield HandlersOnMoto(
            sqs=sqs,
            dynamodb=dynamodb,
            stepfunctions=stepfunctions,
            unstarted_queue=queue,
            fingerprints_table="fingerprints",
            appointments_table="appointments",
            state_machine=machine["stateMachineArn"],
        )


@contextlib.contextmanager
def _made_anew(cached: "_lru_cache_wrapper[Any]") -> Iterator[None]:
    """A process keeps what its handler made of the environment; here each test has its own."""
    cached.cache_clear()
    yield
    cached.cache_clear()


def _create_table(dynamodb: "DynamoDBClient", name: str, *keys: str) -> None:
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        KeySchema=[
            {"AttributeName": key, "KeyType": "RANGE" if position else "HASH"}
            for position, key in enumerate(keys)
        ],
    )


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
def test_a_starter_event_ends_as_documented(case: StarterCase, handlers: HandlersOnMoto) -> None:
    if case.fingerprint_row:
        handlers.put_row(handlers.fingerprints_table, case.fingerprint_row)
    records = {record["messageId"]: record for record in read_event(case.event)["Records"]}

    answer = handlers.start(case.event)

    assert answer == {"batchItemFailures": []}
    assert len(handlers.execution_names()) == case.started
    unstarted = handlers.take_unstarted()
    reasons = [message["MessageAttributes"]["reason"]["StringValue"] for message in unstarted]
    assert tuple(sorted(reasons)) == case.refused
    assert len(records) == case.started + case.suppressed + len(case.refused)
    for message in unstarted:
        attributes = message["MessageAttributes"]
        record = records.pop(attributes["source_message_id"]["StringValue"])
        assert message["Body"] == record["body"]
        assert attributes["detail"]["StringValue"].endswith(".")
        assert attributes["receive_count"] == {"DataType": "Number", "StringValue": "1"}


@pytest.mark.parametrize("case", STARTER_CASES, ids=str)
def test_a_starter_event_given_twice_starts_nothing_more(
    case: StarterCase, handlers: HandlersOnMoto
) -> None:
    if case.fingerprint_row:
        handlers.put_row(handlers.fingerprints_table, case.fingerprint_row)
    handlers.start(case.event)
    handlers.start(case.event)
    assert len(handlers.execution_names()) == case.started
    assert len(handlers.take_unstarted()) == 2 * len(case.refused)


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_duplicate_is_acknowledged_and_starts_nothing(
    duplicate: str, handlers: HandlersOnMoto
) -> None:
    handlers.start("one_message")
    assert handlers.start(duplicate) == {"batchItemFailures": []}
    assert handlers.execution_names() == ["request-1001"]
    assert handlers.take_unstarted() == []


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


def test_only_the_refused_records_come_back_when_they_cannot_be_handed_on(
    handlers: HandlersOnMoto,
) -> None:
    handlers.sqs.delete_queue(QueueUrl=handlers.unstarted_queue)
    records = read_event("mixed_batch")["Records"]

    answer = handlers.start("mixed_batch")

    assert Counter(failure["itemIdentifier"] for failure in answer["batchItemFailures"]) == {
        records[1]["messageId"]: 1,
        records[3]["messageId"]: 1,
    }
    assert sorted(handlers.execution_names()) == ["request-3001", "request-3003"]


def test_the_large_event_is_too_large_in_bytes_and_not_in_characters() -> None:
    body = read_event("too_large")["Records"][0]["body"]
    assert len(body) < 256 * 1024 < len(body.encode())


def test_the_odd_ids_are_odd_in_different_ways() -> None:
    ids = [json.loads(record["body"])["message_id"] for record in read_event("odd_ids")["Records"]]
    assert any(not text.isascii() for text in ids)
    assert any(len(text) > 80 for text in ids)
    assert any(len(text.encode()) == 2000 for text in ids)
    assert any(not text.isprintable() for text in ids)


def test_perform_books_what_find_then_finds(handlers: HandlersOnMoto) -> None:
    assert handlers.call_effect("effect_find") == {"performed": False, "effect": None}
    performed = handlers.call_effect("effect_perform")
    assert performed["performed"]
    assert performed["effect"]["practice"] == "north"
    found = handlers.call_effect("effect_find")
    assert found["effect"]["appointment_id"] == performed["effect"]["appointment_id"]
    assert handlers.call_effect("effect_find_nothing") == {"performed": False, "effect": None}


def test_perform_given_twice_books_twice(handlers: HandlersOnMoto) -> None:
    first, second = (handlers.call_effect("effect_perform")["effect"] for _ in range(2))
    assert first["slot"] != second["slot"]


def test_a_practice_that_cannot_be_is_rejected(handlers: HandlersOnMoto) -> None:
    with pytest.raises(Rejected):
        handlers.call_effect("effect_perform_rejected")


def test_nothing_is_booked_in_a_closed_book(handlers: HandlersOnMoto) -> None:
    handlers.put_row(handlers.appointments_table, "rows/closed_book")
    with pytest.raises(NotPerformed):
        handlers.call_effect("effect_perform_closed_book")
    items = handlers.dynamodb.scan(TableName=handlers.appointments_table)["Items"]
    assert items == [read_event("rows/closed_book")]
