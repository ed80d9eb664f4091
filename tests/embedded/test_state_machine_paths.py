"""Every way through ProcessMessage, run for real, and the effects counted at the end of each."""

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

from actonce.messages.dead_letters import NO_FUNCTION_FINDS, decide, waiting
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.waiting import wait_for_execution, wait_until

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.type_defs import DescribeExecutionOutputTypeDef

Deliveries = Callable[[str], list[dict[str, Any]]]
Appointments = Callable[[str], list[dict[str, Any]]]
Send = Callable[[Any], None]

EFFECT_TIMEOUT_SECONDS = 60
"""So that no busy machine reaches it."""
SHORT_TIMEOUT_SECONDS = 6
"""Of the effect that is to reach it."""
STATE_TIMEOUT_SECONDS = 5
"""Of the state whose effect is to go on after it; long enough for the attempt that follows."""
RETRIES = 2
"""Of copies, within 3 s."""

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


class Book:
    """The switch of a practice's book."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.practice = f"practice-{uuid.uuid4()}"

    def switch(self, *, closed: bool) -> None:
        self._stack.dynamodb.update_item(
            TableName=self._stack.appointments_table,
            Key={
                "message_id": {"S": "#book"},
                "appointment_id": {"S": f"book-{self.practice}"},
            },
            UpdateExpression="SET closed = :closed",
            ExpressionAttributeValues={":closed": {"BOOL": closed}},
        )


class Machines:
    """Copies of the deployed ProcessMessage: the same states, other numbers, another effect."""

    def __init__(self, stack: Stack, effect_arn: str, short_effect_arn: str) -> None:
        self._stack = stack
        self._effect_arn = effect_arn
        self.short_effect_arn = short_effect_arn
        self._copies: dict[str, str] = {}
        self._deployed = stack.stepfunctions.describe_state_machine(
            stateMachineArn=stack.state_machine
        )

    def copy(
        self,
        *,
        effect_arn: str | None = None,
        state_timeout_seconds: int = EFFECT_TIMEOUT_SECONDS + 5,
        straggler_seconds: int = 0,
        decision_seconds: int = 300,
        is_redriven: bool = False,
        looks_up: bool = True,
    ) -> str:
        """The ARN of a copy; the same numbers give the same copy.

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
            own = f"'{effect_arn or self._effect_arn}'"
            state["Arguments"]["FunctionName"] = re.sub("'arn:[^']+'", own, named)
            state["TimeoutSeconds"] = EFFECT_TIMEOUT_SECONDS + 5
            state["Retry"][-1]["MaxAttempts"] = RETRIES
        if not looks_up:
            states["States"]["FindEffect"]["Arguments"]["FunctionName"] = blind
        perform = states["States"]["PerformEffect"]
        perform["TimeoutSeconds"] = state_timeout_seconds
        states["States"]["AwaitStraggler"]["Seconds"] = straggler_seconds
        states["States"]["DeadLetter"]["TimeoutSeconds"] = decision_seconds
        definition = json.dumps(states)
        if definition not in self._copies:
            self._copies[definition] = self._stack.stepfunctions.create_state_machine(
                name=f"process-message-{uuid.uuid4()}",
                definition=definition,
                roleArn=self._deployed["roleArn"],
                type="STANDARD",
            )["stateMachineArn"]
        return self._copies[definition]

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


@pytest.fixture
def book(stack: Stack) -> Book:
    return Book(stack)


@pytest.fixture(scope="module")
def machines(stack: Stack, embedded_paths: Paths) -> Machines:
    """Copies of ProcessMessage whose effect can be interrupted."""
    role = stack.lambda_.get_function(FunctionName=stack.appointments_function)["Configuration"][
        "Role"
    ]
    code = faulty_effect(embedded_paths)
    return Machines(
        stack,
        create_effect(stack, role, code, EFFECT_TIMEOUT_SECONDS),
        create_effect(stack, role, code, SHORT_TIMEOUT_SECONDS),
    )


