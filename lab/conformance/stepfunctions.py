"""Step Functions in memory: StartExecution with AWS's answers, and the executions it starts."""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from actonce_core.reason import DeadLetterReason
from lab.conformance import machine
from lab.conformance.lambda_client import receive_answer
from lab.conformance.process import Hazard, Invocation, Process, ProcessResult, Unsupported
from lab.conformance.queues import OutputQueues
from lab.conformance.world import EPOCH, World

STATE_MACHINE = "arn:process-message"
"""ARN of the one that is there at first."""
NAMES_FREE_AFTER = 90 * 24 * 3_600_000
"""Milliseconds after an execution's end. Source: StartExecution, API reference."""
SHORTEST_HISTORY = 30 * 24 * 3_600_000
"""The same for the shortest history that an account can have. Source: "Execution guarantees in Step
Functions workflows", which ties names to the history."""

REDRIVEN_AFTER = (0, 60_000, None)
"""Milliseconds after which an aborted execution is redriven; None: never."""

TRUTHFULLY = "truthfully"
"""The answer of an operator who has looked: `resolve` if the effect has happened, or `perform`."""

TELLING = frozenset({"TellDeadLetter", "TellDecision"})
"""States that only put events. However one ends, it leads to one state, its data unchanged, as
tests/templates/test_state_machine_definition.py shows. So a walk has no step there: whatever could
go wrong goes wrong in the next state as well."""


@dataclass(slots=True)
class _ExecutionRecord:
    input: str
    started: int
    closed: int | None = None
    status: str = "RUNNING"
    waits_for_decision: bool = False
    redrives: int = 0
    answers_given: int = 0
    is_closed: bool = False
    is_to_perform: bool = False


@dataclass(slots=True)
class StepFunctions:
    """The state machine's executions. An execution's input stands for it in the callbacks.

    Attributes:
        definition: of later executions; each keeps the one that it was started with.
        invoke: starts the effect's function.
        queues: where dead letters go.
        deploy: publishes a version of that function with another time-out.
        decided: receives an operator's decision.
        version: the deployed function, as an operator's answer carries it to a new attempt.
        happened: whether the effect has happened, for an operator who answers truthfully.
        check: receives an execution's result; raises if it is not what happened.
        names_free_after: milliseconds after an execution's end.
        answers: an operator's answers to an execution's dead letters, one after another; "" is an
            empty answer. None: no answer comes in time, and then the execution is redriven.
        answered_after: milliseconds after a dead letter was posted.
    """

    world: World
    definition: machine.Definition
    invoke: Invocation
    queues: OutputQueues
    deploy: Callable[[], None] = lambda: None
    decided: Callable[[str, Any], None] = lambda _decision, _input: None
    version: Callable[[], dict[str, Any]] = dict
    happened: Callable[[Any], bool] = lambda _input: False
    check: Callable[[Any, ProcessResult], None] = lambda _input, _ended: None
    names_free_after: int = NAMES_FREE_AFTER
    answers: tuple[str | None, ...] = ()
    answered_after: int = 0
    _executions: dict[str, _ExecutionRecord] = field(default_factory=dict)
    _started: int = 0

    def state(self) -> Hashable:
        """All executions."""
        return tuple(
            (
                name,
                known.input,
                known.started,
                known.closed,
                known.status,
                known.waits_for_decision,
                known.redrives,
                known.answers_given,
            )
            for name, known in sorted(self._executions.items())
        )

    @property
    def inputs(self) -> list[str]:
        """Inputs of all executions that were started."""
        return [known.input for known in self._executions.values()]

    def inputs_waiting(self) -> list[str]:
        """Inputs of the executions that wait for a decision, or to be redriven."""
        return [
            known.input
            for known in self._executions.values()
            if known.waits_for_decision or known.status in ("FAILED", "ABORTED")
        ]

    def start_execution(self, **request: Any) -> dict[str, Any]:
        """See StartExecution, API reference, for Standard workflows."""
        name, text = request["name"], request["input"]
        if request.keys() != {"name", "input", "stateMachineArn"}:
            raise Unsupported(f"StartExecution: {sorted(request)}")
        arn = request["stateMachineArn"]
        if arn != STATE_MACHINE:
            name = f"{name} of {arn}"
        known = self._executions.get(name)
        if known is not None and not self._is_free(known):
            if known.status == "RUNNING" and known.input == text:
                return _answer(name, known.started)
            raise ClientError(
                {"Error": {"Code": "ExecutionAlreadyExists", "Message": "it exists already"}},
                "StartExecution",
            )
        known = self._executions[name] = _ExecutionRecord(text, self.world.now)
        self._started += 1
        execution = machine.Execution(name, f"arn:execution:{name}", json.loads(text))

        def end(ended: ProcessResult) -> None:
            if known.status == "ABORTED":
                return
            _close(known, "SUCCEEDED" if ended.error is None else "FAILED", self.world.now)
            if ended.error is not None and not isinstance(ended.error, machine.StateFailed):
                raise ended.error
            self.check(execution.input, ended)

        self.world.spawn(
            Process(f"execution {name}", disturbed=False),
            lambda: self._live(
                execution, known, _ExecutionServices(self, known, f"{name}.{self._started}")
            ),
            end,
        )
        return _answer(name, known.started)

    def _live(
        self, execution: machine.Execution, known: _ExecutionRecord, reached: "_ExecutionServices"
    ) -> Any:
        """Run an execution to its end, through aborts, time-outs and redrives."""
        definition = self.definition
        position = machine.start(definition, execution)
        while True:
            try:
                return machine.run(definition, execution, reached, position)
            except machine.Aborted:
                _close(known, "ABORTED", self.world.now)
                after = self.world.pick(REDRIVEN_AFTER)
            except machine.StateFailed as failure:
                if failure.error != "States.Timeout" or known.answers_given >= len(self.answers):
                    raise
                _close(known, "FAILED", self.world.now)
                after = 0
            if after is None:
                return None
            self.world.sleep(after / 1000)
            known.redrives += 1
            known.status, known.closed = "RUNNING", None
            execution = replace(execution, redrives=known.redrives)
            self.world.tell("operator", f"redrives {execution.name}")

    def _is_free(self, known: _ExecutionRecord) -> bool:
        return known.closed is not None and self.world.now - known.closed > self.names_free_after


