"""Each state of the audit on its own, by TestState with mocked answers.

Nothing rests on what MiniStack leaves out: a mocked answer does not go through a state's JSONata,
which tests/test_audit_definition.py evaluates.
"""

import json
from typing import Any

import boto3
import pytest
from botocore.config import Config

from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from tests.support import audit_machine

DAY = {"day": "2026-11-20"}
ROLE = "arn:aws:iam::000000000000:role/audit"

Following = tuple[str, str | None]


@pytest.fixture(scope="module")
def client(stack: Stack) -> Any:
    """TestState's host name begins with "sync-", which no loopback address does."""
    return boto3.client(
        "stepfunctions",
        endpoint_url=stack.aws.endpoint_url,
        region_name=EMBEDDED_REGION,
        aws_access_key_id=EMBEDDED_CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=EMBEDDED_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(inject_host_prefix=False, retries={"total_max_attempts": 1}),
    )


def following(client: Any, name: str, state_input: Any, **mock: Any) -> Following:
    """The status of the one state, and which follows it."""
    mocked = {"mock": mock} if mock else {}
    answer = client.test_state(
        definition=json.dumps(audit_machine.definition()),
        roleArn=ROLE,
        stateName=name,
        input=json.dumps(state_input),
        context=json.dumps(
            {
                "Execution": {"Id": "arn", "Name": "audit-2026-11-20", "Input": DAY},
                "StateMachine": {"Id": "arn:aws:states:us-east-1:000000000000:stateMachine:audit"},
            }
        ),
        stateConfiguration={"retrierRetryCount": 10},
        **mocked,
    )
    return answer["status"], answer.get("nextState")


@pytest.mark.parametrize(
    ("name", "state_input", "next_state"),
    [
        ("Day?", DAY, "RecordDeadLetters"),
        ("Day?", {"scheduled": "2026-11-21T03:00:00Z"}, "StartDay"),
        ("Code?", DAY | {"code": True}, "ListEffects"),
        ("Code?", DAY | {"code": False}, "PublishOutcome"),
        ("Exported?", DAY | {"exported": True}, "ForgetSummary"),
        ("Exported?", DAY | {"exported": False}, "ExportEffects"),
        ("ExportDone?", DAY | {"status": "COMPLETED"}, "ForgetSummary"),
        ("ExportDone?", DAY | {"status": "IN_PROGRESS"}, "AwaitExport"),
        ("ExportDone?", DAY | {"status": "FAILED"}, "PublishOutcome"),
        ("Good?", DAY | {"exit_status": 0}, "Done"),
        ("Good?", DAY | {"exit_status": 1}, "Alarms"),
        ("Good?", DAY | {"exit_status": 2}, "NotAudited"),
        ("Good?", DAY | {"exit_status": 3}, "NotWhole"),
    ],
)
def test_a_choice_is_made(client: Any, name: str, state_input: Any, next_state: str) -> None:
    assert following(client, name, state_input) == ("SUCCEEDED", next_state)


@pytest.mark.parametrize(
    ("name", "result", "next_state"),
    [
        ("StartDay", {"executionArn": "arn", "startDate": 0}, "Done"),
        ("RecordDeadLetters", {"Payload": {"lines": 1}}, "FindCode"),
        ("FindCode", {"KeyCount": 0}, "Code?"),
        ("ListEffects", {"KeyCount": 0}, "Exported?"),
        ("ExportEffects", {"ExportDescription": {"ExportArn": "arn"}}, "AwaitExport"),
        ("DescribeExport", {"ExportDescription": {"ExportStatus": "COMPLETED"}}, "ExportDone?"),
        ("ForgetSummary", {}, "RunAudit"),
        ("RunAudit", {"JobRun": {"State": "SUCCESS"}}, "ReadSummary"),
        ("ReadSummary", {"Body": "{}"}, "PublishOutcome"),
        ("PublishOutcome", {"MessageId": "1"}, "Good?"),
    ],
)
def test_an_answer_leads_on(client: Any, name: str, result: Any, next_state: str) -> None:
    state_input = DAY | {
        "scheduled": "2026-11-21T03:00:00Z",
        "export": "arn",
        "error": "none",
        "exit_status": 0,
        "sentence": "One sentence.",
    }

    assert following(client, name, state_input, result=json.dumps(result)) == (
        "SUCCEEDED",
        next_state,
    )


@pytest.mark.parametrize(
    ("name", "error", "next_state"),
    [
        # A schedule that fires twice is suppressed by the execution's name.
        ("StartDay", "StepFunctions.ExecutionAlreadyExistsException", "Done"),
        # Whatever keeps the dead letters from being recorded, the day is audited.
        ("RecordDeadLetters", "TooManyExecutions", "FindCode"),
        ("RecordDeadLetters", "Sandbox.Timedout", "FindCode"),
        ("RecordDeadLetters", "States.Timeout", "FindCode"),
        ("FindCode", "S3.NoSuchBucketException", "PublishOutcome"),
        ("ListEffects", "S3.NoSuchBucketException", "PublishOutcome"),
        ("ExportEffects", "DynamoDb.PointInTimeRecoveryUnavailableException", "PublishOutcome"),
        ("DescribeExport", "DynamoDb.ExportNotFoundException", "PublishOutcome"),
        ("ForgetSummary", "S3.S3Exception", "PublishOutcome"),
        ("RunAudit", "States.TaskFailed", "ReadSummary"),
        ("RunAudit", "States.Timeout", "ReadSummary"),
        ("RunAudit", "EMRServerless.ValidationException", "ReadSummary"),
        ("ReadSummary", "S3.NoSuchKeyException", "PublishOutcome"),
    ],
)
def test_an_error_leads_to_an_outcome(client: Any, name: str, error: str, next_state: str) -> None:
    state_input = DAY | {"scheduled": "2026-11-21T03:00:00Z", "export": "arn", "error": "none"}

    answer = following(client, name, state_input, errorOutput={"error": error, "cause": "mocked"})

    assert answer == ("CAUGHT_ERROR", next_state)


def test_what_cannot_be_published_fails_the_execution(client: Any) -> None:
    outcome = DAY | {"exit_status": 0, "sentence": "One sentence."}
    mock = {"error": "SNS.NotFoundException", "cause": "mocked"}

    assert following(client, "PublishOutcome", outcome, errorOutput=mock) == ("FAILED", None)


@pytest.mark.parametrize("name", ["Alarms", "NotAudited"])
def test_an_outcome_that_is_not_good_fails_the_execution(client: Any, name: str) -> None:
    assert following(client, name, DAY | {"sentence": "One sentence."}) == ("FAILED", None)
