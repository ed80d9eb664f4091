"""`actonce worker`, run as a person runs it, and killed."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from actonce.aws import Stack
from actonce.demo import records
from actonce.demo.run import depth
from actonce.embedded import lifecycle
from actonce.embedded.paths import Paths
from tests.embedded.command_line import ACTONCE, run
from tests.embedded.waiting import wait_until

pytestmark = pytest.mark.embedded

MESSAGES = int(os.environ.get("ACTONCE_WORKER_MESSAGES", "150"))
"""How many are sent; `ACTONCE_WORKER_MESSAGES=500` for the long run, with ten kills."""

KILLS = max(2, MESSAGES // 50)

# Short, because a test waits: what a killed worker held is free again after about four seconds.
TIMES = ("--lock-timeout", "3", "--visibility", "2", "--clock-skew", "0.5", "--straggler", "1")


@pytest.fixture(scope="module")
def deployed(paths: Paths) -> tuple[lifecycle.State, Stack]:
    """A stack whose queue feeds no function; ledger and lease have one table."""
    parameters = {"Strategy": "ledger", "QueueFeeds": "worker"}
    return lifecycle.up(paths, lambda _: None, parameters=parameters)


both = pytest.mark.parametrize("strategy", ["ledger", "lease"])


def _start(
    strategy: str, state: lifecycle.State, log: Path, *options: str, **variables: str
) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= variables | {
        "AWS_ENDPOINT_URL": state.endpoint_url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    with log.open("ab") as lines:
        return subprocess.Popen(
            [str(ACTONCE), "worker", "--strategy", strategy, "--threads", "4", *TIMES, *options],
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


def _done(stack: Stack, strategy: str) -> set[str]:
    done = records.execution_names(stack, "SUCCEEDED")
    return {name for name in done if name.startswith(strategy)}


@both
def test_a_worker_killed_under_load_acts_on_nothing_twice_and_loses_nothing(
    deployed: tuple[lifecycle.State, Stack], strategy: str, tmp_path: Path
) -> None:
    state, stack = deployed
    log = tmp_path / "worker.log"

    def mine() -> dict[str, int]:
        return {m: n for m, n in _effects(stack).items() if m.startswith(strategy)}

    lines = [
        json.dumps({"message_id": f"{strategy}-{n}", "practice": "main"}) for n in range(MESSAGES)
    ]
    sent = run(state, "send", "-", input_text="\n".join(lines + lines[: MESSAGES // 5]))
    assert sent.returncode == 0, sent.stderr
    for kill in range(1, KILLS + 1):
        worker = _start(strategy, state, log)
        try:
            # Killed in the middle of its work: some is done, some is not.
            goal = MESSAGES * kill // (KILLS + 2)
            wait_until(lambda goal=goal: len(mine()) >= goal, 120)  # type: ignore[misc]
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
    assert len(mine()) == MESSAGES
    assert set(mine().values()) == {1}


@both
def test_told_to_stop_a_worker_leaves_nothing_invisible(
    deployed: tuple[lifecycle.State, Stack], strategy: str, tmp_path: Path
) -> None:
    state, stack = deployed
    log = tmp_path / "worker.log"
    worker = _start(strategy, state, log)
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


@both
@pytest.mark.parametrize(("effect", "times"), [("SlowFenced", 1), ("Slow", 2)])
def test_a_worker_that_stood_still_past_its_time_acts_again_only_if_nothing_fences_it(
    deployed: tuple[lifecycle.State, Stack],
    strategy: str,
    tmp_path: Path,
    effect: str,
    times: int,
) -> None:
    # "Slow" acts twice: what no lock can prevent, and docs/strategies say so.
    state, stack = deployed
    message_id = f"{strategy}-{effect}"
    begun, go_on = tmp_path / "begun", tmp_path / "go-on"
    asleep = _start(
        strategy, state, tmp_path / "asleep.log", "--effect", f"slow_effect:{effect}",
        BEGUN=str(begun), GO_ON=str(go_on), PYTHONPATH=str(Path(__file__).parent / "held_up"),
    )  # fmt: skip
    awake = None
    try:
        body = json.dumps({"message_id": message_id})
        assert run(state, "send", "-", input_text=body).returncode == 0
        wait_until(begun.exists)
        asleep.send_signal(signal.SIGSTOP)
        awake = _start(strategy, state, tmp_path / "awake.log")
        wait_until(lambda: message_id in records.execution_names(stack, "SUCCEEDED"), 60)
        assert _effects(stack)[message_id] == 1
        go_on.touch()
        asleep.send_signal(signal.SIGCONT)
        wait_until(lambda: "failed" in (tmp_path / "asleep.log").read_text())
        assert _effects(stack)[message_id] == times
    finally:
        for worker in filter(None, (asleep, awake)):
            worker.kill()
            worker.wait()
