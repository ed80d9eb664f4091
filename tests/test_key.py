"""With `KmsKeyArn` all that is kept is encrypted with that key; without it nothing changes."""

import re
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from tests import template as cloudformation
from tests.template import as_list, of_type, resolved, statements

KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
FILES = ["template.yaml", "alarms.yaml", "locks.yaml", "records.yaml", "audit.yaml"]

WITH_KEY: dict[str, dict[str, Any]] = {
    # every type that keeps something, and where it says with which key
    "AWS::SQS::Queue": {"KmsMasterKeyId": KEY},
    "AWS::DynamoDB::Table": {
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    },
    "AWS::Logs::LogGroup": {"KmsKeyId": KEY},
    "AWS::SNS::Topic": {"KmsMasterKeyId": KEY},
    "AWS::S3::Bucket": {
        "BucketEncryption": {
            "ServerSideEncryptionConfiguration": [
                {
                    "BucketKeyEnabled": True,
                    "ServerSideEncryptionByDefault": {
                        "SSEAlgorithm": "aws:kms",
                        "KMSMasterKeyID": KEY,
                    },
                }
            ]
        }
    },
    "AWS::KinesisFirehose::DeliveryStream": {
        "DeliveryStreamEncryptionConfigurationInput": {
            "KeyType": "CUSTOMER_MANAGED_CMK",
            "KeyARN": KEY,
        }
    },
}


def deployed(file: str, key: str, **values: str) -> dict[str, Any]:
    """The template as it is deployed with a key, or without."""
    return resolved(cloudformation.load(PROJECT / file), KmsKeyArn=key, **values)


@pytest.mark.parametrize("file", FILES)
def test_all_that_is_kept_is_encrypted_with_the_key(file: str) -> None:
    template = deployed(file, KEY)

    for resource_type, expected in WITH_KEY.items():
        for name, resource in of_type(template, resource_type).items():
            found = {key: resource["Properties"].get(key) for key in expected}
            assert found == expected, name
    assert of_type(template, "AWS::KMS::Key") == {}
    for queue in of_type(template, "AWS::SQS::Queue").values():
        assert "SqsManagedSseEnabled" not in queue["Properties"]  # both at once are refused


@pytest.mark.parametrize("file", FILES)
def test_without_a_key_it_is_as_it_was(file: str) -> None:
    template = deployed(file, "")

    of_key = {"KmsMasterKeyId", "SSESpecification", "KmsKeyId", "BucketKeyEnabled", "KeyARN"}
    for name, resource in template["Resources"].items():
        allowed = {"KmsMasterKeyId"} if name == "AlarmTopic" else set()
        assert of_key & names(resource) <= allowed, name
    assert of_type(template, "AWS::IAM::Policy").keys() <= {"StartDaysPolicy"}
    for queue in of_type(template, "AWS::SQS::Queue").values():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True


def names(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node).union(*map(names, node.values()))
    return set().union(*map(names, node)) if isinstance(node, list) else set()


USERS = {
    # the roles that reach what is encrypted, and the services through which
    "template.yaml": (
        {"StarterRole", "AppointmentsRole", "ProcessMessageRole"},
        {"sqs", "dynamodb"},
    ),
    "locks.yaml": ({"ConsumerRole"}, {"sqs", "dynamodb"}),
    "records.yaml": ({"RecordsStreamsRole"}, {"s3"}),
    "audit.yaml": (
        {"AuditJobRole", "DeadLettersRole", "AuditStateMachineRole"},
        {"s3", "dynamodb"},
    ),
}


@pytest.mark.parametrize("file", USERS)
def test_roles_use_the_key_through_services_only(file: str) -> None:
    roles, services = USERS[file]
    policy = deployed(file, KEY)["Resources"]["UseKey"]["Properties"]
    (statement,) = statements(policy)

    assert {role["Ref"] for role in policy["Roles"]} == roles
    assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert statement["Resource"] == KEY
    assert {
        one["Fn::Sub"] for one in as_list(statement["Condition"]["StringEquals"]["kms:ViaService"])
    } == {f"{service}.${{AWS::Region}}.${{AWS::URLSuffix}}" for service in services}


@pytest.mark.parametrize("file", FILES)
def test_no_role_may_ask_the_key_itself(file: str) -> None:
    for name, resource in deployed(file, KEY)["Resources"].items():
        for statement in statements(resource):
            if any(action.startswith("kms:") for action in as_list(statement["Action"])):
                assert "kms:ViaService" in statement["Condition"]["StringEquals"], name


@pytest.mark.parametrize("file", FILES)
def test_whoever_reaches_what_is_encrypted_may_use_the_key(file: str) -> None:
    template = deployed(file, KEY)
    reaching = {
        name
        for name, role in of_type(template, "AWS::IAM::Role").items()
        for statement in statements(role)
        for action in as_list(statement["Action"])
        if action.split(":")[0] in ("sqs", "dynamodb", "s3")
    }
    using = template["Resources"].get("UseKey", {"Properties": {"Roles": []}})
    users = {role["Ref"] for role in using["Properties"]["Roles"]}

    assert users == reaching


def test_nested_stacks_get_the_key_and_the_topics() -> None:
    for key in (KEY, ""):
        resources = deployed("template.yaml", key)["Resources"]
        assert resources["Alarms"]["Properties"]["Parameters"]["KmsKeyArn"] == key
        audited = deployed("examples/audited/template.yaml", key)["Resources"]
        for stack in ("Once", "Records", "Audit"):
            assert audited[stack]["Properties"]["Parameters"]["KmsKeyArn"] == key
        (own,) = (
            properties["Properties"]["KmsMasterKeyId"]
            for properties in of_type(deployed("alarms.yaml", key), "AWS::SNS::Topic").values()
        )
        assert own == (key or {"Ref": "AlarmTopicKey"})


def test_only_a_keys_arn_is_taken() -> None:
    pattern = cloudformation.load()["Parameters"]["KmsKeyArn"]["AllowedPattern"]
    for good in (
        "",
        KEY,
        KEY.replace("arn:aws:", "arn:aws-us-gov:"),
        KEY.replace("key/", "key/mrk-"),
    ):
        assert re.search(pattern, good)
    for bad in ("alias/mine", KEY.replace("key/", "alias/"), KEY.rpartition("/")[2], f"{KEY} "):
        assert not re.search(pattern, bad)
