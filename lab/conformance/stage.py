"""One run's stage: a world with queue, tables, state machine and effect, as the stack has them."""

import contextlib
import json
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.stack.sources import sources
from actonce_core.backoff import EFFECT_BACKOFF_GROWTH, START_BACKOFF_GROWTH, seconds_until_back
from actonce_core.delivery import Delivery
from actonce_core.effect import Effect, NotPerformed, Rejected, answer
from actonce_core.invoked_effect import InvokedEffect
from lab.conformance import machine
from lab.conformance.clients import Client
from lab.conformance.durable import DurableFunctions
from lab.conformance.dynamodb import DynamoDB
from lab.conformance.effects import (
    EFFECTS_TABLE,
    CountingEffect,
    FencedCountingEffect,
    Lateness,
    Performed,
)
from lab.conformance.invoking import Invoking
from lab.conformance.process import Ended, Hazard, Process
from lab.conformance.queues import KeptQueues, Record, RequestsQueue
from lab.conformance.stepfunctions import STATE_MACHINE, StepFunctions, Untrue
from lab.conformance.world import World

Handler = Callable[[Record], object]
"""What a way makes of a delivery: returns and it is acknowledged, raises and it comes back."""

_MISTAKES = (TypeError, NameError, AttributeError, KeyError, AssertionError)
"""No service fails like this: the code under test, or its surroundings here, are wrong."""

CLOSING = {"resolve": "resolved", "reject": "rejected"}
"""The decisions that close a message, and what it is then."""


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
# What a lease needs, so that a takeover has the time to wait for the margin.
LEASE_CONSUMER_TIMEOUT = 60_000
LEASE_VISIBILITY = 390_000
# What a lease needs whose effect is a function of its own, at work for its own time besides.
INVOKING_LEASE_CONSUMER_TIMEOUT = 120_000
INVOKING_LEASE_VISIBILITY = 750_000
MOST_RECEIVES = 1000
MOST_RECEIVES_ELSEWHERE = 5
"""What SQS's own advice comes to; the rivals' queues have it."""
MAX_ROUNDS = 3
INIT = 10_000
"""Longest that a cold start takes before the function's own time begins; one that takes longer is
begun again within it. Source: "Lambda execution environment lifecycle", Developer Guide."""
JITTER = 1.0
"""Waits are as long as they may be: what goes wrong by their order is tried by pauses."""
NAMES_REMEMBERED = 25 * 24 * 3_600_000

APPOINTMENTS_TABLE = "appointments"
MEMORY_TABLE = "fingerprints"
"""Of this project's strategies, all of them."""

TABLES = {
    "fingerprints": ("message_id",),
    "ledger": ("message_id",),
    "idempotency": ("id",),
    APPOINTMENTS_TABLE: ("message_id", "appointment_id"),
    EFFECTS_TABLE: ("message_id", "effect_id"),
}

FUNCTION = "effect"
"""The effect's function; with `:` and a number behind it, a version of it."""

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
"""What a deployment in the middle raises the effect's time-out to, in milliseconds."""

