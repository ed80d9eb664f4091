"""Reads the facts about a deployed stack. It changes nothing and calls no function."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce.doctor.facts import Effects, Facts, Feed, Function, Missing, Queue, Unreadable
from actonce.messages.effect_store import DynamoDbEffects, find_effect_store
from actonce.queues.depth import find_pause
from actonce.stack.aws_errors import is_missing
from actonce.stack.clients import Aws, Stack, resources_of
from actonce.stack.endpoint import is_loopback
from actonce.stack.extras import install
from actonce.stack.message_ids import parameters
from actonce.terminal.errors import Failed

T = TypeVar("T")

_SAMPLE = 100


def look(stack: Stack) -> Facts:
    """Read everything that doctor judges of a stack, as it was found, with its outputs."""
    given = parameters(stack)
    effect, find = stack.outputs.get("EffectFunctionArn"), stack.find_function
    requests = _or_missing(lambda: _queue(stack, stack.requests_queue))
    dead_letters = _or_missing(lambda: _queue(stack, stack.dead_letter_queue))
    effects = find_effect_store(stack)
    return Facts(
        stack=stack.display_name,
        parameters=given,
        region=stack.region_and_account[0],
        effect=_or_missing(lambda: _function(stack, effect)) if effect else None,
        find=_or_missing(lambda: _function(stack, find)) if find else None,
        starter=_or_missing(lambda: _function(stack, stack.starter_function)),
        requests=requests,
        unstarted=_or_missing(lambda: _queue(stack, stack.unstarted_queue)),
        dead_letters=dead_letters,
        feeds=_feeds(stack, requests),
        decides=_feeds(stack, dead_letters),
        effects=_or_missing(lambda: _effects(stack, effects)) if effects else None,
        pause=_or_unreadable(lambda: find_pause(stack.sqs, stack.requests_queue)),
        subscriptions=_or_unreadable(lambda: _subscriptions(stack)),
        options=stack.options,
        is_embedded=is_loopback(stack.sqs.meta.endpoint_url),
    )


def _or_unreadable(read: Callable[[], T]) -> T | Unreadable:
    try:
        return read()
    except ClientError as error:
        return Unreadable(_why(error))
    except (BotoCoreError, Failed) as error:
        return Unreadable(str(error).rstrip("."))


def _why(error: ClientError) -> str:
    failure = error.response["Error"]
    return f"{error.operation_name} was answered {failure['Code']}: {failure.get('Message', '')}"


def _or_missing(read: Callable[[], T]) -> T | Missing | Unreadable:
    def found() -> T | Missing:
        try:
            return read()
        except ClientError as error:
            if is_missing(error):
                return Missing()
            raise

    return _or_unreadable(found)


def _function(stack: Stack, name: str) -> Function:
    found = stack.lambda_.get_function_configuration(FunctionName=name)
    reserved = _or_unreadable(
        lambda: stack.lambda_.get_function_concurrency(FunctionName=found["FunctionName"]).get(
            "ReservedConcurrentExecutions"
        )
    )
    environment = found.get("Environment", {})
    variables: Mapping[str, str] | Unreadable = environment.get("Variables", {})
    if error := environment.get("Error"):  # the key that they are encrypted with may not be used
        variables = Unreadable(f"the variables of {name} were answered {error.get('ErrorCode')}")
    durable = found.get("DurableConfig", {}).get("ExecutionTimeout")
    arn = name if name.startswith("arn:") else found["FunctionArn"]
    function = Function(arn, found["Timeout"], reserved, variables, durable)
    if not function.is_version:
        return function

    def since() -> tuple[str, ...]:
        now = stack.lambda_.get_function_configuration(FunctionName=found["FunctionName"])
        return tuple(name for name in _CONFIGURED if found.get(name) != now.get(name))

    kept = _or_unreadable(lambda: _not_retained(stack.aws, arn))
    return replace(function, deployed_since=_or_unreadable(since), not_retained=kept)


_CONFIGURED = (
    *("Architectures", "CodeSha256", "DurableConfig", "Environment", "EphemeralStorage"),
    *("FileSystemConfigs", "Handler", "ImageConfigResponse", "KMSKeyArn", "Layers"),
    *("LoggingConfig", "MemorySize", "Role", "Runtime", "Timeout", "TracingConfig", "VpcConfig"),
)
"""What a deployment changes of a function, in GetFunctionConfiguration's answer."""


