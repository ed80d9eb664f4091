"""Messages a second on the embedded AWS, beside what MiniStack makes of the executions alone.

    python -m lab.bench.throughput [--messages 2000] [--rounds 3]

In turn: messages sent to the queue, until all is at rest; and as many executions of ProcessMessage
that this process starts itself, with the same function and no queue, 24 at a time. Of each also
the seconds of CPU, of MiniStack's process (one interpreter, so one core at most) and of all else.
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from actonce.demo import run
from actonce.demo.records import execution_names
from actonce.embedded import functions, lifecycle
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce_core.execution import execution_input
from actonce_core.message import MessageReader
from lab.bench.machine import machine

_IN_FLIGHT = 24  # as many invocations as the embedded AWS has at the same time
_POLL_SECONDS = 0.05
Bodies = dict[str, str]
"""Of messages, by their ids."""


def by_queue(stack: Stack, bodies: Bodies) -> None:
    """Send the messages, and wait for rest."""
    lines = "\n".join(bodies.values()).encode()
    run.send(stack, MessageReader("body:message_id", ""), lines)
    run.wait_for_rest(stack)


def by_start_alone(stack: Stack, bodies: Bodies) -> None:
    """Start the executions, as many at a time as can call the function, until all have ended."""

    def start(message_id: str) -> None:
        given = execution_input(message_id, bodies[message_id])
        stack.stepfunctions.start_execution(
            stateMachineArn=stack.state_machine, name=message_id, input=given
        )

    waiting, running = list(bodies), set[str]()
    with ThreadPoolExecutor(_IN_FLIGHT) as threads:
        while waiting or running:
            free = _IN_FLIGHT - len(running)
            list(threads.map(start, waiting[:free]))
            waiting = waiting[free:]
            time.sleep(_POLL_SECONDS)
            running = execution_names(stack, "RUNNING")


WAYS: dict[str, Callable[[Stack, Bodies], None]] = {
    "by the queue": by_queue,
    "StartExecution alone": by_start_alone,
}


def _cpu(server: int) -> tuple[float, float, float]:
    """Seconds of CPU so far: of MiniStack's process, of the functions', and of this one."""
    of: dict[int, float] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == server:  # the process group
            of[int(file.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return of.pop(server), sum(of.values()), time.process_time()


def measure(stack: Stack, server: int, way: str, messages: int, name: str) -> list[float]:
    """Messages a second, and thousandths of a second of CPU for each, as `_cpu` has them."""
    ids = [f"{name}-{number:05d}" for number in range(messages)]
    practices = [f"practice-{number % 20}" for number in range(messages)]
    bodies = {
        one: json.dumps({"message_id": one, "practice": practice, "patient": "p"})
        for one, practice in zip(ids, practices, strict=True)
    }
    functions.warm(stack)
    before, began = _cpu(server), time.monotonic()
    WAYS[way](stack, bodies)
    took, after = time.monotonic() - began, _cpu(server)
    done = execution_names(stack, "SUCCEEDED") & bodies.keys()
    if len(done) != messages:
        raise SystemExit(f"{way}: {len(done)} of {messages} have succeeded.")
    used = (second - first for first, second in zip(before, after, strict=True))
    return [messages / took, *(1000 * one / messages for one in used)]


def _quiet(_: str) -> None:
    pass


def main(
    messages: Annotated[int, typer.Option(min=10)] = 2000,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    concurrency: Annotated[int, typer.Option(min=2, help="MaximumConcurrency.")] = 2,
) -> None:
    """Print a table: the medians of the rounds, each on an embedded AWS that is new."""
    taken: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    parameters = {"MaximumConcurrency": str(concurrency)}
    print(machine("ministack", "boto3"))
    with tempfile.TemporaryDirectory(prefix="actonce-bench-") as folder:
        paths = Paths(Path(folder).resolve())
        for number in range(rounds):
            for way, runs in taken.items():
                state, stack = lifecycle.up(paths, _quiet, parameters=parameters, fresh=True)
                runs.append(measure(stack, state.pid, way, messages, f"m-{number}"))
                lifecycle.down(paths)
    print("| | messages a second | ms of CPU each: MiniStack | the functions | who sends |")
    print("| --- | --- | --- | --- | --- |")
    for way, runs in taken.items():
        middle = [statistics.median(column) for column in zip(*runs, strict=True)]
        print(f"| {way} | {' | '.join(f'{one:.1f}' for one in middle)} |")
    print(machine())


if __name__ == "__main__":
    typer.run(main)
