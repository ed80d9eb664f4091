"""A storm of duplicates: N messages, followed at once by the same N sent again.

    python -m bench.storm [--messages 2000] [--json]

Runs on an embedded AWS of its own, taken down at the end. Says how fast the starter brought the
first and the second half to their ends (by its own log), what was left in the queues, and
whether DescribeExecution was called (by the embedded CloudTrail). Exit status 1 if anything was
refused, became a dead letter or was acted on twice, if DescribeExecution was called, or if the
second half was slower than the first.
"""

import io
import json
import os
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

import typer
from rich.console import Console
from rich.table import Table

from actonce.demo import records, requests
from actonce.demo.run import Resting, wait_for_rest
from actonce.embedded import functions, lifecycle
from actonce.queues.sending import Sender
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from bench.machine import machine


class Result(TypedDict):
    """What one storm showed; rates in deliveries a second."""

    messages: int
    deliveries: int
    started: int
    suppressed: int
    refused: int
    dead_letters: int
    effects: int
    acted_on_twice: int
    first_half_per_second: float
    second_half_per_second: float
    describe_execution_calls: int
    passed: bool


def storm(messages: int, seed: int) -> Result:
    """Bring a stack up, send everything twice, wait for rest, take it down."""
    os.environ |= {"CLOUDTRAIL_RECORDING": "1", "CLOUDTRAIL_MAX_EVENTS": "1000000"}
    with tempfile.TemporaryDirectory(prefix="actonce-storm-") as folder:
        paths = Paths(Path(folder))
        try:
            _, stack = lifecycle.up(paths, lambda _: None, parameters={})
            functions.warm(stack)
            return _storm(stack, messages, seed)
        finally:
            lifecycle.down(paths)


def _storm(stack: Stack, messages: int, seed: int) -> Result:
    traffic = requests.generate(messages, seed)
    once = {json.loads(body)["message_id"]: body for body in traffic.bodies}
    source = "\n".join([*once.values(), *once.values()]).encode()
    Sender(stack.sqs, stack.requests_queue).send_all(io.BytesIO(source), lambda _: None)
    wait_for_rest(stack, Resting(messages))
    found = records.read(stack)
    ends = sorted((datetime.fromisoformat(line["at"]), line["end"]) for line in found.deliveries)
    times = [at for at, _ in ends]
    first, second = times[:messages], times[messages:]
    # The outcome's own counting describes no execution: none was resolved by hand.
    describe_calls = _calls(stack, "DescribeExecution")
    recorded = _calls(stack, "StartExecution") > 0
    result = Result(
        messages=messages,
        deliveries=len(found.deliveries),
        started=len(found.executions),
        suppressed=sum(end == "suppressed" for _, end in ends),
        refused=len(found.refused),
        dead_letters=len(found.waiting),
        effects=sum(found.effects.values()),
        acted_on_twice=sum(number > 1 for number in found.effects.values()),
        first_half_per_second=round(len(first) / (first[-1] - first[0]).total_seconds(), 1),
        second_half_per_second=round(len(second) / (second[-1] - first[-1]).total_seconds(), 1),
        describe_execution_calls=describe_calls,
        passed=False,
    )
    result["passed"] = (
        result["started"] == result["effects"] == messages
        and result["deliveries"] == 2 * messages
        and result["refused"] == result["dead_letters"] == result["acted_on_twice"] == 0
        and recorded
        and describe_calls == 0
        and result["second_half_per_second"] >= result["first_half_per_second"]
    )
    return result


def _calls(stack: Stack, name: str) -> int:
    """How often an API call was made since the start; the embedded CloudTrail tells at most 50."""
    answer = stack.aws.client("cloudtrail").lookup_events(
        LookupAttributes=[{"AttributeKey": "EventName", "AttributeValue": name}]
    )
    return len(answer["Events"])


def main(
    messages: Annotated[int, typer.Option(min=20)] = 2000,
    seed: Annotated[int, typer.Option()] = 1,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run the storm and print what it showed."""
    began = time.monotonic()
    result = storm(messages, seed)
    ran_on = {**machine(), "seed": seed, "seconds": round(time.monotonic() - began, 1)}
    if json_:
        sys.stdout.write(json.dumps({"result": result, "machine": ran_on}) + "\n")
    else:
        table = Table(show_header=False, box=None)
        for name, value in (result | ran_on).items():
            table.add_row(name.replace("_", " "), str(value))
        Console().print(table)
    raise typer.Exit(0 if result["passed"] else 1)


if __name__ == "__main__":
    typer.run(main)
