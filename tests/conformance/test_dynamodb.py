"""The in-memory DynamoDB answers as moto does, operation for operation."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from lab.conformance.dynamodb import DynamoDB
from lab.conformance.process import NotKnownHere

KEYS = ("message_id", "sort")
_ids = st.sampled_from(["a", "b"])
_texts = st.sampled_from(["", "IN_PROGRESS", "COMPLETE", "Z", "é"])
_strings = _texts.map(lambda text: {"S": text})
_numbers = st.integers(-2, 12).map(lambda number: {"N": str(number)})
# Each attribute has one type: moto cannot compare a text with a number.
ATTRIBUTES = {"status": _strings, "version": _numbers, "count": _numbers, "attempt_id": _strings}
_attributes = st.sampled_from(sorted(ATTRIBUTES))
_keys = st.fixed_dictionaries(
    {"message_id": _ids.map(lambda x: {"S": x}), "sort": _ids.map(lambda x: {"S": f"s{x}"})}
)


class _Expression:
    """An expression under construction, with what its placeholders stand for."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self) -> str:
        attribute: str = self.draw(_attributes)
        self.names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(self, values: Any) -> str:
        token = f":v{len(self.values)}"
        self.values[token] = self.draw(values)
        return token

    def condition(self, depth: int = 2) -> str:
        kinds = ["exists", "not_exists", "begins", "compare"]
        if depth:
            kinds += ["and", "or", "not", "group"]
        kind = self.draw(st.sampled_from(kinds))
        if kind == "exists":
            return f"attribute_exists({self.name()})"
        if kind == "not_exists":
            return f"attribute_not_exists({self.name()})"
        if kind == "begins":
            return f"begins_with({self.name()}, {self.value(_strings)})"
        if kind == "compare":
            sign = self.draw(st.sampled_from(["=", "<", "<=", ">", ">="]))
            name = self.name()
            return f"{name} {sign} {self.value(ATTRIBUTES[name[1:]])}"
        if kind in ("not", "group"):
            # DynamoDB refuses parentheses around parentheses; moto cannot read NOT NOT.
            inner = self.condition(depth - 1)
            group = inner if inner.startswith("(") else f"({inner})"
            return f"NOT {group}" if kind == "not" else group
        return f"{self.condition(depth - 1)} {kind.upper()} {self.condition(depth - 1)}"

    def update(self) -> str:
        """One clause per attribute: DynamoDB refuses paths that overlap."""
        attributes = self.draw(st.lists(_attributes, min_size=1, unique=True))
        sets, removes, adds = [], [], []
        for attribute in attributes:
            name = f"#{attribute}"
            self.names[name] = attribute
            kind = self.draw(st.sampled_from(["set", "if_not_exists", "count", "remove", "add"]))
            values = ATTRIBUTES[attribute]
            if kind == "set":
                sets.append(f"{name} = {self.value(values)}")
            elif kind == "if_not_exists":
                sets.append(f"{name} = if_not_exists({name}, {self.value(values)})")
            elif kind == "count" and attribute == "count":
                sign = self.draw(st.sampled_from("+-"))
                default, step = self.value(values), self.value(values)
                sets.append(f"{name} = if_not_exists({name}, {default}) {sign} {step}")
            elif kind == "add" and attribute == "count":
                adds.append(f"{name} {self.value(values)}")
            else:
                removes.append(name)
        clauses = [("SET", sets), ("REMOVE", removes), ("ADD", adds)]
        return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses if parts)

    def placeholders(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.names:
            found["ExpressionAttributeNames"] = self.names
        if self.values:
            found["ExpressionAttributeValues"] = self.values
        return found


@st.composite
def _operations(draw: Any) -> tuple[str, dict[str, Any]]:
    operation = draw(
        st.sampled_from(["put_item", "update_item", "delete_item", "get_item", "query", "transact"])
    )
    key = draw(_keys)
    expression = _Expression(draw)
    if operation == "get_item":
        return operation, {"Key": key, "ConsistentRead": True}
    if operation == "query":
        values = {":id": key["message_id"], ":start": {"S": draw(st.sampled_from(["s", "sa"]))}}
        return operation, {
            "KeyConditionExpression": "message_id = :id AND begins_with(sort, :start)",
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }
    item = key | draw(st.fixed_dictionaries({}, optional=ATTRIBUTES))
    if operation == "transact":
        check: dict[str, Any] = {
            "TableName": "table",
            "Key": draw(_keys.filter(lambda other: other != key)),
            "ConditionExpression": expression.condition(),
            **expression.placeholders(),
        }
        put = {"TableName": "table", "Item": item}
        return "transact_write_items", {"TransactItems": [{"ConditionCheck": check}, {"Put": put}]}
    request: dict[str, Any] = {"Item": item} if operation == "put_item" else {"Key": key}
    if operation == "update_item":
        request["UpdateExpression"] = expression.update()
        request["ReturnValues"] = draw(st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW"]))
    if draw(st.booleans()):
        request["ConditionExpression"] = expression.condition()
        request["ReturnValuesOnConditionCheckFailure"] = draw(st.sampled_from(["ALL_OLD", "NONE"]))
    return operation, request | expression.placeholders()


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


@pytest.fixture(scope="module")
def moto_client() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as monkeypatch, mock_aws():
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName="table",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": k, "AttributeType": "S"} for k in KEYS],
            KeySchema=[
                {"AttributeName": "message_id", "KeyType": "HASH"},
                {"AttributeName": "sort", "KeyType": "RANGE"},
            ],
        )
        yield client


def _emptied(client: Any) -> Any:
    for item in client.scan(TableName="table")["Items"]:
        client.delete_item(TableName="table", Key={name: item[name] for name in KEYS})
    return client


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(_operations(), min_size=1, max_size=8))
def test_it_answers_as_moto_does(moto_client: Any, operations: list[Any]) -> None:
    theirs, ours = _emptied(moto_client), DynamoDB({"table": KEYS})

    for operation, request in operations:
        expected = _answer(theirs, operation, request)
        assert _answer(ours, operation, request) == expected, (operation, request)


