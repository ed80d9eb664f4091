"""DynamoDB's read and write units, by AWS's rule, from requests and the items they met.

A write takes a unit per KB, rounded up, of the larger of the item before and after; a write whose
condition failed as well, by the item that was there; in a transaction, each twice. A consistent
read takes a unit per 4 KB, another one half of it.
Source: "DynamoDB read and write operations" and "DynamoDB item sizes and formats", AWS; that a
ConditionCheck in a transaction is billed as a write of the item that it looks at was measured on
DynamoDB in "What a conditional DynamoDB transaction actually costs", martinhicks.dev.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Item = Mapping[str, Any]
"""An item as DynamoDB gives it: `{attribute: {type: value}}`."""

_WRITE_BYTES = 1024
_READ_BYTES = 4096
_TRANSACTION_FACTOR = 2
_COLLECTION_OVERHEAD = 3  # of a list or map, and one for each thing in it

UNIT_KINDS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "GetItem", "TransactWriteItems"})
"""The kinds of requests whose units are known here."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table's items, found by their keys.

    Args:
        key: names of the key's attributes.
        items: all that are in the table; a request is weighed by the item as it is here.
    """

    key: tuple[str, ...]
    items: dict[str, Item]

    @classmethod
    def of(cls, key: tuple[str, ...], items: Iterable[Item]) -> "Table":
        """Make one of items as a scan gives them."""
        table = cls(key, {})
        table.items.update({table._key_of(item): item for item in items})
        return table

    def bytes_of(self, attributes: Item) -> int:
        """Size of the item whose key is among the attributes; 0 if there is none."""
        item = self.items.get(self._key_of(attributes))
        return 0 if item is None else item_bytes(item)

    def _key_of(self, attributes: Item) -> str:
        return json.dumps([attributes[name] for name in self.key], sort_keys=True)


def item_bytes(item: Item) -> int:
    """Size of an item: the names' and the values' bytes."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        digits = content.lstrip("-").replace(".", "").strip("0")
        return math.ceil(len(digits) / 2) + (2 if content.startswith("-") else 1)
    if kind in {"BOOL", "NULL"}:
        return 1
    if kind == "M":
        return _COLLECTION_OVERHEAD + sum(
            1 + len(name.encode()) + _value_bytes(part) for name, part in content.items()
        )
    if kind == "L":
        return _COLLECTION_OVERHEAD + sum(1 + _value_bytes(part) for part in content)
    raise ValueError(f"the size of a value of type {kind} is not known here")


def write_units(kind: str, request: Mapping[str, Any], tables: Mapping[str, Table]) -> int:
    """Write units of one request; 0 for a read.

    Args:
        kind: name of the API call, of `UNIT_KINDS`.
        request: its parameters.
        tables: by name, as they are after the request.

    Raises:
        ValueError: the units of this kind are not known here.
    """
    _check(kind)
    if kind == "TransactWriteItems":
        parts = [part for item in request["TransactItems"] for part in item.values()]
        return _TRANSACTION_FACTOR * sum(_write(part, tables) for part in parts)
    return 0 if kind == "GetItem" else _write(request, tables)


def read_units(kind: str, request: Mapping[str, Any], tables: Mapping[str, Table]) -> float:
    """Read units of one request; 0 for a write. See `write_units`."""
    _check(kind)
    if kind != "GetItem":
        return 0
    size = tables[request["TableName"]].bytes_of(request["Key"])
    units = max(1, math.ceil(size / _READ_BYTES))
    return units if request.get("ConsistentRead") else units / 2


def _check(kind: str) -> None:
    if kind not in UNIT_KINDS:
        raise ValueError(f"the units of {kind} are not known here")


def _write(part: Mapping[str, Any], tables: Mapping[str, Table]) -> int:
    item = part.get("Item", {})
    stored = tables[part["TableName"]].bytes_of(item or part["Key"])
    return max(1, math.ceil(max(item_bytes(item), stored) / _WRITE_BYTES))
