"""DynamoDB in memory: items, and the conditional writes that the ways rest on.

What it does not know it refuses, so that no way is tried on a database that only looks right; a
property test holds it against moto.
"""

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from lab.conformance.expressions import (
    Given,
    InvalidExpression,
    Item,
    condition,
    placeholders,
    update,
)
from lab.conformance.process import NotKnownHere

Request = dict[str, Any]
Key = tuple[str, str]

_EXPRESSIONS = (
    "ConditionExpression",
    "UpdateExpression",
    "KeyConditionExpression",
    "ProjectionExpression",
)
_NO_EFFECT_HERE = frozenset({"ConsistentRead"})  # every read is consistent


class ConditionalCheckFailedException(ClientError):
    """Named as botocore names it, under `client.exceptions`."""


class TransactionCanceledException(ClientError):
    """Named as botocore names it, under `client.exceptions`."""


class DynamoDB:
    """The tables.

    Args:
        tables: names, and the attributes of each one's key: partition key, and sort key if any.
    """

    def __init__(self, tables: Mapping[str, tuple[str, ...]]) -> None:
        self._keys = tables
        self._items: dict[str, dict[Key, Item]] = {name: {} for name in tables}
        self._frozen: dict[tuple[str, Key], str] = {}
        self._state: frozenset[tuple[tuple[str, Key], str]] | None = None

    def state(self) -> Hashable:
        """Everything that the tables hold."""
        if self._state is None:
            self._state = frozenset(self._frozen.items())
        return self._state

    def items(self, table: str) -> list[Item]:
        """A table's items, by key."""
        return [item for _, item in sorted(self._items[table].items())]

    def put_item(self, **request: Any) -> Request:
        """See PutItem, API reference."""
        asked = _Asked("PutItem", request, "TableName", "Item")
        key = self._key(asked, asked["Item"])
        old = self._items[asked["TableName"]].get(key)
        self._check(asked, old)
        self._write(asked["TableName"], key, asked["Item"])
        return asked.answer({"ALL_OLD": old or {}})

    def update_item(self, **request: Any) -> Request:
        """See UpdateItem, API reference."""
        asked = _Asked("UpdateItem", request, "TableName", "Key")
        key = self._key(asked, asked["Key"])
        old = self._items[asked["TableName"]].get(key)
        self._check(asked, old)
        given = asked.given(old if old is not None else asked["Key"])
        expression = asked.take("UpdateExpression")
        try:
            new = update(expression).apply(given) if expression else dict(given.item)
        except InvalidExpression as error:
            raise asked.invalid(str(error)) from error
        if any(new.get(name) != asked["Key"][name] for name in asked["Key"]):
            raise asked.invalid("part of the key cannot be updated")
        self._write(asked["TableName"], key, new)
        changed = {name: value for name, value in new.items() if name not in asked["Key"]}
        touched = {given.name(token) for token in _targets(expression)}
        return asked.answer(
            {
                "ALL_NEW": new,
                "ALL_OLD": old or {},
                "UPDATED_NEW": {name: changed[name] for name in touched & changed.keys()},
            }
        )

    def delete_item(self, **request: Any) -> Request:
        """See DeleteItem, API reference."""
        asked = _Asked("DeleteItem", request, "TableName", "Key")
        key = self._key(asked, asked["Key"])
        old = self._items[asked["TableName"]].get(key)
        self._check(asked, old)
        if old is not None:
            del self._items[asked["TableName"]][key]
            del self._frozen[asked["TableName"], key]
            self._state = None
        return asked.answer({"ALL_OLD": old or {}})

    def get_item(self, **request: Any) -> Request:
        """See GetItem, API reference."""
        asked = _Asked("GetItem", request, "TableName", "Key")
        item = self._items[asked["TableName"]].get(self._key(asked, asked["Key"]))
        asked.answer({})
        return {} if item is None else {"Item": _copy(item)}

    def query(self, **request: Any) -> Request:
        """See Query, API reference; one page."""
        asked = _Asked("Query", request, "TableName")
        asked.check_placeholders()
        matches = self._parsed(asked, "KeyConditionExpression")
        projection = asked.take("ProjectionExpression")
        found = [item for item in self.items(asked["TableName"]) if matches(asked.given(item))]
        asked.answer({})
        if projection:
            names = {asked.given({}).name(token.strip()) for token in projection.split(",")}
            found = [{n: v for n, v in item.items() if n in names} for item in found]
        return {"Items": [_copy(item) for item in found], "Count": len(found)}

    def transact_write_items(self, **request: Any) -> Request:
        """See TransactWriteItems, API reference; ConditionCheck and Put."""
        checked: list[tuple[str, Key, Item | None]] = []
        reasons: list[Request] = []
        for action in request.pop("TransactItems"):
            ((kind, inner),) = action.items()
            if kind not in ("ConditionCheck", "Put"):
                raise NotKnownHere(f"TransactWriteItems: {kind}")
            asked = _Asked(kind, inner, "TableName", "Key" if kind == "ConditionCheck" else "Item")
            item = asked["Item"] if kind == "Put" else None
            key = self._key(asked, item or asked["Key"])
            try:
                self._check(asked, self._items[asked["TableName"]].get(key))
            except ConditionalCheckFailedException as error:
                failed = {"Code": "ConditionalCheckFailed", "Message": str(error)}
                reasons.append(failed)
            else:
                reasons.append({"Code": "None"})
            asked.answer({})
            checked.append((asked["TableName"], key, item))
        request.pop("ClientRequestToken", None)
        if request:
            raise NotKnownHere(f"TransactWriteItems: {sorted(request)}")
        if any(reason["Code"] != "None" for reason in reasons):
            codes = ", ".join(reason["Code"] for reason in reasons)
            text = f"Transaction cancelled, please refer cancellation reasons [{codes}]"
            raise TransactionCanceledException(
                {
                    "Error": {"Code": "TransactionCanceledException", "Message": text},
                    "CancellationReasons": reasons,  # type: ignore[typeddict-item]
                },
                "TransactWriteItems",
            )
        for table, key, item in checked:
            if item is not None:
                self._write(table, key, item)
        return {}

    def _key(self, asked: "_Asked", attributes: Item) -> Key:
        names = self._keys[asked["TableName"]]
        if any("S" not in attributes.get(name, {}) for name in names):
            raise asked.invalid("the provided key element does not match the schema")
        key = [attributes[name]["S"] for name in names]
        return key[0], key[1] if len(key) > 1 else ""

    def _parsed(self, asked: "_Asked", name: str) -> Callable[[Given], bool]:
        try:
            return condition(asked.take(name))
        except InvalidExpression as error:
            raise asked.invalid(str(error)) from error

    def _check(self, asked: "_Asked", old: Item | None) -> None:
        asked.check_placeholders()
        return_old = asked.take("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        if "ConditionExpression" not in asked.request:
            return
        if not self._parsed(asked, "ConditionExpression")(asked.given(old or {})):
            answer: Any = {
                "Error": {
                    "Code": "ConditionalCheckFailedException",
                    "Message": "The conditional request failed",
                }
            }
            if return_old and old is not None:
                answer["Item"] = _copy(old)
            raise ConditionalCheckFailedException(answer, asked.operation)

    def _write(self, table: str, key: Key, item: Item) -> None:
        self._items[table][key] = _copy(item)
        self._frozen[table, key] = json.dumps(item, sort_keys=True)
        self._state = None


class _Asked:
    """A request; everything in it must be used, or it is refused."""

    def __init__(self, operation: str, request: Request, *needed: str) -> None:
        self.operation = operation
        self.request = request
        self._used = {*needed, "ExpressionAttributeNames", "ExpressionAttributeValues"}
        for name in needed:
            if name not in request:
                raise self.invalid(f"{name} is missing")

    def __getitem__(self, name: str) -> Any:
        return self.request[name]

    def take(self, name: str) -> Any:
        """A part of the request, which is used now."""
        self._used.add(name)
        return self.request.get(name)

    def given(self, item: Item) -> Given:
        """The item with this request's placeholders."""
        return Given(
            item,
            self.request.get("ExpressionAttributeNames") or {},
            self.request.get("ExpressionAttributeValues") or {},
        )

    def check_placeholders(self) -> None:
        """DynamoDB refuses placeholders without a meaning, and such as no expression uses."""
        used: frozenset[str] = frozenset()
        for name in _EXPRESSIONS:
            try:
                used |= placeholders(self.request.get(name) or "")
            except InvalidExpression as error:
                raise self.invalid(str(error)) from error
        given = self.given({})
        unknown = used - given.names.keys() - given.values.keys()
        if unknown:
            raise self.invalid(f"{sorted(unknown)} not defined")
        unused = (given.names.keys() | given.values.keys()) - used
        if unused:
            raise self.invalid(f"{sorted(unused)} unused in expressions")

    def answer(self, attributes: Mapping[str, Item]) -> Request:
        """The answer that ReturnValues asks for."""
        wanted = self.take("ReturnValues") or "NONE"
        unknown = self.request.keys() - self._used - _NO_EFFECT_HERE
        if unknown or (wanted != "NONE" and wanted not in attributes):
            raise NotKnownHere(f"{self.operation}: {sorted(unknown)} {wanted}")
        found = attributes.get(wanted)
        return {"Attributes": _copy(found)} if found else {}

    def invalid(self, why: str) -> ClientError:
        """DynamoDB would not take this request."""
        return ClientError(
            {"Error": {"Code": "ValidationException", "Message": why}}, self.operation
        )


def _targets(expression: str | None) -> list[str]:
    parsed = update(expression or "")
    return [token for token, _ in (*parsed.sets, *parsed.adds)]


def _copy(item: Item) -> dict[str, dict[str, Any]]:
    return {name: dict(value) for name, value in item.items()}
