from collections.abc import Iterator
from typing import Any, Protocol

import pytest
from moto import mock_aws

from actonce.stack.clients import Aws

Item = dict[str, Any]


class MakeTable(Protocol):
    """Makes a table with items: its key's names, the message id's type, and a key of an index."""

    def __call__(
        self,
        name: str,
        *keys: str,
        items: list[Item] | None = None,
        kind: str = "S",
        index: str | None = None,
    ) -> None: ...


@pytest.fixture
def moto_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """AWS, on moto in this process."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield Aws()


@pytest.fixture
def make_table(moto_aws: Aws) -> MakeTable:
    """See `MakeTable`."""
    dynamodb = moto_aws.client("dynamodb")

    def make(
        name: str,
        *keys: str,
        items: list[Item] | None = None,
        kind: str = "S",
        index: str | None = None,
    ) -> None:
        more: Any = {}
        if index:
            key = {"AttributeName": index, "KeyType": "HASH"}
            everything = {"ProjectionType": "ALL"}
            by = {"IndexName": "by-message", "KeySchema": [key], "Projection": everything}
            more = {"GlobalSecondaryIndexes": [by]}
        kinds: Any = {"message_id": kind}
        dynamodb.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": one, "AttributeType": kinds.get(one, "S")}
                for one in (*keys, *([index] if index else []))
            ],
            KeySchema=[
                {"AttributeName": one, "KeyType": "RANGE" if number else "HASH"}
                for number, one in enumerate(keys)
            ],
            **more,
        )
        for item in items or []:
            dynamodb.put_item(TableName=name, Item=item)

    return make
