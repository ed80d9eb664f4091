"""The page of costs is what the committed counts and prices give, and the sums are right."""

import json
import re
from datetime import date
from typing import Any

import pytest

from actonce.terminal.errors import Failed
from lab.bench.cost import COUNTS, PAGE, PRICES, page
from lab.bench.costing.counting import units


def test_the_committed_page_is_what_the_counts_and_prices_give() -> None:
    text = PAGE.read_text()
    counts, prices = json.loads(COUNTS.read_text()), json.loads(PRICES.read_text())

    assert text == page(text, counts, prices), "run python -m lab.bench.cost --from-counts --write."

    price = {name: one["dollars_per_million"] for name, one in prices["prices"].items()}
    expected = []
    for row in sorted(counts["counts"], key=lambda row: row["traffic"], reverse=True):
        gigabyte_seconds = row["lambda_ms"] / 1000 * row["memory_mb"] / 1024
        dollars = (
            row["state_transitions"] * price["state_transition"]
            + row["write_units"] * price["write_request_unit"]
            + row["read_units"] * price["read_request_unit"]
            + row["sqs_requests"] * price["sqs_standard_request"]
            + row["invocations"] * price["lambda_request"]
            + gigabyte_seconds * price["lambda_gb_second"]
        )
        expected.append(pytest.approx(dollars / row["messages"], abs=0.006))
    assert [float(total) for total in re.findall(r"\*\*([0-9.]+)\*\* \|$", text, re.M)] == expected


def test_prices_are_dated_and_name_their_aws_page() -> None:
    prices = json.loads(PRICES.read_text())
    assert date.fromisoformat(prices["as_of"])
    for price in prices["prices"].values():
        assert price["source"].startswith("https://aws.amazon.com/")
        assert price["checked"]
        assert price["dollars_per_million"] > 0


@pytest.mark.parametrize(
    ("kind", "request_", "expected"),
    [
        ("UpdateItem", {}, (1, 0)),
        ("TransactWriteItems", {"TransactItems": [{"ConditionCheck": {}}, {"Put": {}}]}, (4, 0)),
        ("GetItem", {}, (0, 0.5)),
        ("GetItem", {"ConsistentRead": True}, (0, 1)),
    ],
)
def test_a_request_takes_the_units_that_aws_says(
    kind: str, request_: dict[str, Any], expected: tuple[int, float]
) -> None:
    assert units(kind, request_) == expected


def test_what_takes_units_that_nobody_knows_is_not_counted_as_none() -> None:
    with pytest.raises(Failed, match="BatchWriteItem"):
        units("BatchWriteItem", {})