def _close(known: _ExecutionRecord, status: str, now: int) -> None:
    known.status, known.closed, known.waits_for_decision = status, now, False


def _answer(name: str, started: int) -> dict[str, Any]:
    return {
        "executionArn": f"arn:execution:{name}",
        "startDate": EPOCH + timedelta(milliseconds=started),
    }


class _ExecutionServices:
    """The `Services` of one execution."""

    def __init__(self, service: StepFunctions, known: _ExecutionRecord, name: str) -> None:
        self._service = service
        self._world = service.world
        self._known = known
        self._name = name
        self._invocations = 0

    def enter(self, state: str) -> Callable[[], str]:
        now = self._world.now
        self._known.is_to_perform &= state != "PerformEffect"
        self._world.tell(self._world.process.name, f"enters {state}")
        if state not in TELLING:
            self._may_be_aborted(f"in {state}")

        def entered() -> str:
            self._world.observe(now)
            moment = EPOCH + timedelta(milliseconds=now)
            return f"{moment:%Y-%m-%dT%H:%M:%S}.{now % 1000:03}Z"

        return entered

    def put_events(self, arguments: Any) -> Any:
        """Only tell the story; this is no step, see `TELLING`."""
        for entry in arguments["Entries"]:
            self._world.tell(self._world.process.name, "tells", entry["DetailType"])
        return {"FailedEntryCount": 0, "Entries": [{} for _ in arguments["Entries"]]}

    def wait(self, seconds: float) -> None:
        self._world.sleep(seconds)
        self._may_be_aborted("having waited")

    def _may_be_aborted(self, where: str) -> None:
        """A step at which an operator may abort; other runs need none here."""
        if self._world.may_go_wrong(Hazard.ABORTED):
            self._world.step(where, lambda: None, otherwise={Hazard.ABORTED: _abort})

    def invoke(self, function: str, payload: Any, timeout: float) -> Any:
        """Invoke the effect's function, which may fail in all the ways that Lambda does."""
        self._invocations += 1
        name = f"effect {self._name}.{self._invocations}"
        endings: list[ProcessResult] = []

        def start() -> None:
            self._service.invoke(function, name, payload, endings.append)

        def throttled() -> None:
            raise machine.StateFailed("Lambda.TooManyRequestsException", "Rate exceeded")

        def lost() -> None:
            start()
            raise machine.StateFailed("Lambda.ServiceException", "no answer")

        def deployed() -> None:
            self._service.deploy()
            start()

        def aborted() -> None:
            start()
            _abort()

        self._world.step(
            f"invokes {name}: {payload['operation']}",
            start,
            otherwise={
                Hazard.THROTTLED: throttled,
                Hazard.ANSWER_LOST: lost,
                Hazard.DEPLOYED: deployed,
                Hazard.ABORTED: aborted,
            },
        )
        if not self._world.wait(lambda: bool(endings), timeout):
            raise machine.StateFailed("States.Timeout", "")
        ended = endings[0]
        self._world.observe(repr(ended))
        self._may_be_aborted(f"has heard of {name}")
        if failure := ended.failure("Lambda.Unknown"):
            raise machine.StateFailed(*failure)
        return receive_answer(self._world, name, payload["operation"], ended.value)

    def send_and_wait(self, arguments: Any, timeout: float) -> Any:
        """Post a dead letter, and wait for an operator's decision, if there will be one."""
        body = json.dumps(arguments["MessageBody"])

        def send() -> None:
            if self._known.is_closed:
                raise InvariantViolation(f"{self._name} was closed, and asks again")
            if self._known.is_to_perform:
                raise InvariantViolation(f"{self._name} was to be performed, and asks again")
            _check_letter(arguments["MessageBody"], self._name, self._known)
            self._service.queues.send_message(QueueUrl=arguments["QueueUrl"], MessageBody=body)
            self._known.waits_for_decision = True

        def fails() -> None:
            raise machine.StateFailed("SQS.SdkClientException", "Rate exceeded")

        def aborted() -> None:
            send()
            _abort()

        self._world.step(
            "posts a dead letter",
            send,
            otherwise={Hazard.THROTTLED: fails, Hazard.ABORTED: aborted},
        )
        answers = self._service.answers[self._known.answers_given :]
        self._known.answers_given += bool(answers)
        if answers and answers[0] is not None:
            decision, after = answers[0], self._service.answered_after
            if after / 1000 >= timeout:
                self._world.sleep(timeout)
                self._known.waits_for_decision = False
                raise machine.StateFailed("States.Timeout", "")
            self._world.sleep(after / 1000)
            self._known.waits_for_decision = False
            self._service.queues.remove(arguments["QueueUrl"], body)
            message = arguments["MessageBody"]["message"]
            if decision == TRUTHFULLY:
                decision = "resolve" if self._service.happened(message) else "perform"
            self._known.is_closed = decision in ("resolve", "reject")
            self._known.is_to_perform = decision == "perform"
            self._service.decided(decision, message)
            self._world.tell("operator", f"answers {decision!r}")
            self._world.observe(decision)
            return self._answer(decision)
        self._world.wait(lambda: False, timeout, moves_time=bool(answers))
        self._known.waits_for_decision = False
        if answers:  # whoever redrives it removes the letter, which can no longer be answered
            self._service.queues.remove(arguments["QueueUrl"], body)
        raise machine.StateFailed("States.Timeout", "")

    def _answer(self, decision: str) -> dict[str, Any]:
        """As `actonce dead-letters` answers a task."""
        if decision not in ("retry", "perform"):
            return {"decision": decision, "note": "seen to"} if decision else {}
        version = self._service.version()
        self._world.observe(json.dumps(version))
        return {"decision": decision, "note": "seen to", "version": version}


class InvariantViolation(Exception):
    """A record of a message is not what happened to it, or an operator's word is not kept."""


def _check_letter(letter: Any, name: str, known: _ExecutionRecord) -> None:
    """A dead letter must have what a person, and the answer to it, need."""
    execution = name.rpartition(".")[0]
    # What a first attempt adds to the input is none of the message's.
    sent = {name: json.loads(known.input)[name] for name in ("body", "message_id")}
    is_whole = (
        letter["message"] == sent
        and letter["message_id"] == sent["message_id"]
        and letter["reason"] in list(DeadLetterReason)
        and bool(letter["error"])
        and isinstance(letter["cause"], str)
        and letter["rounds"] >= 0
        and letter["execution_name"] == execution
        and letter["execution_arn"] == f"arn:execution:{execution}"
        and letter["task_token"] == f"token-{execution}"
        and letter["version"] == 1
        and bool(letter["posted_at"])
    )
    if not is_whole:
        raise InvariantViolation(f"the dead letter {letter}")


def _abort() -> None:
    raise machine.Aborted
