"""A team's own effects and a ledger's rows, as `collect` and `where` read them; moto's tables."""

import gzip
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.messages.own_effects import Attributes, EffectsFile, EffectsTable, OwnEffects, moment
from actonce.records.collect import Collected, Wanted, collect
from actonce.records.day_files import day_folder
from actonce.stack.clients import Aws, Stack
from actonce.terminal.errors import Failed, WrongUse

NOW = datetime.now(UTC).replace(microsecond=0)
TODAY = NOW.date()
TIME = NOW.isoformat(timespec="milliseconds").replace("+00:00", "Z")
TIMED = Attributes(time="sent_at")


@pytest.fixture
def stack(moto_aws: Aws) -> Stack:
    """A stack with a function of a team's own."""
    outputs = {
        "ProcessMessageArn": "arn:aws:states:us-east-1:123456789012:stateMachine:none",
        "LedgerTableName": "ledger",
    }
    return Stack(moto_aws, "actonce", outputs)


def table(
    stack: Stack,
    *keys: str,
    name: str = "cards",
    kind: str = "S",
    index: str | None = None,
    items: list[dict[str, Any]] | None = None,
) -> None:
    """A table with a key, or two, and perhaps an index; `kind` is the type of the message id."""
    named = [*keys, *([index] if index else [])]
    more: dict[str, Any] = {}
    if index:
        more["GlobalSecondaryIndexes"] = [
            {
                "IndexName": "by-message",
                "KeySchema": [{"AttributeName": index, "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    stack.dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": kind if one == "message_id" else "S"}  # type: ignore[typeddict-item]
            for one in named
        ],
        KeySchema=[
            {"AttributeName": one, "KeyType": "HASH" if one == keys[0] else "RANGE"} for one in keys
        ],
        **more,
    )
    for item in items or []:
        stack.dynamodb.put_item(TableName=name, Item=item)


def card(message_id: Any, **more: str) -> dict[str, Any]:
    key = message_id if isinstance(message_id, dict) else {"S": message_id}
    return {"message_id": key, "sent_at": {"S": TIME}} | {k: {"S": v} for k, v in more.items()}


def run(stack: Stack, root: Path, effects: OwnEffects | None, *streams: str) -> Collected:
    wanted = Wanted([TODAY], root, streams=frozenset(streams or ("effects",)), effects=effects)
    return collect(stack, wanted, now=NOW)


def read(root: Path, stream: str = "effects", day: date = TODAY) -> list[dict[str, Any]]:
    file = day_folder(root, stream, day) / "collected.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def plain(message_id: str, effect_id: str | None = None, at: str = TIME) -> dict[str, Any]:
    named = {} if effect_id is None else {"effect_id": effect_id}
    return {"stream": "effects", "version": 1, "at": at, "message_id": message_id, **named}


# --------------------------------------------------------------------------- tables


def test_a_table_by_message_id_alone_says_that_it_cannot_show_a_second_effect(
    stack: Stack, tmp_path: Path
) -> None:
    table(stack, "message_id", items=[card("m-1", secret="4711")])
    collected = run(stack, tmp_path, EffectsTable(stack.dynamodb, "cards", TIMED))
    assert read(tmp_path) == [plain("m-1")]
    assert collected.missing == []
    assert any("room for one effect" in note for note in collected.notes)


def test_a_second_key_tells_two_effects_of_a_message_apart(stack: Stack, tmp_path: Path) -> None:
    table(
        stack,
        "message_id",
        "card",
        items=[card("twice", card="c-1"), card("twice", card="c-2")],
    )
    effects = EffectsTable(stack.dynamodb, "cards", TIMED)
    collected = run(stack, tmp_path, effects)
    assert read(tmp_path) == [plain("twice", "c-1"), plain("twice", "c-2")]
    assert not any("room for one" in note for note in collected.notes)
    assert [one.effect_id for one in effects.of_message("twice")] == ["c-1", "c-2"]
    assert effects.of_message("never") == []


def test_a_table_by_something_else_is_asked_by_its_index(stack: Stack, tmp_path: Path) -> None:
    table(stack, "order", index="message_id", items=[card("m-1", order="o-1")])
    named = Attributes(time="sent_at", description=("order",))
    effects = EffectsTable(stack.dynamodb, "cards", named)
    run(stack, tmp_path, effects)
    assert read(tmp_path) == [plain("m-1", "o-1")]
    (found,) = effects.of_message("m-1")
    assert (found.effect_id, found.description) == ("o-1", {"order": "o-1"})


def test_without_an_index_one_message_is_not_looked_for_in_all_of_a_table(stack: Stack) -> None:
    table(stack, "order", items=[card("m-1", order="o-1")])
    with pytest.raises(Failed, match="neither the key of the table cards nor of an index"):
        EffectsTable(stack.dynamodb, "cards", TIMED).of_message("m-1")


def test_a_key_that_is_a_number_is_the_text_of_it(stack: Stack, tmp_path: Path) -> None:
    large = "12345678901234567890123456789012345678"
    items = [card({"N": one}) for one in ("7", "1.50", large)]
    table(stack, "message_id", kind="N", items=items)
    effects = EffectsTable(stack.dynamodb, "cards", TIMED)
    run(stack, tmp_path, effects)
    assert sorted(one["message_id"] for one in read(tmp_path)) == ["1.5", large, "7"]
    assert len(effects.of_message("7")) == len(effects.of_message(large)) == 1
    # Other texts of the same number are other messages.
    for other in ("007", "7.0", "+7", "seven", "", "NaN"):
        assert effects.of_message(other) == []


def test_ids_are_kept_as_all_records_keep_them(stack: Stack, tmp_path: Path) -> None:
    hashed = "sha256-" + "0" * 64
    table(stack, "message_id", items=[card(hashed), card("ü \u202e/\n")])
    effects = EffectsTable(stack.dynamodb, "cards", TIMED)
    run(stack, tmp_path, effects)
    ids = {one["message_id"] for one in read(tmp_path)}
    assert ids == {hashed, "ü \u202e/\n"}
    assert len(effects.of_message(hashed)) == 1
    assert effects.of_message("x" * 2049) == []


def test_a_key_of_bytes_and_a_table_that_is_not_there_are_told(
    stack: Stack, tmp_path: Path
) -> None:
    table(stack, "message_id", kind="B")
    for name, said in (("cards", "is of bytes"), ("none", "no table 'none'")):
        collected = run(stack, tmp_path, EffectsTable(stack.dynamodb, name, TIMED))
        (sentence,) = collected.missing
        assert said in sentence
        assert collected.lines == {TODAY: {"effects": None}}


def test_what_names_no_message_is_no_effect_and_counted(stack: Stack, tmp_path: Path) -> None:
    table(stack, "order", items=[card("m-1", order="o-1"), {"order": {"S": "settings"}}])
    collected = run(stack, tmp_path, EffectsTable(stack.dynamodb, "cards", TIMED))
    assert [one["message_id"] for one in read(tmp_path)] == ["m-1"]
    assert any(note.startswith("effects: 1 in the table cards have no") for note in collected.notes)


def test_a_time_that_cannot_be_read_is_told(stack: Stack, tmp_path: Path) -> None:
    items = [card("m-1"), {"message_id": {"S": "m-2"}, "sent_at": {"S": "yesterday"}}]
    table(stack, "message_id", items=items)
    collected = run(stack, tmp_path, EffectsTable(stack.dynamodb, "cards", TIMED))
    assert [one["message_id"] for one in read(tmp_path)] == ["m-1"]
    (sentence,) = collected.missing
    assert "1 effect(s) have no time `sent_at` that can be read" in sentence
    assert "m-2" in sentence


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("2026-01-31T10:00:00+01:00", datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09:00:00Z", datetime(2026, 1, 31, 9, tzinfo=UTC)),
        (1769850000, datetime(2026, 1, 31, 9, tzinfo=UTC)),
        (1769850000000, datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09:00:00", None),  # of which zone?
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (1e300, None),
        ([], None),
    ],
)
def test_times_are_read_as_teams_write_them(told: Any, read: datetime | None) -> None:
    assert moment(told) == read


# --------------------------------------------------------------------------- rows


def ledger_row(message_id: str, updated: str, **more: str) -> dict[str, Any]:
    texts = {"status": "IN_PROGRESS", "memory": "ledger", "updated": updated, **more}
    return {
        "message_id": {"S": message_id},
        "consumption_count": {"N": "2"},
        "effect": {"S": '{"card": 1}'},
        "note": {"S": "of a person"},
    } | {name: {"S": value} for name, value in texts.items()}


def test_rows_are_collected_as_they_stand(stack: Stack, tmp_path: Path) -> None:
    yesterday = (NOW - timedelta(days=1)).isoformat(timespec="milliseconds")
    table(
        stack,
        "message_id",
        name="ledger",
        items=[
            ledger_row("done", TIME, status="COMPLETE", outcome="performed"),
            ledger_row("of yesterday", yesterday),
            ledger_row("timeless", "soon"),
            {"message_id": {"S": "a starter's"}, "fingerprint": {"S": "0"}},
        ],
    )
    collected = run(stack, tmp_path, None, "rows")
    told = {one["message_id"]: one for one in read(tmp_path, "rows")}
    assert told.keys() == {"done"}
    assert told["done"] == {
        "stream": "rows", "version": 1, "at": TIME, "message_id": "done", "status": "COMPLETE",
        "outcome": "performed", "attempts": 2, "way": "ledger",
    }  # fmt: skip
    (sentence,) = collected.missing
    assert "1 row(s) have no time" in sentence


def test_an_effect_without_a_time_has_that_of_its_row(stack: Stack, tmp_path: Path) -> None:
    row = ledger_row("m-1", TIME, status="COMPLETE", outcome="performed")
    table(stack, "message_id", name="ledger", items=[row])
    table(stack, "message_id", items=[card("m-1"), card("of another day")])
    effects = EffectsTable(stack.dynamodb, "cards", Attributes())
    collected = run(stack, tmp_path, effects, "rows", "effects")
    assert read(tmp_path) == [plain("m-1")]
    assert any("such as of another day" in note for note in collected.notes)

    # With nothing collected that has times, an empty file would make every message a lost one.
    collected = run(stack, tmp_path / "alone", effects)
    assert "--effects-time" in collected.missing[0]
    assert not day_folder(tmp_path / "alone", "effects", TODAY).exists()


def test_a_stack_of_executions_has_no_rows(stack: Stack, tmp_path: Path) -> None:
    del stack.outputs["LedgerTableName"]
    assert run(stack, tmp_path, None, "rows").lines == {TODAY: {}}


def test_where_nobody_says_where_the_effects_are_nothing_is_made_up(
    stack: Stack, tmp_path: Path
) -> None:
    collected = run(stack, tmp_path, None)
    assert "--effects-by executions" in collected.missing[0]
    assert not (tmp_path / "effects").exists()


# --------------------------------------------------------------------------- files


def brought(tmp_path: Path, *lines: Any, packed: bool = False) -> Path:
    file = tmp_path / "effects.txt"
    text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return file


@pytest.mark.parametrize("packed", [True, False])
def test_lines_are_brought_under_names_of_their_own(
    stack: Stack, tmp_path: Path, packed: bool
) -> None:
    named = Attributes("ref", "when", ("amount",), "order")
    when = int(NOW.timestamp())
    file = brought(
        tmp_path,
        {"ref": "m-1", "when": when, "order": 7, "amount": 20, "name": "Eve"},
        "",
        {"ref": 4711, "when": TIME},
        {"of": "something else"},
        packed=packed,
    )
    effects = EffectsFile(file, named)
    collected = run(stack, tmp_path / "to", effects)
    assert read(tmp_path / "to") == [plain("m-1", "7"), plain("4711")]
    assert any("have no ref" in note for note in collected.notes)
    assert [one.description for one in effects.of_message("m-1")] == [{"amount": 20}]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"message_id": "m-1"', ""], "line 1, is no JSON"),
        (['["m-1"]'], "line 1, is no object"),
        (["[" * 100_000], "line 1, is no JSON"),
        ([{"ref": "m-1"}, {"ref": "m-2"}], "has a message_id, of 2"),
    ],
    ids=["cut off", "array", "deep", "another team's"],
)
def test_a_file_that_is_not_of_effects_is_told_and_leaves_no_empty_day(
    stack: Stack, tmp_path: Path, lines: list[Any], said: str
) -> None:
    collected = run(stack, tmp_path / "to", EffectsFile(brought(tmp_path, *lines), TIMED))
    assert said in collected.missing[0]
    assert not (day_folder(tmp_path / "to", "effects", TODAY) / "collected.jsonl.gz").exists()


def test_a_broken_gzip_and_no_file_are_told(stack: Stack, tmp_path: Path) -> None:
    file = brought(tmp_path, {"message_id": "m-1"}, packed=True)
    file.write_bytes(file.read_bytes()[:-9])
    collected = run(stack, tmp_path / "to", EffectsFile(file, TIMED))
    assert "cannot be read" in collected.missing[0]
    with pytest.raises(WrongUse, match="there is no such file"):
        EffectsFile(tmp_path / "none", TIMED)
