"""Answers that neither emulator can give: throttling, pages, an execution that is gone."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core import transient
from actonce_core.histories.dead_letters import dead_letter_records
from actonce_core.histories.reading import Listed, executions_between, tell
from actonce_core.transient import patiently
from tests.support.histories import START

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

STATE_MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:process-message"


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> tuple["SFNClient", Stubber]:
    monkeypatch.setattr(transient, "_LONGEST_PAUSE", 0.0)
    client = boto3.client("stepfunctions", region_name="us-east-1")
    return client, Stubber(client)


def item(name: str, start: int, stop: int | None) -> dict[str, Any]:
    found = {
        "executionArn": f"{STATE_MACHINE.replace(':stateMachine:', ':execution:')}:{name}",
        "stateMachineArn": STATE_MACHINE,
        "name": name,
        "status": "RUNNING" if stop is None else "SUCCEEDED",
        "startDate": START + timedelta(seconds=start),
    }
    return found if stop is None else found | {"stopDate": START + timedelta(seconds=stop)}


def test_executions_that_ran_at_some_time_of_the_day_are_found(
    stubbed: tuple["SFNClient", Stubber],
) -> None:
    client, stubber = stubbed
    first = [item("later", 20, None), item("begins", 9, 30), item("within", 3, 5)]
    second = [item("throughout", -9, None), item("ends", -9, 0), item("earlier", -9, -1)]
    asked = {"stateMachineArn": STATE_MACHINE, "maxResults": 1000}
    stubber.add_response("list_executions", {"executions": first, "nextToken": "more"}, asked)
    stubber.add_client_error("list_executions", "ThrottlingException")
    stubber.add_response("list_executions", {"executions": second}, asked | {"nextToken": "more"})

    with stubber:
        between = (START, START + timedelta(seconds=10))
        pages = list(executions_between(client, STATE_MACHINE, between, retry_for=60))

    assert [[one.name for one in page] for page in pages] == [
        ["begins", "within"],
        ["throughout", "ends"],
    ]
    stubber.assert_no_pending_responses()


def test_an_execution_that_is_forgotten_meanwhile_is_told_of(
    stubbed: tuple["SFNClient", Stubber],
) -> None:
    client, stubber = stubbed
    stubber.add_client_error("get_execution_history", "ExecutionDoesNotExist")

    with stubber:
        gone = Listed("arn:aws:states:x", "gone", START, None)
        (told,) = tell(client, [gone], dead_letter_records, retry_for=60)

    assert told.records is None
    assert told.listed.name == "gone"


def test_throttling_is_waited_out_for_a_while_and_other_errors_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transient, "_LONGEST_PAUSE", 0.0)
    calls: list[str] = []

    def fail(code: str, times: int) -> str:
        calls.append(code)
        if len(calls) <= times:
            raise ClientError({"Error": {"Code": code, "Message": ""}}, "GetExecutionHistory")
        return "answer"

    assert patiently(lambda: fail("ThrottlingException", 5), retry_for=60) == "answer"
    assert len(calls) == 6

    calls.clear()
    with pytest.raises(ClientError, match="AccessDeniedException"):
        patiently(lambda: fail("AccessDeniedException", 5), retry_for=60)
    assert len(calls) == 1

    calls.clear()
    with pytest.raises(ClientError, match="ThrottlingException"):
        patiently(lambda: fail("ThrottlingException", 5), retry_for=-1)
    assert len(calls) == 1
