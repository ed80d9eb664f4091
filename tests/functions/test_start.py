"""From a delivery to its execution, where AWS says no.

Where the process dies, tests/lab/conformance walks it.
"""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.reason import Reason
from actonce_core.result import Start
from actonce_core.start import refusal_of
from tests.support.deliveries import delivery
from tests.support.moto_aws import NOW, MotoAws

REQUEST = {"message_id": "m-1", "practice": "main"}
OTHER = REQUEST | {"practice": "other"}


def start(aws: MotoAws, request: Any = REQUEST) -> Start | Reason:
    """How a delivery ends."""
    outcome = aws.starter().start_message(delivery(request)).outcome
    return outcome.reason if isinstance(outcome, Refusal) else outcome


def print_of(request: Any) -> str:
    message = MessageReader().read(delivery(request))
    assert isinstance(message, Message)
    return message.fingerprint


def test_the_row_says_what_was_seen_when_and_by_whom_and_never_changes(aws: MotoAws) -> None:
    start(aws)
    row = aws.fingerprint_row("m-1")
    assert row == {
        "message_id": {"S": "m-1"},
        "fingerprint": {"S": print_of(REQUEST)},
        "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        "memory": {"S": aws.state_machine},
    }
    for later in (REQUEST, OTHER):
        aws.starter(now=NOW + timedelta(days=1)).start_message(delivery(later))
        assert aws.fingerprint_row("m-1") == row


@pytest.mark.parametrize(
    ("code", "is_final"),
    [
        *((code, True) for code in ("InvalidName", "InvalidExecutionInput", "ValidationException")),
        ("ExecutionLimitExceeded", False),  # the account's, and no word about the name
        *((code, False) for code in ("ThrottlingException", "StateMachineDoesNotExist")),
    ],
)
def test_a_message_that_cannot_be_started_is_handed_on_only_if_it_never_can(
    aws: MotoAws, code: str, is_final: bool
) -> None:
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_client_error("start_execution", code)
        if is_final:
            assert start(aws) is Reason.NOT_STARTABLE
        else:
            with pytest.raises(ClientError, match=code):
                start(aws)
    assert aws.reasons() == ["not_startable"] * is_final


def test_a_conflict_that_cannot_be_handed_on_raises(aws: MotoAws) -> None:
    start(aws)
    aws.sqs.delete_queue(QueueUrl=aws.unstarted_queue)
    with pytest.raises(ClientError):
        start(aws, OTHER)


# ------------------------------------------------------------------ what StartExecution answers


@pytest.mark.parametrize(
    ("started_before", "is_known", "expected"),
    [
        (timedelta(days=1), True, Start.SUPPRESSED),
        (timedelta(days=1), False, Start.STARTED),
        (timedelta(hours=-1), True, Start.STARTED),
    ],
)
def test_an_answer_200_is_named_by_the_original_s_start_date(
    aws: MotoAws, started_before: timedelta, is_known: bool, expected: Start
) -> None:
    if is_known:
        start(aws)
    answer = {"executionArn": aws.execution_arn("m-1"), "startDate": NOW - started_before}
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_response("start_execution", answer)
        assert start(aws) is expected


# ------------------------------------------------------------------ what a row says

OWN = "arn:own"
SAME = "a" * 64
DAYS = timedelta(days=1)


@pytest.mark.parametrize(
    ("fingerprint", "memory", "age", "reason"),
    [
        (SAME, OWN, 0 * DAYS, None),
        (SAME, OWN, 25 * DAYS, None),
        (SAME, OWN, timedelta(minutes=-5), None),  # the clock of whoever wrote the row was ahead
        (SAME, OWN, 25 * DAYS + timedelta(milliseconds=1), Reason.TOO_OLD_TO_TELL),
        ("a" * 63 + "b", OWN, 0 * DAYS, Reason.CONFLICT),
        ("a" * 63 + "b", "", 400 * DAYS, Reason.CONFLICT),
        *((SAME, other, 0 * DAYS, Reason.OTHER_MEMORY) for other in ("arn:another", "")),
    ],
)
def test_a_row_lets_through_what_its_name_can_answer_for(
    fingerprint: str, memory: str, age: timedelta, reason: Reason | None
) -> None:
    message = Message("m-1", "{}", SAME)
    row = {"fingerprint": fingerprint, "first_seen": "2026-01-31T09:30:00.000Z", "memory": memory}
    known = {name: {"S": value} for name, value in row.items()}
    refusal = refusal_of(message, known, NOW + age, memory=OWN, names_remembered=25 * DAYS)
    assert (refusal and refusal.reason) == reason
    assert refusal is None or refusal.message_id == "m-1"


def test_a_row_of_an_earlier_releases_lease_is_another_memory() -> None:
    row = {"fingerprint": SAME, "updated": "2026-01-31T09:30:00.000Z", "memory": "lease"}
    known = {name: {"S": value} for name, value in row.items()}
    message = Message("m-1", "{}", SAME)
    refusal = refusal_of(message, known, NOW, memory=OWN, names_remembered=25 * DAYS)
    assert refusal is not None
    assert refusal.reason == Reason.OTHER_MEMORY
