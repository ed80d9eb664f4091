"""Transient failures: throttling, outages, a provider that is slow.

    python -m lab.bench.transient_failures [--failure throttled] [--json]

In each the messages are sent at once into a stack on an embedded AWS, whose functions reach AWS and
their provider through a proxy that throttles, fails or keeps silent. The embedded AWS is taken down
at the end. Exit status 1 if in any the stack acted twice, lost a message, exiled one, or asked a
person for a decision.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from actonce.cli.demo import Strategy
from actonce.cli.embedded import parsed_parameters
from actonce.demo import records, requests
from actonce.demo.run import Resting, reader_of, send, wait_for_rest
from actonce.embedded import functions, lifecycle
from actonce.embedded.local_stack import parameter_names
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed, WrongUse
from lab.bench.report import figures, machine, tell
from lab.faults import kinds
from lab.faults.figures import Before, Figures, count_run
from lab.faults.kinds import MEASURED, Case
from lab.faults.stack import under
from lab.faults.transient import Injector

_WARM_EFFECTS = 16
"""Processes of the effect's function: what had to wait comes all at once when it is over."""
_SAY = Console(stderr=True)


def chosen(
    names: Sequence[str],
    *,
    messages: int | None,
    down_seconds: float | None,
    bucket: float | None,
    refill: float | None,
) -> list[Case]:
    """The failures of these names, all if there is none, in the sizes that were asked for.

    Raises:
        WrongUse: there is no such failure.
    """
    for name in names:
        if name not in MEASURED:
            raise WrongUse(f"There is no failure {name!r}; there are {', '.join(MEASURED)}.")
    return [
        MEASURED[name].resized(
            messages=messages, down_seconds=down_seconds, bucket=bucket, refill=refill
        )
        for name in names or MEASURED
    ]


def show(stack: Stack, shown: Case, seed: int, quiet_seconds: float) -> Figures:
    """Send messages into a failure, wait until all has come to rest, and count.

    Args:
        stack: on the embedded AWS.
        shown: the failure, and how many messages.
        seed: of the messages; on one stack each run needs a seed of its own.
        quiet_seconds: longest wait for anything to move; longer than the longest back-off.

    Raises:
        Failed: it did not come to rest.
    """
    traffic = requests.generate(shown.messages, seed)
    injector = Injector()
    with under(stack, injector):
        functions.warm(stack, _WARM_EFFECTS)
        before = Before.of(stack)
        injector.change(shown.failure)
        sent = send(stack, reader_of(stack), "\n".join(traffic.bodies).encode())
        wait_for_rest(stack, Resting(shown.messages, quiet_seconds))
        return count_run(stack, injector, sent, records.read(stack), before)


def run_all(
    failures: Sequence[Case], given: dict[str, str], quiet_seconds: float
) -> list[dict[str, Any]]:
    """Show every failure, one after the other, on an embedded AWS that is down at the end."""
    rows: list[dict[str, Any]] = []
    known = parameter_names(PROJECT / "template.yaml")
    with TemporaryDirectory(prefix="actonce-failures-", ignore_cleanup_errors=True) as folder:
        paths = Paths(Path(folder).resolve())
        try:
            parameters = kinds.parameters(known, given)
            _, stack = lifecycle.up(paths, _SAY.print, parameters=parameters)
            for seed, shown in enumerate(failures, start=1):
                rows.append(_shown(stack, shown, seed, quiet_seconds))
        finally:
            lifecycle.down(paths)
    return rows


def _shown(stack: Stack, shown: Case, seed: int, quiet_seconds: float) -> dict[str, Any]:
    _SAY.print(f"{shown.failure.name}: {shown.failure.says}", style="dim")
    try:
        found = show(stack, shown, seed, quiet_seconds)
    except Failed as error:
        _SAY.print(str(error), style="red", markup=False)
        return {"failure": shown.failure.name, "failed": str(error)}
    _SAY.print(_in_brief(found), style="green" if found.is_good else "red")
    return found.as_json()


def _in_brief(found: Figures) -> str:
    return (
        f"  {found.messages} messages: {found.exiled} exiled, {found.decisions} decisions asked "
        f"for, {found.twice} twice, {found.lost} lost, {found.seconds} s"
    )


def main(
    failure: Annotated[
        list[str] | None, typer.Option(help="Which; may be given more than once. Default: all.")
    ] = None,
    messages: Annotated[int | None, typer.Option(min=1, help="How many in each failure.")] = None,
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
    """Run the failures and print what they showed."""
    try:
        failures = chosen(
            failure or [],
            messages=messages,
            down_seconds=down_seconds,
            bucket=bucket,
            refill=refill,
        )
        given = strategy.parameters | (parsed_parameters(parameter) or {})
        began = time.monotonic()
        rows = run_all(failures, given, quiet_seconds)
    except (Failed, WrongUse) as error:
        _SAY.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from None
    inputs = {**given, "seconds": round(time.monotonic() - began, 1)}
    report = {"inputs": inputs, "machine": machine("ministack", "boto3"), "runs": rows}
    tell(report, _table(rows), as_json=json_)
    good = all(
        "failed" not in row
        and not any(row[name] for name in ("decisions", "exiled", "twice", "lost"))
        for row in rows
    )
    raise typer.Exit(0 if good else 1)


_COLUMNS = {
    "failure": "failure",
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


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = figures(*_COLUMNS.values())
    for row in rows:
        if "failed" in row:
            table.add_row(row["failure"], row["failed"], style="red")
            continue
        values = {name: "" if row[name] is None else str(row[name]) for name in _COLUMNS}
        if row["after_seconds"] is None:
            values["after_seconds"] = "never"
        table.add_row(*values.values())
    return table


if __name__ == "__main__":
    typer.run(main)
