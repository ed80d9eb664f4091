"""The stack of one run, in memory: queues, tables, state machine and effect."""

import contextlib
import json
import math
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.stack.stack_files import sources
from actonce_core.backoff import redelivery_delay
from actonce_core.delivery import Delivery
from actonce_core.effect import Effect, NotPerformed, Rejected, answer
from lab.conformance import machine
from lab.conformance.clients import Client
from lab.conformance.dynamodb import DynamoDB
from lab.conformance.effects import (
    EFFECTS_TABLE,
    CountingEffect,
    EffectLog,
    FencedClient,
    Lateness,
)
from lab.conformance.lambda_client import LambdaClient
from lab.conformance.process import Hazard, Process, ProcessResult
from lab.conformance.queues import OutputQueues, Record, RequestsQueue
from lab.conformance.stepfunctions import STATE_MACHINE, InvariantViolation, StepFunctions
from lab.conformance.world import World

Handler = Callable[[Record], object]
"""Handles a delivery: it is acknowledged if this returns, and comes back if it raises."""

_MISTAKES = (
    *(TypeError, NameError, AttributeError, KeyError, AssertionError),
    InvariantViolation,
)
"""No service fails like this: the code under test is wrong, or the suite is."""

CLOSING = {"resolve": "resolved", "reject": "rejected"}
"""The decisions that close a message, and the state that each leaves it in."""

REQUESTS = "RequestsQueue"
UNSTARTED = "UnstartedQueue"
DEAD_LETTERS = "DeadLetterQueue"

# template.yaml's defaults, in milliseconds; a test holds them against it.
CONSUMER_TIMEOUT = 30_000
EFFECT_TIMEOUT = 15_000
STRAGGLER_MARGIN = 30_000
CLOCK_SKEW = 300_000
LEASE = 12_000
VISIBILITY = 210_000
# A lease's, so that a takeover has the time to wait for the margin.
LEASE_CONSUMER_TIMEOUT = 60_000
LEASE_VISIBILITY = 390_000
BESIDE_AN_ATTEMPT = 15_000
"""How much longer than the effect's function a starter lives that calls it."""
MOST_RECEIVES = 1000
MOST_RECEIVES_ELSEWHERE = 5
"""As SQS advises; for the rivals' queues."""
MAX_ROUNDS = 3
INIT = 10_000
"""Longest cold start that does not count towards the time-out; a longer one begins again, and then
counts. Source: "Lambda execution environment lifecycle", Developer Guide."""
JITTER = 1.0
"""Every wait is the longest possible; pauses try other orders."""
NAMES_REMEMBERED = 25 * 24 * 3_600_000

APPOINTMENTS_TABLE = "appointments"
MEMORY_TABLE = "fingerprints"
"""What this project's ways remember messages in."""

TABLES = {
    "fingerprints": ("message_id",),
    "idempotency": ("id",),
    APPOINTMENTS_TABLE: ("message_id", "appointment_id"),
    EFFECTS_TABLE: ("message_id", "effect_id"),
}

FUNCTION = "effect"
"""The effect's function; followed by `:` and a number, one of its versions."""

_FIRST = f"{FUNCTION}:1"

