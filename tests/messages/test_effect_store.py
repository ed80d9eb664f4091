"""A team's own effects, out of its table."""

from datetime import UTC, datetime
from typing import Any

import pytest

from actonce.messages.effect_store import DynamoDbEffects
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_pipeline.audit.reading.effects import Attributes
from tests.support.tables import consistency_of_reads, make_table

TIME = datetime(2026, 1, 31, 9, tzinfo=UTC)
HASHED = "sha256-" + "0" * 64
LARGE = "12345678901234567890123456789012345678"


def card(message_id: Any, **more: str) -> dict[str, Any]:
    key = message_id if isinstance(message_id, dict) else {"S": message_id}
    return {"message_id": key} | {name: {"S": value} for name, value in more.items()}


def ids(effects: DynamoDbEffects) -> list[str]:
    return sorted(one.message_id for one in effects.every())


@pytest.fixture
def cards(moto_stack: Stack) -> DynamoDbEffects:
    return DynamoDbEffects(moto_stack.dynamodb, "cards", Attributes(description=("card",)))


@pytest.mark.parametrize(
    ("keys", "index", "effect_ids"),
    [
        (["message_id"], None, [None]),  # a second one would not be seen
        (["message_id", "card"], None, ["c-1", "c-2"]),
        (["card"], "message_id", ["c-1", "c-2"]),
        # In the order of the names, as the audit has it of an export.
        (["order", "card"], "message_id", ['["c-1", "o"]', '["c-2", "o"]']),
    ],
)
def test_an_effect_is_named_by_the_key_that_is_not_the_messages(
    cards: DynamoDbEffects,
    keys: list[str],
    index: str | None,
    effect_ids: list[str | None],
) -> None:
    items = [card("m-1", card=one, order="o", secret="4711") for one in ("c-1", "c-2")]
    make_table(cards._dynamodb, "cards", *keys, items=items, index=index)
    found = cards.find_effects("m-1")
    assert [one.effect_id for one in found] == effect_ids
    assert found[-1].description == {"card": "c-2"}
    assert sorted(cards.every(), key=str) == sorted(found, key=str)
    assert cards.find_effects("never") == []


@pytest.mark.parametrize(("key", "index"), [("message_id", None), ("card", "message_id")])
def test_effects_are_read_consistently_where_no_index_is_needed(
    cards: DynamoDbEffects, key: str, index: str | None
) -> None:
    """What was done a moment ago must not be told as not done."""
    make_table(cards._dynamodb, "cards", key, items=[card("m-1", card="c-1")], index=index)
    reads = consistency_of_reads(cards._dynamodb)
    assert len(list(cards.every())) == len(cards.find_effects("m-1")) == 1
    assert reads == [True] * (2 if index is None else 1)


def test_a_key_that_is_a_number_is_the_text_of_it(cards: DynamoDbEffects) -> None:
    items = [card({"N": one}) for one in ("7", "1.50", LARGE)]
    make_table(cards._dynamodb, "cards", "message_id", kind="N", items=items)
    assert ids(cards) == ["1.5", LARGE, "7"]
    assert len(cards.find_effects("7")) == len(cards.find_effects(LARGE)) == 1
    # Other texts of the same number are other messages.
    for other in ("007", "7.0", "seven", ""):
        assert cards.find_effects(other) == []


def test_ids_are_kept_as_all_records_keep_them(cards: DynamoDbEffects) -> None:
    strange = "ü \u202e/\n"
    items = [card(HASHED, card="1"), card(strange, card="2"), {"card": {"S": "no message's"}}]
    make_table(cards._dynamodb, "cards", "card", index="message_id", items=items)
    assert ids(cards) == sorted(["", HASHED, strange])
    assert len(cards.find_effects(HASHED)) == 1
    assert cards.find_effects("x" * 2049) == []


def test_a_table_that_cannot_be_asked_is_told(cards: DynamoDbEffects) -> None:
    make_table(cards._dynamodb, "cards", "card")
    with pytest.raises(Failed, match="neither the key of the table cards nor of an index"):
        cards.find_effects("m-1")


def test_a_key_of_bytes_is_told(cards: DynamoDbEffects) -> None:
    make_table(cards._dynamodb, "cards", "message_id", kind="B")
    with pytest.raises(Failed, match="is of bytes"):
        list(cards.every())
