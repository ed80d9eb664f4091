"""DynamoDB in memory: items and conditional writes.

moto evaluates the expressions, which takes it a millisecond each; its results are cached, because
runs repeat each other. Anything unsupported is refused, so that no way is tried on a database that
only looks right.
"""

import json
from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError
from moto.dynamodb.comparisons import get_filter_expression
from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.dynamo_type import Item as MotoItem

from lab.conformance.process import Unsupported

Value = Mapping[str, Any]
"""A value as DynamoDB has it: `{"S": "text"}`."""
Item = Mapping[str, Value]
Request = dict[str, Any]
Key = tuple[str, ...]

_CONDITIONAL = {
    "TableName",
    "ConditionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "ReturnValuesOnConditionCheckFailure",
}
_KNOWN = {
    "PutItem": _CONDITIONAL | {"Item"},
    "UpdateItem": _CONDITIONAL | {"Key", "UpdateExpression", "ReturnValues"},
    "DeleteItem": _CONDITIONAL | {"Key"},
    "GetItem": {"TableName", "Key", "ConsistentRead"},
    "Query": {
        "TableName",
        "KeyConditionExpression",
        "ExpressionAttributeValues",
        "ProjectionExpression",
        "ConsistentRead",
    },
    "TransactWriteItems": {"TransactItems", "ClientRequestToken"},
    "Put": _CONDITIONAL | {"Item"},
    "ConditionCheck": _CONDITIONAL | {"Key"},
}
"""Every read is consistent, and one page."""

_REFUSALS = (MockValidationException, KeyError, ValueError)


class ConditionalCheckFailedException(ClientError):
    """A request's condition is not met."""


class TransactionCanceledException(ClientError):
    """A condition in a transaction is not met."""


class DynamoDB:
    """The tables.

    Args:
        tables: names, and the attributes of each one's key: partition key, and sort key if any.
    """

    def __init__(self, tables: Mapping[str, tuple[str, ...]]) -> None:
        self._keys = tables
        self._items: dict[tuple[str, Key], str] = {}
        self._state: Hashable = None

    def state(self) -> Hashable:
        """Everything that the tables hold."""
        if self._state is None:
            self._state = frozenset(self._items.items())
        return self._state

    def items(self, table: str) -> list[dict[str, Any]]:
        """A table's items, by key."""
        return [
            json.loads(item) for (name, _), item in sorted(self._items.items()) if name == table
        ]

    def forget(self, table: str) -> None:
        """Delete a table's items, as if an earlier state were restored."""
        self._items = {place: item for place, item in self._items.items() if place[0] != table}
        self._state = None

    def put_item(self, **request: Any) -> Request:
        """See PutItem, API reference."""
        self._check("PutItem", request)
        self._write(request["TableName"], request["Item"])
        return {}

    def update_item(self, **request: Any) -> Request:
        """See UpdateItem, API reference."""
        old = self._check("UpdateItem", request)
        query = _query_json(request, "UpdateExpression", Key=request["Key"])
        new = json.loads(_updated(self._keys[request["TableName"]], query, old))
        self._write(request["TableName"], new)
        before = json.loads(old or "{}")
        answers = {
            "NONE": {},
            "ALL_NEW": new,
            "UPDATED_NEW": {name: new[name] for name in new if new[name] != before.get(name)},
        }
        if request.get("ReturnValues", "NONE") not in answers:
            raise Unsupported(f"UpdateItem: ReturnValues {request['ReturnValues']}")
        attributes = answers[request.get("ReturnValues", "NONE")]
        return {"Attributes": attributes} if attributes else {}

    def delete_item(self, **request: Any) -> Request:
        """See DeleteItem, API reference."""
        self._check("DeleteItem", request)
        self._items.pop(self._place(request["TableName"], request["Key"]), None)
        self._state = None
        return {}

    def get_item(self, **request: Any) -> Request:
        """See GetItem, API reference."""
        found = self._check("GetItem", request)
        return {} if found is None else {"Item": json.loads(found)}

    def query(self, **request: Any) -> Request:
        """See Query, API reference."""
        _refuse_unknown("Query", request)
        query = _query_json(request, "KeyConditionExpression")
        found = [item for item in self.items(request["TableName"]) if _holds(query, _text(item))]
        if projection := request.get("ProjectionExpression"):
            names = projection.split(", ")
            found = [{name: item[name] for name in names if name in item} for item in found]
        return {"Items": found, "Count": len(found)}

    def transact_write_items(self, **request: Any) -> Request:
        """See TransactWriteItems, API reference; ConditionCheck and Put."""
        _refuse_unknown("TransactWriteItems", request)
        reasons: list[Any] = []
        for ((kind, action),) in (item.items() for item in request["TransactItems"]):
            try:
                self._check(kind, action)
            except ConditionalCheckFailedException as error:
                reasons.append({"Code": "ConditionalCheckFailed", "Message": str(error)})
            else:
                reasons.append({"Code": "None"})
        if any(reason["Code"] != "None" for reason in reasons):
            answer: Any = _error("TransactionCanceledException", "it is cancelled")
            answer["CancellationReasons"] = reasons
            raise TransactionCanceledException(answer, "TransactWriteItems")
        for item in request["TransactItems"]:
            if "Put" in item:
                self._write(item["Put"]["TableName"], item["Put"]["Item"])
        return {}

    def _place(self, table: str, attributes: Item) -> tuple[str, Key]:
        return table, tuple(attributes[name]["S"] for name in self._keys[table])

    def _check(self, operation: str, request: Request) -> str | None:
        """The present item, if the request's condition is met."""
        _refuse_unknown(operation, request)
        attributes = request.get("Item") or request["Key"]
        old = self._items.get(self._place(request["TableName"], attributes))
        if "ConditionExpression" in request and not _holds(
            _query_json(request, "ConditionExpression"), old
        ):
            answer: Any = _error("ConditionalCheckFailedException", "The condition is not met")
            if old is not None and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
                answer["Item"] = json.loads(old)
            raise ConditionalCheckFailedException(answer, operation)
        return old

    def _write(self, table: str, item: Item) -> None:
        self._items[self._place(table, item)] = _text(item)
        self._state = None