def create_effect(stack: Stack, role: str, code: bytes, timeout_seconds: int) -> str:
    """The ARN of a function that can be called."""
    arn = stack.lambda_.create_function(
        FunctionName=f"faulty-effect-{uuid.uuid4()}",
        Runtime="provided.al2023",
        Role=role,
        Handler="faulty_effect.handler",
        Code={"ZipFile": code},
        Timeout=timeout_seconds,
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
    assert "practice must be a string" in dead_letter["cause"]
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


def test_numbers_and_characters_reach_the_effect_and_the_dead_letter_as_they_were_sent(
    stack: Stack, send: Send, message_id: str, operator: Operator, appointments: Appointments
) -> None:
    numbers = "[9007199254740993, 1234567890123456789, 0.30000000000000004, -0.0, 1e300]"
    rest = f'"numbers": {numbers}, "text": "\\uffff\\u0000\\ud83d\\ude00 \\"é"'
    rejected_id = f"{message_id}-rejected"
    rejected = f'{{"message_id": "{rejected_id}", "practice": 7, {rest}}}'
    performed = f'{{"message_id": "{message_id}", {rest}}}'
    send(performed)
    send(rejected)

    dead_letter = operator.dead_letter(rejected_id)
    assert dead_letter["message"]["body"] == rejected
    operator.decide(dead_letter, {"decision": "reject"})

    output_of(wait_for_execution(stack, stack.execution_arn(message_id)))
    (appointment,) = appointments(message_id)
    assert repr(json.loads(appointment["request"]["S"])) == repr(json.loads(performed))


def test_message_that_the_operator_rejects_fails_with_the_note(
    stack: Stack, send: Send, message_id: str, operator: Operator, appointments: Appointments
) -> None:
    send({"message_id": message_id, "practice": ""})

    operator.decide(
        operator.dead_letter(message_id), {"decision": "reject", "note": "no such patient"}
    )

    execution = wait_for_execution(stack, stack.execution_arn(message_id))
    assert execution["status"] == "FAILED"
    assert (execution["error"], execution["cause"]) == ("RejectedByOperator", "no such patient")
    assert appointments(message_id) == []


def test_answer_that_decides_nothing_posts_the_dead_letter_again(
    stack: Stack, send: Send, message_id: str, operator: Operator
) -> None:
    send({"message_id": message_id, "practice": None, "body": 1} | {"practice": []})
    answers: list[Any] = [{"decision": "perhaps"}, {}, "retry", None]
    tokens = set()

    for answer in answers:
        dead_letter = operator.dead_letter(message_id)
        tokens.add(dead_letter["task_token"])
        operator.decide(dead_letter, answer)
    operator.decide(operator.dead_letter(message_id), {"decision": "reject"})

    execution = wait_for_execution(stack, stack.execution_arn(message_id))
    assert (execution["status"], execution["error"]) == ("FAILED", "RejectedByOperator")
    assert len(tokens) == len(answers)


def test_closed_book_is_tried_again_until_it_opens(
    stack: Stack, send: Send, message_id: str, book: Book, appointments: Appointments
) -> None:
    book.switch(closed=True)
    send({"message_id": message_id, "practice": book.practice})
    arn = stack.execution_arn(message_id)
    wait_until(lambda: attempts_of(stack, arn) >= 2)

    book.switch(closed=False)

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    assert states_of(stack, arn) == ["PerformEffect"]
    assert len(appointments(message_id)) == 1


def attempts_of(stack: Stack, execution_arn: str) -> int:
    """How often an execution has called its tasks."""
    try:
        history = stack.stepfunctions.get_execution_history(executionArn=execution_arn)
    except stack.stepfunctions.exceptions.ExecutionDoesNotExist:
        return 0
    return sum(event["type"] == "TaskScheduled" for event in history["events"])


# --------------------------------------------------------------------------- not performed


def test_book_that_stays_closed_becomes_a_dead_letter_and_is_performed_once_when_retried(
    stack: Stack,
    machines: Machines,
    message_id: str,
    operator: Operator,
    book: Book,
    appointments: Appointments,
) -> None:
    book.switch(closed=True)
    arn = machines.start(machines.copy(), message_id, practice=book.practice)

    dead_letter = operator.dead_letter(message_id)

    assert (dead_letter["reason"], dead_letter["error"]) == ("not_performed", "NotPerformed")
    assert dead_letter["rounds"] == 0
    states = states_of(stack, arn)
    assert states == ["PerformEffect", "DeadLetter"]
    assert attempts_of(stack, arn) == 1 + RETRIES + 1  # and the dead letter's
    assert appointments(message_id) == []

    book.switch(closed=False)
    operator.decide(dead_letter, {"decision": "retry"})

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    # It is certain that nothing happened, so nothing is looked up.
    assert states_of(stack, arn)[len(states) :] == ["Decision", "PerformEffect"]
    assert len(appointments(message_id)) == 1


@pytest.mark.parametrize("error", ["NotPerformed", "Lambda.TooManyRequestsException"])
def test_error_that_proves_not_performed_is_repeated_without_a_look(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments, error: str
) -> None:
    faults = [f"before:{error}", f"before:{error}"]
    arn = machines.start(machines.copy(), message_id, faults=faults)

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    assert states_of(stack, arn) == ["PerformEffect"]
    assert attempts_of(stack, arn) == 3
    assert len(appointments(message_id)) == 1


# --------------------------------------------------------------------------- outcome unknown

# Each as it comes out of Lambda's runtime client; "exit" is Runtime.ExitError, "sleep" the
# function's time-out, "answers-no" no error at all.
UNKNOWN_OUTCOMES = [
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.Unknown",
    "Runtime.OutOfMemory",
    "SomethingNew",
    "exit",
    "sleep",
    "answers-no",
]
UNKNOWN = ["PerformEffect", "AwaitStraggler", "FindEffect"]
"""The states up to the look-up."""


def copy_for(machines: Machines, fault: str) -> str:
    """A copy whose effect's time-out comes soon, where the fault is to reach it."""
    return machines.copy(effect_arn=machines.short_effect_arn if fault == "sleep" else None)


@pytest.mark.parametrize("fault", UNKNOWN_OUTCOMES)
def test_unknown_outcome_that_was_performed_is_found_and_not_repeated(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments, fault: str
) -> None:
    arn = machines.start(copy_for(machines, fault), message_id, faults=[f"after:{fault}"])

    output = output_of(wait_for_execution(stack, arn))

    (appointment,) = appointments(message_id)
    assert output["outcome"] == "found"
    assert output["effect"]["appointment_id"] == appointment["appointment_id"]["S"]
    assert states_of(stack, arn) == [*UNKNOWN, "Performed?", "Done"]


@pytest.mark.parametrize("fault", UNKNOWN_OUTCOMES)
def test_unknown_outcome_that_was_not_performed_is_performed_again(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments, fault: str
) -> None:
    arn = machines.start(copy_for(machines, fault), message_id, faults=[f"before:{fault}"])

    output = output_of(wait_for_execution(stack, arn))

    assert output["outcome"] == "performed"
    assert states_of(stack, arn) == [*UNKNOWN, "Performed?", "PerformEffect"]
    assert len(appointments(message_id)) == 1


def test_straggler_that_acts_after_the_states_time_out_is_waited_for_and_found(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments
) -> None:
    machine = machines.copy(
        state_timeout_seconds=STATE_TIMEOUT_SECONDS, straggler_seconds=STATE_TIMEOUT_SECONDS
    )

    arn = machines.start(machine, message_id, faults=["before:nap"])

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "found"
    assert len(appointments(message_id)) == 1


def test_without_the_wait_a_straggler_would_act_twice(
    stack: Stack, machines: Machines, message_id: str, appointments: Appointments
) -> None:
    # The counter-proof: the same message, the same fault, and nobody waits.
    machine = machines.copy(state_timeout_seconds=STATE_TIMEOUT_SECONDS, straggler_seconds=0)

    arn = machines.start(machine, message_id, faults=["before:until-looked-up"])

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    wait_until(lambda: len(appointments(message_id)) == 2)


@pytest.mark.parametrize("performed_before", [True, False])
def test_redriven_execution_waits_and_looks_before_it_performs(
    stack: Stack,
    machines: Machines,
    message_id: str,
    appointments: Appointments,
    performed_before: bool,
) -> None:
    if performed_before:
        before = machines.start(machines.copy(), message_id)
        wait_for_execution(stack, before)

    arn = machines.start(machines.copy(is_redriven=True), message_id)

    output = output_of(wait_for_execution(stack, arn))
    assert output["outcome"] == ("found" if performed_before else "performed")
    assert states_of(stack, arn) == [
        *UNKNOWN,
        "Performed?",
        "Done" if performed_before else "PerformEffect",
    ]
    assert len(appointments(message_id)) == 1


def test_rounds_used_up_ask_a_person_and_a_retry_begins_with_a_look_up(
    stack: Stack,
    machines: Machines,
    message_id: str,
    operator: Operator,
    appointments: Appointments,
) -> None:
    arn = machines.start(machines.copy(), message_id, faults=["before:SomethingNew"] * 3)

    dead_letter = operator.dead_letter(message_id)

    assert (dead_letter["reason"], dead_letter["rounds"]) == ("rounds_used_up", 3)
    assert dead_letter["error"] == "SomethingNew"
    one_round = ["PerformEffect", "AwaitStraggler", "FindEffect", "Performed?"]
    assert states_of(stack, arn) == [*one_round * 3, "DeadLetter"]
    assert appointments(message_id) == []

    operator.decide(dead_letter, {"decision": "retry"})

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    assert states_of(stack, arn)[len(one_round * 3) :] == [
        *("DeadLetter", "Decision", "FindEffect", "Performed?", "PerformEffect")
    ]
    assert len(appointments(message_id)) == 1


def test_outcome_that_cannot_be_found_out_asks_a_person_and_is_never_guessed(
    stack: Stack,
    machines: Machines,
    message_id: str,
    operator: Operator,
    appointments: Appointments,
) -> None:
    switch = {"message_id": {"S": message_id}, "appointment_id": {"S": "find-fails"}}
    stack.dynamodb.put_item(TableName=stack.appointments_table, Item=switch)
    arn = machines.start(machines.copy(), message_id, faults=["after:exit"])

    dead_letter = operator.dead_letter(message_id)

    assert dead_letter["reason"] == "outcome_unknown"
    assert "Runtime.ExitError" in dead_letter["error"]
    assert "FindEffect: RuntimeError" in dead_letter["cause"]

    operator.decide(dead_letter, {"decision": "retry"})
    still_unknown = operator.dead_letter(message_id)
    operator.decide(still_unknown, {"decision": "retry"})
    before = attempts_of(stack, arn)
    wait_until(lambda: attempts_of(stack, arn) > before)
    stack.dynamodb.delete_item(TableName=stack.appointments_table, Key=switch)

    assert output_of(wait_for_execution(stack, arn))["outcome"] == "found"
    assert states_of(stack, arn) == [
        *UNKNOWN,
        *("DeadLetter", "Decision", "FindEffect") * 2,
        *("Performed?", "Done"),
    ]
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
            return any(letter.is_named(message_id) for letter in waiting(queue))

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


# --------------------------------------------------------------------------- duplicates


def assert_suppressed(deliveries: Deliveries, message_id: str) -> None:
    """Wait for the second delivery of a message and see that it started nothing."""
    lines = wait_until(lambda: found if len(found := deliveries(message_id)) == 2 else [])
    assert [line["end"] for line in lines] == ["started", "suppressed"]
    assert len({line["sqs_message_id"] for line in lines}) == 2
    assert {line["execution_name"] for line in lines} == {message_id}


def test_duplicate_of_a_running_message_is_suppressed(
    stack: Stack,
    send: Send,
    message_id: str,
    book: Book,
    deliveries: Deliveries,
    appointments: Appointments,
) -> None:
    body = {"message_id": message_id, "practice": book.practice}
    arn = stack.execution_arn(message_id)
    book.switch(closed=True)
    send(body)
    wait_until(lambda: attempts_of(stack, arn) >= 1)

    send(body)

    assert_suppressed(deliveries, message_id)
    assert stack.stepfunctions.describe_execution(executionArn=arn)["status"] == "RUNNING"
    book.switch(closed=False)
    assert output_of(wait_for_execution(stack, arn))["outcome"] == "performed"
    assert len(appointments(message_id)) == 1


def test_duplicate_of_a_message_that_succeeded_is_suppressed(
    stack: Stack,
    send: Send,
    message_id: str,
    deliveries: Deliveries,
    appointments: Appointments,
) -> None:
    send({"message_id": message_id, "practice": "main", "patient": 1})
    before = wait_for_execution(stack, stack.execution_arn(message_id))

    send({"patient": 1, "practice": "main", "message_id": message_id})

    assert_suppressed(deliveries, message_id)
    after = stack.stepfunctions.describe_execution(executionArn=before["executionArn"])
    assert (after["status"], after["startDate"]) == ("SUCCEEDED", before["startDate"])
    assert len(appointments(message_id)) == 1


def test_duplicate_of_a_message_that_failed_is_suppressed(
    stack: Stack,
    send: Send,
    message_id: str,
    operator: Operator,
    deliveries: Deliveries,
    appointments: Appointments,
) -> None:
    body = {"message_id": message_id, "practice": 7}
    send(body)
    operator.decide(operator.dead_letter(message_id), {"decision": "reject", "note": "no"})
    before = wait_for_execution(stack, stack.execution_arn(message_id))

    send(body)

    assert_suppressed(deliveries, message_id)
    after = stack.stepfunctions.describe_execution(executionArn=before["executionArn"])
    assert (after["status"], after["startDate"]) == ("FAILED", before["startDate"])
    assert appointments(message_id) == []


def test_duplicate_of_a_message_that_waits_for_a_decision_is_suppressed(
    stack: Stack,
    send: Send,
    message_id: str,
    operator: Operator,
    deliveries: Deliveries,
    appointments: Appointments,
) -> None:
    body = {"message_id": message_id, "practice": 7}
    arn = stack.execution_arn(message_id)
    send(body)
    dead_letter = operator.dead_letter(message_id)

    send(body)

    assert_suppressed(deliveries, message_id)
    assert stack.stepfunctions.describe_execution(executionArn=arn)["status"] == "RUNNING"
    operator.decide(dead_letter, {"decision": "resolve"})
    assert output_of(wait_for_execution(stack, arn))["outcome"] == "resolved"
    assert states_of(stack, arn).count("DeadLetter") == 1
    assert appointments(message_id) == []
