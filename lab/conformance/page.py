"""docs/conformance.md: the table of what was found, and what it means."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from actonce.stack.embedded_folder import PROJECT
from lab.conformance.found import Cell, Name
from lab.conformance.hazards import SCENARIOS, Scenario
from lab.conformance.real import CAUSED, NOT_CAUSED, REAL_WAYS
from lab.conformance.verdict import Kind, Verdict
from lab.conformance.ways.known import WAYS

PAGE = PROJECT / "docs" / "conformance.md"

_MARKS = {
    Kind.SURVIVED: "survived",
    Kind.PARKED: "parked",
    Kind.LOST: "**lost**",
    Kind.TWICE: "**twice**",
}

_INTRODUCTION = """\
# What each way survives

<!-- Written by `actonce conformance --write`; a test compares it with what it would write. -->

Every way to deduplicate that this project has, and what people use instead, against what goes
wrong. For each pair *all* schedules are walked: every order in which the consumers, functions and
executions can take their steps, and the hazard at every step at which it can come. The code under
test is the code that ships: the starter, the state machine's definition, the ledger, the lease, and
the libraries as they are on PyPI. The queue, DynamoDB, Step Functions and Lambda are in memory,
with AWS's documented answers, and each machine has a clock of its own
([what it cannot show](design.md#the-code-that-ships-is-tried)).

| | |
| --- | --- |
| **twice** | in some schedule a message is acted on twice |
| **lost** | in some schedule a message is never acted on, and is nowhere |
| parked | in some schedule it, or a repeat of it, waits for a person, in a queue or an execution |
| survived | in every schedule it is acted on once, and nobody needs to look |

A cell is the worst of its schedules. Where a person must decide (a conflict, a poison message),
parked is the best that there is. In a group what is asked for besides is the order.
"""

_RIVALS = """\
## What people use

Powertools is its Idempotency, keyed by the SQS message id, as it is documented for batches; at its
best it is keyed by the producer's id, compares the content, and forgets nothing for ten years.
"""

_OURS = """\
## This project's ways

The ledger and the lease are here with an effect that checks the fence, as the example's does: a
write to DynamoDB in one transaction with a check of the lock. A worker is a consumer on a host on
which nothing ends it when its time is over. A cell is empty where a hazard is none of that way.
"""

_MEANING = """\
## What it means

What this project ships with its example is in the columns above. It acts on no message twice and
loses none. It parks what needs a person whatever the mechanism: two contents under one id, a
message that the effect rejects, an effect that nobody can look up, a name that Step Functions has
forgotten, an outage that outlasts the retries.

Whether the effect checks a fence makes the one difference between the ways. Behind Step Functions
it needs none, for its function's time-out bounds each attempt. Behind a lock a consumer may stand
still between its last look at the lock and its effect. It cannot know that its time is over, and
only the effect can refuse it.

The rivals do what they are made for. A FIFO queue deduplicates for five minutes. Powertools
Idempotency repeats what did not come to its end, which is right for a step that may be repeated. A
lock keeps two consumers apart, and remembers nothing once it is released. None of them looks an
effect up before it is performed again, which is what a crash after the effect asks for.
"""

_LIMITS = """\
## What it does not show

Steps take no time unless a hazard says so; one thing goes wrong in a run ("any two at once": two;
`actonce conformance --deep`: one more than the table says); a consumer has one message at a time;
an operator decides nothing but where a hazard's sentence says so; and AWS is what its documentation
says it is. A walk counts each moment once, however many schedules lead to it, so numbers of
schedules say how much was tried, and not how likely anything is.

## The same hazards, really

`tests/embedded/` deploys {deployed} ways on the embedded AWS and causes {caused} of the {hazards}
hazards there, once each, with real functions, queues and tables, real time-outs and killed
processes. How each ended is judged by the code that judges a walk, and must be an end that the walk
found for that way. `lab/conformance/real.py` says how each is caused, and why a few are only
walked.

## Any cell

The command prints what a hazard is, how many schedules ended how, and the shortest story of the
worst of them, step by step. It needs a clone; a cell takes seconds, all of them ten minutes:

```sh
actonce conformance --way powertools --hazard crash --story
```

What each cell came to when all were walked last is in `lab/conformance/found.json`.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the page.

    Attributes:
        title: its head.
        ways: by name; a cell is of the first of them that has it. Where another one differs from
            its column, the page says so.
    """

    title: str
    ways: tuple[str, ...]


RIVALS = tuple(Column(way.title, (way.name,)) for way in WAYS if not way.is_ours)
OURS = (
    Column("Step Functions", ("step-functions",)),
    Column("FIFO queue", ("step-functions-fifo",)),
    Column("ledger", ("ledger-fenced", "ledger", "ledger-invoking", "ledger-idempotent")),
    Column("worker", ("ledger-worker-fenced", "ledger-worker")),
    Column("lease", ("lease-fenced", "lease", "lease-invoking", "lease-fenced-fifo")),
    Column("worker", ("lease-worker-fenced", "lease-worker")),
)


def render(found: Mapping[Name, Cell]) -> str:
    """The page, of every published cell."""
    parts = [
        _INTRODUCTION,
        _RIVALS,
        _table(RIVALS, found),
        _OURS,
        _table(OURS, found),
        _variants(found),
        _MEANING,
        _LIMITS.format(
            deployed=len(REAL_WAYS),
            caused=len(CAUSED),
            hazards=len(CAUSED) + len(NOT_CAUSED),
        ),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _table(columns: Sequence[Column], found: Mapping[Name, Cell]) -> str:
    """A row per hazard."""
    lines = [
        "| | " + " | ".join(column.title for column in columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for hazard in SCENARIOS:
        cells = [_of_column(column, hazard, found) for column in columns]
        if any(cells):
            marks = [_mark(cell.worst, hazard) if cell else "" for cell in cells]
            lines.append(f"| {hazard.title} | " + " | ".join(marks) + " |")
    return "\n".join(lines)


def _of_column(column: Column, hazard: Scenario, found: Mapping[Name, Cell]) -> Cell | None:
    cells = (found.get((way, hazard.name)) for way in column.ways)
    return next((cell for cell in cells if cell is not None), None)


def _mark(verdict: Verdict, hazard: Scenario) -> str:
    if hazard.asks_for_order and verdict.kind == Kind.SURVIVED:
        return "out of order" if verdict.is_out_of_order else "in order"
    return _MARKS[verdict.kind]


def _variants(found: Mapping[Name, Cell]) -> str:
    """Where a way differs from the column that it belongs to."""
    titles = {way.name: way.title.removeprefix("ActOnce: ") for way in WAYS}
    lines = []
    for column in OURS:
        for way in column.ways[1:]:
            said = [
                f"{hazard.title}, {_mark(cell.worst, hazard)}"
                for hazard in SCENARIOS
                if (cell := found.get((way, hazard.name))) is not None
                and _is_another(cell, _of_column(column, hazard, found))
            ]
            differs = "; ".join(said) if said else "as its column"
            lines.append(f"- {titles[way]}: {differs}.")
    return "\n".join(["Walked as well, and where each differs from its column:", "", *lines])


def _is_another(cell: Cell, column: Cell | None) -> bool:
    return column is None or column.worst != cell.worst


def unpublished(ways: Iterable[str]) -> set[str]:
    """The ways that no column has."""
    return set(ways) - {name for column in (*RIVALS, *OURS) for name in column.ways}
