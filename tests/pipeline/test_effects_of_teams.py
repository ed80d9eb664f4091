"""Effects as teams keep them: items of their own tables, lines and Parquet of their own files."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.cache import Cache, DayCounts, Manifest
from actonce_pipeline.audit.horizon import Horizon
from actonce_pipeline.audit.job import _check_effects_have_times
from actonce_pipeline.audit.reading.effects import Attributes, effect_id_of, parse_time
from actonce_pipeline.audit.reading.events import records
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.records import rows_of
from actonce_pipeline.audit.reading.row import Row
from actonce_pipeline.audit.reading.streams import Code
from actonce_pipeline.audit.request import Request
from actonce_pipeline.audit.times import DAY_MS, in_ms, midnight
from actonce_pipeline.errors import CannotAudit
from tests.pipeline.judge import Record
from tests.pipeline.nights import audited, judgements_of
from tests.pipeline.streams_on_disk import DAY, at, delivery, execution, put, with_ids, write

OF_SHOP = "order_id,sent_at,card"
TIME = f"{DAY}T09:00:00Z"
MS = in_ms(datetime.fromisoformat(TIME))
WITHOUT_EFFECTS = ("deliveries", "executions", "dead_letters")


def read(value: Any, attributes: str | None = OF_SHOP) -> Row:
    """The row of a line of `effects`."""
    by = None if attributes is None else Attributes.of_output(attributes)
    (row,) = rows_of(f"s3://r/effects/dt={DAY}/a", json.dumps(value).encode(), attributes=by)
    return row


def item(order: Any = "o-1", time: Any = TIME, card: str = "c-1") -> dict[str, Any]:
    """A gift card as an export has it."""
    known = {"order_id": order, "sent_at": time, "card_id": card}
    typed = {
        name: value if isinstance(value, dict) else {"S": value}
        for name, value in known.items()
        if value is not None
    }
    keys = {name: typed[name] for name in ("order_id", "card_id") if name in typed}
    return {"Metadata": {}, "Keys": keys, "NewImage": typed}


def done(count: int = 1) -> list[Record]:
    """What messages leave that were acted on, but for the effects."""
    each = [
        delivery("", at(32_399)),
        execution("", at(32_399), "RUNNING"),
        execution("", at(32_401), "SUCCEEDED", "performed"),
    ]
    return with_ids({f"o-{number}": each for number in range(1, count + 1)})


# ------------------------------------------------------------------------------- items


@pytest.mark.parametrize(
    ("order", "message_id"),
    [
        ("o-1", "o-1"),
        ({"N": "4711"}, "4711"),
        ({"N": "12345678901234567890123456789012345678"}, "12345678901234567890123456789012345678"),
        ({"N": "1.50"}, "1.5"),
    ],
)
@pytest.mark.parametrize("time", [TIME, f"{DAY}T10:00:00+01:00", {"N": str(MS // 1000)},
                                  {"N": str(MS)}, {"N": f"{MS // 1000}.000"}])  # fmt: skip
def test_an_effect_is_read_by_the_attributes_that_the_stack_names(
    order: Any, message_id: str, time: Any
) -> None:
    row = read(item(order, time))
    values = (row.message_id, row.at, row.code, row.description, row.problem)
    assert values == (message_id, MS, int(Code.EFFECT), "c-1", None)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (item(order=None), "missing_field"),
        (item(order=""), "missing_field"),
        (item(order={"L": [{"S": "o-1"}]}), "wrong_type"),
        (item(order={"N": "five"}), "wrong_type"),
        (item(order={"N": "1E+999999999"}), "wrong_type"),
        (item(time=""), "wrong_type"),
        (item(time=f"{DAY}T09:00:00"), "wrong_type"),
        (item(time={"BOOL": True}), "wrong_type"),
        (item(time={"N": "NaN"}), "wrong_type"),
        (item(time={"N": "5"}), "impossible_time"),
        (item() | {"Keys": ["order_id"]}, "wrong_type"),
        ({"Keys": item()["Keys"]}, "deleted_effect"),
        ({"Item": item()["NewImage"]}, "full_export"),
        ({}, "not_a_record"),
        ({"sent_at": TIME}, "missing_field"),
        ({"order_id": "o-1"}, "missing_field"),
        ({"order_id": ["o-1"], "sent_at": TIME}, "wrong_type"),
        ({"order_id": "o-1", "sent_at": TIME, "effect_id": {"S": "c"}}, "wrong_type"),
    ],
)
def test_what_is_wrong_with_an_effect_is_told(value: Any, problem: str) -> None:
    assert (read(value).message_id, read(value).problem) == (None, problem)
    assert read(value, None).problem == "attributes_unknown"


@pytest.mark.parametrize(
    "value",
    [
        item(time=None),
        item(time={"NULL": True}),
        item(order={"L": []}, time=None),  # the other writer's attribute of that name
        {"order_id": "o-1", "sent_at": None},
    ],
)
def test_what_has_no_time_is_another_writers_and_no_effect(value: Any) -> None:
    row = read(value)
    assert (row.code, row.message_id, row.at, row.problem) == (
        int(Code.OF_ANOTHER), None, None, None,
    )  # fmt: skip


def test_names_of_attributes_hold_any_character_but_a_comma() -> None:
    value = {"order id.#1": 5, "sent at:µs": MS * 1000, "effect_id": 7}
    row = read(value, " order id.#1 , sent at:µs ")
    assert (row.message_id, row.at, row.description) == ("5", MS, "7")


@pytest.mark.parametrize(
    ("keys", "effect_id"),
    [
        ({"m": {"S": "o-1"}}, None),
        ({"m": {"S": "o-1"}, "card": {"S": "c"}}, "c"),
        ({"card": {"B": "AP8="}}, "00ff"),
        ({"card": {"B": b"\0\xff"}}, "00ff"),  # as boto3 has it
        ({"b": {"N": "1"}, "a": {"S": "x"}}, '["x", "1"]'),
        ({"a": {"S": "x"}, "b": {"N": "1"}}, '["x", "1"]'),
    ],
)
def test_an_effect_is_known_by_its_keys_but_the_messages_whatever_their_order(
    keys: Mapping[str, Any], effect_id: str | None
) -> None:
    assert effect_id_of(keys, "m") == effect_id


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_a_number_is_a_time_in_whichever_unit(unit: int) -> None:
    expected = datetime.fromisoformat(TIME)
    for values in (MS // 1000 * unit, float(MS // 1000 * unit), Decimal(MS // 1000 * unit)):
        assert parse_time(values) == expected


# ------------------------------------------------------------------------------- nights


def exported(root: Path, *lines: Any, day: str = DAY) -> None:
    """Put lines as an export that has ended."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    put(root, "effects", "AWSDynamoDB/data/a.json", text.encode(), day)
    put(root, "effects", "AWSDynamoDB/1/manifest-summary.json", b'{"tableArn": "arn:shop"}', day)


