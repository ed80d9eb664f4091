"""What doctor reads of a stack: without permissions, nothing is taken for good."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from actonce.doctor.facts import Effects, Function, Missing, Unreadable
from actonce.doctor.findings import CHECKS, Hazard, examine
from actonce.doctor.looking import look
from actonce.stack.clients import Aws, Stack
from tests.support.tables import make_table

ACCOUNT = "us-east-1:123456789012"
OUTPUTS = {
    "AlarmTopicArn": f"arn:aws:sns:{ACCOUNT}:alarms",
    "DeadLetterQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/letters",
    "EffectFunctionArn": f"arn:aws:lambda:{ACCOUNT}:function:cards",
    "EffectsAttributes": "order_id,sent_at,card",
    "EffectsTableName": "gift-cards",
    "FindFunctionArn": f"arn:aws:lambda:{ACCOUNT}:function:cards",
    "FingerprintsTableName": "fingerprints",
    "ProcessMessageArn": f"arn:aws:states:{ACCOUNT}:stateMachine:once",
    "RequestsQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/requests",
    "StarterFunctionName": "starter",
    "UnstartedQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/unstarted",
}
BOTH = ("DeletionPolicy", "UpdateReplacePolicy")
PARAMETERS = {
    "DecisionTimeoutSeconds": "1209600",
    "EffectTimeoutSeconds": "15",
    "EffectFunctionArn": OUTPUTS["EffectFunctionArn"],
    "Strategy": "step-functions",
}


def answering(code: str, message: str = "is not for you") -> Stack:
    """A stack that can be found; every other call is answered by this error."""
    aws = Aws()

    def answer(model: Any, **_: Any) -> Any:
        if model.name == "DescribeStacks":
            given = [{"ParameterKey": k, "ParameterValue": v} for k, v in PARAMETERS.items()]
            return SimpleNamespace(status_code=200), {"Stacks": [{"Parameters": given}]}
        error = {"Error": {"Code": code, "Message": f"{model.name} {message}"}}
        return SimpleNamespace(status_code=400), error

    for service in ("cloudformation", "dynamodb", "lambda", "sqs", "sns", "cloudwatch"):
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
    assert [facts.effect, facts.find, facts.requests, facts.effects] == [Missing()] * 4
    hazards = {(one.check, one.hazard) for one in examine(facts).findings}
    assert {
        ("functions", Hazard.STOPS),
        ("effects", Hazard.STOPS),
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
    assert effect.deployed_since == ("Environment",)


VERSION = f"arn:aws:lambda:{ACCOUNT}:function:cards:3"
KEPT = "{DeletionPolicy: Retain, UpdateReplacePolicy: Retain}"


def answer_next(stack: Stack, service: str, operation: str, *answers: dict[str, Any]) -> None:
    """Have an operation answered by these, one after the other, then by the last of them."""
    left = list(answers)

    def answer(**_: Any) -> Any:
        return SimpleNamespace(status_code=200), left.pop(0) if len(left) > 1 else left[0]

    events = stack.aws.client(service).meta.events
    events.register_first(f"before-call.{service}.{operation}", answer)


def calling_a_version(stack: Stack) -> Stack:
    """The stack, with a version as its effect."""
    stack.outputs["EffectFunctionArn"] = VERSION
    del stack.outputs["FindFunctionArn"]
    told = {"FunctionName": "cards", "FunctionArn": VERSION, "Timeout": 15}
    answer_next(stack, "lambda", "GetFunctionConfiguration", told)
    return stack


def not_retained(stack: Stack) -> Any:
    effect = look(stack, datetime.now(UTC)).effect
    assert isinstance(effect, Function)
    return effect.not_retained


def had_by_a_stack(template: Any, *, listed: bool = True) -> Stack:
    """A stack whose effect is a version that a stack of this template has."""
    stack = calling_a_version(answering("AccessDenied"))
    other = {"LogicalResourceId": "Other", "PhysicalResourceId": "x", "StackId": "shop-id"}
    other |= {"ResourceType": "AWS::Lambda::Version", "ResourceStatus": "UPDATE_COMPLETE"}
    mine = other | {"LogicalResourceId": "Mine", "PhysicalResourceId": VERSION}
    pages: list[dict[str, Any]] = [
        {"StackResourceSummaries": [other], "NextToken": "more"},
        {"StackResourceSummaries": [mine] if listed else []},
    ]
    # It lists a hundred of a stack's resources at most, and not which of them was asked for.
    answer_next(stack, "cloudformation", "DescribeStackResources", {"StackResources": [other]})
    answer_next(stack, "cloudformation", "ListStackResources", *pages)
    answer_next(stack, "cloudformation", "GetTemplate", {"TemplateBody": template})
    return stack


@pytest.mark.parametrize(
    ("template", "policies"),
    [
        # As SAM makes it; and as it was written, where nothing transforms it.
        ({"Resources": {"Mine": {"DeletionPolicy": "Retain"}}}, ("UpdateReplacePolicy",)),
        ("Resources: {Mine: {UpdateReplacePolicy: Delete}, X: !Ref Y}", BOTH),
        (f"Resources: {{Mine: {KEPT}}}", ()),
        ({"Resources": {"Mine": dict.fromkeys(BOTH, "Retain")}}, ()),
        ({"Resources": {"Mine": dict.fromkeys(BOTH, "Snapshot")}}, BOTH),
    ],
)
def test_what_would_delete_a_version_is_read_of_the_stack_that_has_it(
    template: Any, policies: tuple[str, ...]
) -> None:
    assert not_retained(had_by_a_stack(template)) == policies


def test_what_cannot_be_read_of_a_version_is_never_taken_for_kept() -> None:
    refused = not_retained(calling_a_version(answering("AccessDenied")))
    assert isinstance(refused, Unreadable)
    for deploying in (
        had_by_a_stack({"Resources": {"Mine": {}}}, listed=False),
        had_by_a_stack({"Resources": {"Other": {}}}),
    ):
        assert isinstance(not_retained(deploying), Unreadable)
    nowhere = calling_a_version(answering("ValidationError", "does not exist"))
    assert not_retained(nowhere) is None


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


CARDS = [
    {"card": {"S": "c-1"}, "order_id": {"S": "g-1"}, "sent_at": {"N": "1769850000"}},
    {"card": {"S": "c-2"}, "sent_at": {"S": "soon"}},
]


def with_effects(moto_stack: Stack, *keys: str, index: str | None = None) -> Stack:
    """A stack whose effects are in a table on moto, which the night exports."""
    make_table(moto_stack.dynamodb, OUTPUTS["EffectsTableName"], *keys, index=index)
    for item in CARDS:
        moto_stack.dynamodb.put_item(
            TableName=OUTPUTS["EffectsTableName"],
            Item={key: {"S": "other"} for key in keys} | item,
        )
    stack = answering("AccessDenied")
    stack.aws._clients["dynamodb"] = moto_stack.dynamodb
    stack.outputs["AuditStateMachineArn"] = "arn"
    return stack


def effects_of(stack: Stack) -> Effects:
    effects = look(stack, datetime.now(UTC)).effects
    assert isinstance(effects, Effects)
    return effects


def test_a_table_of_effects_is_read_with_its_key_a_sample_and_whether_it_can_be_exported(
    moto_stack: Stack,
) -> None:
    stack = with_effects(moto_stack, "card", index="order_id")
    effects = effects_of(stack)
    assert (effects.key, effects.time, effects.description) == ("order_id", "sent_at", ("card",))
    assert (effects.keys, effects.not_asked, effects.recovers) == (("card",), "", False)
    assert not isinstance(effects.sample, Unreadable)
    assert [one and one.message_id for one in effects.sample] == ["g-1", None]

    stack.dynamodb.update_continuous_backups(
        TableName=effects.name,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    assert effects_of(stack).recovers is True
    del stack.outputs["AuditStateMachineArn"]
    assert effects_of(stack).recovers is None


def test_a_table_that_cannot_be_asked_for_one_message_says_why(moto_stack: Stack) -> None:
    effects = effects_of(with_effects(moto_stack, "card"))
    assert isinstance(effects.not_asked, str)
    assert "order_id is neither the key of the effects table nor of an index" in effects.not_asked


@pytest.mark.parametrize(
    ("operation", "unread"),
    [("Scan", "sample"), ("Query", "not_asked"), ("DescribeContinuousBackups", "recovers")],
)
def test_what_may_not_be_read_of_a_table_leaves_the_rest(
    moto_stack: Stack, operation: str, unread: str
) -> None:
    stack = with_effects(moto_stack, "order_id", "card")

    def refuse(**_: Any) -> Any:
        error = {"Error": {"Code": "AccessDeniedException", "Message": "not for you"}}
        return SimpleNamespace(status_code=400), error

    events: Any = stack.dynamodb.meta.events
    events.register_first(f"before-call.dynamodb.{operation}", refuse)
    effects = effects_of(stack)
    parts = ("sample", "not_asked", "recovers")
    assert [one for one in parts if isinstance(getattr(effects, one), Unreadable)] == [unread]
    assert effects.keys == ("order_id", "card")
