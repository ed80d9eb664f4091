"""The sample events, given to the functions' handlers: each ends as its README says."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from samcli.lib import generated_sample_events  # type: ignore[import-untyped]

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
FIFO_ATTRIBUTES = {"MessageGroupId", "MessageDeduplicationId", "SequenceNumber"}


def start(event: str) -> dict[str, Any]:
    answer: dict[str, Any] = starter.handler(read_event(event), None)
    return answer


def call_effect(event: str) -> dict[str, Any]:
    return appointments.handler(read_event(event), None)


@pytest.fixture(autouse=True)
def _handlers(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the functions find around them; each test's are made anew of it."""
    for name, value in aws.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batch.metrics, "namespace", "ActOnce")
    starter._batch.cache_clear()
    appointments._book.cache_clear()


def test_every_event_file_has_a_case_and_every_case_a_file_and_a_row_in_the_readme() -> None:
    assert {path.stem for path in EVENTS.glob("*.json")} == {*STARTER_EVENTS, *EFFECT_EVENTS}
    readme = (EVENTS / "README.md").read_text(encoding="utf-8")
    names = [path.relative_to(EVENTS).as_posix() for path in EVENTS.rglob("*.json")]
    assert [name for name in names if f"`{name}`" not in readme] == []


def test_each_envelope_is_read_as_the_page_on_message_ids_says() -> None:
    page = (EVENTS.parent / "docs" / "message-id.md").read_text(encoding="utf-8")
    given = [value for case in STARTER_CASES for value in case.parameters.values()]
    assert [value for value in given if f"`{value}`" not in page] == []
    assert given


def test_starter_events_have_the_shape_of_aws() -> None:
    # What `sam local generate-event sqs receive-message` fills in.
    of_sam = Path(generated_sample_events.__path__[0]) / "events" / "sqs" / "Sqs.json"
    (expected,) = json.loads(of_sam.read_text(encoding="utf-8"))["Records"]
    for event in STARTER_EVENTS:
        records = read_event(event)["Records"]
        assert 1 <= len(records) <= 10
        assert len({record["messageId"] for record in records}) == len(records)
        for record in records:
            assert record.keys() == expected.keys()
            fifo = FIFO_ATTRIBUTES if record["eventSourceARN"].endswith(".fifo") else set()
            assert record["attributes"].keys() == expected["attributes"].keys() | fifo
            assert all(isinstance(value, str) for value in record["attributes"].values())
            assert record["eventSource"] == expected["eventSource"]
            assert record["md5OfBody"] == hashlib.md5(record["body"].encode()).hexdigest()


@pytest.mark.parametrize("case", STARTER_CASES, ids=str)
def test_a_starter_event_ends_as_documented(
    case: StarterCase, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in case.parameters.items():
        monkeypatch.setenv(name, value)
    if case.fingerprint_row:
        row = read_event(case.fingerprint_row)
        aws.dynamodb.put_item(TableName=aws.fingerprints_table, Item=row)
    records = {record["messageId"]: record for record in read_event(case.event)["Records"]}

    assert start(case.event) == {"batchItemFailures": []}

    assert aws.executions().total() == case.started
    unstarted = [(one["Body"], one["MessageAttributes"]) for one in aws.unstarted()]
    assert tuple(sorted(one["reason"]["StringValue"] for _, one in unstarted)) == case.refused
    assert len(records) == case.started + case.suppressed + len(case.refused)
    for body, attributes in unstarted:
        assert body == records.pop(attributes["source_message_id"]["StringValue"])["body"]


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_duplicate_is_acknowledged_and_starts_nothing(duplicate: str, aws: MotoAws) -> None:
    start("one_message")
    assert start(duplicate) == {"batchItemFailures": []}
    assert aws.executions() == {"request-1001": 1}
    assert aws.unstarted() == []


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
