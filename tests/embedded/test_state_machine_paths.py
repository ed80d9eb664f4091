"""Each kind of end of ProcessMessage, reached for real, and the effects counted at it.

Every other way through it is evaluated in tests/test_state_machine_definition.py and walked by the
conformance suite, which causes the hazards.
"""

import io
import json
import re
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from actonce.messages.dead_letters import letter_of
from actonce.operate.deciding import decide
from actonce.operate.decisions import NO_FUNCTION_FINDS
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.waiting import wait_for_execution, wait_until

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.type_defs import DescribeExecutionOutputTypeDef

Appointments = Callable[[str], list[dict[str, Any]]]
Send = Callable[[Any], None]

EFFECT_TIMEOUT_SECONDS = 60
"""So that no busy machine reaches it."""

# --------------------------------------------------------------------------- tools


class Operator:
    """Finds the dead letters of one message at a time and answers them."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def dead_letter(self, message_id: str) -> dict[str, Any]:
        """Wait for a dead letter of this message and take it out of the queue."""
        return wait_until(lambda: self._take(message_id))

    def _take(self, message_id: str) -> dict[str, Any]:
        sqs, queue = self._stack.sqs, self._stack.dead_letter_queue
        taken: dict[str, Any] = {}
        of_others = []
        while not taken:
            answer = sqs.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=30
            )
            if not answer.get("Messages"):
                break
            for received in answer["Messages"]:
                body = json.loads(received["Body"])
                if not taken and body["message_id"] == message_id:
                    taken = body
                    sqs.delete_message(QueueUrl=queue, ReceiptHandle=received["ReceiptHandle"])
                else:
                    of_others.append(received["ReceiptHandle"])
        for handle in of_others:
            sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
        return taken

    def decide(self, dead_letter: dict[str, Any], answer: Any) -> None:
        self._stack.stepfunctions.send_task_success(
            taskToken=dead_letter["task_token"], output=json.dumps(answer)
        )


class Machines:
    """Copies of the deployed ProcessMessage: the same states, other numbers, another effect."""

    def __init__(self, stack: Stack, effect_arn: str) -> None:
        self._stack = stack
        self._effect_arn = effect_arn
        self._deployed = stack.stepfunctions.describe_state_machine(
            stateMachineArn=stack.state_machine
        )

    def copy(
        self,
        *,
        decision_seconds: int = 300,
        is_redriven: bool = False,
        looks_up: bool = True,
    ) -> str:
        """The ARN of a copy whose straggler is not awaited.

        `is_redriven`: its executions take themselves for redriven once, from their beginning.
        `looks_up`: whether a function is named to look the effect up.
        """
        text = self._deployed["definition"]
        if is_redriven:
            text = text.replace("$states.context.Execution.RedriveCount", "1")
        states = json.loads(text)
        blind = re.sub(
            "'arn:[^']+'", "''", states["States"]["FindEffect"]["Arguments"]["FunctionName"]
        )
        for name in ("PerformEffect", "FindEffect"):
            state = states["States"][name]
            named = state["Arguments"]["FunctionName"]
            own = f"'{self._effect_arn}'"
            state["Arguments"]["FunctionName"] = re.sub("'arn:[^']+'", own, named)
            state["TimeoutSeconds"] = EFFECT_TIMEOUT_SECONDS + 5
        if not looks_up:
            states["States"]["FindEffect"]["Arguments"]["FunctionName"] = blind
        states["States"]["AwaitStraggler"]["Seconds"] = 0
        states["States"]["DeadLetter"]["TimeoutSeconds"] = decision_seconds
        return self._stack.stepfunctions.create_state_machine(
            name=f"process-message-{uuid.uuid4()}",
            definition=json.dumps(states),
            roleArn=self._deployed["roleArn"],
            type="STANDARD",
        )["stateMachineArn"]

    def start(self, machine: str, message_id: str, **body: Any) -> str:
        """Start the message's execution as the starter would, and return its ARN."""
        return self._stack.stepfunctions.start_execution(
            stateMachineArn=machine,
            name=message_id,
            input=json.dumps(
                {"message_id": message_id, "body": json.dumps({"message_id": message_id, **body})}
            ),
        )["executionArn"]


