"""Calls that were made on the embedded AWS, out of the lines of `recorder/`; and as a text."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from actonce.embedded import serving
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.support.policies import ACCOUNT, REGION, Call

_HERE = f"{REGION}:{ACCOUNT}"
_FOLDER = Path(__file__).with_name("recorder")

# MiniStack makes up actions; IAM has one for a call and for a batch of them.
_BATCH = re.compile(r"(?<=^sqs:)(\w+)Batch$")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MADE_UP = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{13,}-[0-9a-f]{8}|(?!0{12})[0-9a-f]{12,}|(?<=part-)\d+"
)


def environment(file: Path) -> Callable[[Paths, int], dict[str, str]]:
    """`serving`'s for an embedded AWS, with each call noted in that file."""
    own = serving._server_environment
    noting = {"AUTH": "true", "RECORDED_CALLS": str(file), "PYTHONPATH": str(_FOLDER)}
    return lambda paths, port: own(paths, port) | noting


def logical_ids(stack: Stack, name: str) -> dict[str, str]:
    """Those of what was deployed, nested stacks too, by the names that CloudFormation made up."""
    found: dict[str, str] = {}
    resources = stack.aws.client("cloudformation").describe_stack_resources(StackName=name)
    for one in resources["StackResources"]:
        kind, id_ = one["ResourceType"], one["LogicalResourceId"]
        if kind == "AWS::CloudFormation::Stack":
            found |= logical_ids(stack, one["PhysicalResourceId"])
        elif kind not in ("AWS::Lambda::Version", "AWS::Lambda::Alias"):
            own = re.split("[:/]", one["PhysicalResourceId"])[-1]
            found[own] = id_.lower() if kind == "AWS::S3::Bucket" else id_
    return found


def of_lines(lines: Iterable[str], path: str, ids: Mapping[str, str]) -> Iterator[Call]:
    """The calls of a path, with the names of `policies`."""
    for line in lines:
        for made_up, id_ in ids.items():
            line = line.replace(made_up, id_)  # noqa: PLW2901
        noted = json.loads(_MADE_UP.sub("any", _DAY.sub("2026-01-31", line)))
        if "role" in noted:
            keys = {
                name: sorted({*value}) if isinstance(value, list) else value
                for name, value in noted["context"].items()
                if not name.startswith("dynamodb:")  # no policy looks into items
            }
            action = _BATCH.sub(r"\1", noted["action"])
            yield Call(noted["role"], action, noted["resource"], path, json.dumps(keys))
        else:
            role = f"{noted['machine'].rpartition(':')[2]}Role"
            for action, resource, keys in calls_of(noted["integration"], noted["arguments"]):
                yield Call(role, action, resource, f"{path}, {noted['state']}", json.dumps(keys))


_Asked = tuple[str, str, dict[str, Any]]


def calls_of(integration: str, parameters: Mapping[str, Any]) -> list[_Asked]:
    """What a task asks for: action, resource and condition keys.

    By https://docs.aws.amazon.com/step-functions/latest/dg/service-integration-iam-templates.html;
    an export writes with the permissions of whoever asks for it
    (amazondynamodb/latest/developerguide/S3DataExport_Requesting.html).
    """
    name = integration.removeprefix("arn:aws:states:::")
    if name == "lambda:invoke" and "resource" in (payload := parameters.get("Payload") or {}):
        return calls_of(payload["resource"], payload["arguments"])  # local_audit's stand-in
    if name == "lambda:invoke":
        return [("lambda:InvokeFunction", parameters["FunctionName"], {})]
    if name == "sqs:sendMessage.waitForTaskToken":
        queue = parameters["QueueUrl"].rpartition("/")[2]
        return [("sqs:SendMessage", f"arn:aws:sqs:{_HERE}:{queue}", {})]
    if name == "events:putEvents":
        sources = sorted({entry["Source"] for entry in parameters["Entries"]})
        bus = f"arn:aws:events:{_HERE}:event-bus/default"
        return [("events:PutEvents", bus, {"events:source": sources})]
    if name == "sns:publish":
        return [("sns:Publish", parameters["TopicArn"], {})]
    if name == "states:startExecution":
        return [("states:StartExecution", parameters["StateMachineArn"], {})]
    if name == "aws-sdk:s3:getObject":
        return [("s3:GetObject", f"arn:aws:s3:::{parameters['Bucket']}/{parameters['Key']}", {})]
    if name == "aws-sdk:dynamodb:exportTableToPointInTime":
        folder = f"arn:aws:s3:::{parameters['S3Bucket']}/{parameters['S3Prefix']}"
        file = f"{folder}/AWSDynamoDB/any/data/any.json.gz"
        written = ("PutObject", "PutObjectAcl", "AbortMultipartUpload")
        return [
            ("dynamodb:ExportTableToPointInTime", parameters["TableArn"], {}),
            *((f"s3:{one}", file, {}) for one in written),
        ]
    if name == "aws-sdk:dynamodb:describeExport":
        return [("dynamodb:DescribeExport", parameters["ExportArn"], {})]
    assert name == "emr-serverless:startJobRun.sync", f"{name}: say here what it asks for"
    application = f"arn:aws:emr-serverless:{_HERE}:/applications/{parameters['ApplicationId']}"
    passed = {"iam:PassedToService": "emr-serverless.amazonaws.com"}
    rule = f"arn:aws:events:{_HERE}:rule/StepFunctionsGetEventsForEMRServerlessJobRule"
    return [
        ("emr-serverless:StartJobRun", application, {}),
        ("emr-serverless:GetJobRun", f"{application}/jobruns/any", {}),
        ("emr-serverless:CancelJobRun", f"{application}/jobruns/any", {}),
        ("iam:PassRole", parameters["ExecutionRoleArn"], passed),
        *((f"events:{one}", rule, {}) for one in ("PutTargets", "PutRule", "DescribeRule")),
    ]


def written(calls: Mapping[str, Iterable[Call]]) -> str:
    """The calls of each deployment, a line each, with the path on which it is first made."""
    first: dict[tuple[str, ...], str] = {}
    for deployment, its in calls.items():
        for call in its:
            what = (deployment, call.caller, call.action, call.resource, call.keys)
            first.setdefault(what, call.path)
    lines = ((what[0], path, *what[1:]) for what, path in first.items())
    return "".join(f"{' | '.join(line)}\n" for line in sorted(lines))


def read(text: str, deployment: str) -> list[Call]:
    """A deployment's calls of what `written` wrote."""
    lines = (line.split(" | ") for line in text.splitlines())
    return [
        Call(caller, action, resource, path, keys)
        for its, path, caller, action, resource, keys in lines
        if its == deployment
    ]
