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
from actonce.operate.deciding import decide
from actonce.queues.scan import QueueReader
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from actonce.terminal.errors import Failed
from tests.actonce_server import ACTONCE
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

Send = Callable[[Any], None]

BOOK_OF = {"message_id": {"S": "#book"}}


def listed(stack: Stack, message_id: str) -> DeadLetter | None:
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        return letter_of(queue, message_id)


def with_other_machine(stack: Stack, kind: str, change: Callable[[dict[str, Any]], None]) -> Stack:
    """The stack with a state machine that differs in one thing, so that no test waits for it."""
    machine = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
    definition = json.loads(machine["definition"])
    change(definition)
    arn = stack.stepfunctions.create_state_machine(
        name=f"{machine['name']}-{kind}",
        definition=json.dumps(definition),
        roleArn=machine["roleArn"],
    )["stateMachineArn"]
    return dataclasses.replace(stack, outputs=stack.outputs | {"ProcessMessageArn": arn})


def start(stack: Stack, message_id: str, *, practice: Any) -> None:
    message = {"message_id": message_id, "body": json.dumps({"practice": practice})}
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name=message_id, input=json.dumps(message)
    )


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


def test_a_retried_message_is_performed_once_its_cause_is_gone(
    stack: Stack,
    message_id: str,
    appointments: Callable[[str], list[dict[str, Any]]],
) -> None:
    hasty = with_other_machine(
        stack, "hasty", lambda machine: machine["States"]["PerformEffect"].update(Retry=[])
    )
    book: Any = {**BOOK_OF, "appointment_id": {"S": f"book-{message_id}"}}
    table = stack.appointments_table
    stack.dynamodb.put_item(TableName=table, Item=book | {"closed": {"BOOL": True}})
    start(hasty, message_id, practice=message_id)
    letter = wait_until(lambda: listed(stack, message_id))
    assert letter is not None
    assert (letter.reason, letter.error) == ("not_performed", "NotPerformed")
    assert appointments(message_id) == []

    stack.dynamodb.put_item(TableName=table, Item=book | {"closed": {"BOOL": False}})
    assert decide(hasty, message_id, "retry").decided
    assert wait_for_execution(hasty, hasty.execution_arn(message_id))["status"] == "SUCCEEDED"
    assert len(appointments(message_id)) == 1


def test_a_dead_letter_that_nobody_answered_says_so_and_stays_to_be_seen(
    stack: Stack, message_id: str
) -> None:
    impatient = with_other_machine(
        stack, "impatient", lambda machine: machine["States"]["DeadLetter"].update(TimeoutSeconds=1)
    )
    start(impatient, message_id, practice=7)
    ended = wait_for_execution(impatient, impatient.execution_arn(message_id))
    assert (ended["status"], ended["error"]) == ("FAILED", "States.Timeout")
    assert listed(impatient, message_id) is not None

    answer = decide(impatient, message_id, "resolve", "too late")
    assert not answer.decided
    assert "Nobody had decided" in answer.said
    assert listed(impatient, message_id) is not None
    # MiniStack has no RedriveExecution; when it has, this fails, and the redrive can be tested.
    with pytest.raises(Failed, match="cannot be redriven"):
        decide(impatient, message_id, "retry")
    assert listed(impatient, message_id) is not None


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
    # It begins with DeadLetter, so that nothing is invoked.
    waits = with_other_machine(stack, "waits", lambda machine: machine.update(StartAt="DeadLetter"))
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
