"""Deployments by `sam deploy` while an execution is open, and while a stack is paused."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actonce.embedded import lambda_runtime, lifecycle, local_stack
from actonce.messages.dead_letters import DeadLetter, letter_of
from actonce.operate import by_token, pausing
from actonce.operate.deciding import decide
from actonce.operate.status import status
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.waiting import wait_for_execution, wait_until

HELD_UP = Path(__file__).with_name("held_up")
SHORT = {"EffectTimeoutSeconds": "4"}
LONG = SHORT | {"EffectTimeoutSeconds": "120"}
MESSAGE_ID = "overruns"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the effect tells of its attempts; the stack has the one that overruns in its place."""
    bootstrap = lambda_runtime.bootstrap

    def with_the_effect_that_overruns(packages: Path, bytecode: Path) -> str:
        handler = 'if [ "$_HANDLER" = appointments.handler ]; then _HANDLER=held_up.handler; fi'
        more = f'export EXTRA_PYTHONPATH="{HELD_UP}"\nexport HELD_UP="{tmp_path}"\n{handler}\n'
        return bootstrap(packages, bytecode).replace(
            "export PYTHONPATH", f"{more}export PYTHONPATH", 1
        )

    rewrite = local_stack.rewrite

    def with_one_round(built: Path, local: Path, settings: local_stack.Settings) -> Path:
        template = rewrite(built, local, settings)
        text = template.read_text()
        assert "MaxRounds: '3'" in text
        template.write_text(text.replace("MaxRounds: '3'", "MaxRounds: '1'"))
        return template

    monkeypatch.setattr(lambda_runtime, "bootstrap", with_the_effect_that_overruns)
    monkeypatch.setattr(local_stack, "rewrite", with_one_round)
    return tmp_path


def deploy(paths: Paths, parameters: dict[str, str]) -> Stack:
    """As `actonce up`: by `sam deploy`, to the stack that is there."""
    _, stack = lifecycle.up(paths, lambda _: None, parameters=parameters)
    if stack.ledger_table is not None:
        return stack
    function = stack.lambda_.get_function_configuration(FunctionName=stack.appointments_function)
    assert function["Timeout"] == int(parameters["EffectTimeoutSeconds"])
    version = stack.lambda_.get_function_configuration(FunctionName=stack.effect_function)
    assert (version["Timeout"], version["Version"] != "$LATEST") == (function["Timeout"], True)
    return stack


def attempts(folder: Path) -> set[int]:
    """The processes that have begun to perform."""
    return {int(file.name.partition("-")[2]) for file in folder.glob("begun-*")}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_dead_letter(stack: Stack) -> DeadLetter:
    def found() -> DeadLetter | None:
        with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
            return letter_of(queue, MESSAGE_ID)

    letter = wait_until(found, 60)
    assert letter is not None
    return letter


def appointments(stack: Stack) -> int:
    answer = stack.dynamodb.query(
        TableName=stack.appointments_table,
        KeyConditionExpression="message_id = :message_id",
        ExpressionAttributeValues={":message_id": {"S": MESSAGE_ID}},
        ConsistentRead=True,
    )
    return len(answer["Items"])


@pytest.mark.long
def test_an_effect_that_overruns_while_its_time_out_is_raised_and_lowered_acts_once(
    paths: Paths, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = deploy(paths, SHORT)
    body = json.dumps({"message_id": MESSAGE_ID})
    stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)
    assert wait_for_dead_letter(stack).reason == "rounds_used_up"
    before = attempts(folder)

    stack = deploy(paths, LONG)
    # As somebody else's program answers: without a version, so the execution keeps its own.
    with monkeypatch.context() as answering:
        answering.setattr(by_token, "_deployed_version", lambda _: {})
        assert decide(stack, MESSAGE_ID, "retry").decided
    assert wait_for_dead_letter(stack).reason == "rounds_used_up"

    # The execution has waited for as long as its own definition says, and found nothing. What is
    # deployed by now may go on for two minutes; the version that it calls was ended after four
    # seconds all the same.
    (overran,) = attempts(folder) - before
    wait_until(lambda: not is_alive(overran))  # its host buries it in its own time
    assert appointments(stack) == 0

    stack = deploy(paths, SHORT)
    assert decide(stack, MESSAGE_ID, "retry").decided
    wait_until(lambda: attempts(folder) - before - {overran})
    (folder / "go-on").touch()

    ended = wait_for_execution(stack, stack.execution_arn(MESSAGE_ID))
    assert ended["status"] == "SUCCEEDED"
    wait_until(lambda: not any(map(is_alive, {overran, *before})))
    assert appointments(stack) == 1


@pytest.mark.long
def test_what_is_sent_while_a_stack_is_paused_waits_through_a_deployment(paths: Paths) -> None:
    stack = deploy(paths, SHORT)
    pausing.pause(stack, by="a test", note="", now=datetime.now(UTC))
    stack.sqs.send_message(
        QueueUrl=stack.requests_queue, MessageBody=json.dumps({"message_id": "held"})
    )

    stack = deploy(paths, SHORT | {"NamesRememberedDays": "20"})

    # Nor does one that changes the event source mapping itself: the template does not enable it.
    stack = deploy(paths, SHORT | {"MaximumConcurrency": "3"})

    found = status(stack, datetime.now(UTC))
    assert found.pause is not None
    assert [feed.state for feed in found.feeds] == ["Disabled"]
    assert not found.is_fed_all_the_same
    assert found.queues["requests"].waiting == 1
    with pytest.raises(stack.stepfunctions.exceptions.ExecutionDoesNotExist):
        stack.stepfunctions.describe_execution(executionArn=stack.execution_arn("held"))

    pausing.resume(stack)

    ended = wait_for_execution(stack, stack.execution_arn("held"))
    assert ended["status"] == "SUCCEEDED"
    assert status(stack, datetime.now(UTC)).pause is None

    # Another strategy is another function with a mapping of its own, which is enabled.
    pausing.pause(stack, by="a test", note="", now=datetime.now(UTC))
    stack = deploy(paths, SHORT | {"Strategy": "ledger"})
    assert status(stack, datetime.now(UTC)).is_fed_all_the_same
    pausing.pause(stack, by="a test", note="", now=datetime.now(UTC))
    found = status(stack, datetime.now(UTC))
    assert [feed.state for feed in found.feeds] == ["Disabled"]
    assert not found.is_fed_all_the_same
