"""How long a person waits for many dead letters: N of them listed, then decided.

    python -m bench.deciding [--letters 10000] [--json]

Runs on an embedded AWS of its own, taken down at the end. N executions wait for a decision, as
after a long outage; the command line lists them and resolves all of them, and takes N entries out
of UnstartedQueue, as a person would have it do. A second reader looks meanwhile: how long the
letters were hidden from it in one piece is told, too. Exit status 1 if one was not decided, if
something was left, or if listing took more than a minute or deciding more than five.
"""

import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from actonce.embedded import lifecycle
from actonce.queues.scan import counts
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from actonce.stack.embedded_folder import Paths
from bench.machine import machine

_ACTONCE = str(Path(sysconfig.get_path("scripts")) / "actonce")
_NOTE = "measured"


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured; seconds.

    Attributes:
        list_cpu_seconds, decide_cpu_seconds: of the command itself.
        list_server_seconds, decide_server_seconds: of CPU, of the embedded AWS meanwhile.
        list_hidden, decide_hidden: the longest time for which a second reader saw nothing.
        decided: how many of the letters.
        open_executions: how many of all are still open afterwards.
    """

    letters: int
    list_seconds: float
    list_cpu_seconds: float
    list_server_seconds: float
    list_hidden: float
    decide_seconds: float
    decide_cpu_seconds: float
    decide_server_seconds: float
    decide_hidden: float
    decided: int
    left_in_queue: int
    open_executions: int
    discard_seconds: float
    discarded: int

    @property
    def passed(self) -> bool:
        """Whether all were decided, in time."""
        whole = self.letters == self.decided == self.discarded
        rest = self.left_in_queue + self.open_executions
        return whole and not rest and self.list_seconds <= 60 and self.decide_seconds <= 300


def measure(letters: int) -> Result:
    """Bring a stack up, let `letters` messages wait, list and decide them, take it down."""
    with tempfile.TemporaryDirectory(prefix="actonce-deciding-") as folder:
        paths = Paths(Path(folder))
        try:
            state, stack = lifecycle.up(paths, lambda _: None, parameters={})
            waits = _machine_that_waits(stack)
            _begin(stack, waits, letters)
            with _second_reader(stack) as hidden:
                began, cpu, server = time.perf_counter(), _cpu(), _cpu_of(state.pid)
                listed = _actonce(state.endpoint_url, "dead-letters", "list")
                list_cpu, list_server = _cpu() - cpu, _cpu_of(state.pid) - server
                list_seconds, list_hidden = time.perf_counter() - began, hidden()
            if len(listed["dead_letters"]) != letters:
                raise RuntimeError(f"{len(listed['dead_letters'])} of {letters} were listed")
            with _second_reader(stack) as hidden:
                began, cpu, server = time.perf_counter(), _cpu(), _cpu_of(state.pid)
                decided = _actonce(
                    state.endpoint_url, "dead-letters", "resolve", "--all", "--note", _NOTE, "--yes"
                )
                decide_cpu, decide_server = _cpu() - cpu, _cpu_of(state.pid) - server
                decide_seconds, decide_hidden = time.perf_counter() - began, hidden()
            left, held = counts(stack.sqs, stack.dead_letter_queue)
            _fill(stack, letters)
            began = time.perf_counter()
            to = str(Path(folder) / "discarded.jsonl")
            discarded = _actonce(
                state.endpoint_url,
                *("unstarted", "discard", "--all", "--note", _NOTE, "--to", to, "--yes"),
            )
            return Result(
                letters=letters,
                list_seconds=list_seconds,
                list_cpu_seconds=list_cpu,
                list_server_seconds=list_server,
                list_hidden=list_hidden,
                decide_seconds=decide_seconds,
                decide_cpu_seconds=decide_cpu,
                decide_server_seconds=decide_server,
                decide_hidden=decide_hidden,
                decided=decided["ends"].get("decided", 0),
                left_in_queue=left + held,
                open_executions=_open(stack, waits),
                discard_seconds=time.perf_counter() - began,
                discarded=discarded["discarded"],
            )
        finally:
            lifecycle.down(paths)


def _machine_that_waits(stack: Stack) -> str:
    """The state machine, beginning where it waits for a decision, so that nothing is invoked."""
    machine = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
    definition = json.loads(machine["definition"]) | {"StartAt": "DeadLetter"}
    return stack.stepfunctions.create_state_machine(
        name="waits", definition=json.dumps(definition), roleArn=machine["roleArn"]
    )["stateMachineArn"]


def _begin(stack: Stack, machine: str, number: int) -> None:
    """Start executions that wait for a decision, and wait until all their letters are there."""
    failure = {"reason": "not_performed", "error": "NotPerformed", "cause": "closed " * 30}

    def one(n: int) -> None:
        given = {"message_id": f"m-{n}", "body": {"n": n}, "failure": failure, "rounds": 0}
        stack.stepfunctions.start_execution(
            stateMachineArn=machine, name=f"m-{n}", input=json.dumps(given)
        )

    _side_by_side(one, number)
    deadline = time.monotonic() + 600
    while sum(counts(stack.sqs, stack.dead_letter_queue)) < number:
        if time.monotonic() > deadline:
            raise RuntimeError("the executions do not post their dead letters")
        time.sleep(1)


def _fill(stack: Stack, number: int) -> None:
    def ten(n: int) -> None:
        stack.sqs.send_message_batch(
            QueueUrl=stack.unstarted_queue,
            Entries=[
                {"Id": str(k), "MessageBody": f"{{garbage {k}"}
                for k in range(n * 10, min(number, n * 10 + 10))
            ],
        )

    _side_by_side(ten, -(-number // 10))


def _side_by_side(act: Callable[[int], None], number: int) -> None:
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(act, range(number)):
            pass


@contextmanager
def _second_reader(stack: Stack) -> Iterator[Callable[[], float]]:
    """Looks four times a second; afterwards tells how long it saw nothing in one piece."""
    ended = threading.Event()
    longest = 0.0

    def look() -> None:
        nonlocal longest
        since: float | None = None
        while not ended.wait(0.25):
            visible, held = counts(stack.sqs, stack.dead_letter_queue)
            if visible or not held:
                since = None
                continue
            since = since if since is not None else time.monotonic()
            longest = max(longest, time.monotonic() - since)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        yield lambda: longest
    finally:
        ended.set()
        reader.join()


def _open(stack: Stack, machine: str) -> int:
    pages = stack.stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=machine, statusFilter="RUNNING"
    )
    return sum(len(page["executions"]) for page in pages)


def _cpu() -> float:
    """CPU seconds of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_of(pid: int) -> float:
    """CPU seconds of a running process, its threads included; 0 where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _actonce(endpoint_url: str, *arguments: str) -> Any:
    environment = EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "PATH": os.environ["PATH"],
    }
    answer = subprocess.run(
        [_ACTONCE, *arguments, "--json"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def main(
    letters: Annotated[int, typer.Option(min=1, help="How many wait.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Measure how long many dead letters take to be listed and decided."""
    result = measure(letters)
    if as_json:
        told = asdict(result) | {"passed": result.passed, "machine": machine()}
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        out = Console(soft_wrap=True, highlight=False)
        out.print(", ".join(f"{name} {value}" for name, value in machine().items()))
        for name, value in asdict(result).items():
            text = f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
            out.print(f"{name.replace('_', ' '):16} {text:>10}")
        out.print("passed" if result.passed else "failed")
    raise typer.Exit(0 if result.passed else 1)


if __name__ == "__main__":
    typer.run(main)
