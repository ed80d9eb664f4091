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


def item(message_id: str, characters: int = 0) -> dict[str, Any]:
    return {"message_id": {"S": message_id}} | (
        {"x": {"S": "x" * characters}} if characters else {}
    )


@pytest.mark.parametrize(
    ("operation", "request_", "units"),
    [
        # A write takes a unit for each kilobyte,
        ("PutItem", {"Item": item("b", 1)}, 1),
        ("PutItem", {"Item": item("b", 1024 - 10 - 1 - 1)}, 1),
        ("PutItem", {"Item": item("b", 1024 - 10 - 1)}, 2),
        # of the larger item that was there,
        ("PutItem", {"Item": item("large")}, 3),
        ("UpdateItem", {"Key": item("large")}, 3),
        # and each part of a transaction twice as many.
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"ConditionCheck": {"TableName": "t", "Key": item("a")}},
                    {"Put": {"TableName": "t", "Item": item("b")}},
                ]
            },
            4,
        ),
    ],
)
def test_units_of_a_write(operation: str, request_: dict[str, Any], units: int) -> None:
    table = capacity.Table.of(("message_id",), [item("large", 3000), item("a", 64)])
    assert capacity.write_units(operation, {"TableName": "t", **request_}, {"t": table}) == units


def test_a_consistent_read_takes_twice_what_another_takes() -> None:
    tables = {"t": capacity.Table.of(("message_id",), [item("a", 64)])}
    for consistent, units in ((False, 0.5), (True, 1)):
        request = {"TableName": "t", "Key": item("a"), "ConsistentRead": consistent}
        assert capacity.read_units("GetItem", request, tables) == units


def test_units_of_a_request_that_is_not_known_are_not_guessed() -> None:
    with pytest.raises(ValueError, match="units of Query"):
        capacity.write_units("Query", {}, {})
