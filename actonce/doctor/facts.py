"""What doctor judges: facts of a deployed stack, as plain data.

A fact that could not be read is `Unseen`, with the reason; one that is not there is `Gone`. Neither
is ever taken for good.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from actonce.queues.queue_state import Pause

T = TypeVar("T")

_COLONS_OF_A_VERSION = 7
"""arn:partition:lambda:region:account:function:name:version"""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A fact that could not be read, and why: one clause."""

    why: str


@dataclass(frozen=True, slots=True)
class Gone:
    """What the stack names, and is not there."""


class NotSeen(Exception):
    """Raised where a judgement needs what is `Unseen`; its text is why."""


def seen(fact: T | Unseen) -> T:
    """A fact that could be read.

    Raises:
        NotSeen: it could not.
    """
    if isinstance(fact, Unseen):
        raise NotSeen(fact.why)
    return fact


def there(fact: T | Gone | Unseen) -> T | None:
    """A fact that could be read; None where nothing is there.

    Raises:
        NotSeen: it could not.
    """
    return None if isinstance(fact, Gone) else seen(fact)


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
        deployed_since: what of a published version is other than what is deployed by now.
    """

    arn: str
    timeout: int
    reserved: int | Unseen | None = None
    variables: Mapping[str, str] | Unseen | None = None
    durable: int | None = None
    deployed_since: tuple[str, ...] | Unseen = ()

    @property
    def is_version(self) -> bool:
        """Whether it is a published version, and neither an alias nor what is deployed by now."""
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
        reports_failures: whether it takes the failed deliveries of a batch back one by one.
        filters: whether it has filter criteria: what they do not match is deleted from the queue.
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
class Alarms:
    """Who is told of alarms.

    Attributes:
        confirmed: subscriptions of the topic.
        pending: those that nobody has confirmed.
    """

    confirmed: int
    pending: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one stack, at one time.

    Attributes:
        stack: as a person names it.
        parameters: the stack's, by name.
        region: where it is.
        effect, find: the functions that perform and look up; None where none is named. A lock's
            consumer performs the example itself.
        starter: what the queue feeds: the starter or the consumer.
        requests, unstarted, dead_letters: the queues.
        feeds: every mapping of the requests queue, whoever made it.
        decides: every mapping of the dead letters' queue; there should be none.
        pause: None: it is not paused.
        options: see `Stack.options`.
    """

    stack: str
    parameters: Mapping[str, str]
    region: str
    effect: Function | Gone | Unseen | None
    find: Function | Gone | Unseen | None
    starter: Function | Gone | Unseen
    requests: Queue | Gone | Unseen
    unstarted: Queue | Gone | Unseen
    dead_letters: Queue | Gone | Unseen
    feeds: tuple[Feed, ...] | Unseen
    decides: tuple[Feed, ...] | Unseen
    pause: Pause | Unseen | None
    alarms: Alarms | Unseen
    now: datetime
    options: str = ""

    def number(self, parameter: str) -> int:
        """A parameter's value; 0 for one that the stack's version does not have."""
        return int(self.parameters.get(parameter, "0") or "0")

    @property
    def starts_executions(self) -> bool:
        """Whether Step Functions stands in front of the effect."""
        return self.parameters.get("Strategy", "step-functions") == "step-functions"
