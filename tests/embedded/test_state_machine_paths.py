"""Each kind of end of ProcessMessage, reached for real, and the effects counted at it.

Every other way through it is evaluated in tests/test_state_machine_definition.py and walked by the
conformance suite, which causes the hazards.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actonce.embedded import faults
from actonce.messages.history import NO_FUNCTION_FINDS
from actonce.operate.deciding import decide
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.waiting import wait_for_execution, wait_until

Appointments = Callable[[str], list[dict[str, Any]]]
Interrupt = Callable[..., None]

UNKNOWN = ["PerformEffect", "AwaitStraggler", "FindEffect"]
"""The states up to the look-up."""
ASKED = ["TellDeadLetter", "DeadLetter", "TellDecision", "Decision"]
"""The states in which a person is asked."""


@pytest.fixture
def interrupt(embedded_paths: Paths, message_id: str) -> Iterator[Interrupt]:
    """Has calls for the test's message meet faults, by operation."""
    with faults.around_functions(embedded_paths.faults, {}):
        yield lambda **planned: faults.write_plan(embedded_paths.faults, {message_id: planned})


class Told:
    """What an execution and its dead letters tell."""

    def __init__(self, stack: Stack, message_id: str, machine: str, **body: Any) -> None:
        """Start the message's execution as the starter would."""
        self._stack, self._message_id = stack, message_id
        self.body = json.dumps({"message_id": message_id, **body})
        self.arn = stack.stepfunctions.start_execution(
            stateMachineArn=machine,
            name=message_id,
            input=json.dumps({"body": self.body, "message_id": message_id}),
        )["executionArn"]

    def letter(self, *, after: str = "") -> dict[str, Any]:
        """Wait for a dead letter of the message with another task token."""

        def found() -> dict[str, Any]:
            with QueueReader(self._stack.sqs, self._stack.dead_letter_queue) as queue:
                bodies = [json.loads(one.body) for one in queue.messages()]
            mine = [one for one in bodies if one["message_id"] == self._message_id]
            return next((one for one in mine if one["task_token"] != after), {})

        return wait_until(found)

    def answer(self, letter: dict[str, Any], **answer: str) -> None:
        """As somebody else's program decides, which leaves the letter in its queue."""
        self._stack.stepfunctions.send_task_success(
            taskToken=letter["task_token"], output=json.dumps(answer)
        )

    def output(self) -> dict[str, Any]:
        execution = wait_for_execution(self._stack, self.arn)
        assert execution["status"] == "SUCCEEDED", execution
        output: dict[str, Any] = json.loads(execution["output"])
        return output

    def history(self) -> list[Any]:
        pages = self._stack.stepfunctions.get_paginator("get_execution_history").paginate(
            executionArn=self.arn
        )
        return [event for page in pages for event in page["events"]]

    def states(self) -> list[str]:
        """The names of the states that were entered, in order."""
        return [
            event["stateEnteredEventDetails"]["name"]
            for event in self.history()
            if "stateEnteredEventDetails" in event
        ]


Start = Callable[..., Told]


@pytest.fixture
def start(stack: Stack, message_id: str) -> Start:
    """Starts the message's execution on the deployed machine, or on a copy of it that is changed.

    `change`: is given the copy's definition, whose straggler is not awaited.
    """
    deployed = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)

    def started(change: Callable[[str], str] | None = None, **body: Any) -> Told:
        machine = stack.state_machine
        if change is not None:
            states = json.loads(change(deployed["definition"]))
            states["States"]["AwaitStraggler"]["Seconds"] = 0
            machine = stack.stepfunctions.create_state_machine(
                name=f"process-message-{uuid.uuid4()}",
                definition=json.dumps(states),
                roleArn=deployed["roleArn"],
            )["stateMachineArn"]
        return Told(stack, message_id, machine, **body)

    return started


def test_happy_path_enters_one_state_and_has_one_effect(
    start: Start, message_id: str, appointments: Appointments
) -> None:
    told = start()

    output = told.output()

    assert told.states() == ["PerformEffect"]
    (appointment,) = appointments(message_id)
    assert output == {
        "outcome": "performed",
        "effect": {
            "appointment_id": appointment["appointment_id"]["S"],
            "practice": "main",
            "slot": int(appointment["slot"]["N"]),
        },
    }


