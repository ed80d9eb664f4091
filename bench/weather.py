"""Bad weather, on the stack as it is beside the stack as it was.

    python -m bench.weather [--weather throttled] [--baseline COMMIT | none] [--json]

Each weather has its messages sent at once into a stack on an embedded AWS, whose functions reach
AWS and their provider through a proxy that throttles, fails or keeps silent. The embedded AWSs are
taken down at the end. Exit status 1 if in any weather the stack as it is (not the baseline) acted
twice, lost a message, exiled one, or asked a person for a decision.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from actonce.cli.demo import Strategy
from actonce.cli.embedded import parsed_parameters
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed, WrongUse
from actonce.weather.figures import Figures
from actonce.weather.kinds import MEASURED, Shown
from actonce.weather.showing import show
from bench.deployments import deployed, last_tag, sources_at
from bench.machine import machine

NOW = "as it is"
_SAY = Console(stderr=True)


def chosen(
    names: Sequence[str],
    *,
    messages: int | None,
    down_seconds: float | None,
    bucket: float | None,
    refill: float | None,
) -> list[Shown]:
    """The weathers of these names, all if there is none, in the sizes that were asked for.

    Raises:
        WrongUse: there is no such weather.
    """
    for name in names:
        if name not in MEASURED:
            raise WrongUse(f"There is no weather {name!r}; there are {', '.join(MEASURED)}.")
    return [
        MEASURED[name].resized(
            messages=messages, down_seconds=down_seconds, bucket=bucket, refill=refill
        )
        for name in names or MEASURED
    ]


def run_all(
    stacks: dict[str, Stack], weathers: Sequence[Shown], quiet_seconds: float
) -> list[dict[str, Any]]:
    """Show every weather on every stack, one after the other."""
    rows: list[dict[str, Any]] = []
    for seed, shown in enumerate(weathers, start=1):
        for name, stack in stacks.items():
            _SAY.print(f"{shown.weather.name}, {name}: {shown.weather.says}", style="dim")
            try:
                found = show(stack, shown, seed, quiet_seconds)
            except Failed as error:
                _SAY.print(str(error), style="red", markup=False)
                rows.append({"stack": name, "weather": shown.weather.name, "failed": str(error)})
                continue
            rows.append({"stack": name, **found.as_json()})
            _SAY.print(_in_brief(found), style="green" if found.is_good else "red")
    return rows


def _in_brief(found: Figures) -> str:
    return (
        f"  {found.messages} messages: {found.exiled} exiled, {found.decisions} decisions asked "
        f"for, {found.twice} twice, {found.lost} lost, {found.seconds} s"
    )


def main(
    weather: Annotated[
        list[str] | None, typer.Option(help="Which; may be given more than once. Default: all.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT", help="What to compare with; none: nothing. Default: the last tag."
        ),
    ] = None,
    messages: Annotated[int | None, typer.Option(min=1, help="How many in each weather.")] = None,
    down_seconds: Annotated[float | None, typer.Option(min=0, help="How long outages are.")] = None,
    bucket: Annotated[float | None, typer.Option(min=1, help="Size of quotas' buckets.")] = None,
    refill: Annotated[float | None, typer.Option(min=0.1, help="Calls a second of quotas.")] = None,
    quiet_seconds: Annotated[
        float, typer.Option(min=1, help="Longest wait for anything to move.")
    ] = 900,
    strategy: Annotated[Strategy, typer.Option()] = Strategy.STEP_FUNCTIONS,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE")
    ] = None,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run the weathers and print what they showed."""
    try:
        weathers = chosen(
            weather or [],
            messages=messages,
            down_seconds=down_seconds,
            bucket=bucket,
            refill=refill,
        )
        given = strategy.parameters | (parsed_parameters(parameter) or {})
        commit = None if baseline == "none" else baseline or last_tag()
        began = time.monotonic()
        rows = _run(weathers, commit, given, quiet_seconds)
    except (Failed, WrongUse) as error:
        _SAY.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from None
    ran_on = {**machine(), **given, "seconds": round(time.monotonic() - began, 1)}
    if json_:
        sys.stdout.write(json.dumps({"runs": rows, "machine": ran_on}) + "\n")
    else:
        _show(rows, ran_on)
    good = all(
        "failed" not in row
        and not any(row[name] for name in ("decisions", "exiled", "twice", "lost"))
        for row in rows
        if row["stack"] == NOW
    )
    raise typer.Exit(0 if good else 1)


def _run(
    weathers: Sequence[Shown], commit: str | None, given: dict[str, str], quiet_seconds: float
) -> list[dict[str, Any]]:
    with ExitStack() as stacks:
        up: dict[str, Stack] = {}
        for name, at in {f"at {commit}": commit, NOW: None}.items():
            if name != NOW and at is None:
                continue
            _SAY.print(f"Bringing up the stack {name}", style="dim")
            sources = stacks.enter_context(sources_at(at))
            _, up[name] = stacks.enter_context(deployed(sources, given))
        return run_all(up, weathers, quiet_seconds)


_COLUMNS = {
    "weather": "weather",
    "stack": "stack",
    "messages": "messages",
    "decisions": "decisions",
    "exiled": "exiled",
    "twice": "twice",
    "lost": "lost",
    "of_quota": "of the quota",
    "transitions": "transitions each",
    "sqs_requests": "SQS requests each",
    "after_seconds": "s after its end",
    "back_off_seconds": "longest back-off, s",
    "seconds": "s",
    "did_not_pass": "calls met it",
}


def _show(rows: Sequence[dict[str, Any]], ran_on: dict[str, Any]) -> None:
    table = Table(*_COLUMNS.values(), box=None)
    for row in rows:
        if "failed" in row:
            table.add_row(row["weather"], row["stack"], row["failed"], style="red")
            continue
        values = {name: "" if row[name] is None else str(row[name]) for name in _COLUMNS}
        if row["after_seconds"] is None:
            values["after_seconds"] = "never"
        table.add_row(*values.values())
    console = Console(width=200)
    console.print(table)
    console.print(", ".join(f"{name} {value}" for name, value in ran_on.items()), markup=False)


if __name__ == "__main__":
    typer.run(main)