def test_a_second_effect_of_a_teams_table_is_told_beside_the_items_of_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, done(3), WITHOUT_EFFECTS)
    # The third was collected, too: that is one and the same effect.
    collected = {"message_id": "o-3", "effect_id": "c-3", "at": at(32_400)}
    put(root, "effects", "collected.jsonl", json.dumps(
        {"stream": "effects", "version": 1, **collected}).encode())  # fmt: skip
    exported(
        root,
        item("o-1", card="c-1"),
        item("o-1", card="c-2"),
        item("o-2", card="c-1"),
        item("o-3", card="c-3"),
        item("customer-1", time=None),
        item("customer-2", time={"NULL": True}),
    )
    summary = audited(spark, root, effects=OF_SHOP)
    assert judgements_of(root / "audit") == {
        "o-1": ("performed_again", True),
        "o-2": ("performed_once", True),
        "o-3": ("performed_once", True),
    }
    assert (summary["exit_status"], summary["quarantine"]["lines"]) == (1, 0)
    assert summary["notes"] == [
        "Items of the effects table without sent_at, which are not counted as effects: 2."
    ]


def test_a_time_that_no_item_has_makes_no_message_lost(spark: SparkSession, tmp_path: Path) -> None:
    root = write(tmp_path, done(), WITHOUT_EFFECTS)
    exported(root, item())
    with pytest.raises(CannotAudit, match=f"Of the effects of {DAY} nothing has sentat "):
        audited(spark, root, effects="order_id,sentat")
    assert not (root / "audit" / "messages").exists()
    # What was read by other names is read again.
    assert audited(spark, root, effects=OF_SHOP)["exit_status"] == 0


@pytest.mark.parametrize(
    ("over", "counts", "wrong"),
    [
        (DAY_MS, DayCounts(of_others=1, performed=1), True),
        (DAY_MS, DayCounts(of_others=1), False),  # nothing was asked for, and others may write
        (DAY_MS, DayCounts(of_others=1, performed=1, effects=1), False),
        (0, DayCounts(of_others=1, performed=1), False),  # effects may be exported later
    ],
)
def test_a_time_is_missed_on_days_that_are_over_and_on_which_something_was_performed(
    over: int, counts: DayCounts, wrong: bool
) -> None:
    day = date.fromisoformat(DAY)
    request = Request("records", effects=Attributes.of_output(OF_SHOP))
    cache = Cache(cast("SparkSession", None), "out")
    cache.days = {day: Manifest({}, {}, counts, "v")}
    end = midnight(day) + over
    with pytest.raises(CannotAudit) if wrong else nullcontext():
        _check_effects_have_times(cache, request, (day, day), Horizon(end, end))


def test_effects_that_cannot_be_read_make_no_message_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, done(), WITHOUT_EFFECTS)
    exported(root, item())
    summary = audited(spark, root, effects="orderid,sent_at")
    assert (summary["exit_status"], summary["quarantine"]["by_reason"]) == (3, {"missing_field": 1})
    assert judgements_of(root / "audit") == {"o-1": ("in_flight", False)}


