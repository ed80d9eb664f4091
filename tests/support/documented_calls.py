"""What AWS calls by itself for a stack, in its roles' names or its own, as AWS's pages say.

The embedded AWS asks nobody for any of it. A resource of a template brings the calls of its kind;
each kind has the page that says so, below https://docs.aws.amazon.com/.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tests.support.policies import ACCOUNT, REGION, Call, Made

Calls = Iterator[Call]
_OWN = json.dumps({"aws:SourceAccount": ACCOUNT})

LOG_DELIVERIES = (
    "logs:CreateLogDelivery GetLogDelivery UpdateLogDelivery DeleteLogDelivery ListLogDeliveries "
    "PutResourcePolicy DescribeResourcePolicies DescribeLogGroups"
)


def _each(path: str, caller: str, actions: str, *on: str, keys: str = "{}") -> Calls:
    """`actions`: such as "s3:GetObject PutObject"."""
    service, _, names = actions.partition(":")
    for action in names.split():
        for resource in on:
            yield Call(caller, f"{service}:{action}", resource, path, keys)


def _in_name_of(role: str, service: str, path: str, *calls_made: tuple[str, ...]) -> Calls:
    """What a service asks for when it has taken a role, for the account whose role it is."""
    yield Call(f"{service}.amazonaws.com", "sts:AssumeRole", role, path, _OWN)
    for actions, *on in calls_made:
        yield from _each(path, role.rpartition("/")[2], actions, *on)


def _streams(group: str) -> str:
    """A stream of a log group, which is known by its name or by its ARN."""
    name = group.removesuffix(":*").rpartition(":")[2]
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:log-stream:any"


def _traced(one: Made) -> tuple[str, ...]:
    """What X-Ray is asked on: nothing without tracing. SAM's functions have it from the Globals."""
    kinds = ("Tracing", "TracingConfig", "TracingConfiguration")
    is_traced = one.kind == "AWS::Serverless::Function" or any(
        kind in one.properties for kind in kinds
    )
    return ("*",) if is_traced else ()


def _function(one: Made) -> Calls:
    """lambda/latest/dg/: monitoring-cloudwatchlogs.html, services-xray.html, services-sqs.html."""
    events = one.properties.get("Events", {}).values()
    yield from _in_name_of(
        one.properties["Role"],
        "lambda",
        "Lambda polls, runs, logs and traces",
        (
            "sqs:ReceiveMessage DeleteMessage GetQueueAttributes",
            *(event["Properties"]["Queue"] for event in events),
        ),
        (
            "logs:CreateLogStream PutLogEvents",
            _streams(one.properties["LoggingConfig"]["LogGroup"]),
        ),
        ("xray:PutTraceSegments PutTelemetryRecords", *_traced(one)),
    )


def _state_machine(one: Made) -> Calls:
    """step-functions/latest/dg/: cw-logs.html, concepts-xray-tracing.html."""
    said = one.properties.get("Logging") or one.properties.get("LoggingConfiguration", {})
    yield from _in_name_of(
        one.properties.get("Role") or one.properties["RoleArn"],
        "states",
        "Step Functions logs and traces",
        (LOG_DELIVERIES, *("*" if said.get("Level", "OFF") != "OFF" else "")),
        (
            "xray:PutTraceSegments PutTelemetryRecords GetSamplingRules GetSamplingTargets",
            *_traced(one),
        ),
    )


def _delivery_stream(one: Made) -> Calls:
    """firehose/latest/dev/controlling-access.html#using-iam-s3."""
    to = one.properties["ExtendedS3DestinationConfiguration"]
    bucket = to["BucketARN"]
    yield from _in_name_of(
        to["RoleARN"],
        "firehose",
        "Firehose writes records",
        (
            "s3:PutObject GetObject AbortMultipartUpload",
            f"{bucket}/{to['Prefix']}x",
            f"{bucket}/{to['ErrorOutputPrefix']}x",
        ),
        ("s3:GetBucketLocation ListBucket ListBucketMultipartUploads", bucket),
        ("logs:PutLogEvents", _streams(to["CloudWatchLoggingOptions"]["LogGroupName"])),
    )


def _puts(service: str, path: str, role: str, stream: str) -> Calls:
    yield from _in_name_of(role, service, path, ("firehose:PutRecord PutRecordBatch", stream))


def _rule(one: Made) -> Calls:
    """eventbridge/latest/userguide/eb-use-identity-based.html#eb-target-permissions."""
    for to in one.properties["Targets"]:
        yield from _puts("events", "EventBridge hands an event on", to["RoleArn"], to["Arn"])


def _subscription(one: Made) -> Calls:
    """AmazonCloudWatch/latest/logs/SubscriptionFilters.html#FirehoseExample.

    It puts single records; the CDK's construct for the same allows batches, too.
    """
    to = one.properties
    yield from _puts("logs", "Logs hands lines on", to["RoleArn"], to["DestinationArn"])


