"""The demo's answer: what was sent, what became of it, and whether it was acted on exactly once."""

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any

from actonce.demo.records import Records
from actonce.messages.arguments import as_argument


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message that SQS accepted.

    Attributes:
        sqs_message_id: SQS's id of this sending.
        message_id: the producer's id; None if the message has none.
        execution_name: of the execution that it may have; None if it cannot be started.
    """

    sqs_message_id: str
    message_id: str | None
    execution_name: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts; `distinct` counts message ids, among the messages that have one.

    `performed`: deliveries that needed no execution, because the first attempt performed.
    `came_back`: deliveries that SQS makes again, because they were neither started nor suppressed
    nor refused, by why.
    """

    sent: int
    distinct: int
    deliveries: int
    started: int
    performed: int
    suppressed: int
    came_back: dict[str, int]
    refused: dict[str, int]
    effects: int
    acted_on_twice: int
    awaiting_decision: int
    lost: int
    exactly_once: bool
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """The answer."""
        if self.exactly_once:
            return "Every message was acted on at most once, and none was lost."
        return (
            f"NOT exactly once: {self.acted_on_twice} messages were acted on more than once, "
            f"{self.lost} were lost."
        )


def judge(sent: Collection[SentMessage], records: Records, seconds: float) -> Outcome:
    """Count, and judge whether every message was acted on exactly once.

    A message is lost unless it ended in one of four places: its effect was performed, its dead
    letter waits for a decision or got one, or it is in UnstartedQueue with a reason.

    Args:
        sent: every message that SQS accepted.
        records: read after everything had come to rest.
        seconds: how long it took.
    """
    twice = sum(number > 1 for number in records.effects.values())
    ends = Counter(line["end"] for line in records.deliveries)
    lost = len(_lost(sent, records))
    return Outcome(
        sent=len(sent),
        distinct=len({message.message_id for message in sent} - {None}),
        deliveries=len(records.deliveries),
        started=len(records.executions),
        performed=ends["performed"],
        suppressed=ends["suppressed"],
        came_back=dict(sorted(_came_back(records).items())),
        refused=dict(sorted(Counter(reason for _, reason in records.refused).items())),
        effects=sum(records.effects.values()),
        acted_on_twice=twice,
        awaiting_decision=len(records.waiting),
        lost=lost,
        exactly_once=twice == 0 and lost == 0,
        seconds=round(seconds, 1),
    )


def _came_back(records: Records) -> Counter[str]:
    failed = (line for line in records.deliveries if line["end"] == "failed")
    return Counter(str(line.get("error") or "failed") for line in failed)


def to_look_at(sent: Collection[SentMessage], records: Records) -> str | None:
    """The message with the longest story, as an argument of `actonce where`.

    One that waits for a decision, or else the one that was delivered most often; None if no
    message has an id.
    """
    delivered = Counter(line.get("execution_name") for line in records.deliveries)
    lines = [
        (one.execution_name in records.waiting, delivered[one.execution_name], one)
        for one in sent
        if one.message_id is not None and one.execution_name is not None
    ]
    if not lines:
        return None
    *_, one = max(lines, key=itemgetter(0, 1))
    return as_argument(str(one.message_id), str(one.execution_name))


def _lost(sent: Collection[SentMessage], records: Records) -> set[str]:
    """Message ids, and SQS ids of messages without one, that ended nowhere."""
    refused = {source for source, _ in records.refused}
    found: set[str] = set()
    seen: set[str] = set()
    for message in sent:
        key = message.message_id or message.sqs_message_id
        seen.add(key)
        # An operator's rejection, or a dead letter that nobody answered: it can be redriven.
        failed = records.executions.get(message.execution_name or "") == "FAILED"
        if (
            message.sqs_message_id in refused
            or message.message_id in records.effects
            or message.execution_name in records.waiting
            or message.execution_name in records.resolved
            or failed
        ):
            found.add(key)
    return seen - found
