"""docs/conformance.md: the table, way by way, and the shortest story of what went wrong."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from actonce.conformance.hazards import SCENARIOS, Scenario
from actonce.conformance.real import CAUSED, NOT_CAUSED, NOT_DEPLOYED, REAL_WAYS
from actonce.conformance.stage import Way
from actonce.conformance.suite import is_published
from actonce.conformance.trial import Trial, told
from actonce.conformance.verdict import Kind, Verdict
from actonce.conformance.ways.known import WAYS
from actonce.stack.embedded_folder import PROJECT

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

What this does not show: steps take no time unless a hazard says so; one thing goes wrong in a run
("any two at once": two; `actonce conformance --deep`: one more than the table says); a consumer has
one message at a time; an operator decides nothing but where a hazard's sentence says so; and AWS is
what its documentation says it is.
A walk counts each moment once, however many schedules lead to it, so the numbers of schedules say
how much was tried, and not how likely anything is.

Any cell, with the shortest story of its worst schedule:

```sh
actonce conformance --way naive-ledger --hazard crash --story
```
"""


_NAMES = """\
*Fenced*: the effect is a DynamoDB write in one transaction with a check of the lock. *Worker*: a
consumer on a host on which nothing ends it when its time is over. *The example's effect*: the
appointments book that ships, which is fenced behind a lock; elsewhere the effect only counts.

"""

_REAL = """\
## The same hazards, really

`tests/embedded/` deploys these ways on the embedded AWS and causes the hazards there, with real
functions, queues and tables, real time-outs and killed processes. How each ended is judged by the
code that judges a walk, and must be an end that the walk found for that way, so never worse than
its cell. All of them are: both levels agree.

Each hazard is caused once, with the times of the local deployment. What holds on every schedule is
the walk's to show; that the walk's services are like real ones is shown here. What is refused and
what is ordered goes through RequestsQueue, everything else through a standard queue that feeds the
same function one message at a time. A consumer with another clock, or with a network that fails, is
the function's code in the tests' own process.
"""


