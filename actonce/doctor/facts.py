"""What doctor judges: facts about a deployed stack, as plain data.

What could not be read is `Unreadable`, with the reason; what does not exist is `Missing`. Neither
ever counts as in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from actonce.messages.effect_store import OwnEffect
from actonce.queues.depth import Pause

T = TypeVar("T")

STARTER_SECONDS = 30
"""StarterFunction's time-out, as template.yaml has it."""

_COLONS_OF_A_VERSION = 7
"""arn:partition:lambda:region:account:function:name:version"""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A fact that could not be read, and why: one clause."""

    why: str


@dataclass(frozen=True, slots=True)
class Missing:
    """What the stack names and AWS does not have."""


class CannotCheck(Exception):
    """A check needs what is `Unreadable`; the text says why it could not be read."""


def readable(fact: T | Unreadable) -> T:
    """The fact, if it could be read.

    Raises:
        CannotCheck: it could not.
    """
    if isinstance(fact, Unreadable):
        raise CannotCheck(fact.why)
    return fact


def existing(fact: T | Missing | Unreadable) -> T | None:
    """The fact, if it could be read; None if it is `Missing`.

    Raises:
        CannotCheck: it could not.
    """
    return None if isinstance(fact, Missing) else readable(fact)


def _name(arn: str) -> str:
    return ":".join(arn.split(":")[6:]) or arn


@dataclass(frozen=True, slots=True)
class Function:
    """A function as it is deployed now.

    Attributes:
        arn: as the stack names it.
        timeout: seconds.
        reserved: its reserved concurrency; None: none.
        variables: its environment.
        durable: seconds of its DurableConfig's ExecutionTimeout; None: it is no durable function.
        deployed_since: in what a published version differs from what is deployed now, by AWS's
            names.
        not_retained: the policies by which the stack that has a published version would delete it
            when the next one is published; empty also if no stack of CloudFormation here has it.
    """

    arn: str
    timeout: int
    reserved: int | Unreadable | None = None
    variables: Mapping[str, str] | Unreadable | None = None
    durable: int | None = None
    deployed_since: tuple[str, ...] | Unreadable = ()
    not_retained: tuple[str, ...] | Unreadable = ()

    @property
    def is_version(self) -> bool:
        """Whether it is a published version, not an alias nor the function itself."""
        return self.arn.rpartition(":")[2].isdigit() and self.arn.count(":") == _COLONS_OF_A_VERSION

    @property
    def name(self) -> str:
        """As a person knows it."""
        return _name(self.arn)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue as it is now.

    Attributes:
        visibility: its visibility timeout, seconds.
        retention: how long it keeps a message, seconds.
        dead_letter_target: ARN of where its redrive policy moves messages to; empty: it has none.
        max_receive_count: of that policy.
        key: of SSE-KMS; empty: none.
    """

    arn: str
    visibility: int
    retention: int
    dead_letter_target: str = ""
    max_receive_count: int = 0
    key: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.arn.rpartition(":")[2]

    @property
    def is_fifo(self) -> bool:
        """Whether it is a FIFO queue."""
        return self.arn.endswith(".fifo")


@dataclass(frozen=True, slots=True)
class Feed:
    """An event source mapping of a queue.

    Attributes:
        function: ARN of what it feeds.
        state: AWS's word, such as `Enabled`.
        reports_failures: whether it returns the failed deliveries of a batch one by one.
        filters: whether it has filter criteria; Lambda deletes what they do not match.
    """

    function: str
    state: str
    reports_failures: bool
    filters: bool = False

    @property
    def name(self) -> str:
        """Of the function, as a person knows it."""
        return _name(self.function)

    @property
    def takes(self) -> bool:
        """Whether it takes messages, or soon will."""
        return self.state in ("Enabled", "Enabling", "Creating", "Updating")


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects table that the stack names.

    Attributes:
        key, time: the attributes that EffectsAttributes names; no time: None.
        keys: the attributes of the table's key.
        no_lookup: why it cannot look up one message, a sentence; empty: it can.
        sample: some items of it, or all.
        recovers: whether it has point-in-time recovery; None: no audit exports it.
    """

    name: str
    key: str
    time: str | None
    keys: tuple[str, ...]
    no_lookup: str | Unreadable = ""
    sample: tuple[OwnEffect, ...] | Unreadable = ()
    recovers: bool | Unreadable | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one stack, at one time.

    Attributes:
        stack: as a person names it.
        parameters: the stack's, by name.
        region: where it is.
        effect, find: the functions that perform and look up; None if none is named.
        starter: the function that the queue feeds.
        requests, unstarted, dead_letters: the queues.
        feeds: every mapping of the requests queue, whoever made it.
        decides: every mapping of DeadLetterQueue; there should be none.
        effects: None if the stack names no table of its effects.
        pause: None if it is not paused.
        subscriptions: of the topic of the alarms, those that are confirmed.
        options: see `Stack.options`.
        is_embedded: whether it is on the embedded AWS, whose own queue and starter are in a hurry.
    """

    stack: str
    parameters: Mapping[str, str]
    region: str
    effect: Function | Missing | Unreadable | None
    find: Function | Missing | Unreadable | None
    starter: Function | Missing | Unreadable
    requests: Queue | Missing | Unreadable
    unstarted: Queue | Missing | Unreadable
    dead_letters: Queue | Missing | Unreadable
    feeds: tuple[Feed, ...] | Unreadable
    decides: tuple[Feed, ...] | Unreadable
    effects: Effects | Missing | Unreadable | None
    pause: Pause | Unreadable | None
    subscriptions: int | Unreadable
    options: str = ""
    is_embedded: bool = False

    def seconds_of(self, starter: Function) -> int:
        """The time-out that the starter has on AWS."""
        if not self.is_embedded:
            return starter.timeout
        return self.number("StarterTimeoutSeconds") or STARTER_SECONDS

    def number(self, parameter: str) -> int:
        """A parameter's value; 0 if the stack's version does not have it."""
        return int(self.parameters.get(parameter, "0") or "0")

    @property
    def start_executions(self) -> str:
        """When: `always` or `on-trouble`."""
        return self.parameters.get("StartExecutions", "always")
