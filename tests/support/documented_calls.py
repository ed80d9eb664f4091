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
    "CreateLogDelivery GetLogDelivery UpdateLogDelivery DeleteLogDelivery ListLogDeliveries "
    "PutResourcePolicy DescribeResourcePolicies DescribeLogGroups"
)
SEGMENTS = "PutTraceSegments PutTelemetryRecords"


def _each(path: str, caller: str, service: str, actions: str, *on: str, keys: str = "{}") -> Calls:
    for action in actions.split():
        for resource in on:
            yield Call(caller, f"{service}:{action}", resource, path, keys)


def _assumed(path: str, service: str, role: str) -> Calls:
    # lambda/latest/dg/lambda-intro-execution-role.html names no key for the trust; all others
    # are asked for the account by ...#cross-service-confused-deputy-prevention of their guides.
    yield Call(f"{service}.amazonaws.com", "sts:AssumeRole", role, path, _OWN)


def _name(arn: str) -> str:
    return arn.rpartition("/")[2]


def _streams(group: str) -> str:
    """A stream of a log group, which is known by its name or by its ARN."""
    name = group.removesuffix(":*").rpartition(":")[2]
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:log-stream:any"


def _function(one: Made) -> Calls:
    """lambda/latest/dg/: monitoring-cloudwatchlogs.html, services-xray.html, services-sqs.html."""
    role = _name(one.properties["Role"])
    yield from _assumed("Lambda starts the function", "lambda", one.properties["Role"])
    log = _streams(one.properties["LoggingConfig"]["LogGroup"])
    yield from _each("Lambda writes its log", role, "logs", "CreateLogStream PutLogEvents", log)
    yield from _each("Lambda writes its trace", role, "xray", SEGMENTS, "*")
    for event in one.properties.get("Events", {}).values():
        taken = "ReceiveMessage DeleteMessage GetQueueAttributes"
        queue = event["Properties"]["Queue"]
        yield from _each("the event source mapping polls", role, "sqs", taken, queue)


def _state_machine(one: Made) -> Calls:
    """step-functions/latest/dg/: cw-logs.html, concepts-xray-tracing.html."""
    arn = one.properties.get("Role") or one.properties["RoleArn"]
    yield from _assumed("Step Functions starts an execution", "states", arn)
    role = _name(arn)
    yield from _each("Step Functions delivers its log", role, "logs", LOG_DELIVERIES, "*")
    traced = f"{SEGMENTS} GetSamplingRules GetSamplingTargets"
    yield from _each("Step Functions writes its trace", role, "xray", traced, "*")


def _delivery_stream(one: Made) -> Calls:
    """firehose/latest/dev/controlling-access.html#using-iam-s3."""
    to = one.properties["ExtendedS3DestinationConfiguration"]
    role, bucket = _name(to["RoleARN"]), to["BucketARN"]
    yield from _assumed("Firehose writes objects", "firehose", to["RoleARN"])
    objects = [f"{bucket}/{to[name]}x" for name in ("Prefix", "ErrorOutputPrefix")]
    actions = "PutObject GetObject AbortMultipartUpload"
    yield from _each("Firehose writes objects", role, "s3", actions, *objects)
    actions = "GetBucketLocation ListBucket ListBucketMultipartUploads"
    yield from _each("Firehose writes objects", role, "s3", actions, bucket)
    log = _streams(to["CloudWatchLoggingOptions"]["LogGroupName"])
    yield from _each("Firehose says what failed", role, "logs", "PutLogEvents", log)


def _puts(path: str, service: str, role: str, stream: str) -> Calls:
    yield from _assumed(path, service, role)
    yield from _each(path, _name(role), "firehose", "PutRecord PutRecordBatch", stream)


def _rule(one: Made) -> Calls:
    """eventbridge/latest/userguide/eb-use-identity-based.html#eb-target-permissions."""
    for to in one.properties["Targets"]:
        yield from _puts("EventBridge hands an event on", "events", to["RoleArn"], to["Arn"])


def _subscription(one: Made) -> Calls:
    """AmazonCloudWatch/latest/logs/SubscriptionFilters.html#FirehoseExample."""
    to = one.properties
    yield from _puts("Logs hands lines on", "logs", to["RoleArn"], to["DestinationArn"])


def _schedule(one: Made) -> Calls:
    """scheduler/latest/UserGuide/setting-up.html#setting-up-execution-role."""
    to = one.properties["Target"]
    yield from _assumed("Scheduler starts the audit", "scheduler", to["RoleArn"])
    role, path = _name(to["RoleArn"]), "Scheduler starts the audit"
    yield from _each(path, role, "states", "StartExecution", to["Arn"])


def _alarm(one: Made) -> Calls:
    """AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html."""
    for topic in one.properties["AlarmActions"]:
        path, caller = f"{one.name} is raised", "cloudwatch.amazonaws.com"
        yield Call(caller, "sns:Publish", topic, path, _OWN)


def _key(one: Made) -> Calls:
    """kms/latest/developerguide/key-policy-default.html; sns/latest/dg/sns-key-management.html."""
    managed = "PutKeyPolicy ScheduleKeyDeletion"
    yield from _each("CloudFormation changes and deletes the key", ACCOUNT, "kms", managed, one.arn)
    for action in ("kms:Decrypt", "kms:GenerateDataKey"):
        yield Call("cloudwatch.amazonaws.com", action, one.arn, "an alarm is raised", _OWN)


def _job(_one: Made) -> Calls:
    """emr/latest/EMR-Serverless-UserGuide/: security-iam-runtime-role.html, logging.html.

    Hadoop's client of S3 asks for an object before it reads it, and for what lies below a name that
    is none; it writes what is large in parts, and gives these up when it fails.
    """
    job = f"arn:aws:iam::{ACCOUNT}:role/AuditJobRole"
    yield from _assumed("EMR Serverless runs the job", "emr-serverless", job)
    for bucket in ("recordsbucket", "auditbucket"):
        on = f"arn:aws:s3:::{bucket}"
        yield from _each("Spark looks", _name(job), "s3", "ListBucket GetBucketLocation", on)
    results = "arn:aws:s3:::auditbucket/audit/x"
    parts = "PutObject AbortMultipartUpload DeleteObject GetObject"
    yield from _each("Spark writes the results", _name(job), "s3", parts, results)
    logs = "arn:aws:s3:::auditbucket/audit-logs/x"
    yield from _each("EMR Serverless writes its logs", _name(job), "s3", "PutObject", logs)


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
    topics = {one.arn: one.arn for one in resources if one.kind == "AWS::KMS::Key"}
    for call in calls:
        service = call.action.partition(":")[0]
        used = key or (next(iter(topics), "") if service == "sns" else "")
        if used and call.is_by_role and not call.refused:
            via = json.dumps({"kms:ViaService": f"{service}.{REGION}.amazonaws.com"})
            path = f"{call.path}, {service} asks the key"
            yield from _each(path, call.caller, "kms", _USES.get(call.action, ""), used, keys=via)
