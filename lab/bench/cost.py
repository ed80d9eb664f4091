"""What a message, and a duplicate, costs each way: calls counted in memory, prices from a file.

    python -m lab.bench.cost

Handles a message with the code that ships and the example's effect, undisturbed, on the services of
the conformance suite. Writes the tables of docs/strategies/cost.md from the calls that it made and
from lab/bench/prices.json.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import typer

from actonce.stack.embedded_folder import PROJECT
from appointments import AppointmentBook
from lab.conformance.simulated_stack import (
    APPOINTMENTS_TABLE,
    TABLES,
    SimulatedStack,
    StrategyUnderTest,
    process_message,
)
from lab.conformance.strategies.known import find_way
from lab.conformance.world import World
from lab.pages import table, with_tables

PRICES = PROJECT / "lab" / "bench" / "prices.json"
PAGE = PROJECT / "docs" / "strategies" / "cost.md"

WAYS = {
    "step-functions": "step-functions",
    "on-trouble": "on-trouble",
    "lease": "lease-fenced",
    "powertools": "powertools-best",
}
"""Names on the page, and the suite's ways."""

EFFECT_SECONDS = (0.1, 1, 10)
"""How long an effect may take, for which a starter that calls it waits."""
_GIGABYTES = 0.25
"""Of the starter: `MemorySize` of template.yaml."""

BATCH_SIZES = (10, 1)
"""Deliveries per batch, all batches being full: the most that the stack allows, and the fewest."""
_SQS_REQUESTS_OF_A_BATCH = 3
"""By AWS's rule a full batch takes three: to send it, to receive it, to delete it."""
_UNIT_BYTES = 1024

Prices = Mapping[str, Any]
"""`region`, `as_of` and `prices`: dollars of a million, the source, and how far it was checked."""


@dataclass(frozen=True, slots=True)
class Count:
    """What a message takes.

    Attributes:
        requests: AWS requests that the functions make, by kind.
        transitions: of Step Functions: an execution's start, and each state entered.
        written, read: DynamoDB's units, see `units`.
        invoked: how often the effect's function is invoked; the consumer is, once per batch.
    """

    requests: Counter[str]
    transitions: int
    written: int
    read: float
    invoked: int


def units(kind: str, request: Mapping[str, Any]) -> tuple[int, float]:
    """Write and read units of a request for items of at most 1 KB.

    Raises:
        ValueError: the kind of request is unknown.

    A write takes one, even if its condition fails, and each part of a transaction two; a consistent
    read takes one, any other half of it.
    Source: "DynamoDB read and write operations", AWS; that a ConditionCheck in a transaction is
    billed as a write of the item that it looks at was measured on DynamoDB in "What a conditional
    DynamoDB transaction actually costs", martinhicks.dev.
    """
    if kind == "TransactWriteItems":
        return 2 * len(request["TransactItems"]), 0
    if kind in ("GetItem", "Query"):
        return 0, 1 if request.get("ConsistentRead") else 0.5
    if kind in ("PutItem", "UpdateItem", "DeleteItem"):
        return 1, 0
    raise ValueError(f"What {kind} takes is not known here.")


def count(one: StrategyUnderTest, *, duplicate: bool) -> Count:
    """What a new message that succeeds takes, or a duplicate of it, ten minutes later.

    Raises:
        ValueError: a kind of request is unknown, or an item is larger than 1 KB.
    """
    booking = replace(one, effect=lambda dynamodb: AppointmentBook(dynamodb, APPOINTMENTS_TABLE))
    if not duplicate:
        return _taken(booking, times=1)
    once, twice = _taken(booking, times=1), _taken(booking, times=2)
    return Count(
        twice.requests - once.requests,
        twice.transitions - once.transitions,
        twice.written - once.written,
        twice.read - once.read,
        twice.invoked - once.invoked,
    )


def _taken(one: StrategyUnderTest, *, times: int) -> Count:
    world = World(keeps_story=True)
    stack = SimulatedStack(world, one, process_message())
    for number in range(times):
        stack.send("a", after=number * 600_000)
    with one.installed(world):
        world.run()
    for name in TABLES:
        if any(len(json.dumps(item)) > _UNIT_BYTES for item in stack.tables.items(name)):
            raise ValueError(f"An item of {name} may be larger than a KB.")
    of_tables = [units(kind, request) for kind, request in stack.dynamodb.calls]
    calls = stack.dynamodb.calls + stack.stepfunctions.calls + stack.sqs.calls
    kinds = Counter(kind for kind, _ in calls)
    events = Counter(event.what.partition(" ")[0] for event in world.story)
    return Count(
        requests=kinds,
        transitions=len(stack.executions.inputs) + events["enters"],
        written=sum(written for written, _ in of_tables),
        read=sum(read for _, read in of_tables),
        invoked=events["invokes"],
    )


