"""Which stack is meant by --stack-name, where it is nested in a team's own."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from actonce.stack.discovery import find_all, find_one
from actonce.terminal.errors import Failed, WrongUse

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

ONCE = {
    "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
    "Outputs": {"UnstartedQueueUrl": {"Value": "url"}},
}
OTHER = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}


@pytest.fixture
def cloudformation(monkeypatch: pytest.MonkeyPatch) -> Iterator["CloudFormationClient"]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket="templates")
        for name, template in (("once", ONCE), ("other", OTHER), ("deep", nesting(In="once"))):
            s3.put_object(Bucket="templates", Key=name, Body=json.dumps(template))
        yield boto3.client("cloudformation", region_name="us-east-1")


def nesting(**nested: str) -> dict[str, Any]:
    """A template that has others nested in it, by logical id."""
    return {
        "Resources": {
            name: {
                "Type": "AWS::CloudFormation::Stack",
                "Properties": {"TemplateURL": f"https://templates.s3.amazonaws.com/{key}"},
            }
            for name, key in nested.items()
        }
    }


def create(cloudformation: "CloudFormationClient", name: str, template: dict[str, Any]) -> None:
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template))


def test_the_nested_stack_is_found_by_the_name_of_the_teams(
    cloudformation: "CloudFormationClient",
) -> None:
    create(cloudformation, "alone", ONCE)
    create(cloudformation, "shop", nesting(Other="other", Once="once"))
    create(cloudformation, "deep", nesting(Deep="deep"))
    alone = find_one(cloudformation, "alone")
    assert (alone.name, alone.path) == ("alone", "alone")
    for named in ("shop", "shop/Once"):
        found = find_one(cloudformation, named)
        assert (found.path, found.outputs) == ("shop/Once", {"UnstartedQueueUrl": "url"})
        assert "shop-Once-" in found.name
        assert find_one(cloudformation, found.name).name == found.name
    assert find_one(cloudformation, "deep").path == "deep/Deep/In"
    assert find_one(cloudformation, "deep/Deep/In").path == "deep/Deep/In"


def test_the_audit_s_outputs_are_those_of_the_stack_around_it(
    cloudformation: "CloudFormationClient",
) -> None:
    told = {"AuditBucketName": {"Value": "bucket"}, "OrdersUrl": {"Value": "theirs"}}
    create(cloudformation, "shop", nesting(Once="once") | {"Outputs": told})
    for named in ("shop", "shop/Once"):
        found = find_one(cloudformation, named)
        assert found.outputs == {"UnstartedQueueUrl": "url", "AuditBucketName": "bucket"}


def test_of_two_the_person_has_to_say_which(cloudformation: "CloudFormationClient") -> None:
    create(cloudformation, "shop", nesting(Cards="once", Mail="once"))
    with pytest.raises(WrongUse, match="one of shop/Cards, shop/Mail"):
        find_one(cloudformation, "shop")
    assert find_one(cloudformation, "shop/Mail").path == "shop/Mail"
    assert [one.path for one in find_all(cloudformation, "shop")] == ["shop/Cards", "shop/Mail"]


@pytest.mark.parametrize(
    ("named", "error", "said"),
    [
        ("", WrongUse, "a stack's name has letters"),
        ("--x", WrongUse, "a stack's name has letters"),
        ("a b", WrongUse, "a stack's name has letters"),
        ("1st", WrongUse, "a stack's name has letters"),
        ("ünde", WrongUse, "a stack's name has letters"),
        ("a\x1b[31m", WrongUse, "a stack's name has letters"),
        ("x" * 129, WrongUse, "a stack's name has letters"),
        ("arn:aws:sqs:us-east-1:123456789012:queue", WrongUse, "a stack's name has letters"),
        ("nowhere", Failed, "There is no stack named 'nowhere' here"),
        ("nowhere/Once", Failed, "There is no stack named 'nowhere/Once' here"),
        ("plain", Failed, "is not an ActOnce stack"),
        ("plain/Once", Failed, "'Once' is not nested"),
        ("plain/", Failed, "'' is not nested"),
    ],
)
def test_what_is_not_there_is_said(
    cloudformation: "CloudFormationClient", named: str, error: type[Exception], said: str
) -> None:
    create(cloudformation, "plain", nesting(Other="other"))
    with pytest.raises(error, match=said):
        find_one(cloudformation, named)
