"""Everything at once: many faults, every failure in turn, all functions killed again and again.

    timeout -s INT 7200 python -m lab.bench.soak [--messages 10000] [--kills 20] [--json]

A fifth of the messages is sent again. Runs on an embedded AWS of its own, taken down at the end.
When all has come to rest, every other dead letter is tried again, and the audit counts from the
records. Exit status 1 if a message was acted on twice, lost or exiled, if the two counts differ, if
there were fewer kills or failures than asked for, or if it did not come to rest; the records are
then kept, to be looked into, and so they are if it is interrupted.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from actonce.cli.demo import Strategy
from actonce.demo import records
from actonce.demo.run import Result, Settings, run
from actonce.embedded import faults, functions, lifecycle
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed
from lab.bench.report import machine, tell
from lab.faults.kinds import MEASURED, PARAMETERS, QUIET_SECONDS
from lab.faults.stack import under
from lab.faults.transient import NO_FAILURE, Injector, TransientFailure
from pipeline.spark.java import use_java

_PAUSE_SHARE = 0.5
_SAY = Console(stderr=True)
_RECORDS = PROJECT / ".actonce" / "soak-records"
_PACED = {"EffectTimeoutSeconds": "6"}
"""What overruns its time-out is waited for."""


@dataclass(slots=True)
class Trouble:
    """What is done to a run, by a thread of its own, until it is over.

    Attributes:
        kills: how often all functions are killed, evenly over the messages that are done.
        failures: one after the other, each for `spell_seconds`, with a pause after each; again and
            again until all kills are done.
        killed: processes, one number for each time.
        had: names of the failures that there were; each meets what is called in its time.
        error: what ended it before its time.
    """

    injector: Injector
    paths: Paths
    messages: int
    kills: int
    failures: Sequence[TransientFailure]
    spell_seconds: float
    killed: list[int] = field(default_factory=list)
    had: set[str] = field(default_factory=set)
    error: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def made(self) -> Iterator[None]:
        """Make it while the context is open."""
        with ThreadPoolExecutor(2) as threads:
            work = [threads.submit(self._change_failure), threads.submit(self._kill)]
            try:
                yield
            finally:
                self.over.set()
                self.error = next(filter(None, (one.exception() for one in work)), None)
                self.injector.change(NO_FAILURE)

    def _change_failure(self) -> None:
        while not any(self.paths.sent.rglob("*.gz")):  # nothing is sent yet
            if self.over.wait(0.2):
                return
        turns = 0
        # With the last kill most is done; what still waits is to get through.
        while turns == 0 or len(self.killed) < self.kills:
            for failure in self.failures:
                _SAY.print(f"{failure.name}: {failure.says}", style="dim", soft_wrap=True)
                self.injector.change(failure)
                self.had.add(failure.name)
                if self.over.wait(self.spell_seconds):
                    return
                self.injector.change(NO_FAILURE)
                if self.over.wait(self.spell_seconds * _PAUSE_SHARE):
                    return
            turns += 1

    def _kill(self) -> None:
        took = 0.0
        while len(self.killed) < self.kills and not self.over.wait(max(1.0, 4 * took)):
            if self.injector.began == 0:
                continue
            state = lifecycle.running(self.paths)
            if state is None:
                continue
            stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
            asked = time.monotonic()
            done = len(records.execution_names(stack, "SUCCEEDED"))
            took = time.monotonic() - asked  # of many it is much work for the embedded AWS
            due = (len(self.killed) + 0.5) / self.kills * self.messages * 0.9
            if done >= due:
                self.killed.append(functions.kill(state))
                _SAY.print(f"{done} done; {self.killed[-1]} processes killed", style="dim")


def soak(settings: Settings, trouble: Trouble) -> Result:
    """Run it.

    Raises:
        Failed: it did not come to rest.
    """
    try:
        with trouble.made():
            around = partial(under, injector=trouble.injector)
            return run(replace(settings, around=around), trouble.paths, _SAY.print)
    finally:
        lifecycle.down(trouble.paths)


def report(result: Result, trouble: Trouble) -> dict[str, Any]:
    """What it said, and whether that is good."""
    outcome = result.outcome
    differences = ["not audited"] if result.second is None else result.second.differences
    not_had = {failure.name for failure in trouble.failures} - trouble.had
    exiled = sum(outcome.refused.values())
    return {
        **outcome.as_json(),
        "exiled": exiled,
        "interruptions": result.interruptions.total(),
        "times_killed": len(trouble.killed),
        "processes_killed": sum(trouble.killed),
        "refused_by_failure": dict(trouble.injector.failures),
        "failures_not_had": sorted(not_had),
        "audit_differs": differences,
        "good": bool(
            outcome.exactly_once
            and not outcome.out_of_order
            and not exiled
            and not differences
            and trouble.error is None
            and len(trouble.killed) >= trouble.kills
            and not not_had
        ),
    }


def main(
    messages: Annotated[int, typer.Option(min=50)] = 10_000,
    kills: Annotated[int, typer.Option(min=0, help="How often all functions are killed.")] = 20,
    spell_seconds: Annotated[float, typer.Option(min=1, help="How long a failure lasts.")] = 20,
    seed: Annotated[int, typer.Option()] = 1,
    strategy: Annotated[Strategy, typer.Option()] = Strategy.STEP_FUNCTIONS,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run it and print what it said."""
    began = time.monotonic()
    failures = [
        replace(failure, down_seconds=spell_seconds) if failure.down else failure
        for failure in MEASURED.values()
    ]
    audited = strategy is Strategy.STEP_FUNCTIONS and use_java()
    settings = Settings(
        messages=messages,
        seed=seed,
        level=faults.Level.MANY,
        file=None,
        keep=False,
        parameters=PARAMETERS | _PACED | strategy.parameters,
        audit=audited,
        quiet_seconds=QUIET_SECONDS,
    )
    told: dict[str, Any] = {"good": False}
    with tempfile.TemporaryDirectory(prefix="actonce-soak-") as folder:
        trouble = Trouble(
            Injector(), Paths(Path(folder).resolve()), messages, kills, failures, spell_seconds
        )
        try:
            told |= report(soak(settings, trouble), trouble)
        except Failed as error:
            told |= {"why": str(error), "times_killed": len(trouble.killed)}
        finally:
            if not told["good"] and trouble.paths.records.is_dir():
                shutil.copytree(trouble.paths.records, _RECORDS, dirs_exist_ok=True)
                _SAY.print(f"The records are kept in {_RECORDS}", markup=False)
    told |= {"trouble": None if trouble.error is None else repr(trouble.error)}
    inputs = {"messages": messages, "seed": seed, "spell_seconds": spell_seconds}
    inputs |= {"took_seconds": round(time.monotonic() - began, 1)}
    rows = [{"what": name.replace("_", " "), "told": told[name]} for name in told]
    ran_on = {"inputs": inputs, "machine": machine("ministack", "boto3")}
    tell(ran_on | {"rows": rows}, {"what": "what", "told": "told"}, as_json=json_)
    raise typer.Exit(0 if told["good"] else 1)


if __name__ == "__main__":
    typer.run(main)
