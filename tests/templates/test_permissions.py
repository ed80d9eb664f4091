"""Every call that is made is allowed by the templates, and every allowance is for a call.

The calls: those of `calls.txt`, which tests/embedded/test_recorded_calls.py records, and those that
AWS makes by itself, by its documentation.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import pytest

from actonce.stack.embedded_folder import PROJECT
from tests.support import documented_calls, recorded_calls
from tests.support.policies import (
    ACCOUNT,
    REGION,
    Call,
    Judgement,
    Made,
    Statement,
    arn,
    made,
    missing,
    statements,
)

RECORDED = Path(__file__).parents[1] / "embedded" / "snapshots" / "calls.txt"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/theirs"
THEIRS = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:theirs:1"
_THEIRS = {"EffectFunctionArn": THEIRS, "FindFunctionArn": THEIRS}

_TOPIC = {"AlarmTopicArn": arn("AWS::SNS::Topic", "AlarmTopic")}
_MACHINE = {"ProcessMessageArn": arn("AWS::Serverless::StateMachine", "ProcessMessage")}
_OUTPUTS = (
    _TOPIC
    | _MACHINE
    | {
        "AuditEvery": "15 minutes",
        "StarterLogGroupName": "StarterLogGroup",
        "RecordsBucketName": "recordsbucket",
        "EffectsTableName": "AppointmentsTable",
        "AlarmTopicKeyArn": arn("AWS::KMS::Key", "AlarmTopicKey"),
    }
)
_AUDITED = (
    "template.yaml",
    "templates/alarms.yaml",
    "templates/records.yaml",
    "templates/audit.yaml",
)
_WITH_KEY = {"KmsKeyArn": KEY}
_ON_TROUBLE = {"StartExecutions": "on-trouble"}


@dataclass(frozen=True)
class Deployment:
    """Templates with parameters, and the recording of what was deployed so."""

    recording: str
    files: tuple[str, ...]
    parameters: dict[str, str]

    @functools.cached_property
    def resources(self) -> list[Made]:
        return [one for file in self.files for one in made(PROJECT / file, self.parameters)]

    @functools.cached_property
    def statements(self) -> list[Statement]:
        return list(statements(self.resources))

    @functools.cached_property
    def judgement(self) -> Judgement:
        return Judgement(self.calls, self.statements)

    @functools.cached_property
    def calls(self) -> list[Call]:
        recorded = recorded_calls.read(RECORDED.read_text(), self.recording)
        calls = [*recorded, *documented_calls.by_aws_itself(self.resources)]
        key = self.parameters.get("KmsKeyArn", "")
        return [*calls, *documented_calls.of_keys(calls, self.resources, key)]


DEPLOYMENTS = {
    "audited": Deployment("audited", _AUDITED, _OUTPUTS),
    "audited, a key": Deployment(
        "audited", _AUDITED, _OUTPUTS | _WITH_KEY | {"AlarmTopicKeyArn": KEY}
    ),
    "their function and queue": Deployment(
        "their function and queue",
        ("template.yaml", "templates/alarms.yaml"),
        _THEIRS | {"RequestsQueueName": "orders"},
    ),
    "first attempts": Deployment(
        "first attempts", ("template.yaml", "templates/alarms.yaml"), _ON_TROUBLE
    ),
    "first attempts, their function, a key": Deployment(
        "first attempts, their function",
        ("template.yaml", "templates/alarms.yaml"),
        _ON_TROUBLE | _THEIRS | _WITH_KEY,
    ),
}
every_deployment = pytest.mark.parametrize("deployment", DEPLOYMENTS.values(), ids=DEPLOYMENTS)

NEEDED_WITHOUT_A_CALL = {
    "audit.yaml: AuditJobRole: s3:GetObject, s3:PutObject on arn:aws:s3:::auditbucket/"
    "audit-logs/*: no call has the action s3:GetObject": "The console's Spark UI of a job may read "
    "its logs in the job's name, which AWS's page on logs, that asks for PutObject, leaves open.",
}
"""What no call of any path needs, and why it is allowed."""


@every_deployment
def test_every_call_is_allowed(deployment: Deployment) -> None:
    wrong = deployment.judgement.wrong()

    assert not wrong, "\n".join(map(missing, wrong))


@every_deployment
def test_nothing_is_allowed_that_no_call_needs(deployment: Deployment) -> None:
    unused = deployment.judgement.unused(deployment.statements)

    assert set(unused) <= NEEDED_WITHOUT_A_CALL.keys()


@every_deployment
def test_without_any_one_statement_some_call_is_judged_wrongly(deployment: Deployment) -> None:
    """So each is needed, and none hides that another is."""
    needless = [one.of for one in deployment.statements if not deployment.judgement.wrong(one)]

    assert needless == []