@pytest.fixture(scope="module")
def operator(stack: Stack) -> Operator:
    return Operator(stack)


@pytest.fixture(scope="module")
def machines(stack: Stack, embedded_paths: Paths) -> Machines:
    """Copies of ProcessMessage whose effect can be interrupted."""
    role = stack.lambda_.get_function(FunctionName=stack.appointments_function)["Configuration"][
        "Role"
    ]
    return Machines(stack, create_effect(stack, role, faulty_effect(embedded_paths)))


def create_effect(stack: Stack, role: str, code: bytes) -> str:
    """The ARN of a function that can be called."""
    arn = stack.lambda_.create_function(
        FunctionName=f"faulty-effect-{uuid.uuid4()}",
        Runtime="provided.al2023",
        Role=role,
        Handler="faulty_effect.handler",
        Code={"ZipFile": code},
        Timeout=EFFECT_TIMEOUT_SECONDS,
        Environment={"Variables": {"APPOINTMENTS_TABLE": stack.appointments_table}},
    )["FunctionArn"]
    warm_up = json.dumps({"operation": "find", "message": {"message_id": "warm-up"}})
    wait_until(
        lambda: "FunctionError" not in stack.lambda_.invoke(FunctionName=arn, Payload=warm_up)
    )
    return arn


def faulty_effect(paths: Paths) -> bytes:
    """The package of the deployed effect, with the handler that interrupts it."""
    template = yaml.safe_load((paths.local / "template.yaml").read_text())
    deployed = paths.local / template["Resources"]["AppointmentsFunction"]["Properties"]["CodeUri"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        for source in deployed.rglob("*"):
            package.write(source, source.relative_to(deployed))
        package.write(Path(__file__).with_name("faulty_effect.py"), "faulty_effect.py")
    return packed.getvalue()


def states_of(stack: Stack, execution_arn: str) -> list[str]:
    """The names of the states that an execution entered, in order."""
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(
        executionArn=execution_arn
    )
    return [
        event["stateEnteredEventDetails"]["name"]
        for page in pages
        for event in page["events"]
        if "stateEnteredEventDetails" in event
    ]


def output_of(execution: "DescribeExecutionOutputTypeDef") -> dict[str, Any]:
    assert execution["status"] == "SUCCEEDED", execution
    output: dict[str, Any] = json.loads(execution["output"])
    return output


# --------------------------------------------------------------------------- the deployed stack


def test_happy_path_enters_one_state_and_has_one_effect(
    stack: Stack, send: Send, message_id: str, appointments: Appointments
) -> None:
    send({"message_id": message_id})

    arn = stack.execution_arn(message_id)
    output = output_of(wait_for_execution(stack, arn))

    assert states_of(stack, arn) == ["PerformEffect"]
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
    stack: Stack, send: Send, message_id: str, operator: Operator, appointments: Appointments
) -> None:
    send({"message_id": message_id, "practice": 7})
    arn = stack.execution_arn(message_id)

    dead_letter = operator.dead_letter(message_id)

    assert dead_letter["reason"] == "rejected"
    assert dead_letter["error"] == "Rejected"
    assert "practice" in dead_letter["cause"]
    assert dead_letter["execution_arn"] == arn
    assert dead_letter["message"] == {
        "message_id": message_id,
        "body": json.dumps({"message_id": message_id, "practice": 7}),
    }

    operator.decide(dead_letter, {"decision": "retry"})
    posted_again = operator.dead_letter(message_id)  # still rejected
    operator.decide(posted_again, {"decision": "resolve", "note": "booked by telephone"})

    assert output_of(wait_for_execution(stack, arn)) == {
        "outcome": "resolved",
        "note": "booked by telephone",
    }
    assert posted_again["task_token"] != dead_letter["task_token"]
    assert states_of(stack, arn) == [
        *("PerformEffect", "DeadLetter", "Decision"),
        *("PerformEffect", "DeadLetter", "Decision", "Done"),
    ]
    assert appointments(message_id) == []