def test_equal_contents_are_equal_states_however_they_came_about() -> None:
    first, second = DynamoDB({"table": ("id",)}), DynamoDB({"table": ("id",)})
    one, two = ({"id": {"S": "1"}}, {"id": {"S": "2"}})
    first.put_item(TableName="table", Item=one)
    second.put_item(TableName="table", Item=two)
    assert first.state() != second.state()

    second.put_item(TableName="table", Item=one)
    second.delete_item(TableName="table", Key=two)

    assert first.state() == second.state()


@pytest.mark.parametrize(
    "request_",
    [
        {"Item": {"id": {"S": "1"}}, "ReturnItemCollectionMetrics": "SIZE"},
        {"Item": {"id": {"S": "1"}}, "ReturnValues": "UPDATED_OLD"},
    ],
)
def test_what_it_does_not_know_it_refuses_loudly(request_: dict[str, Any]) -> None:
    with pytest.raises(NotKnownHere):
        DynamoDB({"table": ("id",)}).put_item(TableName="table", **request_)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"ConditionExpression": "size(id) > id"}, "size"),
        ({"ConditionExpression": "attribute_exists(#id)"}, "#id"),
        ({"ConditionExpression": "id = :id"}, ":id"),
        ({"ExpressionAttributeNames": {"#id": "id"}}, "unused"),
        ({"ConditionExpression": "attribute_exists(id) attribute_exists(id)"}, "more than one"),
    ],
)
def test_an_expression_that_dynamodb_would_not_take_is_invalid(
    request_: dict[str, Any], why: str
) -> None:
    dynamodb = DynamoDB({"table": ("id",)})

    with pytest.raises(ClientError, match=why) as caught:
        dynamodb.put_item(TableName="table", Item={"id": {"S": "1"}}, **request_)

    assert caught.value.response["Error"]["Code"] == "ValidationException"