def _schedule(one: Made) -> Calls:
    """scheduler/latest/UserGuide/setting-up.html#setting-up-execution-role."""
    to = one.properties["Target"]
    starts = ("states:StartExecution", to["Arn"])
    yield from _in_name_of(to["RoleArn"], "scheduler", "Scheduler starts the audit", starts)


def _job(_one: Made) -> Calls:
    """emr/latest/EMR-Serverless-UserGuide/: security-iam-runtime-role.html, logging.html.

    Hadoop's clients of S3 also ask where a bucket is, write what is large in parts, and give these
    up when they fail.
    """
    yield from _in_name_of(
        f"arn:aws:iam::{ACCOUNT}:role/AuditJobRole",
        "emr-serverless",
        "EMR Serverless runs the job",
        (
            "s3:ListBucket GetBucketLocation",
            "arn:aws:s3:::recordsbucket",
            "arn:aws:s3:::auditbucket",
        ),
        (
            "s3:PutObject AbortMultipartUpload DeleteObject GetObject",
            "arn:aws:s3:::auditbucket/audit/x",
        ),
        ("s3:PutObject", "arn:aws:s3:::auditbucket/audit-logs/x"),
    )


def _alarm(one: Made) -> Calls:
    """AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html."""
    topics, path = one.properties["AlarmActions"], f"{one.name} is raised"
    yield from _each(path, "cloudwatch.amazonaws.com", "sns:Publish", *topics, keys=_OWN)


def _key(one: Made) -> Calls:
    """kms/latest/developerguide/key-policy-default.html; sns/latest/dg/sns-key-management.html."""
    changes, uses = "kms:PutKeyPolicy ScheduleKeyDeletion", "kms:Decrypt GenerateDataKey"
    yield from _each("CloudFormation changes and deletes the key", ACCOUNT, changes, one.arn)
    path, caller = "an alarm is raised", "cloudwatch.amazonaws.com"
    yield from _each(path, caller, uses, one.arn, keys=_OWN)


def _refused(action: str) -> Callable[[Made], Calls]:
    def without_tls(one: Made) -> Calls:
        places = [one.arn, f"{one.arn}/any"] if action.startswith("s3") else [one.arn]
        for place in places:
            path = "somebody comes without TLS"
            yield Call("anybody", action, place, path, tls=False, refused=True)

    return without_tls


KINDS: Mapping[str, Callable[[Made], Calls]] = {
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::EMRServerless::Application": _job,
    "AWS::Events::Rule": _rule,
    "AWS::KMS::Key": _key,
    "AWS::KinesisFirehose::DeliveryStream": _delivery_stream,
    "AWS::Lambda::Function": _function,
    "AWS::Logs::SubscriptionFilter": _subscription,
    "AWS::S3::Bucket": _refused("s3:GetObject"),
    "AWS::SNS::Topic": _refused("sns:Publish"),
    "AWS::SQS::Queue": _refused("sqs:SendMessage"),
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::Serverless::Function": _function,
    "AWS::Serverless::StateMachine": _state_machine,
    "AWS::StepFunctions::StateMachine": _state_machine,
}


def by_aws_itself(resources: Sequence[Made]) -> Calls:
    """The calls that the resources of a stack bring with them."""
    for one in resources:
        if one.kind in KINDS:
            yield from KINDS[one.kind](one)


_USES = {
    # AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
    "sqs:SendMessage": "GenerateDataKey Decrypt",
    "sqs:ReceiveMessage": "Decrypt",
    # amazondynamodb/latest/developerguide/encryption.usagenotes.html; a table's key is made once
    **dict.fromkeys(
        (
            f"dynamodb:{one}"
            for one in ("PutItem", "UpdateItem", "Query", "ExportTableToPointInTime")
        ),
        "Decrypt",
    ),
    # AmazonS3/latest/userguide/UsingKMSEncryption.html; parts are decrypted to be put together
    "s3:PutObject": "GenerateDataKey Decrypt",
    "s3:GetObject": "Decrypt",
    # sns/latest/dg/sns-key-management.html
    "sns:Publish": "GenerateDataKey Decrypt",
}


def of_keys(calls: Iterable[Call], resources: Sequence[Made], key: str) -> Calls:
    """What calls of encrypted resources ask of their key, in their callers' names.

    `key`: the ARN of the stack's own; without one only the alarm topic has one.
    """
    topics = next((one.arn for one in resources if one.kind == "AWS::KMS::Key"), "")
    for call in calls:
        service = call.action.partition(":")[0]
        used = key or (topics if service == "sns" else "")
        if used and call.is_by_role and not call.refused:
            via = json.dumps({"kms:ViaService": f"{service}.{REGION}.amazonaws.com"})
            path = f"{call.path}, {service} asks the key"
            calls_made = f"kms:{_USES.get(call.action, '')}"
            yield from _each(path, call.caller, calls_made, used, keys=via)
