"""Prices times counts. The prices are in `prices.json`, dated, each with its source."""

import json
from pathlib import Path
from typing import TypedDict

from lab.bench.costing.counts import Count

_MB_MS_PER_GB_SECOND = 1024 * 1000


class Price(TypedDict):
    """Dollars for a million of something, where that is said, and how far that was checked."""

    dollars_per_million: float
    source: str
    checked: str


class Prices(TypedDict):
    """On-demand prices of one Region; free tiers are not taken off."""

    region: str
    as_of: str
    prices: dict[str, Price]


class Dollars(TypedDict):
    """Dollars for a million messages, by what AWS bills; `lambda_time` is this machine's."""

    step_functions: float
    dynamodb: float
    sqs: float
    lambda_requests: float
    lambda_time: float


def read_prices(path: Path) -> Prices:
    """Read the prices."""
    prices: Prices = json.loads(path.read_text())
    return prices


def dollars_per_million(count: Count, prices: Prices) -> Dollars:
    """What a million messages cost that are as the counted ones."""

    def cost(name: str, number: float) -> float:
        # Dollars of a million units, times units of a message: dollars of a million messages.
        return prices["prices"][name]["dollars_per_million"] * number / count["messages"]

    return {
        "step_functions": cost("state_transition", count["state_transitions"]),
        "dynamodb": cost("write_request_unit", count["write_units"])
        + cost("read_request_unit", count["read_units"]),
        "sqs": cost("sqs_standard_request", count["sqs_requests"]),
        "lambda_requests": cost("lambda_request", count["invocations"]),
        "lambda_time": cost(
            "lambda_gb_second", count["lambda_ms"] * count["memory_mb"] / _MB_MS_PER_GB_SECOND
        ),
    }


def total(dollars: Dollars) -> float:
    """All of them."""
    return (
        dollars["step_functions"]
        + dollars["dynamodb"]
        + dollars["sqs"]
        + dollars["lambda_requests"]
        + dollars["lambda_time"]
    )
