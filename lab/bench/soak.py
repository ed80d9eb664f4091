"""Everything at once: many faults, each failure in turn, and all functions killed repeatedly.

    timeout -s INT 7200 python -m lab.bench.soak [--messages 10000] [--kills 20]
    python -m lab.bench.soak --messages 300 --kills 0 --failure throttled --spell-seconds 60

A fifth of the messages is sent again. It runs on its own embedded AWS, which it takes down at the
end. Once all is at rest, every other dead letter is tried again, and the audit counts from the
records. Exit status 1 if a message was acted on twice, lost or exiled, if the two counts differ, if
there were fewer kills or failures than requested, or if it did not come to rest. Then, and if it is
interrupted, the records are kept.
"""

import contextlib
import json
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from actonce.demo import records
from actonce.demo.run import Result, Settings, run
from actonce.embedded import faults, functions, lifecycle
from actonce.embedded.injected.failing_services import FAILED_CALLS, write_rules
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed
from actonce_pipeline.spark.java import use_java
from appointments import BOOK_KEY
from lab.bench.machine import machine

QUIET_SECONDS = 900
"""Longest wait for progress; longer than the longest back-off."""

_PAUSE_SHARE = 0.5
_SAY = Console(stderr=True)
_RECORDS = PROJECT / ".actonce" / "soak-records"
_PARAMETERS = {
    "MaximumConcurrency": "4",
    # An effect that overruns its time-out is waited for.
    "EffectTimeoutSeconds": "6",
}

_DYNAMODB = "DynamoDB_20120810."
_OF_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
_UNAVAILABLE = (503, "ServiceUnavailable")


def _rule(call: str, meets: Any, body: str = "", quota: Sequence[float] | None = None) -> Any:
    return {"call": call, "body": body, "quota": quota, "meets": meets}


def _provider(quota: Sequence[float] | None = None) -> Any:
    """The effect's provider is a practice's book; a provider that is down is a closed book."""
    closed = (400, f"{_OF_DYNAMODB}ConditionalCheckFailedException")
    return _rule(f"{_DYNAMODB}UpdateItem", closed, f'"{BOOK_KEY}"', quota)


_NO_START = _rule("AWSStepFunctions.", _UNAVAILABLE)
_THROTTLED = (400, f"{_OF_DYNAMODB}ProvisionedThroughputExceededException")

FAILURES: dict[str, list[Any]] = {
    "throttled": [
        _rule("AWSStepFunctions.StartExecution", (400, "ThrottlingException"), quota=(25, 6))
    ],
    "table-throttled": [_rule(f"{_DYNAMODB}PutItem", _THROTTLED, quota=(25, 20))],
    "provider-down": [_provider()],
    "slow-provider": [_provider(quota=(10, 10))],
    "dynamodb-down": [_rule(_DYNAMODB, (500, f"{_OF_DYNAMODB}InternalServerError"))],
    "step-functions-down": [_NO_START],
    "step-functions-silent": [_rule("AWSStepFunctions.", "silent")],
    "sqs-down": [_NO_START, _rule("AmazonSQS.", _UNAVAILABLE)],
    # Answers of effects that happened are lost, and nothing can be looked up.
    "find-down": [
        _rule(f"{_DYNAMODB}Query", (400, "ResourceNotFoundException")),
        _rule(f"{_DYNAMODB}PutItem", "lost", '"appointment-'),
    ],
}
"""What the functions' calls meet, by name, as `failing_services` has it."""


