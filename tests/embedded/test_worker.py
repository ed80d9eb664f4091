"""`actonce worker`, run as a person runs it, and killed."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from actonce.demo import records
from actonce.demo.run import depth
from actonce.embedded import lifecycle
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.conformance.verdict import Ends, Kind
from tests.embedded.command_line import begin, environment, run
from tests.embedded.hazards import (
    Sent,
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


class Zombie(NamedTuple):
    """A worker that stands still right before its effect, in the table's words."""

    way: str
    strategy: str
    effect: str
    ends: Kind


ZOMBIES = (
    Zombie("ledger-worker-fenced", "ledger", "HeldUpFenced", Kind.SURVIVED),
    Zombie("lease-worker-fenced", "lease", "HeldUpFenced", Kind.SURVIVED),
    # What no lock can prevent, and docs/strategies.md says so.
    Zombie("ledger-worker", "ledger", "HeldUp", Kind.TWICE),
    Zombie("lease-worker", "lease", "HeldUp", Kind.TWICE),
)


@pytest.fixture(scope="module")
def stood_still(
    deployed: tuple[lifecycle.State, Stack], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Ends]:
    """Each on a queue of its own, so that they can be waited for side by side."""
    state, stack = deployed
    with ThreadPoolExecutor(len(ZOMBIES)) as threads:
        played = [
            threads.submit(_stand_still, one, state, stack, tmp_path_factory.mktemp(one.way))
            for one in ZOMBIES
        ]
        sent = dict(one.result() for one in played)
    return ends_by_practice(stack, sent)


def _stand_still(
    zombie: Zombie, state: lifecycle.State, stack: Stack, folder: Path
) -> tuple[str, list[Sent]]:
    """What was sent, after the worker slept past its time, another acted, and it woke up."""
    message_id = f"stood-still-{zombie.way}"
    body = {"message_id": message_id, "practice": zombie.way}
    queue_url = stack.sqs.create_queue(QueueName=message_id)["QueueUrl"]
    options = ("--threads", "1", "--queue", queue_url)
    asleep = _start(
        zombie.strategy, state, folder / "asleep.log", *options,
        "--effect", f"held_up:{zombie.effect}",
        HELD_UP=str(folder), PYTHONPATH=str(Path(__file__).parent / "held_up"),
    )  # fmt: skip
    awake = None
    try:
        stack.sqs.send_message(QueueUrl=queue_url, MessageBody=json.dumps(body))
        wait_until(lambda: any(folder.glob("begun-*")), 60)
        asleep.send_signal(signal.SIGSTOP)
        awake = _start(zombie.strategy, state, folder / "awake.log", *options)
        wait_until(lambda: message_id in records.execution_names(stack, "SUCCEEDED"), 60)
        assert len(effects_by_practice(stack)[zombie.way]) == 1
        (folder / "go-on").touch()
        asleep.send_signal(signal.SIGCONT)
        wait_until(lambda: "failed" in (folder / "asleep.log").read_text())
    finally:
        for worker in filter(None, (asleep, awake)):
            worker.kill()
            worker.wait()
    return zombie.way, [(message_id, body)]


@pytest.mark.parametrize("zombie", ZOMBIES, ids=lambda zombie: zombie.way)
def test_a_worker_that_stood_still_past_its_time_acts_again_only_if_nothing_fences_it(
    stood_still: dict[str, Ends], zombie: Zombie
) -> None:
    verdict = verdict_of(stood_still[zombie.way], "zombie")

    assert verdict.kind == zombie.ends
    assert not disagreement(zombie.way, "zombie", verdict)
