"""What a message, and a duplicate, costs each way: counted on the embedded AWS, priced by a file.

    python -m lab.bench.cost
    python -m lab.bench.cost --from-counts     the same counts, new prices

Every strategy runs on an embedded AWS of its own, taken down at the end, and Powertools'
Idempotency beside them; takes some minutes. The counts are kept in lab/bench/cost_counts.json, and
the tables of docs/strategies/cost.md written from them and lab/bench/prices.json.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any

import typer
from rich.console import Console

from actonce.stack.embedded_folder import PROJECT
from lab.bench.costing.counting import Count, count_all
from lab.bench.report import machine
from lab.pages import table, with_tables

COUNTS = PROJECT / "lab" / "bench" / "cost_counts.json"
PRICES = PROJECT / "lab" / "bench" / "prices.json"
PAGE = PROJECT / "docs" / "strategies" / "cost.md"

Prices = Mapping[str, Any]
"""`region`, `as_of` and `prices`: dollars of a million, the source, and how far it was checked."""

_MB_MS_PER_GB_SECOND = 1024 * 1000

# A column of the page, the price that it goes by, and how many of that a count has.
_BILLED: tuple[tuple[str, str, Callable[[Count], float]], ...] = (
    ("Step Functions", "state_transition", lambda count: count["state_transitions"]),
    ("DynamoDB", "write_request_unit", lambda count: count["write_units"]),
    ("DynamoDB", "read_request_unit", lambda count: count["read_units"]),
    ("SQS", "sqs_standard_request", lambda count: count["sqs_requests"]),
    ("Lambda requests", "lambda_request", lambda count: count["invocations"]),
    (
        "Lambda time, here",
        "lambda_gb_second",
        lambda count: count["lambda_ms"] * count["memory_mb"] / _MB_MS_PER_GB_SECOND,
    ),
)


def dollars_per_million(count: Count, prices: Prices) -> dict[str, float]:
    """What a million messages cost that are as the counted ones, by column; and `total`."""
    dollars = {column: 0.0 for column, *_ in _BILLED}
    for column, price, number in _BILLED:
        # Dollars of a million units, times units of a message: dollars of a million messages.
        each = prices["prices"][price]["dollars_per_million"]
        dollars[column] += each * number(count) / count["messages"]
    return dollars | {"total": sum(dollars.values())}


def page(text: str, counts: Mapping[str, Any], prices: Prices) -> str:
    """The page with its tables written anew."""
    by_traffic = {
        traffic: [count for count in counts["counts"] if count["traffic"] == traffic]
        for traffic in ("message", "duplicate")
    }
    tables = {f"dollars of a {name}": _dollars(of, prices) for name, of in by_traffic.items()}
    tables["taken by a message"] = _taken(by_traffic["message"])
    where = ", ".join(f"{name} {value}" for name, value in counts["machine"].items())
    tables["prices"] = f"Of {prices['region']}, as of {prices['as_of']}.\n\n{_prices(prices)}"
    tables["counted"] = f"Counted on {counts['counted_on']}: {where}."
    return with_tables(text, tables)


def _dollars(counts: Iterable[Count], prices: Prices) -> str:
    rows = []
    for count in counts:
        dollars = dollars_per_million(count, prices)
        total, time = dollars.pop("total"), dollars.pop("Lambda time, here")
        cells = [_cents(one) for one in (*dollars.values(), total - time, time)]
        rows.append([count["way"], str(count["batch_size"]), *cells, f"**{_cents(total)}**"])
    names = ("Step Functions", "DynamoDB", "SQS", "Lambda requests", "so far")
    return table(("way", "batch", *names, "Lambda time, here", "total"), rows)


def _cents(dollars: float) -> str:
    # From its decimals, not its bits: half a cent is rounded up as people do.
    return str(Decimal(f"{dollars:.6f}").quantize(Decimal("0.01"), ROUND_HALF_UP))


def _taken(counts: Iterable[Count]) -> str:
    rows = []
    for count in counts:

        def each(number: float, messages: int = count["messages"]) -> str:
            return f"{number / messages:.4g}"  # without needless zeros

        requests = [f"{each(number)} {kind}" for kind, number in count["requests"].items()]
        rows.append(
            [
                *(count["way"], str(count["batch_size"]), ", ".join(requests)),
                each(count["state_transitions"]),
                f"{each(count['write_units'])} / {each(count['read_units'])}",
                *(each(count["invocations"]), each(count["lambda_ms"])),
                each(count["sqs_requests"]),
            ]
        )
    names = ("AWS requests", "transitions", "units written / read", "invocations", "ms, here")
    return table(("way", "batch", *names, "SQS requests"), rows)


def _prices(prices: Prices) -> str:
    rows = [
        [
            name.replace("_", " "),
            f"{price['dollars_per_million']:g}",
            f"<{price['source']}>",
            price["checked"],
        ]
        for name, price in prices["prices"].items()
    ]
    return table(("a million of", "dollars", "source", "checked"), rows)


def main(
    *,
    from_counts: Annotated[
        bool, typer.Option("--from-counts", help="Take the kept counts instead of counting.")
    ] = False,
) -> None:
    """Count what each way takes, and write what a million messages cost."""
    if from_counts:
        counts = json.loads(COUNTS.read_text())
    else:
        counts = {
            "counted_on": datetime.now(UTC).date().isoformat(),
            "machine": machine("ministack", "boto3", "aws-lambda-powertools"),
            "counts": count_all(Console(stderr=True).print),
        }
    COUNTS.write_text(json.dumps(counts, indent=2) + "\n")
    PAGE.write_text(page(PAGE.read_text(), counts, json.loads(PRICES.read_text())))


if __name__ == "__main__":
    typer.run(main)
