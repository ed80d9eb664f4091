"""The in-memory DynamoDB answers as moto's does, operation for operation."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from lab.conformance.dynamodb import DynamoDB
from lab.conformance.process import Unsupported

ID = {"id": {"S": "1"}}
OTHER = {"id": {"S": "2"}}
IS_NEW = {
    "ConditionExpression": "attribute_not_exists(#id)",
    "ExpressionAttributeNames": {"#id": "id"},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
COUNTED = {
    "Key": ID,
    "UpdateExpression": "SET holder = :me, turns = if_not_exists(turns, :no) + :one REMOVE spare",
    "ConditionExpression": "attribute_not_exists(id) OR (spare = :yes AND NOT turns > :one)",
    "ExpressionAttributeValues": {
        ":me": {"S": "é"},
        ":no": {"N": "0"},
        ":one": {"N": "1"},
        ":yes": {"BOOL": True},
    },
    "ReturnValues": "ALL_NEW",
}
CHECK = {"TableName": "table", "Key": ID, "ConditionExpression": "attribute_exists(id)"}
PUT = {"TableName": "table", "Item": OTHER}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("transact_write_items", {"TransactItems": [{"ConditionCheck": CHECK}, {"Put": PUT}]}),
    ("get_item", {"Key": OTHER}),  # nothing of a cancelled transaction happened
    ("update_item", COUNTED),
    ("update_item", COUNTED),  # not spare
    ("put_item", {"Item": ID, **IS_NEW}),
    ("put_item", {"Item": ID | {"spare": {"BOOL": True}, "turns": {"N": "1"}}}),
    ("update_item", COUNTED),
    ("transact_write_items", {"TransactItems": [{"ConditionCheck": CHECK}, {"Put": PUT}]}),
    ("get_item", {"Key": OTHER, "ConsistentRead": True}),
    ("delete_item", {"Key": ID}),
    ("get_item", {"Key": ID}),
    (
        "query",
        {
            "KeyConditionExpression": "id = :two",
            "ExpressionAttributeValues": {":two": {"S": "2"}},
            "ProjectionExpression": "id, turns",
        },
    ),
]


def _answer(service: Any, operation: str, request: dict[str, Any]) -> Any:
    """What it answers, in a form in which two services can be compared."""
    if operation != "transact_write_items":
        request = {"TableName": "table", **request}
    try:
        answer = getattr(service, operation)(**request)
    except ClientError as error:
        failure: Any = error.response
        reasons = failure.get("CancellationReasons", [])
        return failure["Error"]["Code"], failure.get("Item"), [one["Code"] for one in reasons]
    return {name: answer[name] for name in ("Item", "Attributes", "Items") if answer.get(name)}


@mock_aws
def test_it_answers_as_moto_does() -> None:
    theirs = boto3.client("dynamodb", region_name="us-east-1")
    theirs.create_table(
        TableName="table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    ours = DynamoDB({"table": ("id",)})

    expected = [_answer(theirs, *one) for one in REQUESTS]

    assert [_answer(ours, *one) for one in REQUESTS] == expected
    assert sum(isinstance(one, tuple) for one in expected) == 3


def test_equal_contents_are_equal_states_however_they_came_about() -> None:
    first, second = DynamoDB({"table": ("id",)}), DynamoDB({"table": ("id",)})
    first.put_item(TableName="table", Item=ID)
    second.put_item(TableName="table", Item=OTHER)
    assert first.state() != second.state()

    second.put_item(TableName="table", Item=ID)
    second.delete_item(TableName="table", Key=OTHER)

    assert first.state() == second.state()


@pytest.mark.parametrize(
    "request_",
    [
        {"ReturnItemCollectionMetrics": "SIZE"},
        {"ConditionExpression": "attribute_exists(#id)"},
        {"ConditionExpression": "id = :id"},
        {"ConditionExpression": "id id"},
    ],
)
def test_what_it_does_not_know_it_refuses_loudly(request_: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        DynamoDB({"table": ("id",)}).put_item(TableName="table", Item=ID, **request_)
