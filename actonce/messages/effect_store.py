"""The effects, from the table of DynamoDB that the stack's outputs name (EffectsTableName).

Without one the stack knows of effects only what its executions, or rows, say. The table is a second
witness: `where` shows both, and `collect` makes the `effects` stream of it.

Invariant: only the attributes that were named are read into a record; others may be personal.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp
from actonce_pipeline.audit.reading.effects import (
    DEFAULT_KEY,
    Attributes,
    effect_id_of,
    exactly,
    parse_time,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_LONGEST_KEY_BYTES = 2048
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OwnEffect:
    """One effect.

    Attributes:
        message_id: as tables and records of the stack keep it; empty: the item names none.
        effect_id: tells it from another effect of the same message; None: there is one item for a
            message, and a second effect would not be seen.
        at: None: the time is not kept, or cannot be read.
        has_time: whether it has the attribute that says when. An item of another writer, in a table
            that keeps more than effects, has none.
    """

    message_id: str
    effect_id: str | None
    at: datetime | None
    description: dict[str, Any] = field(default_factory=dict)
    has_time: bool = False

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        shown = {name: value for name, value in asdict(self).items() if name != "has_time"}
        return shown | {"at": timestamp(self.at) if self.at else None}


@dataclass(frozen=True, slots=True)
class _Shape:
    """A table's keys, the type of the message's id, and the index to query, if one is needed."""

    hash_key: str
    range_key: str | None
    key_type: str
    index: str | None


class DynamoDbEffects:
    """The table of DynamoDB in which a team keeps its effects.

    Args:
        dynamodb: a client.
        name: the table's name, or its ARN.
        attributes: what to read; not `own_id`, for the table has its own key.
        location: a person's name for it, if not the table's.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        name: str,
        attributes: Attributes,
        location: str = "",
    ) -> None:
        self.location = location or f"the table {name}"
        self.attributes = attributes
        self._dynamodb = dynamodb
        self._name = name
        self._known: _Shape | None = None

    def every(self) -> Iterator[OwnEffect]:
        """All effects, and what else the table has; reads all of it.

        Raises:
            Failed: it cannot be read.
        """
        shape = self._shape()
        pages = self._dynamodb.get_paginator("scan").paginate(
            TableName=self._name, ConsistentRead=True, **self._projection(shape)
        )
        for page in pages:
            for item in page["Items"]:
                yield self._effect(item, shape)

    def some(self, most: int) -> list[OwnEffect]:
        """Effects as `every` reads them, at most so many."""
        shape = self._shape()
        page = self._dynamodb.scan(TableName=self._name, Limit=most, **self._projection(shape))
        return [self._effect(item, shape) for item in page["Items"]]

    def find_effects(self, message_id: str) -> list[OwnEffect]:
        """The effects of one message, by the producer's id.

        Reads consistently, but by an index where the id is not the table's key.

        Raises:
            Failed: it cannot be asked for one message.
        """
        shape = self._shape()
        key = self.attributes.key
        if shape.hash_key != key and shape.index is None:
            raise Failed(
                f"{key} is neither the key of {self.location} nor of an index of it, so that one "
                "message would take reading all of it: actonce collect does."
            )
        # Ids that no key of this table can be.
        if shape.key_type == "N" and not _PLAIN_NUMBER.fullmatch(message_id):
            return []
        if not 0 < len(message_id.encode("utf-8", "replace")) <= _LONGEST_KEY_BYTES:
            return []
        request = self._projection(shape)
        request["ExpressionAttributeNames"] |= {"#id": key}
        how: dict[str, Any] = (
            {"ConsistentRead": True} if shape.index is None else {"IndexName": shape.index}
        )
        try:
            pages = self._dynamodb.get_paginator("query").paginate(
                TableName=self._name,
                KeyConditionExpression="#id = :id",
                ExpressionAttributeValues={":id": {shape.key_type: message_id}},
                **how,
                **request,
            )
            items = [item for page in pages for item in page["Items"]]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationException":
                message = error.response["Error"]["Message"]
                raise Failed(
                    f"{self.location} cannot be asked for one message: {message}"
                ) from error
            raise
        return [self._effect(item, shape) for item in items]

    def _shape(self) -> _Shape:
        if self._known is None:
            self._known = self._described()
        return self._known

    def _described(self) -> _Shape:
        table = self._dynamodb.describe_table(TableName=self._name)["Table"]
        types = {
            attribute["AttributeName"]: str(attribute["AttributeType"])
            for attribute in table["AttributeDefinitions"]
        }
        keys = {str(key["KeyType"]): key["AttributeName"] for key in table["KeySchema"]}
        key = self.attributes.key
        index = None
        for table_index in table.get("GlobalSecondaryIndexes", []):
            hashed = [part["AttributeName"] for part in table_index["KeySchema"]]
            if hashed[0] == key and keys["HASH"] != key:
                index = table_index["IndexName"]
        if types.get(key) == "B":
            raise Failed(f"{key} of {self.location} is of bytes, and a message's id is a text.")
        return _Shape(keys["HASH"], keys.get("RANGE"), types.get(key, "S"), index)

    def _projection(self, shape: _Shape) -> dict[str, Any]:
        attributes = self.attributes
        wanted = [
            attributes.key,
            shape.hash_key,
            shape.range_key,
            attributes.time,
            *attributes.description,
        ]
        names = {f"#n{n}": name for n, name in enumerate(dict.fromkeys(filter(None, wanted)))}
        return {
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": dict(names),
        }

    def _effect(self, item: Item, shape: _Shape) -> OwnEffect:
        attributes = self.attributes
        fields = {name: from_dynamodb(value) for name, value in item.items()}
        # As the audit has it of an export: what is neither a text nor a number is no id.
        key = item.get(attributes.key, {})
        message_id = exactly(Decimal(key["N"])) if "N" in key else key.get("S", "")
        time = None if attributes.time is None else fields.get(attributes.time)
        description = {name: fields[name] for name in attributes.description if name in fields}
        parts = (shape.hash_key, shape.range_key)
        keys = {part: item[part] for part in parts if part is not None}
        effect_id = effect_id_of(keys, attributes.key)
        return OwnEffect(message_id, effect_id, parse_time(time), description, time is not None)


def find_effect_store(stack: Stack) -> DynamoDbEffects | None:
    """The effects table that the stack's outputs name; None: they name none."""
    if "EffectsTableName" not in stack.outputs:
        return None
    attributes = Attributes.of_output(stack.effects_attributes or DEFAULT_KEY)
    return DynamoDbEffects(stack.dynamodb, stack.effects_table, attributes, "the effects table")


def from_dynamodb(attribute: Item) -> Any:
    """A value of DynamoDB's, such as `{"N": "1"}`, in JSON's: bytes as hex, a set as a list."""
    ((kind, value),) = attribute.items()
    match kind:
        case "N":
            number = Decimal(value)
            return int(number) if number == number.to_integral_value() else float(number)
        case "B":
            return value.hex()
        case "M":
            return {name: from_dynamodb(one) for name, one in value.items()}
        case "L":
            return [from_dynamodb(one) for one in value]
        case "SS" | "NS" | "BS":
            return sorted((from_dynamodb({kind[0]: one}) for one in value), key=str)
    return None if kind == "NULL" else value