def _refuse_unknown(operation: str, request: Request) -> None:
    unknown = request.keys() - _KNOWN.get(operation, set())
    if unknown:
        raise Unsupported(f"{operation}: {sorted(unknown)}")


def _text(part: Mapping[str, Any]) -> str:
    return json.dumps(part, sort_keys=True)


def _query_json(request: Request, expression: str, **more: Any) -> str:
    """An expression of a request, with its names and values, as JSON."""
    names, values = (request.get(f"ExpressionAttribute{kind}", {}) for kind in ("Names", "Values"))
    return _text({"expression": request[expression], "names": names, "values": values, **more})


def _error(code: str, message: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}}


@lru_cache(maxsize=200_000)
def _holds(query: str, item: str | None) -> bool:
    attributes = None if item is None else MotoItem(DynamoType({"S": ""}), None, json.loads(item))
    try:
        return bool(get_filter_expression(*_parts(query)).expr(attributes))
    except _REFUSALS as error:
        raise Unsupported(str(error)) from error


@lru_cache(maxsize=200_000)
def _updated(key_names: Key, query: str, item: str | None) -> str:
    """The updated item."""
    table, key = _scratch(key_names), json.loads(query)["Key"]
    if item is not None:
        table.put_item("scratch", json.loads(item))
    try:
        new = table.update_item("scratch", key, *_parts(query))
        return _text(new.to_json()["Attributes"])
    except _REFUSALS as error:
        raise Unsupported(str(error)) from error
    finally:
        table.delete_item("scratch", key)


def _parts(query: str) -> tuple[str, Any, Any]:
    parts = json.loads(query)
    return parts["expression"], parts["names"], parts["values"]


@lru_cache
def _scratch(key_names: Key) -> DynamoDBBackend:
    """An empty table of moto's, used for one item at a time."""
    backend = DynamoDBBackend("us-east-1", "123456789012")
    kinds = zip(key_names, ("HASH", "RANGE"), strict=False)
    backend.create_table(
        "scratch",
        schema=[{"AttributeName": name, "KeyType": kind} for name, kind in kinds],
        attr=[{"AttributeName": name, "AttributeType": "S"} for name in key_names],
        billing_mode="PAY_PER_REQUEST",
        throughput=None, global_indexes=None, indexes=None, streams=None, tags=[],
        sse_specification=None, deletion_protection_enabled=None, warm_throughput=None,
    )  # fmt: skip
    return backend
