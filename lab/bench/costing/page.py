"""The page docs/strategies/cost.md: written from counts and prices, never by hand."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from lab.bench.costing.counts import (
    BATCH_SIZES,
    LOCK_WORKFLOW,
    Count,
    Counts,
    Traffic,
    lock_workflow,
)
from lab.bench.costing.dollars import Prices, dollars_per_million, total

_TITLES: dict[Traffic, str] = {
    "message": "A message that succeeds",
    "duplicate": "A duplicate of a message that was acted on",
}

_HEAD = """\
# What each way costs

Written by `python -m lab.bench.cost --write`; change `lab/bench/prices.json` and run
`python -m lab.bench.cost --from-counts --write` to price the counts anew.
"""

_NOTES = """\
## What is counted, and what is by rule

- **Counted** on an embedded AWS of each way's own, 10 messages at a time in full batches: the
  requests of the functions, as its CloudTrail recorded them; state transitions, as the executions'
  histories say (the start, and each state entered); invocations and milliseconds, as the functions'
  `REPORT` lines say. In each count the appointments were counted too: a message wrote one, a
  duplicate none.
- **By AWS's rule**: DynamoDB's units, from the requests and the items they met (a unit per KB
  written, twice in a transaction, and for a failed condition too). SQS requests, because the
  embedded AWS does not record its own polling: one to send, one to receive and one to delete a
  batch. Real batches are less full when traffic is low, and Lambda polls an empty queue as well.
- **Milliseconds are this machine's**, of functions warmed before: {cores} cores that other work
  shares (a load of {before} before and {after} after), and no network. They are not what AWS would
  bill, so "so far" is the sum without them.
- **`powertools`** is Idempotency of Powertools for AWS Lambda with its batch processor, around the
  same effect as a plain function, at its best: the producer's id as the key, the content compared.
- **`lock workflow`** is not run but read: the public workflow of six states with a lock table
  ([aws-samples](https://github.com/aws-samples/aws-stepfunctions-examples/tree/main/sam/app-control-concurrency-with-dynamodb)),
  with the effect in place of its demonstration, the lock got at the first try, its item below 1 KB
  (it names every holder), and in front of it our queue and a starter without a fingerprint, with
  the milliseconds of step-functions. The lock remembers nothing once it is released: **its
  duplicate is acted on again**, unless its executions are named by the message, which is what
  step-functions does without a lock.
- **ledger and lease** write the row twice and the effect in one transaction with a fence, which
  takes four units; powertools has no fence. The ways differ in what they promise, not only in
  price.
- **lease** writes the row once more for each heartbeat: here the effect ended before the first, a
  quarter of a lease after it began.
- A message that fails, is retried, or is waited for costs more. So do a duplicate of a message *in
  progress* behind a lock (it comes back until the first attempt has ended), and tables that hold
  items above 1 KB.
- **Not counted**, and on top of it for each way: logs, traces (X-Ray is on), metrics, alarms,
  storage and backups of the tables, a FIFO queue's higher price. Free tiers are not taken off.
"""


def page(counts: Counts, prices: Prices) -> str:
    """The whole page, in Markdown."""
    machine = counts["machine"]
    rows = with_lock_workflow(counts["counts"])
    parts = [_HEAD]
    for traffic, title in _TITLES.items():
        of_traffic = [count for count in rows if count["traffic"] == traffic]
        parts.append(f"## {title}\n\nDollars per million, {prices['region']}, on demand:\n")
        parts.append(_dollars(of_traffic, prices))
        parts.append("What one takes:\n")
        parts.append(_taken(of_traffic))
    parts.append(
        _NOTES.format(
            cores=machine["cores"], before=machine["load before"], after=machine["load after"]
        )
    )
    parts.append(f"## Prices\n\nOf {prices['region']}, as of {prices['as_of']}.\n")
    parts.append(_prices(prices))
    where = ", ".join(f"{name} {value}" for name, value in machine.items())
    versions = ", ".join(f"{name} {value}" for name, value in counts["versions"].items())
    parts.append(f"Counted on {counts['counted_on']}: {where}; {versions}.\n")
    return "\n".join(parts)


def with_lock_workflow(counts: Sequence[Count]) -> list[Count]:
    """The counts, and beside them what the lock workflow takes by its definition."""
    read: list[Count] = []
    for batch_size in BATCH_SIZES:
        (step_functions,) = (
            count
            for count in counts
            if (count["way"], count["traffic"], count["batch_size"])
            == ("step-functions", "message", batch_size)
        )
        read += [lock_workflow(step_functions, traffic) for traffic in _TITLES]
    return [*counts, *read]


def _dollars(counts: Iterable[Count], prices: Prices) -> str:
    rows = []
    for count in counts:
        dollars = dollars_per_million(count, prices)
        columns = (
            dollars["step_functions"],
            dollars["dynamodb"],
            dollars["sqs"],
            dollars["lambda_requests"],
            total(dollars) - dollars["lambda_time"],
            dollars["lambda_time"],
        )
        cells = [_cents(column) for column in columns]
        rows.append(
            [_name(count), str(count["batch_size"]), *cells, f"**{_cents(total(dollars))}**"]
        )
    names = ("Step Functions", "DynamoDB", "SQS", "Lambda requests", "so far")
    return _table(("way", "batch", *names, "Lambda time, here", "total"), rows)


def _cents(dollars: float) -> str:
    # From its decimals, not its bits: half a cent is rounded up as people do.
    return str(Decimal(f"{dollars:.6f}").quantize(Decimal("0.01"), ROUND_HALF_UP))


def _taken(counts: Iterable[Count]) -> str:
    rows = [
        [
            _name(count),
            str(count["batch_size"]),
            ", ".join(
                f"{_each(number, count)} {kind}"
                for kind, number in count["requests"].items()
                if number
            ),
            _each(count["state_transitions"], count),
            f"{_each(count['write_units'], count)} / {_each(count['read_units'], count)}",
            _each(count["invocations"], count),
            _each(count["lambda_ms"], count),
            _each(count["sqs_requests"], count),
        ]
        for count in counts
    ]
    names = ("AWS requests", "transitions", "units written / read", "invocations", "ms, here")
    return _table(("way", "batch", *names, "SQS requests"), rows)


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
    return _table(("a million of", "dollars", "source", "checked"), rows)


def _name(count: Count) -> str:
    return f"{LOCK_WORKFLOW}, acts again" if _acts_again(count) else count["way"]


def _acts_again(count: Count) -> bool:
    return count["traffic"] == "duplicate" and count["appointments"] > 0


def _each(number: float, count: Count) -> str:
    """For one message, without needless zeros."""
    return f"{number / count['messages']:.4g}"


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
