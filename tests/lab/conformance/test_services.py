"""Queues, executions and time-outs behave as those of AWS and of the template do.

tests/templates/test_state_machine_definition.py says what the state machine does, on the same
machine.
"""

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce.stack.embedded_folder import PROJECT
from actonce_core import invoked_effect
from actonce_core.locking.lease import WORKING_SHARE
from lab.conformance import machine
from lab.conformance import simulated_stack as stack
from lab.conformance.process import Unsupported
from lab.conformance.queues import OutputQueues, Record, RequestsQueue
from lab.conformance.stepfunctions import NAMES_FREE_AFTER, StepFunctions
from lab.conformance.world import World

MINUTE = 60_000


def _default(parameter: str) -> int:
    """A parameter's default in template.yaml."""
    template = (PROJECT / "template.yaml").read_text()
    match = re.search(rf"^  {parameter}:\n(?:    .*\n)*?    Default: \"?(\d+)", template, re.M)
    assert match is not None
    return int(match[1])


def test_time_outs_are_the_templates() -> None:
    assert _default("EffectTimeoutSeconds") * 1000 == stack.EFFECT_TIMEOUT
    assert _default("StragglerMarginSeconds") * 1000 == stack.STRAGGLER_MARGIN
    assert _default("NamesRememberedDays") * 24 * 60 * MINUTE == stack.NAMES_REMEMBERED
    assert _default("MaxRounds") == stack.MAX_ROUNDS
    assert f"maxReceiveCount: {stack.MOST_RECEIVES}" in (PROJECT / "template.yaml").read_text()
    # A consumer lives for a takeover, and for the first half of its own lease.
    needed = stack.LEASE * (1 + WORKING_SHARE) + stack.STRAGGLER_MARGIN
    assert needed <= stack.LEASE_CONSUMER_TIMEOUT
    shipped = invoked_effect.client_config(stack.EFFECT_TIMEOUT / 1000)
    assert shipped["retries"]["total_max_attempts"] == 1


# ------------------------------------------------------------------ the queues


class _Consumers:
    """Takes deliveries, and acknowledges them when told to."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.acknowledge: Any = None

    def deliver(self, record: Record, _: str, acknowledge: Any) -> None:
        self.bodies.append(record["body"])
        self.acknowledge = acknowledge


def _queue(*, is_fifo: bool = False) -> tuple[World, _Consumers, RequestsQueue]:
    world, consumers = World(), _Consumers()
    queue = RequestsQueue(
        world,
        consumers.deliver,
        OutputQueues(world),
        "parked",
        visibility=210_000,
        most_receives=5,
        is_fifo=is_fifo,
    )
    return world, consumers, queue


@pytest.mark.parametrize("late_acknowledgement", [False, True])
def test_what_is_not_acknowledged_in_time_comes_back_and_is_parked_in_the_end(
    late_acknowledgement: bool,
) -> None:
    world, consumers, queue = _queue()
    queue.send("text")
    if late_acknowledgement:  # of an earlier receive; it deletes nothing
        world.at(210_001, "late", consumers.acknowledge)

    world.run()

    assert consumers.bodies == ["text"] * 5
    assert queue.parked.bodies("parked") == ["text"]
    assert world.now == 5 * 210_000


def test_a_fifo_queue_has_one_of_a_group_in_flight_and_forgets_an_id_after_five_minutes() -> None:
    world, consumers, queue = _queue(is_fifo=True)
    for body in "abc":
        queue.send(body, group="g", deduplication_id=body)
    assert consumers.bodies == ["a"]
    for _ in "abc":
        consumers.acknowledge()
    assert consumers.bodies == ["a", "b", "c"]

    def send_again() -> None:
        queue.send("again", group="g", deduplication_id="a")
        consumers.acknowledge()

    for moment in (5 * MINUTE - 1, 5 * MINUTE):
        world.at(moment, moment, send_again)
    world.run()

    assert consumers.bodies == ["a", "b", "c", "again"]


# ------------------------------------------------------------------ executions


_ENDS = {
    "QueryLanguage": "JSONata",
    "StartAt": "Wait",
    "States": {"Wait": {"Type": "Wait", "Seconds": 60, "Next": "End"}, "End": {"Type": "Succeed"}},
}


def test_start_execution_answers_as_aws_does() -> None:
    world = World()
    service = StepFunctions(world, _ENDS, lambda *_: None, OutputQueues(world))
    answers: list[str] = []

    def ask(at: int, text: str) -> None:
        def start() -> None:
            try:
                answer = service.start_execution(name="a", input=text, stateMachineArn="arn")
            except ClientError as error:
                answers.append(error.response["Error"]["Code"])
            else:
                answers.append(f"{answer['startDate']:%j %H:%M:%S}")

        world.at(at, at, start)

    ask(0, '"one"')
    ask(59_000, '"one"')  # runs, same input: the first one's date
    ask(59_500, '"other"')
    ask(61_000, '"one"')  # closed
    ask(60_000 + NAMES_FREE_AFTER, '"one"')
    ask(60_001 + NAMES_FREE_AFTER, '"one"')
    world.run()

    first, exists = "005 09:00:00", "ExecutionAlreadyExists"
    assert answers == [first, first, exists, exists, exists, "095 09:01:00"]


@pytest.mark.parametrize(
    "change",
    [
        {"QueryLanguage": "JSONPath"},
        {"States": {"A": {"Type": "Parallel"}}},
        {"States": {"A": {"Type": "Succeed", "Assign": {}}}},
        {"States": {"A": {"Type": "Task", "Retry": [{"ErrorEquals": [], "Unheard": 1}]}}},
    ],
)
def test_a_definition_with_what_it_does_not_know_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        machine.load(json.dumps(_ENDS | change), {})