_SUBSTITUTIONS = {
    "Partition": "aws",
    "EffectFunctionArn": _FIRST,
    "FindFunctionArn": _FIRST,
    "EffectTimeoutSeconds": str(EFFECT_TIMEOUT // 1000),
    "StragglerMarginSeconds": str(STRAGGLER_MARGIN // 1000),
    "MaxRounds": str(MAX_ROUNDS),
    "DecisionTimeoutSeconds": "1209600",
    "DeadLetterQueueUrl": DEAD_LETTERS,
    "StackName": "actonce",
}


OTHER_EFFECT_TIMEOUT = 120_000
"""The effect's time-out after a deployment in the middle of a run, in milliseconds."""

OTHER_PARAMETERS = {
    "EffectTimeoutSeconds": str(OTHER_EFFECT_TIMEOUT // 1000),
    "StragglerMarginSeconds": "20",
    "MaxRounds": "2",
}
"""The parameters that such a deployment changes."""


def process_message(**parameters: str) -> machine.Definition:
    """The state machine that ships, with these parameters and otherwise the template's defaults."""
    text = (sources() / "statemachine" / "process_message.asl.json").read_text()
    return machine.load(text, {**_SUBSTITUTIONS, **parameters})


@cache
def _other_machine(version: str) -> machine.Definition:
    return process_message(EffectFunctionArn=version, FindFunctionArn=version, **OTHER_PARAMETERS)


@cache
def _machine_for(version: str, timeout: int) -> machine.Definition:
    return process_message(
        EffectFunctionArn=version, FindFunctionArn=version, EffectTimeoutSeconds=str(timeout)
    )


@cache
def _blind_machine() -> machine.Definition:
    return process_message(FindFunctionArn="")


@dataclass(frozen=True, slots=True, eq=False)
class StrategyUnderTest:
    """A way to deduplicate.

    Attributes:
        name: on the command line.
        title: in the table.
        build: makes the handler of one process, inside it.
        ends_at: milliseconds until Lambda ends an invocation; None on a host, where nothing does.
        is_fifo: its queue is a FIFO queue.
        is_content_based: the FIFO queue deduplicates by the body, not by the message id.
        effect: makes an effect on a client of DynamoDB, in place of the one that only counts.
        installed: patches the clocks and ids of a library while its context is open.
        most_receives: `maxReceiveCount` of its queue.
        visibility: its queue's visibility timeout, in milliseconds.
        is_ours: it is this project's, not a rival.
        backoff_growth: of the waits of a delivery that failed, see `redelivery_delay`; None: it
            comes back when its visibility timeout is over.
        attempts_first: its starter calls the effect's function itself.
        lateness: milliseconds until an effect happens whose caller is gone, as the way tolerates.
        lateness_awaited: the same while the caller waits; (): as `lateness`.
        cannot: names of hazards that it is known not to survive, and why.
        left_out: names of hazards that it is not walked against, and why.
    """

    name: str
    title: str
    build: Callable[["SimulatedStack"], Handler]
    ends_at: int | None = CONSUMER_TIMEOUT
    is_fifo: bool = False
    is_content_based: bool = False
    effect: Callable[[Any], Effect] | None = None
    installed: Callable[["World"], AbstractContextManager[Any]] = lambda _: nullcontext()
    most_receives: int = MOST_RECEIVES_ELSEWHERE
    visibility: int = VISIBILITY
    is_ours: bool = False
    backoff_growth: float | None = None
    attempts_first: bool = False
    lateness: tuple[int, ...] = (2_000, CONSUMER_TIMEOUT + 5_000)
    lateness_awaited: tuple[int, ...] = ()
    cannot: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


class _Function:
    """The effect's function: the time-outs, in milliseconds, of itself and of its versions."""

    def __init__(self) -> None:
        self.timeouts: dict[str, int] = {}
        self.last_version = ""
        self.publish(EFFECT_TIMEOUT)

    def state(self) -> Hashable:
        return tuple(self.timeouts.items())

    def publish(self, timeout: int) -> None:
        """Deploy it with this time-out, and publish a version, which never changes."""
        self.timeouts[FUNCTION] = timeout
        self.last_version = f"{FUNCTION}:{len(self.timeouts)}"
        self.timeouts[self.last_version] = timeout


class SimulatedStack:
    """A deployed stack, on which a scenario is run.

    Attributes:
        queue: the one that scenarios send to.
        sent: each message that was sent: its id (None if it has none) and its body.
        deployed: the way whose consumers start from now on; a deployment may change it.
        state_machine: ARN of the state machine that is deployed now.
        starter_version: what the starter's environment says of the effect's function.
        wall_offsets: milliseconds that the wall clocks of the consumers' machines are ahead; each
            consumer takes the next one.
        lateness: milliseconds until a late effect happens.
        cold_start: milliseconds that the next invocation of the effect's function takes to begin.
        answers_unclearly: if it performs nothing, the effect's function answers without a clear yes
            instead of raising an error.
        has_find_function: whether the effect can be looked up at all.
        unheard_until: milliseconds of the world until which all heartbeats of a lease are lost.
    """

    def __init__(
        self, world: World, way: StrategyUnderTest, definition: machine.Definition
    ) -> None:
        self.world = world
        self.way = self.deployed = way
        self.state_machine = STATE_MACHINE
        self.performed = EffectLog()
        self.output = OutputQueues(world, frozenset({UNSTARTED} if way.is_fifo else ()))
        self.tables = DynamoDB(TABLES)
        self.queue = RequestsQueue(
            world,
            self._deliver,
            self.output,
            UNSTARTED,
            visibility=way.visibility,
            most_receives=way.most_receives,
            is_fifo=way.is_fifo,
        )
        self.executions = StepFunctions(
            world, definition, self._invoke, self.output, self.deploy_function, self.decided
        )
        self.executions.check = self._check
        self.executions.happened = self.happened
        self.executions.version = self.version
        self.dynamodb: Any = Client(world, self.tables)
        self.sqs: Any = Client(world, self.output)
        self.requests: Any = Client(world, self.queue)
        self.stepfunctions: Any = Client(world, self.executions)
        self.sent: list[tuple[str | None, Any]] = []
        self.wall_offsets: tuple[int, ...] = (0,)
        self.lateness: Lateness = {
            Hazard.EFFECT_OUTLIVES: way.lateness,
            Hazard.EFFECT_LATE: way.lateness_awaited or way.lateness,
            Hazard.EFFECT_HANGS: (STRAGGLER_MARGIN - 1_000,),
        }
        self.cold_start = 0
        self.answers_unclearly, self.has_find_function = False, True
        self.unheard_until = 0
        self._consumers = 0
        self._function = _Function()
        self._margin = STRAGGLER_MARGIN
        self.starter_version: dict[str, Any] = {}
        self.deploy_starter()
        world.stores = [
            self._function,
            self.performed,
            self.output,
            self.tables,
            self.queue,
            self.executions,
        ]

    @property
    def effects(self) -> list[tuple[str, str]]:
        """Message id and body of each effect that has happened, in order."""
        appointments = [item for item in self.tables.items(APPOINTMENTS_TABLE) if "request" in item]
        appointments.sort(key=lambda item: int(item["slot"]["N"]))
        return self.performed.effects + [
            (item["message_id"]["S"], json.dumps(json.loads(item["request"]["S"]), sort_keys=True))
            for item in appointments
        ]

    def lambda_client(self, longest_wait: float) -> Any:
        """A starter's client of Lambda; see `LambdaClient`."""
        return LambdaClient(self.world, self._invoke, self.deploy_function, longest_wait)

    def effect(self, fence: Mapping[str, Any] | None = None) -> Effect:
        """The effect, for the running process; with a lease's fence, which it checks."""
        if self.way.effect is not None:
            return self.way.effect(FencedClient(self.dynamodb, fence) if fence else self.dynamodb)
        if fence is None:
            return CountingEffect(self.world, self.performed, self.lateness)
        # The table itself: the write is a part of the effect's step.
        tables = FencedClient(self.tables, fence)

        def write(message_id: str) -> None:
            effect_id = str(len(self.performed.effects))
            item = {"message_id": {"S": message_id}, "effect_id": {"S": effect_id}}
            tables.put_item(TableName=EFFECTS_TABLE, Item=item)

        return CountingEffect(self.world, self.performed, self.lateness, write)

    def send(  # noqa: PLR0913 - all but the first two have names
        self,
        message_id: str,
        content: str = "",
        *,
        after: int = 0,
        deliveries_at_once: int = 1,
        again_after: int | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Send a message.

        Args:
            message_id: the producer's.
            content: so that two messages with the same id can differ.
            after: milliseconds from the beginning of the world.
            deliveries_at_once, again_after: see `RequestsQueue.send`.
            more: other fields of the body.
        """
        body = {"message_id": message_id, "content": content, **(more or {})}
        self.sent.append((message_id, body))
        number = len(self.sent)

        def now() -> None:
            self.world.tell("producer", f"sends {message_id}{f' ({content})' if content else ''}")
            self.queue.send(
                body,
                group="group",
                deduplication_id=json.dumps(body) if self.way.is_content_based else message_id,
                deliveries_at_once=deliveries_at_once,
                again_after=again_after,
            )

        self.world.at(after, ("send", number), now)

    def send_text(self, text: str) -> None:
        """Send a text that is no message."""
        self.sent.append((None, text))
        self.world.at(
            0,
            ("send", len(self.sent)),
            lambda: self.queue.send(text, group="group", deduplication_id=text),
        )

    def deploy_function(self) -> None:
        """Publish a version with the other time-out; running invocations go on."""
        is_default = self._function.timeouts[self._function.last_version] == EFFECT_TIMEOUT
        self._function.publish(OTHER_EFFECT_TIMEOUT if is_default else EFFECT_TIMEOUT)

    def publish(self, timeout: int) -> None:
        """Publish a version of the effect's function with this time-out, in milliseconds."""
        self._function.publish(timeout)

    def deploy_machine(self) -> None:
        """Deploy the definition of later executions, for the last version."""
        version = self.version()
        self.executions.definition = _machine_for(version["perform"], version["timeout"])

    def deploy_starter(self) -> None:
        """Deploy the starter for the last version, with the shortest time-out that fits it."""
        version = self.version()
        ends_at = version["timeout"] * 1000 + BESIDE_AN_ATTEMPT
        self.starter_version = version | {"margin": version["margin"] + ends_at // 1000}
        if self.deployed.attempts_first:
            self.deployed = replace(self.deployed, ends_at=ends_at)

    def change_function_by_hand(self, timeout: int) -> None:
        """Set the function's time-out, in milliseconds, without the stack."""
        self._function.timeouts[FUNCTION] = timeout

    def look_nothing_up(self) -> None:
        """Name no function to look the effect up, and give `@idempotent` no `find`."""
        self.has_find_function = False
        self.executions.definition = _blind_machine()

    def deploy_all(self) -> None:
        """Deploy the other parameters: a version, and the definition of later executions."""
        self._function.publish(OTHER_EFFECT_TIMEOUT)
        self._margin = int(OTHER_PARAMETERS["StragglerMarginSeconds"]) * 1000
        self.executions.definition = _other_machine(self._function.last_version)
        self.deploy_starter()

    def decided(self, decision: str, message: Any) -> None:
        """An operator decides; from now on the effect no longer goes wrong."""
        performed = self.performed
        performed.is_mended = True
        performed.closed[:] = [one for one in performed.closed if one[0] != message["message_id"]]
        if decision not in ("retry", "perform"):
            text = json.dumps(json.loads(message["body"]), sort_keys=True)
            how = CLOSING.get(decision, "undecided")
            closed = message["message_id"], text, len(performed.effects), how
            performed.closed.append(closed)

    def version(self) -> dict[str, Any]:
        """What is deployed now, as `actonce dead-letters` sends it with a decision."""
        last = self._function.last_version
        return {
            "perform": last,
            "find": last if self.has_find_function else "",
            "timeout": self._function.timeouts[last] // 1000,
            "margin": self._margin // 1000,
        }

    def happened(self, message: Any) -> bool:
        """Whether a message's effect has happened, as an operator would see."""
        return message["message_id"] in [message_id for message_id, _ in self.effects]

    def _check(self, message: Any, ended: ProcessResult) -> None:
        """An execution's result must be what happened."""
        if ended.error is not None:
            result = getattr(ended.error, "error", "")
            # An execution with any other error ended without a dead letter.
            is_true = result == "States.Timeout" or (
                result == "RejectedByOperator" and self._is_closed(message, "rejected")
            )
        else:
            result = ended.value.get("outcome") if ended.value else "aborted"
            is_performed = self.happened(message)
            is_true = (
                result == "aborted"
                or (result in ("performed", "found") and is_performed and ended.value["effect"])
                or (
                    result == "resolved"
                    and self._is_closed(message, result)
                    and ended.value["note"]
                )
            )
        if not is_true:
            raise InvariantViolation(f"{message['message_id']} is said to be {result}")

    def _is_closed(self, message: Any, how: str) -> bool:
        message_id = message["message_id"]
        return any(one[0] == message_id and one[3] == how for one in self.performed.closed)

    def remaining_milliseconds(self) -> int:
        """The rest of the running process's time, as Lambda tells it."""
        deadline = self.world.process.deadline
        return 0 if deadline is None else deadline - self.world.now

    def _show_again(self, record: Record, growth: float) -> None:
        """As `Batch` does with a delivery that failed."""
        delivery = Delivery.from_record(record)
        entry = {
            "Id": "0",
            "ReceiptHandle": delivery.receipt_handle,
            "VisibilityTimeout": math.ceil(
                redelivery_delay(delivery.receive_count, JITTER, growth)
            ),
        }
        with contextlib.suppress(ClientError, BotoCoreError):
            self.requests.change_message_visibility_batch(QueueUrl=REQUESTS, Entries=[entry])

    def _deliver(self, record: Record, name: str, acknowledge: Callable[[], None]) -> None:
        offset = self.wall_offsets[self._consumers % len(self.wall_offsets)]
        self._consumers += 1
        way = self.deployed
        deadline = None if way.ends_at is None else self.world.now + way.ends_at

        def consume() -> None:
            try:
                way.build(self)(record)
            except Exception as error:
                if way.backoff_growth and not isinstance(error, _MISTAKES):
                    self._show_again(record, way.backoff_growth)
                raise

            otherwise = {Hazard.NOT_ACKNOWLEDGED: lambda: None}
            self.world.step("acknowledges", acknowledge, otherwise=otherwise)

        def end(ended: ProcessResult) -> None:
            if isinstance(ended.error, _MISTAKES):
                raise ended.error
            if ended.error is not None:
                self.world.tell(name, "gives the delivery back", type(ended.error).__name__)

        sandbox = None if way.ends_at is None else f"consumer of {way.name}"
        process = Process(name, wall_offset=offset, deadline=deadline, sandbox=sandbox)
        self.world.spawn(process, consume, end)

    def _invoke(
        self, function: str, name: str, payload: Any, on_end: Callable[[ProcessResult], None]
    ) -> None:
        effect = self.effect()
        cold_start, self.cold_start = self.cold_start, 0
        before = min(cold_start, INIT)
        deadline = self.world.now + before + self._function.timeouts[function]
        process = Process(name, deadline=deadline, sandbox=function, in_main_thread=True)

        def handle() -> dict[str, Any]:
            if cold_start:
                self.world.sleep((before + (cold_start if cold_start > INIT else 0)) / 1000)
            response = self._answer(effect, payload)
            # Between the effect and its answer the function may still crash.
            self.world.step("answers", lambda: None)
            return response

        self.world.spawn(process, handle, on_end)

    def _answer(self, effect: Effect, payload: Any) -> dict[str, Any]:
        try:
            return answer(effect, payload)
        except (NotPerformed, Rejected):
            if not self.answers_unclearly:
                raise
            return {"performed": False}