# --------------------------------------------------------------------------- outcome unknown

UNKNOWN = ["PerformEffect", "AwaitStraggler", "FindEffect"]
"""The states up to the look-up."""


# A dead process is an error of Lambda's; the other answers, and says no.
@pytest.mark.parametrize("fault", ["exit", "answers-no"])
def test_unknown_outcome_that_was_performed_is_found_and_not_repeated(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments, fault: str
) -> None:
    arn = machines.start(machines.copy(), message_id, faults=[f"after:{fault}"])

    output = output_of(wait_for_execution(stack, arn))

    (appointment,) = appointments(message_id)
    assert output["outcome"] == "found"
    assert output["effect"]["appointment_id"] == appointment["appointment_id"]["S"]
    assert states_of(stack, arn) == [*UNKNOWN, "Performed?", "Done"]


def test_redriven_execution_waits_and_looks_before_it_performs(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments
) -> None:
    wait_for_execution(stack, machines.start(machines.copy(), message_id))

    arn = machines.start(machines.copy(is_redriven=True), message_id)

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "found"
    assert states_of(stack, arn) == [*UNKNOWN, "Performed?", "Done"]
    assert len(appointments(message_id)) == 1


def test_what_nothing_can_look_up_is_performed_on_a_persons_word(
    stack: Stack,
    machines: Machines,
    message_id: str,
    operator: Operator,
    appointments: Appointments,
) -> None:
    machine = machines.copy(looks_up=False)
    arn = machines.start(machine, message_id, faults=["before:SomethingNew"])
    dead_letter = operator.dead_letter(message_id)
    assert dead_letter["reason"] == "outcome_unknown"
    assert NO_FUNCTION_FINDS in dead_letter["cause"]

    operator.decide(dead_letter, {"decision": "retry"})
    dead_letter = operator.dead_letter(message_id)
    assert appointments(message_id) == []
    operator.decide(dead_letter, {"decision": "perform", "note": "it is not in the book"})

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    assert states_of(stack, arn) == [
        *UNKNOWN,
        *("DeadLetter", "Decision", "FindEffect"),
        *("DeadLetter", "Decision", "PerformEffect"),
    ]
    assert len(appointments(message_id)) == 1


def test_a_retry_goes_on_with_the_version_that_is_deployed_now(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments
) -> None:
    # What the execution's definition names rejects everything; what the stack names does not.
    arn = machines.start(machines.copy(), message_id, faults=["before:Rejected"] * 9)

    def is_posted() -> bool:
        with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
            return letter_of(queue, message_id) is not None

    wait_until(is_posted)
    assert decide(stack, message_id, "retry", "mended").decided

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    assert states_of(stack, arn) == ["PerformEffect", "DeadLetter", "Decision", "PerformEffect"]
    assert len(appointments(message_id)) == 1


# --------------------------------------------------------------------------- unanswered


def test_dead_letter_that_nobody_answers_fails_where_a_redrive_would_post_it_again(
    stack: Stack, machines: Machines, message_id: str, operator: Operator
) -> None:
    arn = machines.start(machines.copy(decision_seconds=1), message_id, faults=["before:Rejected"])

    execution = wait_for_execution(stack, arn)

    assert (execution["status"], execution["error"]) == ("FAILED", "States.Timeout")
    assert states_of(stack, arn) == ["PerformEffect", "DeadLetter"]
    late = operator.dead_letter(message_id)
    with pytest.raises(stack.stepfunctions.exceptions.TaskDoesNotExist):
        operator.decide(late, {"decision": "retry"})