def test_an_effect_without_an_id_is_taken_on_trust_also_beside_one_that_has_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, done(), WITHOUT_EFFECTS)
    known = {"order_id": "o-1", "sent_at": TIME}
    lines = (json.dumps(one).encode() for one in (known | {"effect_id": "c-1"}, known))
    put(root, "effects", "own.jsonl", b"\n".join(lines))
    assert audited(spark, root, effects=OF_SHOP)["exit_status"] == 4


# ------------------------------------------------------------------------------- parquet


def table(time: pa.Array, order: Any = None, **more: Any) -> pa.Table:
    orders = pa.array(["o-1"] * len(time)) if order is None else order
    return pa.table({"order_id": orders, "sent_at": time, **more})


def as_time(unit: str, zone: str | None = None) -> pa.Array:
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return pa.array([MS // 1000 * per_second], pa.timestamp(unit, zone))


TIMES = {
    **{f"{unit} {zone}": as_time(unit, zone) for unit, zone in (
        ("ms", None), ("ms", "Europe/Berlin"), ("us", "UTC"), ("us", None), ("ns", "Europe/Berlin"),
    )},
    **{f"a number of {kind}": pa.array([MS], kind) for kind in (pa.int64(), pa.float64())},
    "a text": pa.array([TIME]),
}  # fmt: skip


@pytest.fixture
def read_table(spark: SparkSession, tmp_path: Path) -> Any:
    def read(*tables: pa.Table | bytes, attributes: str | None = OF_SHOP) -> list[Row]:
        folder = tmp_path / "effects" / f"dt={DAY}"
        folder.mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(tables):
            file = folder / f"a [{number}]{{x}} %20.parquet"
            if isinstance(one, bytes):
                file.write_bytes(one)
            else:
                pq.write_table(one, file)
        by = None if attributes is None else Attributes.of_output(attributes)
        found = records(spark, list_records(spark, str(tmp_path)).files, by).collect()
        return sorted((Row(**one.asDict()) for one in found), key=str)

    return read


def test_a_time_of_parquet_is_read_whatever_its_type(read_table: Any) -> None:
    found = read_table(*(table(time, effect_id=pa.array([7])) for time in TIMES.values()))
    values = {(row.message_id, row.at, row.description, row.problem) for row in found}
    assert (len(found), values) == (len(TIMES), {("o-1", MS, "7", None)})


def test_ids_of_parquet_are_those_of_messages_and_each_effect_has_its_own(read_table: Any) -> None:
    """Numbers that are not always there are floats; a time tells by its microseconds."""
    effect_ids = pa.array([MS * 1000, MS * 1000 + 1, None], pa.timestamp("us", "UTC"))
    found = read_table(table(pa.array([TIME] * 3), [4711.0, 4711.0, 2.0**53], effect_id=effect_ids))
    assert sorted((row.message_id, row.description) for row in found) == [
        ("4711", f"{DAY}T09:00:00.000000Z"), ("4711", f"{DAY}T09:00:00.000001Z"),
        ("9007199254740992.0", "an effect"),  # it may be rounded
    ]  # fmt: skip


def test_a_file_of_parquet_that_is_none_takes_no_other_along(read_table: Any) -> None:
    good = table(pa.array([TIME, None]), pa.array([4711, 4712], pa.decimal128(38, 0)))
    sink = pa.BufferOutputStream()
    many = table(pa.array([f"{TIME}"] * 5000), pa.array([f"o-{n}" for n in range(5000)]))
    pq.write_table(many, sink, compression="none")
    torn = bytearray(sink.getvalue().to_pybytes())
    torn[8:4000] = b"\xff" * 3992
    found = read_table(
        good,
        bytes(torn),
        b"PAR1",
        b"order_id,sent_at\n",
        pa.table({"order_id": ["o-1"], "Sent_at": [TIME]}),
        table(pa.array([TIME]), pa.array([b"o-1"])),
        table(pa.array([TIME]), pa.array([{"id": "o-1"}])),
        table(pa.array([datetime(2026, 1, 31, tzinfo=UTC).date()])),
        table(pa.array([TIME]), nested=pa.array([{"a": [1]}])),
    )
    files = {row.file and row.file.rpartition("/")[2][3]: row.problem for row in found}
    assert {row.message_id for row in found if row.code == Code.EFFECT} == {"4711", "o-1"}
    assert [row.code for row in found].count(Code.OF_ANOTHER) == 1
    unreadable = dict.fromkeys("123", "unreadable_parquet")
    assert files == unreadable | {
        None: None, "4": "missing_column", "5": "wrong_type", "6": "wrong_type", "7": "wrong_type",
    }  # fmt: skip
    assert len(found) == 3 + 7


def test_parquet_under_another_name_is_told(tmp_path: Path) -> None:
    put(tmp_path, "effects", "unloaded_000", b"PAR1 and more")
    (row,) = rows_of(f"file://{tmp_path}/effects/dt={DAY}/unloaded_000")
    assert row.problem == "unknown_format"
