"""Deployments by `sam deploy` over a stack that runs, as `actonce up` makes them."""

import json
from datetime import UTC, datetime

import pytest

from actonce.embedded import faults, lifecycle
from actonce.messages.dead_letters import find_letter
from actonce.operate import pausing
from actonce.operate.status import status
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support.queues import decide_shown

pytestmark = [pytest.mark.embedded, pytest.mark.long]


def deploy(paths: Paths, **parameters: str) -> Stack:
    return lifecycle.up(paths, lambda _: None, parameters=parameters)[1]


def send(stack: Stack, message_id: str) -> str:
    """Send a message; the ARN of its execution."""
    body = json.dumps({"message_id": message_id})
    stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)
    return stack.execution_arn(message_id)


def version(stack: Stack) -> tuple[str, int]:
    """Of the effect's function, as it is deployed: number and time-out in seconds."""
    configuration = stack.lambda_.get_function_configuration(FunctionName=stack.effect_function)
    return configuration["Version"], configuration["Timeout"]


def test_an_open_execution_keeps_its_version_until_a_decision_brings_the_deployed_one(
    paths: Paths,
) -> None:
    stack = deploy(paths, EffectTimeoutSeconds="4")
    assert version(stack) == ("1", 4)
    # More often than it has rounds.
    with faults.around_functions(paths.faults, {"overruns": {"perform": ["before:timed-out"] * 3}}):
        execution = send(stack, "overruns")
        wait_until(lambda: faults.injected(paths.faults))

        stack = deploy(paths, EffectTimeoutSeconds="600")

        assert version(stack) == ("2", 600)

        def reason() -> str:
            with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
                letter = find_letter(queue, "overruns")
            return "" if letter is None else letter.reason

        # Three times 600 s would not be over by then, nor would the waits for them.
        assert wait_until(reason) == "rounds_used_up"
    # What the function that is deployed now never was asked, it does once.
    assert decide_shown(stack, "overruns", "retry").decided
    ended = wait_for_execution(stack, execution)
    assert json.loads(ended["output"])["outcome"] == "performed"
    table = stack.dynamodb.scan(TableName=stack.effects_table)["Items"]
    assert [one["message_id"]["S"] for one in table].count("overruns") == 1


def test_what_is_sent_while_a_stack_is_paused_waits_through_a_deployment(paths: Paths) -> None:
    stack = deploy(paths)
    pausing.pause(stack, by="a test", note="", now=datetime.now(UTC))
    execution = send(stack, "held")

    # Nor does one that changes the event source mapping itself: the template does not enable it.
    stack = deploy(paths, NamesRememberedDays="20", MaximumConcurrency="3")

    found = status(stack, datetime.now(UTC))
    assert found.pause is not None
    assert [mapping.state for mapping in found.event_source_mappings] == ["Disabled"]
    assert not found.is_enabled_while_paused
    assert found.queues["requests"].waiting == 1
    with pytest.raises(stack.stepfunctions.exceptions.ExecutionDoesNotExist):
        stack.stepfunctions.describe_execution(executionArn=execution)

    pausing.resume(stack)

    assert wait_for_execution(stack, execution)["status"] == "SUCCEEDED"
    assert status(stack, datetime.now(UTC)).pause is None
