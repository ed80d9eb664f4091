"""Finding the ActOnce stack that a person means: the named one, or the one that is nested in it.

A team nests ActOnce in its own template (docs/adopting.md), and knows its own stack's name, not
the one that CloudFormation makes for what is nested. Of two, `PARENT/LogicalId` says which.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from actonce.terminal.errors import Failed, WrongUse

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
_ARN = re.compile(r"arn:[a-z0-9-]+:cloudformation:[^:\s]+:[0-9]{12}:stack/[^/\s]+/[^/\s]+")

OF_THE_AUDIT = ("RecordsBucketName", "AuditBucketName", "AuditStateMachineArn")
"""Outputs of the stack that ActOnce is nested in, if it keeps records and audits the days."""

DEEPEST = 5
"""Levels of stacks within stacks that are looked into."""


@dataclass(frozen=True, slots=True)
class Found:
    """An ActOnce stack.

    Attributes:
        name: CloudFormation's: its name, or its ARN where it is nested.
        path: as a person names it: `shop`, or `shop/Once`.
        outputs: by name; of the stack that it is nested in as well, if they are `OF_THE_AUDIT`.
    """

    name: str
    path: str
    outputs: dict[str, str]


def find_one(cloudformation: "CloudFormationClient", named: str) -> Found:
    """The ActOnce stack that is named, or the only one nested in what is named.

    Raises:
        WrongUse: no stack can have this name; or there are several, whose names are said.
        Failed: there is none, or AWS says no.
    """
    found = find_all(cloudformation, named)
    if len(found) > 1:
        told = ", ".join(sorted(one.path for one in found))
        raise WrongUse(
            f"The stack {named!r} has {len(found)} ActOnce stacks in it: say which with "
            f"--stack-name, one of {told}."
        )
    return found[0]


def find_all(cloudformation: "CloudFormationClient", named: str) -> list[Found]:
    """Every ActOnce stack that is named, or nested in what is named; one at least.

    Raises:
        WrongUse: no stack can have this name.
        Failed: there is none, or AWS says no.
    """
    root, *inside = [named] if named.startswith("arn:") else named.split("/")
    if not (_NAME.fullmatch(root) or _ARN.fullmatch(root)):
        raise WrongUse(
            f"--stack-name {named!r}: a stack's name has letters, digits and hyphens, a letter "
            "first, 128 at most; a nested one is PARENT/LogicalId."
        )
    above: dict[str, str] = {}
    try:
        for logical_id in inside:
            above = _outputs(cloudformation, root)
            root = _nested(cloudformation, root, named).get(logical_id, "")
            if not root:
                raise Failed(f"There is no stack {named!r} here: {logical_id!r} is not nested.")
        found = list(_within(cloudformation, root, named, above))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            raise Failed(
                f"There is no stack named {named!r} here. Deploy it (sam deploy, or actonce "
                "up), or name another with --stack-name, or another place with --aws or --embedded."
            ) from error
        raise Failed(f"CloudFormation: {error}") from error
    except BotoCoreError as error:
        raise Failed(f"AWS cannot be reached: {error}") from error
    if not found:
        raise Failed(f"The stack {named!r} is not an ActOnce stack, or is not deployed whole.")
    return found


def _outputs(cloudformation: "CloudFormationClient", name: str) -> dict[str, str]:
    (described,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in described.get("Outputs", [])}


def _within(
    cloudformation: "CloudFormationClient",
    name: str,
    path: str,
    above: Mapping[str, str],
    depth: int = 0,
) -> Iterator[Found]:
    """`above` has the outputs of the stack that this one is nested in."""
    outputs = _outputs(cloudformation, name)
    if "UnstartedQueueUrl" in outputs:
        of_the_audit = {one: above[one] for one in OF_THE_AUDIT if one in above}
        yield Found(name, path, of_the_audit | outputs)
    elif depth < DEEPEST:
        for logical_id, nested in sorted(_nested(cloudformation, name, path).items()):
            yield from _within(cloudformation, nested, f"{path}/{logical_id}", outputs, depth + 1)


def _nested(cloudformation: "CloudFormationClient", name: str, path: str) -> dict[str, str]:
    """The stacks nested in one, by logical id: the ARN of each."""
    try:
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
        resources = [one for page in pages for one in page["StackResourceSummaries"]]
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("AccessDenied", "AccessDeniedException"):
            raise
        raise Failed(
            f"The stack {path!r} is not an ActOnce stack itself, and whether one is nested in it "
            "cannot be seen: it needs cloudformation:ListStackResources."
        ) from error
    return {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for one in resources
        # One that is not made yet has no ARN.
        if one["ResourceType"] == "AWS::CloudFormation::Stack"
        and one.get("PhysicalResourceId")
        and one["ResourceStatus"] != "DELETE_COMPLETE"
    }
