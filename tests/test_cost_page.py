"""The page of costs is what the committed counts and prices give, and the sums are right."""

import json
import re
from datetime import date
from typing import Any

import pytest

from lab.bench.cost import COUNTS, PAGE, PRICES
from lab.bench.costing import capacity
from lab.bench.costing.counts import read_counts
from lab.bench.costing.dollars import read_prices
from lab.bench.costing.page import page, with_lock_workflow

FINGERPRINTS = capacity.Table.of(
    ("message_id",), [{"message_id": {"S": "a"}, "fingerprint": {"S": "0" * 64}}]
)


def test_the_committed_page_is_what_the_counts_and_prices_give() -> None:
    assert PAGE.read_text() == page(read_counts(COUNTS), read_prices(PRICES)), (
        "docs/strategies/cost.md is stale; run python -m lab.bench.cost --from-counts --write."
    )


def test_the_totals_on_the_page_are_the_units_times_the_prices() -> None:
    price = {
        name: of_one["dollars_per_million"]
        for name, of_one in json.loads(PRICES.read_text())["prices"].items()
    }
    expected = []
    rows = with_lock_workflow(read_counts(COUNTS)["counts"])
    for traffic in ("message", "duplicate"):
        for row in (row for row in rows if row["traffic"] == traffic):
            gigabyte_seconds = row["lambda_ms"] / 1000 * row["memory_mb"] / 1024
            dollars = (
                row["state_transitions"] * price["state_transition"]
                + row["write_units"] * price["write_request_unit"]
                + row["read_units"] * price["read_request_unit"]
                + row["sqs_requests"] * price["sqs_standard_request"]
                + row["invocations"] * price["lambda_request"]
                + gigabyte_seconds * price["lambda_gb_second"]
            )
            expected.append(dollars / row["messages"])
    written = [
        float(total) for total in re.findall(r"\*\*([0-9.]+)\*\* \|$", PAGE.read_text(), re.M)
    ]
    assert written == [pytest.approx(dollars, abs=0.006) for dollars in expected]


def test_prices_are_dated_and_name_their_aws_page() -> None:
    prices = read_prices(PRICES)
    assert date.fromisoformat(prices["as_of"])
    for price in prices["prices"].values():
        assert price["source"].startswith("https://aws.amazon.com/")
        assert price["checked"]
        assert price["dollars_per_million"] > 0


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "über"}, 5),
        ({"N": "12345"}, 4),
        ({"N": "-100"}, 3),
        ({"BOOL": True}, 1),
        ({"L": [{"S": "ab"}, {"NULL": True}]}, 3 + 3 + 2),
        ({"M": {"k": {"S": "ab"}}}, 3 + 4),
    ],
)
def test_an_item_is_as_large_as_aws_says(value: dict[str, Any], size: int) -> None:
    assert capacity.item_bytes({"name": value}) == len("name") + size


@pytest.mark.parametrize(
    ("characters", "units"), [(1, 1), (1024 - 10 - 1 - 1, 1), (1024 - 10 - 1, 2), (3000, 3)]
)
def test_a_write_takes_a_unit_for_each_kilobyte(characters: int, units: int) -> None:
    item = {"message_id": {"S": "b"}, "x": {"S": "x" * characters}}
    request = {"TableName": "fingerprints", "Item": item}
    assert capacity.write_units("PutItem", request, {"fingerprints": FINGERPRINTS}) == units


def test_a_write_is_weighed_by_the_larger_item_that_was_there() -> None:
    large = {"message_id": {"S": "a"}, "x": {"S": "x" * 3000}}
    table = capacity.Table.of(("message_id",), [large])
    request = {"TableName": "t", "Item": {"message_id": {"S": "a"}}}
    assert capacity.write_units("PutItem", request, {"t": table}) == 3
    update = {"TableName": "t", "Key": {"message_id": {"S": "a"}}}
    assert capacity.write_units("UpdateItem", update, {"t": table}) == 3


def test_each_part_of_a_transaction_takes_twice_its_units() -> None:
    check = {"TableName": "fingerprints", "Key": {"message_id": {"S": "a"}}}
    put = {"TableName": "fingerprints", "Item": {"message_id": {"S": "b"}}}
    request = {"TransactItems": [{"ConditionCheck": check}, {"Put": put}]}
    tables = {"fingerprints": FINGERPRINTS}
    assert capacity.write_units("TransactWriteItems", request, tables) == 4


def test_a_consistent_read_takes_twice_what_another_takes() -> None:
    request = {"TableName": "fingerprints", "Key": {"message_id": {"S": "a"}}}
    tables = {"fingerprints": FINGERPRINTS}
    assert capacity.read_units("GetItem", request, tables) == 0.5
    assert capacity.read_units("GetItem", request | {"ConsistentRead": True}, tables) == 1


def test_units_of_a_request_that_is_not_known_are_not_guessed() -> None:
    with pytest.raises(ValueError, match="units of Query"):
        capacity.write_units("Query", {}, {})
