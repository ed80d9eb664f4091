"""What doctor reads of a stack: without permissions, nothing is taken for good."""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from actonce.doctor.facts import Effects, Function, Missing, Unreadable
from actonce.doctor.findings import CHECKS, Hazard, examine
from actonce.doctor.looking import _recovers, look
from actonce.stack.clients import Aws, Stack
from tests.support.stacks import forbid
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
    examination = examine(look(answering("AccessDenied")))
    assert (examination.findings, examination.exit_status) == ((), 3)
    assert set(examination.not_checked) == set(CHECKS) - {"starter-time-out"}
    assert "was answered AccessDenied" in examination.not_checked["effect-time-out"]


@pytest.mark.parametrize(
    ("address", "is_embedded"),
    [("http://127.0.0.1:4566", True), ("https://sqs.us-east-1.amazonaws.com", False)],
)
def test_the_embedded_aws_is_known_by_its_address(address: str, *, is_embedded: bool) -> None:
    """Also where only the environment names it."""
    stack = answering("AccessDenied")
    meta: Any = stack.sqs.meta
    meta._endpoint_url = address
    assert look(stack).is_embedded is is_embedded


def test_what_is_not_there_is_found() -> None:
    facts = look(answering("ResourceNotFoundException"))
    assert [facts.effect, facts.find, facts.requests, facts.effects] == [Missing()] * 4
    hazards = {(one.check, one.hazard) for one in examine(facts).findings}
    assert {
        ("functions", Hazard.STOPS),
        ("effects", Hazard.STOPS),
        ("queue", Hazard.STOPS),
        ("dead-letters", Hazard.LOST),
    } <= hazards


def test_an_alias_is_read_as_it_is_named() -> None:
    arn = f"arn:aws:lambda:{ACCOUNT}:function:cards:live"
    stack = answering("AccessDenied")
    response: dict[str, Any] = {"FunctionName": "cards", "FunctionArn": f"{arn}:3", "Timeout": 15}
    response["DurableConfig"] = {"ExecutionTimeout": 3600}
    response["Environment"] = {"Error": {"ErrorCode": "AccessDenied", "Message": "of its key"}}
    answer_next(stack, "lambda", "GetFunctionConfiguration", response)
    stack.outputs["EffectFunctionArn"] = arn
    effect = look(stack).effect
    assert isinstance(effect, Function)
    assert (effect.arn, effect.timeout, effect.durable) == (arn, 15, 3600)
    assert isinstance(effect.variables, Unreadable)


def test_a_version_is_compared_with_what_is_deployed_by_now() -> None:
    response = {"FunctionName": "cards", "FunctionArn": "arn", "Timeout": 15}
    old, new = (response | {"Environment": {"Variables": {"A": one}}} for one in ("old", "new"))
    effect = look(calling_a_version(answering("AccessDenied"), old, new)).effect
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


def calling_a_version(stack: Stack, *answers: dict[str, Any]) -> Stack:
    """The stack, with a version as its effect, which is described by these."""
    stack.outputs["EffectFunctionArn"] = VERSION
    del stack.outputs["FindFunctionArn"]
    response = {"FunctionName": "cards", "FunctionArn": VERSION, "Timeout": 15}
    answer_next(stack, "lambda", "GetFunctionConfiguration", *(answers or [response]))
    return stack


def not_retained(stack: Stack) -> Any:
    effect = look(stack).effect
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
    assert not_retained(nowhere) == ()


def test_a_mapping_is_read_with_what_it_drops() -> None:
    stack = answering("AccessDenied")
    more: list[dict[str, Any]] = [
        {"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}},
        {"FilterCriteriaError": {"ErrorCode": "AccessDenied"}},
        {"FilterCriteria": {}},
        {"FunctionResponseTypes": ["ReportBatchItemFailures"]},
    ]
    response = [{"FunctionArn": "arn", "State": "Enabled"} | one for one in more]
    queue = {"QueueArn": "arn", "VisibilityTimeout": "30", "MessageRetentionPeriod": "60"}
    answer_next(stack, "sqs", "GetQueueAttributes", {"Attributes": queue})
    answer_next(stack, "lambda", "ListEventSourceMappings", {"EventSourceMappings": response})
    feeds = look(stack).feeds
    assert not isinstance(feeds, Unreadable)
    assert [one.filters for one in feeds] == [True, True, False, False]
    assert [one.reports_failures for one in feeds] == [False, False, False, True]


@pytest.mark.parametrize(
    ("arns", "number"), [(["arn:1", "PendingConfirmation"], 1), (["PendingConfirmation"], 0)]
)
def test_only_a_subscription_that_is_confirmed_counts(arns: list[str], number: int) -> None:
    stack = answering("AccessDenied")
    response = [{"SubscriptionArn": one} for one in arns]
    answer_next(stack, "sns", "ListSubscriptionsByTopic", {"Subscriptions": response})
    assert look(stack).subscriptions == number


def effects_of(moto_stack: Stack, *keys: str, index: str | None = None) -> Effects:
    """What is read of a table of effects on moto with these keys and two items."""
    items: list[dict[str, Any]] = [
        {"card": {"S": "c-1"}, "order_id": {"S": "g-1"}, "sent_at": {"N": "1769850000"}},
        {"card": {"S": "c-2"}, "sent_at": {"S": "soon"}},
    ]
    items = [{key: {"S": "other"} for key in keys} | one for one in items]
    name = OUTPUTS["EffectsTableName"]
    make_table(moto_stack.dynamodb, name, *keys, items=items, index=index)
    stack = answering("AccessDenied")
    stack.aws._clients["dynamodb"] = moto_stack.dynamodb
    stack.outputs["AuditStateMachineArn"] = "arn"
    effects = look(stack).effects
    assert isinstance(effects, Effects)
    return effects


def test_a_table_of_effects_is_read_with_its_key_and_a_sample(moto_stack: Stack) -> None:
    effects = effects_of(moto_stack, "card", index="order_id")
    assert (effects.key, effects.time, effects.keys) == ("order_id", "sent_at", ("card",))
    assert effects.no_lookup == ""
    assert not isinstance(effects.sample, Unreadable)
    assert [one.message_id for one in effects.sample] == ["g-1", ""]
    assert effects.recovers is False


def test_whether_a_table_can_be_exported_is_read_where_an_audit_exports_it(
    moto_stack: Stack,
) -> None:
    make_table(moto_stack.dynamodb, "cards", "order_id")
    assert _recovers(moto_stack, "cards") is False
    moto_stack.dynamodb.update_continuous_backups(
        TableName="cards", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    assert _recovers(moto_stack, "cards") is True


def test_a_table_that_cannot_be_asked_for_one_message_says_why(moto_stack: Stack) -> None:
    effects = effects_of(moto_stack, "card")
    assert isinstance(effects.no_lookup, str)
    assert "order_id is neither the key of the effects table nor of an index" in effects.no_lookup


@pytest.mark.parametrize(
    ("operation", "unread"),
    [("Scan", "sample"), ("Query", "no_lookup"), ("DescribeContinuousBackups", "recovers")],
)
def test_what_may_not_be_read_of_a_table_leaves_the_rest(
    moto_stack: Stack, operation: str, unread: str
) -> None:
    forbid(moto_stack, "dynamodb", operation)
    effects = effects_of(moto_stack, "order_id", "card")
    parts = ("sample", "no_lookup", "recovers")
    assert [one for one in parts if isinstance(getattr(effects, one), Unreadable)] == [unread]
    assert effects.keys == ("order_id", "card")
