"""The demo under many faults, seed after seed, and again with every function killed half-way.

    python -m bench.seeds [--seeds 5] [--messages 300] [--strategy ledger] [--queue fifo] [--json]

Runs on an embedded AWS of its own, taken down at the end. Exit status 1 if in any run a message was
acted on twice or lost.
"""

import json
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from actonce.cli.demo import Strategy
from actonce.demo import records
from actonce.demo.run import Settings, run
from actonce.embedded import faults, functions, lifecycle
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from bench.machine import machine


def _kill_half_way(paths: Paths, messages: int, killed: list[int], over: threading.Event) -> None:
    """Kill every function once, when a third of the messages are done."""
    while not over.wait(0.2):
        state = lifecycle.running(paths)
        if state is None or not (paths.faults / "plan.json").exists():
            continue
        try:
            stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
        except Failed:  # not deployed yet
            continue
        if len(records.execution_names(stack, "SUCCEEDED")) > messages // 3:
            killed.append(functions.kill(state))
            return


def run_seed(
    paths: Paths, messages: int, seed: int, parameters: dict[str, str], *, kill: bool
) -> dict[str, Any]:
    """One run; its outcome, and how many processes were killed."""
    settings = Settings(
        messages=messages,
        seed=seed,
        level=faults.Level.MANY,
        file=None,
        keep=False,
        parameters=parameters,
    )
    killed: list[int] = []
    over = threading.Event()
    arguments = (paths, messages, killed, over)
    lifecycle.down(paths)  # so that the plan of the last run is not taken for this one's
    (paths.faults / "plan.json").unlink(missing_ok=True)
    killer = threading.Thread(target=_kill_half_way, args=arguments, daemon=True)
    if kill:
        killer.start()
    result = run(settings, paths)
    over.set()
    return {
        "seed": seed,
        "functions_killed": sum(killed),
        "interruptions": result.interruptions.total(),
        **result.outcome.as_json(),
    }


def main(
    seeds: Annotated[int, typer.Option(min=1)] = 5,
    messages: Annotated[int, typer.Option(min=50)] = 300,
    strategy: Annotated[Strategy, typer.Option()] = Strategy.STEP_FUNCTIONS,
    queue: Annotated[str, typer.Option(help="standard or fifo")] = "standard",
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run every seed twice and print what came of it."""
    with tempfile.TemporaryDirectory(prefix="actonce-seeds-") as folder:
        paths = Paths(Path(folder))
        parameters = strategy.parameters | {"QueueType": queue}
        try:
            runs = [
                run_seed(paths, messages, seed, parameters, kill=kill)
                for kill in (False, True)
                for seed in range(1, seeds + 1)
            ]
        finally:
            lifecycle.down(paths)
    ran_on = {**machine(), **parameters}
    if json_:
        sys.stdout.write(json.dumps({"runs": runs, "machine": ran_on}) + "\n")
    else:
        table = Table(*[name.replace("_", " ") for name in runs[0]], box=None)
        for row in runs:
            table.add_row(*[str(value) for value in row.values()])
        console = Console(width=200)
        console.print(table)
        console.print(ran_on)
    good = all(row["exactly_once"] and not row["out_of_order"] for row in runs)
    raise typer.Exit(0 if good else 1)


if __name__ == "__main__":
    typer.run(main)
