"""docs/conformance-mutants.md: how many mutants the walk noticed, and which not, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from actonce.conformance.mutants.explained import EXPLAINED, Explanation
from actonce.conformance.mutants.judging import MOST_RUNS, NOT_TRIED, Judged
from actonce.embedded.paths import PROJECT

PAGE = PROJECT / "docs" / "conformance-mutants.md"

_INTRODUCTION = """\
# How strong the suite is

<!-- Written by `python -m actonce.conformance.mutants --write`. -->

What ships is changed in one decision at a time, and the walk alone judges the mutant: it is noticed
if some schedule of some hazard ends worse than [the table](conformance.md) says, or if the code
breaks, never ends, or writes down what did not happen
([decision 32](decisions/0032-mutants-are-judged-by-the-walk-alone.md)).

Changed are conditions (negated, each operand of `and` and `or` left out), boundaries, sums and
products, early returns and raises, calls that only act, the order of two neighbouring calls, each
clause of a DynamoDB condition (always, and never), each number of a module; and in the state
machine's definition each Retry and its errors, each Catch, each way, choice and condition, each
field of Arguments and Output.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the tool.

    Attributes:
        date: ISO 8601.
        made: mutants that there are; fewer may have been judged.
        judged: those that were, and what came of them.
        most_runs: schedules of a cell after which a walk was given up.
    """

    date: str
    made: int
    judged: Sequence[Judged]
    most_runs: int = MOST_RUNS


def render(run: Run) -> str:
    """The page."""
    survivors = [one for one in run.judged if not one.is_noticed]
    lines = [
        _INTRODUCTION,
        _summary(run),
        "",
        "| file | judged | noticed | |",
        "| --- | ---: | ---: | ---: |",
        *(_row(name, run.judged) for name in sorted({one.mutant.file for one in run.judged})),
        "",
        "Again, all of them, by one process:",
        "",
        "```sh",
        "python -m actonce.conformance.mutants --write",
        "```",
        "",
        _limits(run),
        "",
        "## Not noticed",
        "",
        "| mutant | | why |",
        "| --- | --- | --- |",
        *(_survivor(one) for one in survivors),
        "",
        "## Not tried",
        "",
        *(f"- `{name}`: {why}" for name, why in NOT_TRIED.items()),
    ]
    return "\n".join(lines).strip() + "\n"


def _limits(run: Run) -> str:
    return (
        f"A mutant's walk ends with its first violation, or after {run.most_runs} schedules of a "
        "cell, those with the fewest things out of the ordinary first; `any-two` is left out. So a "
        "survivor is one that short walks do not notice."
    )


def _summary(run: Run) -> str:
    survivors = [one for one in run.judged if not one.is_noticed]
    noticed = len(run.judged) - len(survivors)
    equivalent = sum(_explanation(one).is_equivalent for one in survivors)
    rest = len(survivors) - equivalent
    tried = "all" if len(run.judged) == run.made else f"{len(run.judged)}, drawn by lot,"
    return (
        f"**{run.date}: of {run.made} mutants {tried} were judged, and {noticed} noticed "
        f"({_share(noticed, len(run.judged))}).** Of the {len(survivors)} that were not, "
        f"{equivalent} do what the original does, as far as anything promised goes; without them "
        f"{_share(noticed, noticed + rest)} are noticed. {rest} would need a hazard, or a look, "
        "that the suite has not, or a longer walk. The aim is 95 %."
    )


def unexplained(judged: Sequence[Judged]) -> list[str]:
    """Survivors that nobody has said anything of."""
    return [
        one.mutant.name for one in judged if not one.is_noticed and one.mutant.name not in EXPLAINED
    ]


def _explanation(one: Judged) -> Explanation:
    return EXPLAINED.get(one.mutant.name, Explanation("not looked into", is_equivalent=False))


def _share(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %" if of else "none"


def _row(file: str, judged: Sequence[Judged]) -> str:
    own = [one for one in judged if one.mutant.file == file]
    noticed = sum(one.is_noticed for one in own)
    return f"| `{file}` | {len(own)} | {noticed} | {_share(noticed, len(own))} |"


def _survivor(one: Judged) -> str:
    explanation = _explanation(one)
    mutant = one.mutant
    where = f"`{mutant.file.rpartition('/')[2]}` {mutant.where}"
    change = mutant.change.replace("|", "\\|")
    kind = "equivalent" if explanation.is_equivalent else "open"
    return f"| {where}: {change} | {kind} | {explanation.why} |"