def render(trials: Iterable[Trial]) -> str:
    """The page.

    Args:
        trials: every published one.
    """
    by_way: dict[str, list[Trial]] = {way.name: [] for way in WAYS}
    for trial in trials:
        by_way[trial.way].append(trial)
    rivals = [way for way in WAYS if not way.is_ours]
    ours = [way for way in WAYS if way.is_ours]
    parts = [
        _INTRODUCTION,
        "## The hazards\n\n" + "\n".join(map(_described, SCENARIOS)),
        "## What people use\n\n" + _overview(rivals, by_way),
        "## This project's ways\n\n" + _NAMES + _overview(ours, by_way),
        _real(),
        *(section(way, by_way[way.name]) for way in WAYS),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _described(hazard: Scenario) -> str:
    return f"- **{hazard.title}** (`{hazard.name}`): {hazard.about}"


def _real() -> str:
    """The real level: how each hazard is caused, and what is not deployed."""
    titles = {way.name: way.title.removeprefix("ActOnce: ") for way in WAYS}
    lines = [_REAL.strip(), ""]
    for way in REAL_WAYS:
        held_against = "; ".join(titles[name] for name in way.columns)
        which = "every hazard"
        if way.only is not None:
            which = ", ".join(hazard.title for hazard in SCENARIOS if hazard.name in way.only)
        lines.append(f"- **{way.title}**: {which}. Held against: {held_against}.")
    lines += ["", "Not deployed:", ""]
    lines += [f"- {titles[name]}: {why}." for name, why in NOT_DEPLOYED.items()]
    lines += ["", "| hazard | how it is caused |", "| --- | --- |"]
    lines += [f"| {hazard.title} | {_caused(hazard.name)} |" for hazard in SCENARIOS]
    return "\n".join(lines)


def _caused(hazard: str) -> str:
    return CAUSED[hazard] if hazard in CAUSED else f"Only walked: {NOT_CAUSED[hazard]}."


def _overview(ways: Sequence[Way], by_way: dict[str, list[Trial]]) -> str:
    """A row per hazard, a column per way."""
    lines = [
        "| | " + " | ".join(way.title.removeprefix("ActOnce: ") for way in ways) + " |",
        "| --- |" + " --- |" * len(ways),
    ]
    for hazard in SCENARIOS:
        cells = [_cell(way, hazard, by_way[way.name]) for way in ways]
        if any(cells):
            lines.append(f"| {hazard.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(way: Way, hazard: Scenario, trials: Sequence[Trial]) -> str:
    if not is_published(way, hazard):
        return ""
    (trial,) = (one for one in trials if one.scenario == hazard.name)
    return _mark(trial.worst, hazard)


def _mark(verdict: Verdict, hazard: Scenario) -> str:
    if hazard.asks_for_order and verdict.kind == Kind.SURVIVED:
        return "out of order" if verdict.is_out_of_order else "in order"
    return _MARKS[verdict.kind]


def section(way: Way, trials: Sequence[Trial]) -> str:
    """A way's own table: how its schedules ended, and the shortest story of the worst of them."""
    hazards = {one.name: one for one in SCENARIOS}
    lines = [
        f"## {way.title}",
        "",
        f"`--way {way.name}`",
        "",
        "| hazard | worst | twice | lost | parked | survived | schedules |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for trial in trials:
        counts = [_count(trial, kind) for kind in reversed(Kind)]
        numbers = " | ".join(f"{count:,}" if count else "" for count in counts)
        hazard = hazards[trial.scenario]
        mark = _mark(trial.worst, hazard)
        lines.append(f"| {hazard.title} | {mark} | {numbers} | {trial.schedules:,} |")
    for name, why in way.cannot.items():
        lines += ["", f"*Why not {hazards[name].title}:* {why}."]
    for name, why in way.left_out.items():
        lines += ["", f"*Not walked, {hazards[name].title}:* {why}."]
    worst = _worst(trials)
    if worst is not None:
        title = hazards[worst.scenario].title
        lines += [
            "",
            f"The shortest story of the worst, {title} (`{worst.scenario}`):",
            "",
            "```text",
            *told(worst.story),
            "```",
        ]
    return "\n".join(lines)


def _count(trial: Trial, kind: Kind) -> int:
    return sum(count for verdict, count in trial.counts.items() if verdict.kind == kind)


def _worst(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the shortest story of those that went worst; None if none went wrong."""
    broken = [trial for trial in trials if trial.worst.kind in (Kind.LOST, Kind.TWICE)]
    return min(broken, key=lambda one: (-one.worst.kind, len(one.story)), default=None)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the published table: the worst of its schedules, and every end that they have."""

    worst: Verdict
    ends: frozenset[Kind]


def cells(text: str) -> dict[tuple[str, str], Cell]:
    """Read the page: the name of a way and of a hazard to their cell.

    Raises:
        ValueError: the text is not what `render` writes.
    """
    return dict(_read_cells(text.splitlines()))


_HEAD = ("| hazard ", "| --- ")


def _read_cells(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str], Cell]]:
    names = {hazard.title: hazard.name for hazard in SCENARIOS}
    kinds = tuple(reversed(Kind))
    way = None
    for line in lines:
        if line.startswith("## "):
            way = None
        elif line.startswith("`--way "):
            way = line.removeprefix("`--way ").removesuffix("`")
        elif way is not None and line.startswith("| ") and not line.startswith(_HEAD):
            title, mark, *counts, _schedules = line.removeprefix("| ").removesuffix(" |").split("|")
            if title.strip() not in names or len(counts) != len(kinds):
                raise ValueError(f"{way}: no row of a way's table: {line}")
            found = {kind for kind, count in zip(kinds, counts, strict=True) if count.strip()}
            worst = Verdict(max(found), is_out_of_order=mark.strip() == "out of order")
            yield (way, names[title.strip()]), Cell(worst, frozenset(found))
