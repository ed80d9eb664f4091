"""`actonce worker`, run as a person runs it, and killed."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from actonce.demo import records
from actonce.demo.run import depth
from actonce.embedded import lifecycle
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.conformance.verdict import Kind
from tests.embedded.command_line import begin, environment, run
from tests.embedded.hazards import (
    disagreement,
    effects_by_practice,
    ends_by_practice,
    verdict_of,
)
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

MESSAGES = int(os.environ.get("ACTONCE_WORKER_MESSAGES", "150"))
"""How many are sent; `ACTONCE_WORKER_MESSAGES=500` for the long run, with ten kills."""

KILLS = max(2, MESSAGES // 50)

# Short, because a test waits: what a killed worker held is free again after about four seconds.
TIMES = ("--lock-timeout", "3", "--visibility", "2", "--clock-skew", "0.5", "--straggler", "1")


@pytest.fixture(scope="module")
def deployed(paths: Paths) -> tuple[lifecycle.State, Stack]:
    """A stack whose queue feeds no function; ledger and lease have one table."""
    return _deployed_with("ledger", paths)


def _deployed_with(strategy: str, paths: Paths) -> tuple[lifecycle.State, Stack]:
    parameters = {"Strategy": strategy, "QueueFeeds": "worker"}
    return lifecycle.up(paths, lambda _: None, parameters=parameters)


both = pytest.mark.parametrize("strategy", ["ledger", "lease"])


def _start(
    strategy: str | None, state: lifecycle.State, log: Path, *options: str, **variables: str
) -> subprocess.Popen[str]:
    asked = () if strategy is None else ("--strategy", strategy)
    with log.open("ab") as lines:
        return begin(
            state.endpoint_url,
            *("worker", *asked, "--threads", "4", *TIMES, *options),
            env=environment(state.endpoint_url, **variables),
            stdout=lines,
            stderr=lines,
        )


def _done(stack: Stack, strategy: str) -> set[str]:
    done = records.execution_names(stack, "SUCCEEDED")
    return {name for name in done if name.startswith(strategy)}


@both
def test_a_worker_killed_under_load_acts_on_nothing_twice_and_loses_nothing(
    paths: Paths, strategy: str, tmp_path: Path
) -> None:
    state, stack = _deployed_with(strategy, paths)
    log = tmp_path / "worker.log"

    bodies = [{"message_id": f"{strategy}-{n}", "practice": strategy} for n in range(MESSAGES)]

    def effects() -> list[tuple[str, str]]:
        return effects_by_practice(stack)[strategy]

    lines = [json.dumps(body) for body in bodies]
    sent = run(state, "send", "-", input_text="\n".join(lines + lines[: MESSAGES // 5]))
    assert sent.returncode == 0, sent.stderr
    for kill in range(1, KILLS + 1):
        worker = _start(strategy, state, log)
        try:
            # Killed in the middle of its work: some is done, some is not.
            goal = MESSAGES * kill // (KILLS + 2)
            wait_until(lambda goal=goal: len(effects()) >= goal, 120)  # type: ignore[misc]
        finally:
            worker.kill()
            worker.wait()
    worker = _start(strategy, state, log)
    try:
        wait_until(lambda: len(_done(stack, strategy)) == MESSAGES, 120)
        wait_until(lambda: depth(stack, stack.requests_queue) == 0, 120)  # the duplicates, too
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0, log.read_text()
    finally:
        worker.kill()
    told = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {line["stream"] for line in told} == {"deliveries"}
    assert sum(line["end"] == "started" for line in told) <= MESSAGES
    assert len(effects()) == MESSAGES
    messages = [(body["message_id"], body) for body in bodies]
    ended = ends_by_practice(stack, {strategy: messages})[strategy]
    assert verdict_of(ended, "crash").kind == Kind.SURVIVED
    assert not disagreement(f"{strategy}-worker-fenced", "crash", verdict_of(ended, "crash"))


def test_told_to_stop_a_worker_leaves_nothing_invisible(
    deployed: tuple[lifecycle.State, Stack], tmp_path: Path
) -> None:
    state, stack = deployed
    log = tmp_path / "worker.log"
    worker = _start(None, state, log)  # with the stack's
    try:
        wait_until(lambda: "Working" in log.read_text())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0
    finally:
        worker.kill()
    assert run(state, "send", "-", input_text='{"message_id": "after"}').returncode == 0
    (message,) = stack.sqs.receive_message(
        QueueUrl=stack.requests_queue, WaitTimeSeconds=5, MaxNumberOfMessages=10
    )["Messages"]
    stack.sqs.delete_message(QueueUrl=stack.requests_queue, ReceiptHandle=message["ReceiptHandle"])
