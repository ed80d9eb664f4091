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
    named = dict.fromkeys((*keys, *([index] if index else [])), "S")
    schema = [
        {"AttributeName": one, "KeyType": kind_of_key}
        for one, kind_of_key in zip(keys, ("HASH", "RANGE"), strict=False)
    ]
    by_message = {
        "IndexName": "by-message",
        "KeySchema": [{"AttributeName": index, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": kind if one == "message_id" else "S"}
            for one in named
        ],
        KeySchema=schema,
        **({"GlobalSecondaryIndexes": [by_message]} if index else {}),
    )
    for item in items or []:
        dynamodb.put_item(TableName=name, Item=item)
