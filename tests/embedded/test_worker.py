"""`actonce worker`, run as a person runs it, and killed."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from actonce.aws import Stack
from actonce.demo import records
from actonce.embedded import lifecycle
from actonce.embedded.paths import Paths
from tests.embedded.command_line import ACTONCE, run
from tests.embedded.waiting import wait_until

pytestmark = pytest.mark.embedded

LOAD = {"ledger": (500, 10), "lease": (150, 3)}
"""Messages, and how often the worker is killed; a lease is waited out by every contender."""

# Short, because a test waits: what a killed worker held is free again after about four seconds.
TIMES = ("--lock-timeout", "3", "--visibility", "2", "--clock-skew", "0.5", "--straggler", "1")


@pytest.fixture(scope="module", params=["ledger", "lease"])
def deployed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, lifecycle.State, Stack]]:
    paths = Paths(tmp_path_factory.mktemp(request.param))
    parameters = {"Strategy": request.param, "QueueFeeds": "worker"}
    try:
        state, stack = lifecycle.up(paths, lambda _: None, parameters=parameters)
        yield request.param, state, stack
    finally:
        lifecycle.down(paths)


def _start(strategy: str, state: lifecycle.State, log: Path) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {
        "AWS_ENDPOINT_URL": state.endpoint_url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    with log.open("ab") as lines:
        return subprocess.Popen(
            [str(ACTONCE), "worker", "--strategy", strategy, "--threads", "4", *TIMES],
            env=environment,
            stdout=lines,
            stderr=lines,
        )


def _effects(stack: Stack) -> Counter[str]:
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=stack.appointments_table, ConsistentRead=True
    )
    return Counter(
        item["message_id"]["S"]
        for page in pages
        for item in page["Items"]
        if item["appointment_id"]["S"].startswith("appointment-")
    )


def test_a_worker_killed_under_load_acts_on_nothing_twice_and_loses_nothing(
    deployed: tuple[str, lifecycle.State, Stack], tmp_path: Path
) -> None:
    strategy, state, stack = deployed
    messages, kills = LOAD[strategy]
    log = tmp_path / "worker.log"
    lines = [json.dumps({"message_id": f"m-{n}", "practice": "main"}) for n in range(messages)]
    sent = run(state, "send", "-", input_text="\n".join(lines + lines[: messages // 5]))
    assert sent.returncode == 0, sent.stderr
    for kill in range(1, kills + 1):
        worker = _start(strategy, state, log)
        try:
            # Killed in the middle of its work: some is done, some is not.
            goal = messages * kill // (kills + 2)
            wait_until(lambda goal=goal: _effects(stack).total() >= goal, 120)  # type: ignore[misc]
        finally:
            worker.kill()
            worker.wait()
    worker = _start(strategy, state, log)
    try:
        wait_until(lambda: len(records.execution_names(stack, "SUCCEEDED")) == messages, 120)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0, log.read_text()
    finally:
        worker.kill()
    told = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {line["stream"] for line in told} == {"deliveries"}
    assert sum(line["end"] == "started" for line in told) <= messages
    effects = _effects(stack)
    assert len(effects) == messages
    assert set(effects.values()) == {1}


def test_told_to_stop_a_worker_leaves_nothing_invisible(
    deployed: tuple[str, lifecycle.State, Stack], tmp_path: Path
) -> None:
    strategy, state, stack = deployed
    log = tmp_path / "worker.log"
    worker = _start(strategy, state, log)
    try:
        wait_until(lambda: "Working" in log.read_text())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=60) == 0
    finally:
        worker.kill()
    assert run(state, "send", "-", input_text='{"message_id": "after"}').returncode == 0
    assert stack.sqs.receive_message(
        QueueUrl=stack.requests_queue, WaitTimeSeconds=5, VisibilityTimeout=0
    )["Messages"]
