"""What doctor reads of a stack: without permissions, nothing is taken for good."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3

from actonce.doctor.facts import Function, Missing, Unreadable
from actonce.doctor.findings import CHECKS, Hazard, examine
from actonce.doctor.looking import look
from actonce.stack.clients import Aws, Stack

ACCOUNT = "us-east-1:123456789012"
OUTPUTS = {
    "AlarmTopicArn": f"arn:aws:sns:{ACCOUNT}:alarms",
    "DeadLetterQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/letters",
    "EffectFunctionArn": f"arn:aws:lambda:{ACCOUNT}:function:cards",
    "FindFunctionArn": f"arn:aws:lambda:{ACCOUNT}:function:cards",
    "FingerprintsTableName": "fingerprints",
    "ProcessMessageArn": f"arn:aws:states:{ACCOUNT}:stateMachine:once",
    "RequestsQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/requests",
    "StarterFunctionName": "starter",
    "UnstartedQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/unstarted",
}
PARAMETERS = {
    "DecisionTimeoutSeconds": "1209600",
    "EffectTimeoutSeconds": "15",
    "EffectFunctionArn": OUTPUTS["EffectFunctionArn"],
    "Strategy": "step-functions",
}


def answering(code: str) -> Stack:
    """A stack that can be found; every other call is answered by this error."""
    aws = Aws()

    def answer(model: Any, **_: Any) -> Any:
        if model.name == "DescribeStacks":
            given = [{"ParameterKey": k, "ParameterValue": v} for k, v in PARAMETERS.items()]
            return SimpleNamespace(status_code=200), {"Stacks": [{"Parameters": given}]}
        error = {"Error": {"Code": code, "Message": f"{model.name} is not for you"}}
        return SimpleNamespace(status_code=400), error

    for service in ("cloudformation", "lambda", "sqs", "sns", "cloudwatch"):
        client: Any = boto3.client(
            service,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        client.meta.events.register("before-call", answer)
        aws._clients[service] = client
    return Stack(aws, "shop", dict(OUTPUTS))


def test_what_aws_does_not_tell_is_named_as_not_checked() -> None:
    examination = examine(look(answering("AccessDenied"), datetime.now(UTC)))
    assert (examination.findings, examination.exit_status) == ((), 3)
    named = {one.check: one.why for one in examination.not_checked}
    told = {"remembering", "consumer-time-out", "looking-up"}
    assert set(named) == set(CHECKS) - told
    assert "was answered AccessDenied" in named["effect-time-out"]


def test_what_is_not_there_is_found() -> None:
    facts = look(answering("ResourceNotFoundException"), datetime.now(UTC))
    assert (facts.effect, facts.find, facts.requests) == (Missing(), Missing(), Missing())
    hazards = {(one.check, one.hazard) for one in examine(facts).findings}
    assert {
        ("functions", Hazard.STOPS),
        ("queue", Hazard.STOPS),
        ("dead-letters", Hazard.LOST),
    } <= hazards


def test_a_version_is_read_as_it_is_named() -> None:
    arn = f"arn:aws:lambda:{ACCOUNT}:function:cards:live"
    stack = answering("AccessDenied")
    function: Any = stack.lambda_

    def answer(**_: Any) -> Any:
        told: dict[str, Any] = {"FunctionName": "cards", "FunctionArn": f"{arn}:3", "Timeout": 15}
        told["DurableConfig"] = {"ExecutionTimeout": 3600}
        told["Environment"] = {"Error": {"ErrorCode": "AccessDenied", "Message": "of its key"}}
        return SimpleNamespace(status_code=200), told

    function.meta.events.register_first("before-call.lambda.GetFunctionConfiguration", answer)
    stack.outputs["EffectFunctionArn"] = arn
    effect = look(stack, datetime.now(UTC)).effect
    assert isinstance(effect, Function)
    assert (effect.arn, effect.timeout, effect.durable) == (arn, 15, 3600)
    assert isinstance(effect.variables, Unreadable)


def test_a_version_is_held_against_what_is_deployed_by_now() -> None:
    stack = answering("AccessDenied")
    function: Any = stack.lambda_
    version = f"arn:aws:lambda:{ACCOUNT}:function:cards:3"

    def answer(params: Any, **_: Any) -> Any:
        of_version = "cards%3A3" in params["url_path"]
        variables = {"PROVIDER": "old" if of_version else "new"}
        told: dict[str, Any] = {"FunctionName": "cards", "FunctionArn": "arn", "Timeout": 15}
        return SimpleNamespace(status_code=200), told | {"Environment": {"Variables": variables}}

    function.meta.events.register_first("before-call.lambda.GetFunctionConfiguration", answer)
    stack.outputs["EffectFunctionArn"] = version
    effect = look(stack, datetime.now(UTC)).effect
    assert isinstance(effect, Function)
    assert effect.deployed_since == ("variables",)


def test_a_mapping_is_read_with_what_it_drops() -> None:
    stack = answering("AccessDenied")
    client: Any = stack.aws.client
    mapping: dict[str, Any] = {"FunctionArn": "arn", "State": "Enabled"}
    kept = {"Filters": [{"Pattern": "{}"}]}
    more: list[dict[str, Any]] = [
        {"FilterCriteria": kept},
        {"FilterCriteriaError": {"ErrorCode": "AccessDenied"}},
        {"FilterCriteria": {}},
        {},
    ]
    told = [mapping | one for one in more]

    def give(answer: dict[str, Any]) -> Any:
        return lambda **_: (SimpleNamespace(status_code=200), answer)

    queue = {"QueueArn": "arn", "VisibilityTimeout": "30", "MessageRetentionPeriod": "60"}
    for service, operation, answer in (
        ("sqs", "GetQueueAttributes", {"Attributes": queue}),
        ("lambda", "ListEventSourceMappings", {"EventSourceMappings": told}),
    ):
        events = client(service).meta.events
        events.register_first(f"before-call.{service}.{operation}", give(answer))
    feeds = look(stack, datetime.now(UTC)).feeds
    assert not isinstance(feeds, Unreadable)
    assert [one.filters for one in feeds] == [True, True, False, False]