def test_rejected_message_waits_and_an_operator_resolves_it(
    start: Start, message_id: str, appointments: Appointments
) -> None:
    told = start(practice=7)

    letter = told.letter()

    assert (letter["reason"], letter["error"]) == ("rejected", "Rejected")
    assert "practice" in letter["cause"]
    assert letter["execution_arn"] == told.arn
    assert letter["message"] == {"message_id": message_id, "body": told.body}

    told.answer(letter, decision="retry")
    posted_again = told.letter(after=letter["task_token"])  # still rejected
    told.answer(posted_again, decision="resolve", note="booked by telephone")

    assert told.output() == {"outcome": "resolved", "note": "booked by telephone"}
    assert told.states() == [
        *("PerformEffect", *ASKED),
        *("PerformEffect", *ASKED, "Done"),
    ]
    assert appointments(message_id) == []


def test_unknown_outcome_that_was_performed_is_found_and_not_repeated(
    start: Start, interrupt: Interrupt, message_id: str, appointments: Appointments
) -> None:
    interrupt(perform=["after:killed"])

    told = start(lambda deployed: deployed)

    output = told.output()
    (appointment,) = appointments(message_id)
    assert output["outcome"] == "found"
    assert output["effect"]["appointment_id"] == appointment["appointment_id"]["S"]
    assert told.states() == [*UNKNOWN, "Performed?", "Done"]


def test_redriven_execution_waits_and_looks_before_it_performs(
    start: Start, message_id: str, appointments: Appointments
) -> None:
    start().output()

    # Its executions take themselves for redriven once, from their beginning.
    told = start(lambda text: text.replace("$states.context.Execution.RedriveCount", "1"))

    assert told.output()["outcome"] == "found"
    assert told.states() == [*UNKNOWN, "Performed?", "Done"]
    assert len(appointments(message_id)) == 1


def test_what_nothing_can_look_up_is_performed_on_a_persons_word(
    start: Start, interrupt: Interrupt, message_id: str, appointments: Appointments
) -> None:
    def without_find(text: str) -> str:
        definition = json.loads(text)
        arguments = definition["States"]["FindEffect"]["Arguments"]
        arguments["FunctionName"] = re.sub("'arn:[^']+'", "''", arguments["FunctionName"])
        return json.dumps(definition)

    interrupt(perform=["before:SomethingNew"])
    told = start(without_find)
    letter = told.letter()
    assert letter["reason"] == "outcome_unknown"
    assert NO_FUNCTION_FINDS in letter["cause"]

    told.answer(letter, decision="retry")
    letter = told.letter(after=letter["task_token"])
    assert appointments(message_id) == []
    told.answer(letter, decision="perform", note="it is not in the book")

    assert told.output()["outcome"] == "performed"
    assert told.states() == [
        *UNKNOWN,
        *(*ASKED, "FindEffect"),
        *(*ASKED, "PerformEffect"),
    ]
    assert len(appointments(message_id)) == 1


def test_a_retry_goes_on_with_the_version_that_is_deployed_now(
    stack: Stack, start: Start, message_id: str, appointments: Appointments
) -> None:
    def performed_by_another(text: str) -> str:
        definition = json.loads(text)
        arguments = definition["States"]["PerformEffect"]["Arguments"]
        named = arguments["FunctionName"].replace(stack.effect_function, stack.starter_function)
        assert named != arguments["FunctionName"]
        arguments["FunctionName"] = named
        return json.dumps(definition)

    # What the definition names performs nothing; what the stack names does.
    told = start(performed_by_another)
    assert told.letter()["reason"] == "rounds_used_up"

    assert decide(stack, message_id, "retry", "mended").decided

    assert told.output()["outcome"] == "performed"
    assert told.states()[-1] == "PerformEffect"
    assert len(appointments(message_id)) == 1


def test_dead_letter_that_nobody_answers_fails_where_a_redrive_would_post_it_again(
    stack: Stack, start: Start
) -> None:
    def impatient(text: str) -> str:
        definition = json.loads(text)
        definition["States"]["DeadLetter"]["TimeoutSeconds"] = 1
        return json.dumps(definition)

    told = start(impatient, practice=7)

    execution = wait_for_execution(stack, told.arn)

    assert (execution["status"], execution["error"]) == ("FAILED", "States.Timeout")
    assert told.states() == ["PerformEffect", *ASKED[:2]]
    with pytest.raises(stack.stepfunctions.exceptions.TaskDoesNotExist):
        told.answer(told.letter(), decision="retry")
