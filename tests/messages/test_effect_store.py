"""A team's own effects, out of its table or its file."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce.cli.effects_options import EffectsOptions
from actonce.messages.effect_store import DynamoDbEffects, EffectStore, FileEffects
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed, UsageError
from actonce_pipeline.audit.reading.effects import Attributes
from tests.support.stacks import forbid
from tests.support.tables import consistency_of_reads, make_table

TIME = datetime(2026, 1, 31, 9, tzinfo=UTC)
HASHED = "sha256-" + "0" * 64
LARGE = "12345678901234567890123456789012345678"


def card(message_id: Any, **more: str) -> dict[str, Any]:
    key = message_id if isinstance(message_id, dict) else {"S": message_id}
    return {"message_id": key} | {name: {"S": value} for name, value in more.items()}


def ids(effects: EffectStore) -> list[str]:
    return sorted("" if one is None else one.message_id for one in effects.every())


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
    for other in ("007", "7.0", "+7", "seven", "", "NaN"):
        assert cards.find_effects(other) == []


def test_ids_are_kept_as_all_records_keep_them(cards: DynamoDbEffects) -> None:
    strange = "ü \u202e/\n"
    items = [card(HASHED, card="1"), card(strange, card="2"), {"card": {"S": "no message's"}}]
    make_table(cards._dynamodb, "cards", "card", index="message_id", items=items)
    assert ids(cards) == sorted(["", HASHED, strange])
    assert len(cards.find_effects(HASHED)) == 1
    assert cards.find_effects("x" * 2049) == []


def table(name: str) -> dict[str, Any]:
    key = "message_id"
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        },
    }


@pytest.fixture
def shop(moto_stack: Stack) -> Stack:
    """A team's stack with a table of its own, and ActOnce and another table nested in it."""
    once = {
        "Resources": {"FingerprintsTable": table("rows-1A2B")},
        "Outputs": {
            "UnstartedQueueUrl": {"Value": "url"},
            "FingerprintsTableName": {"Value": {"Ref": "FingerprintsTable"}},
        },
    }
    store = {"Resources": {"Cards": table("shop-Store-Cards-3C4D")}}
    aws = moto_stack.aws
    aws.client("s3").create_bucket(Bucket="templates")
    nested = {}
    for name, template in (("Once", once), ("Store", store)):
        aws.client("s3").put_object(Bucket="templates", Key=name, Body=json.dumps(template))
        url = f"https://templates.s3.amazonaws.com/{name}"
        nested[name] = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}}
    aws.client("cloudformation").create_stack(
        StackName="shop",
        TemplateBody=json.dumps({"Resources": {"Cards": table("shop-Cards-5E6F")} | nested}),
    )
    return Stack.find(aws, "shop")


def named(stack: Stack, name: str) -> EffectStore:
    place = EffectsOptions(name, None, "message_id", None, "effect_id")
    effects = place.effects(stack)
    assert effects is not None
    return effects


@pytest.mark.parametrize(
    ("name", "physical"),
    [
        ("shop-Cards-5E6F", "shop-Cards-5E6F"),
        ("Cards", "shop-Cards-5E6F"),
        ("Store/Cards", "shop-Store-Cards-3C4D"),
    ],
)
def test_a_table_is_named_by_its_logical_id_as_well(shop: Stack, name: str, physical: str) -> None:
    shop.dynamodb.put_item(TableName=physical, Item=card("m-1"))
    for found in (shop, Stack.find(shop.aws, "shop/Once")):
        assert ids(named(found, name)) == ["m-1"]
        assert len(named(found, name).find_effects("m-1")) == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("ValidationException", "There is no table 'cards' here"),  # of a name that none can have
        ("AccessDeniedException", "You may not"),  # who may read one table asks by it
    ],
)
def test_a_logical_id_is_one_however_dynamodb_refuses_it_as_a_name(
    shop: Stack, code: str, told: str
) -> None:
    def refuse(params: dict[str, Any], **_: Any) -> None:
        if params["TableName"] in ("Cards", "cards"):
            raise ClientError({"Error": {"Code": code, "Message": "You may not"}}, "D")

    event = "before-parameter-build.dynamodb.DescribeTable"
    shop.dynamodb.meta.events.register(event, refuse)
    assert ids(named(shop, "Cards")) == []
    with pytest.raises(Failed, match=told):
        ids(named(shop, "cards"))


def test_a_table_that_has_the_name_itself_stands_before_a_logical_id(shop: Stack) -> None:
    make_table(shop.dynamodb, "Cards", "message_id", items=[card("its own")])
    assert ids(named(shop, "Cards")) == ["its own"]


def test_of_a_name_that_is_none_the_stacks_tables_are_told_but_not_the_memory(
    shop: Stack,
) -> None:
    for name in ("cards", "FingerprintsTable", "Once/FingerprintsTable"):
        with pytest.raises(Failed, match=rf"no table '{name}'.*: Cards, Store/Cards\.$"):
            named(shop, name).find_effects("m-1")
    # As it was before, where the stack must not be asked.
    forbid(shop, "cloudformation")
    with pytest.raises(Failed, match=r"no table 'Cards'.*cannot be asked for one"):
        named(shop, "Cards").find_effects("m-1")


def test_a_table_that_cannot_be_asked_is_told(cards: DynamoDbEffects) -> None:
    with pytest.raises(Failed, match="no table 'cards'"):
        cards.find_effects("m-1")
    make_table(cards._dynamodb, "cards", "card")
    with pytest.raises(Failed, match="neither the key of the table cards nor of an index"):
        cards.find_effects("m-1")


def test_a_key_of_bytes_is_told(cards: DynamoDbEffects) -> None:
    make_table(cards._dynamodb, "cards", "message_id", kind="B")
    with pytest.raises(Failed, match="is of bytes"):
        list(cards.every())


@pytest.mark.parametrize("packed", [True, False])
def test_lines_are_read_under_names_of_their_own(tmp_path: Path, *, packed: bool) -> None:
    lines = [
        {"ref": "m-1", "when": TIME.isoformat(), "order": 7, "amount": 20, "name": "Eve"},
        {"ref": 4711, "when": "yesterday"},
        {"of": "something else"},
    ]
    text = "\n\n".join(map(json.dumps, lines)).encode()
    file = tmp_path / "effects"
    file.write_bytes(gzip.compress(text) if packed else text)
    effects = FileEffects(file, Attributes("ref", "when", ("amount",), "order"))
    one, timeless, nameless = effects.every()
    assert one is not None
    assert (one.effect_id, one.at, one.description) == ("7", TIME, {"amount": 20})
    assert timeless is not None
    assert (timeless.message_id, timeless.effect_id, timeless.at) == ("4711", None, None)
    assert nameless is None
    assert effects.find_effects("m-1") == [one]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"message_id": "m-1"', "line 1, is no JSON"),
        (b'["m-1"]', "line 1, is no object"),
        (b"[" * 100_000, "line 1, is no JSON"),
        (gzip.compress(b"{}" * 100, mtime=0)[:-9], "cannot be read"),
    ],
    ids=["cut off", "array", "deep", "broken gzip"],
)
def test_a_file_that_is_not_of_effects_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "effects"
    with pytest.raises(UsageError, match="there is no such file"):
        FileEffects(file, Attributes())
    file.write_bytes(content)
    with pytest.raises(Failed, match=said):
        list(FileEffects(file, Attributes()).every())
