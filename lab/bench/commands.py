"""How long a command takes that a person waits for: from its start to its end.

    python -m lab.bench.commands [--runs 5] [--json]

Brings an embedded AWS up in a folder of its own, with a small demo's messages on it, and runs each
command several times, one after another; the best counts. Beside them the least that a Python
program with boto3 can take for one answer of that AWS, and sam, which people know. Exit status 1
if `--help` took more than 0.2 s, or another command more than a second.
"""

import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from actonce.embedded import lifecycle
from actonce.stack.clients import embedded_variables
from actonce.stack.embedded_folder import Paths
from lab.bench.report import figures, machine, tell

_SCRIPTS = Path(sysconfig.get_path("scripts"))
_ACTONCE = str(_SCRIPTS / "actonce")
_LEAST = "import boto3; boto3.client('stepfunctions').list_state_machines()"
_AT_MOST = {"--help": 0.2}
_AT_MOST_ELSE = 1.0


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of the best run: of wall, and of CPU in the same one; None: no aim is set."""

    command: str
    wall: float
    cpu: float
    at_most: float | None = None

    @property
    def is_missed(self) -> bool:
        """Whether it took longer than it should."""
        return self.at_most is not None and self.wall > self.at_most


def measure(runs: int) -> list[Took]:
    """Time each command on a stack with a small demo's messages, and take the stack down."""
    with tempfile.TemporaryDirectory(prefix="actonce-commands-") as folder:
        environment = _environment() | {"ACTONCE_DIR": folder}
        demo = [_ACTONCE, "demo", "--messages", "40", "--no-audit", "--json"]
        subprocess.run(demo, env=environment, check=True, capture_output=True)
        try:
            state = lifecycle.running(Paths(Path(folder)))
            if state is None:
                raise RuntimeError("the embedded AWS has gone")
            listed = _run([_ACTONCE, "list", "--json"], environment)
            message_id = json.loads(listed.stdout)["messages"][-1]["id"]
            least = environment | embedded_variables(state.endpoint_url)
            return [
                _best("python -c pass", [sys.executable, "-c", "pass"], environment, runs),
                _best("boto3, one answer", [sys.executable, "-c", _LEAST], least, runs),
                _best("sam --help", [str(_SCRIPTS / "sam"), "--help"], environment, runs),
                *(
                    _best(
                        f"actonce {' '.join(command)}",
                        [_ACTONCE, *command],
                        environment,
                        runs,
                        _AT_MOST.get(command[0], _AT_MOST_ELSE),
                    )
                    for command in (
                        ("--help",),
                        ("status",),
                        ("list",),
                        ("where", message_id),
                        ("dead-letters", "list"),
                        ("unstarted", "list"),
                    )
                ),
            ]
        finally:
            subprocess.run(
                [_ACTONCE, "down"], env=environment, check=False, stdout=subprocess.DEVNULL
            )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}


def _best(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    runs: int,
    at_most: float | None = None,
) -> Took:
    best = None
    for _ in range(runs):
        began, cpu = time.perf_counter(), _cpu()
        _run(command, environment)
        took = Took(name, time.perf_counter() - began, _cpu() - cpu, at_most)
        best = took if best is None or took.wall < best.wall else best
    if best is None:
        raise ValueError("runs: at least one")
    return best


def _run(
    command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(
    runs: Annotated[int, typer.Option(min=1, help="Of each command.")] = 5,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure and print."""
    took = measure(runs)
    inputs: dict[str, Any] = {"runs": runs, "messages": 40}
    table = figures("command", "wall s", "CPU s", "at most s")
    for one in took:
        aim = "" if one.at_most is None else f"{one.at_most:g}"
        missed = " missed" if one.is_missed else ""
        table.add_row(one.command, f"{one.wall:.2f}", f"{one.cpu:.2f}", aim + missed)
    report = {"inputs": inputs, "machine": machine("ministack", "boto3")}
    tell(report | {"took": [asdict(one) for one in took]}, table, as_json=json_)
    raise typer.Exit(int(any(one.is_missed for one in took)))


if __name__ == "__main__":
    typer.run(main)
