"""Tables of DynamoDB, on moto."""

from typing import Any


def make_table(
    dynamodb: Any,
    name: str,
    *keys: str,
    items: list[dict[str, Any]] | None = None,
    kind: str = "S",
    index: str | None = None,
) -> None:
    """A table with these items in it.

    Args:
        keys: its hash key, and perhaps its range key.
        kind: the type of `message_id`.
        index: the hash key of an index, `by-message`.
    """
    types = dict.fromkeys((*keys, *([index] if index else [])), "S") | {"message_id": kind}

    def schema(*of: str) -> list[dict[str, str]]:
        kinds = zip(of, ("HASH", "RANGE"), strict=False)
        return [{"AttributeName": one, "KeyType": key_type} for one, key_type in kinds]

    by_message = {
        "IndexName": "by-message",
        "KeySchema": schema(index or ""),
        "Projection": {"ProjectionType": "ALL"},
    }
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": kind_of_one}
            for one, kind_of_one in types.items()
            if one in (*keys, index)
        ],
        KeySchema=schema(*keys),
        **({"GlobalSecondaryIndexes": [by_message]} if index else {}),
    )
    for item in items or []:
        dynamodb.put_item(TableName=name, Item=item)


def consistency_of_reads(dynamodb: Any) -> list[bool]:
    """Whether each read from now on is a consistent one; no index can be read so, or counts."""
    found: list[bool] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        if "IndexName" not in params:
            found.append(params.get("ConsistentRead", False))

    for operation in ("GetItem", "Query", "Scan"):
        dynamodb.meta.events.register(f"provide-client-params.dynamodb.{operation}", note)
    return found
