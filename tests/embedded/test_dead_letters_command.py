import dataclasses
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from actonce.embedded.lifecycle import State
from actonce.messages.dead_letters import DeadLetter, letter_of, look
from actonce.messages.filters import Narrowing
from actonce.queues.scan import QueueReader
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from tests.actonce_server import ACTONCE
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

Send = Callable[[Any], None]


def listed(stack: Stack, message_id: str) -> DeadLetter | None:
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        return letter_of(queue, message_id)


def waits_for_a_decision(stack: Stack) -> Stack:
    """The stack with a state machine that begins with DeadLetter, so that nothing is invoked."""
    machine = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
    definition = json.loads(machine["definition"]) | {"StartAt": "DeadLetter"}
    arn = stack.stepfunctions.create_state_machine(
        name=f"{machine['name']}-waits",
        definition=json.dumps(definition),
        roleArn=machine["roleArn"],
    )["stateMachineArn"]
    return dataclasses.replace(stack, outputs=stack.outputs | {"ProcessMessageArn": arn})


@pytest.fixture
def dead_letter(stack: Stack, send: Send, message_id: str) -> str:
    """The id of a message that waits for a decision."""
    send({"message_id": message_id, "practice": 7})
    wait_until(lambda: listed(stack, message_id))
    return message_id


def test_a_dead_letter_is_listed_shown_resolved_and_then_decided_no_more(
    state: State, stack: Stack, dead_letter: str
) -> None:
    for _ in range(2):  # it stays in the queue
        everything = run_json(state, "dead-letters", "list")["dead_letters"]
        (letter,) = [one for one in everything if one["message_id"] == dead_letter]
        assert (letter["reason"], letter["error"], letter["rounds"]) == ("rejected", "Rejected", 0)
        assert "task_token" not in letter
    shown = run_json(state, "dead-letters", "show", dead_letter)
    assert shown["execution_status"] == "RUNNING"
    assert json.loads(shown["message"]["body"]) == {"message_id": dead_letter, "practice": 7}
    for_a_person = run(state, "dead-letters", "show", dead_letter).stdout
    assert "practice must be a string" in for_a_person
    assert "errorMessage" not in for_a_person

    resolve = ("dead-letters", "resolve", dead_letter, "--note", "by hand")
    assert run_json(state, *resolve)["end"] == "decided"
    assert listed(stack, dead_letter) is None
    ended = wait_for_execution(stack, stack.execution_arn(dead_letter))
    assert ended["status"] == "SUCCEEDED"
    again = run(state, "dead-letters", "reject", dead_letter, "--note", "no")
    assert (again.returncode, "the last decision was resolve" in again.stderr) == (1, True)
    assert run_json(state, *resolve)["end"] == "already_decided"


def test_a_retry_that_fails_again_posts_a_new_letter_which_is_rejected_with_a_note(
    state: State, stack: Stack, dead_letter: str
) -> None:
    first = listed(stack, dead_letter)
    assert run_json(state, "dead-letters", "retry", dead_letter)["end"] == "decided"
    second = wait_until(lambda: listed(stack, dead_letter))
    assert first is not None
    assert second is not None
    assert second.task_token != first.task_token
    answer = run(state, "dead-letters", "reject", dead_letter, "--note", "Praxis schließt [x]")
    assert (answer.returncode, answer.stdout) == (0, "Decided: reject.\n")
    ended = wait_for_execution(stack, stack.execution_arn(dead_letter))
    assert (ended["status"], ended["error"]) == ("FAILED", "RejectedByOperator")
    assert ended["cause"] == "Praxis schließt [x]"


def wait_for_decisions(waits: Stack, prefix: str, number: int) -> list[str]:
    """Start executions that wait for a decision; their names."""
    names = [f"{prefix}-{n}" for n in range(number)]
    for name in names:
        failure = {"reason": "not_performed", "error": "NotPerformed", "cause": "closed"}
        given = {"message_id": name, "body": "{}", "failure": failure, "rounds": 0}
        waits.stepfunctions.start_execution(
            stateMachineArn=waits.state_machine, name=name, input=json.dumps(given)
        )
    wait_until(lambda: named_like(waits, prefix) == number)
    return names


def named_like(stack: Stack, prefix: str) -> int:
    """How many letters there are of messages whose ids begin so."""
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = look(queue, Narrowing({})).entries
    return sum(one.message_id.startswith(prefix) for one in letters)


def begin(state: State, *arguments: str) -> subprocess.Popen[str]:
    environment = EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": state.endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "PATH": os.environ["PATH"],
    }
    return subprocess.Popen(
        [str(ACTONCE), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
def test_interrupted_killed_and_said_again_it_decides_on_each_once(
    state: State, stack: Stack, message_id: str
) -> None:
    waits = waits_for_a_decision(stack)
    wait_for_decisions(waits, message_id, 40)
    narrowed = ("--all", "--yes", "--match", message_id, "--note", "x", "--rate", "3")

    def decided() -> int:
        answer = waits.stepfunctions.list_executions(
            stateMachineArn=waits.state_machine, statusFilter="SUCCEEDED", maxResults=1000
        )
        return sum(one["name"].startswith(message_id) for one in answer["executions"])

    with begin(state, "dead-letters", "resolve", *narrowed) as interrupted:
        wait_until(lambda: decided() >= 3)
        interrupted.send_signal(signal.SIGINT)
        out, err = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 130
    (number,) = re.findall(r"^Decided: (\d+)$", out, re.MULTILINE)
    before = int(number)
    assert 0 < before < 40
    assert f"Interrupted: {before} of 40" in err
    assert named_like(stack, message_id) == 40 - before
    wait_until(lambda: decided() == before)

    with begin(state, "dead-letters", "resolve", *narrowed) as killed:
        wait_until(lambda: decided() >= before + 3)
        killed.kill()

    # What was decided when it was killed has been deleted, or is found to be decided.
    again = ("dead-letters", "resolve", *narrowed[:-1], "1000")
    wait_until(lambda: run(state, *again).returncode == 0, 120)
    assert named_like(stack, message_id) == 0
    wait_until(lambda: decided() == 40)