# A column of the page, its price, and how many of that a message takes in a batch of some size.
_BILLED: tuple[tuple[str, str, Callable[[Count, int], float]], ...] = (
    ("Step Functions", "state_transition", lambda count, _: count.transitions),
    ("DynamoDB", "write_request_unit", lambda count, _: count.written),
    ("DynamoDB", "read_request_unit", lambda count, _: count.read),
    ("SQS", "sqs_standard_request", lambda _, batch: _SQS_REQUESTS_OF_A_BATCH / batch),
    ("Lambda requests", "lambda_request", lambda count, batch: count.invoked + 1 / batch),
)


def dollars_per_million(count: Count, batch: int, prices: Prices) -> dict[str, float]:
    """What a million such messages cost in batches of this size, by column; and `total`."""
    dollars = {column: 0.0 for column, *_ in _BILLED}
    for column, price, number in _BILLED:
        # Dollars of a million units, times units of a message: dollars of a million messages.
        dollars[column] += prices["prices"][price]["dollars_per_million"] * number(count, batch)
    return dollars | {"total": sum(dollars.values())}


def page(text: str, prices: Prices) -> str:
    """The page with its tables written anew."""
    new, duplicates = (
        {name: count(find_way(known), duplicate=duplicate) for name, known in WAYS.items()}
        for duplicate in (False, True)
    )
    always, on_trouble = new["step-functions"], new["on-trouble"]
    tables = {
        "dollars of a message": _dollars(new, duplicates, prices),
        "taken by a message": _requests(new),
        "dollars of waiting": _waiting(always, on_trouble, prices),
    }
    return with_tables(text, tables)


def _dollars(counts: Mapping[str, Count], duplicates: Mapping[str, Count], prices: Prices) -> str:
    rows = []
    for name, one in counts.items():
        for batch in BATCH_SIZES:
            *parts, total = map(_cents, dollars_per_million(one, batch, prices).values())
            again = _cents(dollars_per_million(duplicates[name], batch, prices)["total"])
            rows.append([name, str(batch), *parts, f"**{total}**", again])
    columns = dict.fromkeys(column for column, *_ in _BILLED)
    return table(("way", "batch", *columns, "total", "a duplicate"), rows)


def _waiting(always: Count, on_trouble: Count, prices: Prices) -> str:
    """What the starter's wait adds where it calls the effect, and from where on it is dearer."""
    per_second = prices["prices"]["lambda_gb_second"]["dollars_per_million"] * _GIGABYTES
    rows = []
    for batch in BATCH_SIZES:
        base, other = (
            dollars_per_million(one, batch, prices)["total"] for one in (on_trouble, always)
        )
        for seconds in EFFECT_SECONDS:
            waits = per_second * seconds / batch
            total = f"**{_cents(base + waits)}**"
            rows.append([f"{seconds:g} s", str(batch), _cents(waits), total])
        even = f"{(other - base) * batch / per_second:.1f} s"
        rows.append([even, str(batch), _cents(other - base), f"**{_cents(other)}**"])
    return table(("an effect of", "batch", "waiting", "total"), rows)


def _cents(dollars: float) -> str:
    # By its decimals, so that half a cent is rounded up.
    return str(Decimal(f"{dollars:.6f}").quantize(Decimal("0.01"), ROUND_HALF_UP))


def _requests(counts: Mapping[str, Count]) -> str:
    rows: Iterable[list[str]] = (
        [
            name,
            ", ".join(f"{number} {kind}" for kind, number in sorted(one.requests.items())),
            str(one.transitions),
            f"{one.written} / {one.read:g}",
            str(one.invoked),
        ]
        for name, one in counts.items()
    )
    names = ("transitions", "units written / read", "invocations of the effect's function")
    return table(("way", "AWS requests", *names), rows)


def main() -> None:
    """Count what each way takes, and write what a million messages cost."""
    PAGE.write_text(page(PAGE.read_text(), json.loads(PRICES.read_text())))


if __name__ == "__main__":
    typer.run(main)
