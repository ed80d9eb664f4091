"""Transient failures: throttling, outages, a provider that is slow.

    python -m lab.bench.transient_failures [--failure throttled] [--json]

In each the messages are sent at once into a stack on an embedded AWS, whose functions reach AWS and
their provider through a proxy that throttles, fails or keeps silent. The embedded AWS is taken down
at the end. Exit status 1 if in any the stack acted twice, lost a message, exiled one, or asked a
person for a decision.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from actonce.cli.demo import Strategy
from actonce.demo import records, requests
from actonce.demo.run import Resting, reader_of, send, wait_for_rest
from actonce.embedded import functions, lifecycle
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from lab.bench.report import machine, tell
from lab.faults.figures import Figures, batches, count_run
from lab.faults.kinds import MEASURED, PARAMETERS, QUIET_SECONDS
from lab.faults.stack import under, unpublished
from lab.faults.transient import Injector, TransientFailure

_WARM_EFFECTS = 16
"""Processes of the effect's function: what had to wait comes all at once when it is over."""
_SAY = Console(stderr=True)
_HEADINGS = {
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
    "seconds": "s",
    "did_not_pass": "calls met it",
}


def show(stack: Stack, failure: TransientFailure, seed: int) -> Figures:
    """Send messages into a failure, wait until all has come to rest, and count.

    Args:
        stack: on the embedded AWS.
        failure: and how many messages.
        seed: of the messages; on one stack each run needs a seed of its own.

    Raises:
        Failed: it did not come to rest.
    """
    traffic = requests.generate(failure.messages, seed)
    injector = Injector()
    with under(stack, injector):
        functions.warm(stack, _WARM_EFFECTS, finds=unpublished(stack.find_function or ""))
        before = batches(stack)
        injector.change(failure)
        sent = send(stack, reader_of(stack), "\n".join(traffic.bodies).encode())
        wait_for_rest(stack, Resting(failure.messages, QUIET_SECONDS))
        return count_run(stack, injector, sent, records.read(stack), before)


def run_all(failures: Sequence[TransientFailure], strategy: Strategy) -> list[dict[str, Any]]:
    """Show every failure, one after the other, on an embedded AWS that is down at the end."""
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="actonce-failures-", ignore_cleanup_errors=True) as folder:
        paths = Paths(Path(folder).resolve())
        try:
            parameters = PARAMETERS | strategy.parameters
            _, stack = lifecycle.up(paths, _SAY.print, parameters=parameters)
            for seed, failure in enumerate(failures, start=1):
                _SAY.print(f"{failure.name}: {failure.says}", style="dim")
                try:
                    found = show(stack, failure, seed)
                    rows.append(asdict(found) | {"good": found.is_good})
                except Failed as error:
                    rows.append({"failure": failure.name, "failed": str(error), "good": False})
        finally:
            lifecycle.down(paths)
    return rows


def main(
    failure: Annotated[
        list[str] | None, typer.Option(help="Which; may be given more than once. [all]")
    ] = None,
    strategy: Annotated[Strategy, typer.Option()] = Strategy.STEP_FUNCTIONS,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run the failures and print what they showed."""
    if unknown := set(failure or ()) - set(MEASURED):
        raise typer.BadParameter(f"No {', '.join(unknown)}: there are {', '.join(MEASURED)}.")
    began = time.monotonic()
    try:
        rows = run_all([MEASURED[name] for name in failure or MEASURED], strategy)
    except Failed as error:
        _SAY.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from None
    inputs = {"strategy": strategy.value, "seconds": round(time.monotonic() - began, 1)}
    report = {"inputs": inputs, "machine": machine("ministack", "boto3"), "rows": rows}
    tell(report, _HEADINGS, as_json=json_)
    raise typer.Exit(0 if all(row["good"] for row in rows) else 1)


if __name__ == "__main__":
    typer.run(main)