@dataclass(slots=True)
class Trouble:
    """Disturbs a run, in its own threads, until the run is over.

    Attributes:
        kills: how often to kill all functions, evenly over the messages that are done.
        failures: one after another, each for `spell_seconds` and with a pause after it; repeated
            until all kills are done.
        killed: how many processes each kill ended.
        had: names of the failures so far.
        did_not_pass: failed calls, by name.
        error: the exception that ended it early.
    """

    paths: Paths
    messages: int
    kills: int
    failures: Sequence[str]
    spell_seconds: float
    killed: list[int] = field(default_factory=list)
    had: set[str] = field(default_factory=set)
    did_not_pass: Counter[str] = field(default_factory=Counter)
    error: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def made(self, _: Stack) -> Iterator[None]:
        """Disturb while the context is open."""
        with ThreadPoolExecutor(2) as threads:
            work = [threads.submit(self._change_failure), threads.submit(self._kill)]
            try:
                yield
            finally:
                self.over.set()
                self.error = next(filter(None, (one.exception() for one in work)), None)
                write_rules(self.paths.faults, ())
                with contextlib.suppress(FileNotFoundError):
                    failed_calls = (self.paths.faults / FAILED_CALLS).read_text().splitlines()
                    self.did_not_pass.update(failed_calls)

    def _change_failure(self) -> None:
        while not any((self.paths.records / "sent").rglob("*.gz")):  # nothing is sent yet
            if self.over.wait(0.2):
                return
        turns = 0
        # At the last kill most messages are done; the rest must get through undisturbed.
        while turns == 0 or len(self.killed) < self.kills:
            for name in self.failures:
                _SAY.print(name, style="dim")
                write_rules(self.paths.faults, FAILURES[name])
                self.had.add(name)
                if self.over.wait(self.spell_seconds):
                    return
                write_rules(self.paths.faults, ())
                if self.over.wait(self.spell_seconds * _PAUSE_SHARE):
                    return
            turns += 1

    def _kill(self) -> None:
        took = 0.0
        while len(self.killed) < self.kills and not self.over.wait(max(1.0, 4 * took)):
            state = lifecycle.running(self.paths)
            if not self.had or state is None:
                continue
            stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
            began = time.monotonic()
            done = len(records.execution_names(stack, "SUCCEEDED"))
            took = time.monotonic() - began  # listing many is much work for the embedded AWS
            due = (len(self.killed) + 0.5) / self.kills * self.messages * 0.9
            if done >= due:
                self.killed.append(functions.kill(state))
                _SAY.print(f"{done} done; {self.killed[-1]} processes killed", style="dim")


def report(result: Result, trouble: Trouble) -> dict[str, Any]:
    """A run's result, and whether it is good."""
    outcome = result.outcome
    differences = ["not audited"] if result.second is None else result.second.differences
    not_had = set(trouble.failures) - trouble.had
    exiled = sum(outcome.refused.values())
    return {
        **outcome.as_json(),
        "exiled": exiled,
        "interruptions": result.interruptions.total(),
        "times_killed": len(trouble.killed),
        "processes_killed": sum(trouble.killed),
        "did_not_pass": dict(trouble.did_not_pass),
        "failures_not_had": sorted(not_had),
        "audit_differs": differences,
        "trouble": None if trouble.error is None else repr(trouble.error),
        "good": bool(
            outcome.exactly_once
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
    failure: Annotated[list[str] | None, typer.Option(help="Only this one. [all]")] = None,
    spell_seconds: Annotated[float, typer.Option(min=1, help="How long a failure lasts.")] = 4,
    faults_: Annotated[faults.Level, typer.Option("--faults")] = faults.Level.MANY,
    seed: Annotated[int, typer.Option()] = 1,
) -> None:
    """Run it and print the result, a JSON object."""
    if unknown := set(failure or ()) - set(FAILURES):
        raise typer.BadParameter(f"No {', '.join(unknown)}: there are {', '.join(FAILURES)}.")
    result: dict[str, Any] = {"machine": machine("ministack", "boto3"), "good": False}
    with tempfile.TemporaryDirectory(prefix="actonce-soak-") as folder:
        paths = Paths(Path(folder).resolve())
        trouble = Trouble(paths, messages, kills, failure or list(FAILURES), spell_seconds)
        settings = Settings(
            messages=messages,
            seed=seed,
            level=faults_,
            file=None,
            keep=False,
            parameters=_PARAMETERS,
            audit=use_java(),
            quiet_seconds=QUIET_SECONDS,
            around=trouble.made,
        )
        try:
            result |= report(run(settings, paths, _SAY.print), trouble)
        except Failed as error:
            result |= {"why": str(error), "times_killed": len(trouble.killed)}
        finally:
            lifecycle.down(paths)
            if not result["good"] and paths.records.is_dir():
                shutil.copytree(paths.records, _RECORDS, dirs_exist_ok=True)
                _SAY.print(f"The records are kept in {_RECORDS}", markup=False)
    print(json.dumps(result, indent=1))
    raise typer.Exit(0 if result["good"] else 1)


if __name__ == "__main__":
    typer.run(main)