OTHER_PARAMETERS = {
    "EffectTimeoutSeconds": str(OTHER_EFFECT_TIMEOUT // 1000),
    "StragglerMarginSeconds": "20",
    "MaxRounds": "2",
}
"""What such a deployment changes."""


def process_message(**parameters: str) -> machine.Definition:
    """The state machine that ships; `parameters` that are not the template's defaults."""
    text = (sources() / "statemachine" / "process_message.asl.json").read_text()
    return machine.load(text, {**_SUBSTITUTIONS, **parameters})


@cache
def _other_machine(version: str) -> machine.Definition:
    return process_message(EffectFunctionArn=version, FindFunctionArn=version, **OTHER_PARAMETERS)


@cache
def _blind_machine() -> machine.Definition:
    return process_message(FindFunctionArn="")


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way to deduplicate.

    Attributes:
        name: on the command line.
        title: in the table.
        build: makes the handler of one process; called inside it.
        ends_at: milliseconds after which Lambda ends an invocation; None: a host on which nothing
            does.
        is_fifo: its queue is a FIFO queue.
        is_content_based: what deduplicates on a FIFO queue is the body, and not the message id.
        is_fenced: its effect checks the fence.
        effect: makes another effect than the one that only counts.
        invokes: its consumer has a function of a team's own perform the effect.
        installed: patches clocks and ids of a library that has no place to put them in, while its
            context is open.
        most_receives: `maxReceiveCount` of its queue.
        visibility: its queue's visibility timeout, in milliseconds.
        is_ours: it is one of this project's.
        strategy: the stack's parameter for it; empty: a rival's.
        lateness: milliseconds after which an effect happens whose caller is gone, within what the
            way allows for.
        lateness_awaited: milliseconds after which one happens whose caller waits; () for the same.
        cannot: hazards, by name, that it is known not to survive, and why.
        left_out: hazards, by name, that it is not walked against, and why.
    """

    name: str
    title: str
    build: Callable[["Stage"], Handler]
    ends_at: int | None = CONSUMER_TIMEOUT
    is_fifo: bool = False
    is_content_based: bool = False
    is_fenced: bool = False
    effect: "Callable[[Stage], Effect] | None" = None
    invokes: bool = False
    installed: Callable[["World"], AbstractContextManager[Any]] = lambda _: nullcontext()
    most_receives: int = MOST_RECEIVES_ELSEWHERE
    visibility: int = VISIBILITY
    is_ours: bool = False
    strategy: str = ""
    lateness: tuple[int, ...] = (2_000, CONSUMER_TIMEOUT + 5_000)
    lateness_awaited: tuple[int, ...] = ()
    cannot: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Function:
    """The effect's function.

    Attributes:
        timeout: of what is deployed by now, `$LATEST`, in milliseconds.
        published: those of its versions 1, 2, …; a version never changes.
    """

    timeout: int
    published: list[int]

    def state(self) -> tuple[int, ...]:
        return self.timeout, *self.published

    def publish(self, timeout: int) -> None:
        """Deploy it with this time-out, and publish that as a version."""
        self.timeout = timeout
        self.published.append(timeout)

    @property
    def last(self) -> str:
        """The version that was published last."""
        return f"{FUNCTION}:{len(self.published)}"

    def timeout_of(self, name: str) -> int:
        """The time-out of a version, or of the function where no version is named."""
        _, _, version = name.partition(":")
        return self.published[int(version) - 1] if version else self.timeout


class Stage:
    """What a scenario is played on.

    Attributes:
        queue: that scenarios send to.
        sent: each message that was sent: its id (None where there is none) and its body.
        deployed: the way that consumers are built by; a deployment may change it.
        state_machine: ARN of the deployed stack's.
        wall_offsets: how far the wall clocks of the consumers' machines are ahead, in milliseconds;
            the consumers are given them in turn.
        lateness: milliseconds after which a late effect happens.
        cold_start: milliseconds that the next invocation of the effect's function takes to begin.
        answers_unclearly: where it did not perform it raises no error, and answers no clear yes.
        looks_up: whether a function is named to look the effect up.
        unheard_until: milliseconds of the world until which no heartbeat of a lease is heard.
    """

    def __init__(self, world: World, way: Way, definition: machine.Definition) -> None:
        self.world = world
        self.way = self.deployed = way
        self.state_machine = STATE_MACHINE
        self.performed = Performed()
        self.kept = KeptQueues(world, frozenset({UNSTARTED} if way.is_fifo else ()))
        self.tables = DynamoDB(TABLES)
        self.queue = RequestsQueue(
            world,
            self._deliver,
            self.kept,
            UNSTARTED,
            visibility=way.visibility,
            most_receives=way.most_receives,
            is_fifo=way.is_fifo,
        )
        self.executions = StepFunctions(
            world, definition, self._invoke, self.kept, self.deploy_function, self.decided
        )
        self.executions.check = self._check
        self.executions.happened = self.happened
        self.executions.version = self.version
        self.durable = DurableFunctions(world, partial(self.kept.keep, UNSTARTED), CONSUMER_TIMEOUT)
        self.dynamodb: Any = Client(world, self.tables)
        self.sqs: Any = Client(world, self.kept)
        self.requests: Any = Client(world, self.queue)
        self.stepfunctions: Any = Client(world, self.executions)
        self.lambda_: Any = Client(world, self.durable)
        self.sent: list[tuple[str | None, Any]] = []
        self.wall_offsets: tuple[int, ...] = (0,)
        self.lateness: Lateness = {
            Hazard.EFFECT_OUTLIVES: way.lateness,
            Hazard.EFFECT_LATE: way.lateness_awaited or way.lateness,
            Hazard.EFFECT_HANGS: (STRAGGLER_MARGIN - 1_000,),
        }
        self.cold_start = 0
        self.answers_unclearly, self.looks_up = False, True
        self.unheard_until = 0
        self._consumers = 0
        self._function = _Function(EFFECT_TIMEOUT, [EFFECT_TIMEOUT])
        self._margin = STRAGGLER_MARGIN
        world.stores = [
            self._function,
            self.performed,
            self.kept,
            self.tables,
            self.queue,
            self.executions,
            self.durable,
        ]

    @property
    def effects(self) -> list[tuple[str, str]]:
        """What has happened: message id and body of each effect, in its order."""
        appointments = [item for item in self.tables.items(APPOINTMENTS_TABLE) if "request" in item]
        appointments.sort(key=lambda item: int(item["slot"]["N"]))
        return self.performed.effects + [
            (item["message_id"]["S"], json.dumps(json.loads(item["request"]["S"]), sort_keys=True))
            for item in appointments
        ]

    @property
    def acts(self) -> Effect:
        """What the consumer that is running acts by: the effect, or a function that performs it."""
        if not self.way.invokes:
            return self.effect
        lambda_: Any = Invoking(self.world, self._invoke)
        return InvokedEffect(lambda_, _FIRST, _FIRST if self.looks_up else "")

    @property
    def effect(self) -> Effect:
        """The effect, for the process that is running."""
        if self.way.effect is not None:
            return self.way.effect(self)
        if self.way.is_fenced:
            return FencedCountingEffect(self.world, self.performed, self.lateness, self.tables)
        return CountingEffect(self.world, self.performed, self.lateness)

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
            content: makes two messages with one id different.
            after: milliseconds after the world began.
            deliveries_at_once: see `RequestsQueue.send`.
            again_after: see `RequestsQueue.send`.
            more: in the body.
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
        """Send what is no message."""
        self.sent.append((None, text))
        self.world.at(
            0,
            ("send", len(self.sent)),
            lambda: self.queue.send(text, group="group", deduplication_id=text),
        )

    def deploy_function(self) -> None:
        """Publish a version with the other time-out; what the function is at work on goes on."""
        raised = self._function.published[-1] == EFFECT_TIMEOUT
        self._function.publish(OTHER_EFFECT_TIMEOUT if raised else EFFECT_TIMEOUT)

    def change_function_by_hand(self, timeout: int) -> None:
        """Somebody sets the function's time-out past the stack, in milliseconds."""
        self._function.timeout = timeout

    def look_nothing_up(self) -> None:
        """Name no function that looks the effect up."""
        self.looks_up = False
        self.executions.definition = _blind_machine()

    def deploy_all(self) -> None:
        """Deploy the other parameters: a version, and a state machine that names it.

        Executions that start later have its definition.
        """
        self._function.publish(OTHER_EFFECT_TIMEOUT)
        self._margin = int(OTHER_PARAMETERS["StragglerMarginSeconds"]) * 1000
        self.executions.definition = _other_machine(self._function.last)

    def decided(self, decision: str, message: Any) -> None:
        """What was wrong is mended; the message is tried again, or not to be acted on any more."""
        performed = self.performed
        performed.is_mended = True
        performed.closed[:] = [one for one in performed.closed if one[0] != message["message_id"]]
        if decision not in ("retry", "perform"):
            text = json.dumps(json.loads(message["body"]), sort_keys=True)
            how = CLOSING.get(decision, "undecided")
            closed = message["message_id"], text, len(performed.effects), how
            performed.closed.append(closed)

    def version(self) -> dict[str, Any]:
        """What is deployed now, as `actonce dead-letters` brings it with a decision."""
        last = self._function.last
        return {
            "perform": last,
            "find": last if self.looks_up else "",
            "timeout": self._function.timeout_of(last) // 1000,
            "margin": self._margin // 1000,
        }

    def happened(self, message: Any) -> bool:
        """What an operator sees who looks for themselves."""
        return message["message_id"] in [message_id for message_id, _ in self.effects]

    def _check(self, message: Any, ended: Ended) -> None:
        """An execution's end has to say what happened."""
        if ended.error is not None:
            said = getattr(ended.error, "error", "")
            # Whatever else it fails with, nobody was told by a dead letter.
            is_true = said == "States.Timeout" or (
                said == "RejectedByOperator" and self._is_closed(message, "rejected")
            )
        else:
            said = ended.value.get("outcome") if ended.value else "aborted"
            is_performed = self.happened(message)
            is_true = (
                said == "aborted"
                or (said in ("performed", "found") and is_performed and ended.value["effect"])
                or (said == "resolved" and self._is_closed(message, said) and ended.value["note"])
            )
        if not is_true:
            raise Untrue(f"{message['message_id']} is said to be {said}")

    def _is_closed(self, message: Any, how: str) -> bool:
        message_id = message["message_id"]
        return any(one[0] == message_id and one[3] == how for one in self.performed.closed)

    def remaining_milliseconds(self) -> int:
        """How long Lambda lets the running process go on."""
        deadline = self.world.process.deadline
        return 0 if deadline is None else deadline - self.world.now

    def _show_again(self, record: Record) -> None:
        """What `Batch` does with a delivery that failed."""
        delivery = Delivery.from_record(record)
        growth = EFFECT_BACKOFF_GROWTH if self.deployed.strategy else START_BACKOFF_GROWTH
        entry = {
            "Id": "0",
            "ReceiptHandle": delivery.receipt_handle,
            "VisibilityTimeout": math.ceil(
                seconds_until_back(delivery.receive_count, JITTER, growth)
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
                if way.is_ours and not isinstance(error, _MISTAKES):
                    self._show_again(record)
                raise

            otherwise = {Hazard.NOT_ACKNOWLEDGED: lambda: None}
            self.world.step("acknowledges", acknowledge, otherwise=otherwise)

        def end(ended: Ended) -> None:
            if isinstance(ended.error, _MISTAKES):
                raise ended.error
            if ended.error is not None:
                self.world.tell(name, "gives the delivery back", type(ended.error).__name__)

        self.world.spawn(Process(name, wall_offset=offset, deadline=deadline), consume, end)

    def _invoke(
        self, function: str, name: str, payload: Any, on_end: Callable[[Ended], None]
    ) -> None:
        effect = self.effect
        cold_start, self.cold_start = self.cold_start, 0
        before = min(cold_start, INIT)
        deadline = self.world.now + before + self._function.timeout_of(function)
        process = Process(name, deadline=deadline)

        def handle() -> dict[str, Any]:
            if cold_start:
                self.world.sleep((before + (cold_start if cold_start > INIT else 0)) / 1000)
            answered = self._answered(effect, payload)
            # Between the effect and its answer the function may still crash.
            self.world.step("answers", lambda: None)
            return answered

        self.world.spawn(process, handle, on_end)

    def _answered(self, effect: Effect, payload: Any) -> dict[str, Any]:
        try:
            return answer(effect, payload)
        except (NotPerformed, Rejected):
            if not self.answers_unclearly:
                raise
            return {"performed": False}