def _not_retained(aws: Aws, version: str) -> tuple[str, ...] | Unreadable:
    """Which policies of a version do not retain it; empty if no stack has it."""
    cloudformation = aws.client("cloudformation")
    try:
        found = cloudformation.describe_stack_resources(PhysicalResourceId=version)
    except ClientError as error:
        if "does not exist" in str(error):  # a ValidationError, as other faults are
            return ()
        raise
    name = found["StackResources"][0]["StackId"]  # that call lists a stack's first hundred only
    logical_ids = {one: key for key, one in resources_of(aws, name, _VERSIONS).items()}
    template = cloudformation.get_template(StackName=name, TemplateStage="Processed")
    body = template["TemplateBody"]
    if isinstance(body, str):
        try:
            from samtranslator.yaml_helper import yaml_parse  # noqa: PLC0415 - of an extra
        except ImportError:
            return Unreadable(f"to read the YAML of {name}: {install('embedded')}")
        body = yaml_parse(body)
    declared = body["Resources"].get(logical_ids.get(version))
    if declared is None:
        return Unreadable(f"{name} is being deployed: look again")
    policies = ("DeletionPolicy", "UpdateReplacePolicy")
    return tuple(one for one in policies if declared.get(one) not in _RETAINING)


_VERSIONS = ("AWS::Lambda::Version",)
_RETAINING = ("Retain", "RetainExceptOnCreate")


def _queue(stack: Stack, url: str) -> Queue:
    read = stack.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    found: dict[str, str] = dict(read["Attributes"].items())  # by AWS's names
    policy = json.loads(found.get("RedrivePolicy") or "{}")
    return Queue(
        found["QueueArn"],
        int(found["VisibilityTimeout"]),
        int(found["MessageRetentionPeriod"]),
        str(policy.get("deadLetterTargetArn", "")),
        int(policy.get("maxReceiveCount", 0)),
        found.get("KmsMasterKeyId", ""),
    )


def _feeds(stack: Stack, queue: Queue | Missing | Unreadable) -> tuple[Feed, ...] | Unreadable:
    if isinstance(queue, Missing):
        return ()
    if isinstance(queue, Unreadable):
        return queue
    return _or_unreadable(lambda: tuple(_mappings(stack, queue.arn)))


def _mappings(stack: Stack, queue_arn: str) -> Iterator[Feed]:
    pages = stack.lambda_.get_paginator("list_event_source_mappings")
    for page in pages.paginate(EventSourceArn=queue_arn):
        for one in page["EventSourceMappings"]:
            reports = "ReportBatchItemFailures" in one.get("FunctionResponseTypes", [])
            # They may be there, and not to be read.
            filters = bool(one.get("FilterCriteria", {}).get("Filters"))
            filters = filters or "FilterCriteriaError" in one
            yield Feed(one["FunctionArn"], one["State"], reports, filters)


def _effects(stack: Stack, table: DynamoDbEffects) -> Effects:
    name, attributes = stack.effects_table, table.attributes
    described = stack.dynamodb.describe_table(TableName=name)["Table"]
    is_exported = "AuditStateMachineArn" in stack.outputs
    return Effects(
        name,
        attributes.key,
        attributes.time,
        tuple(one["AttributeName"] for one in described["KeySchema"]),
        _or_unreadable(lambda: _no_lookup(table)),
        _or_unreadable(lambda: tuple(table.some(_SAMPLE))),
        _or_unreadable(lambda: _recovers(stack, name)) if is_exported else None,
    )


def _no_lookup(table: DynamoDbEffects) -> str:
    try:
        table.find_effects("0")  # a text, and a number, so that the table is asked
    except Failed as failed:
        return str(failed)
    return ""


def _recovers(stack: Stack, table: str) -> bool:
    backups = stack.dynamodb.describe_continuous_backups(TableName=table)
    recovery = backups["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return recovery.get("PointInTimeRecoveryStatus") == "ENABLED"


def _subscriptions(stack: Stack) -> int:
    pages = stack.aws.client("sns").get_paginator("list_subscriptions_by_topic")
    return sum(
        one["SubscriptionArn"].startswith("arn:")  # and not PendingConfirmation
        for page in pages.paginate(TopicArn=stack.outputs["AlarmTopicArn"])
        for one in page["Subscriptions"]
    )
