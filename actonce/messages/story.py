"""The story of one message: everything that each part of the stack recorded of it.

A part that cannot be read, as where somebody may not read it, does not end the story: it is named
with the reason, and nothing is called absent because of it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages import history
from actonce.messages.delivery_log import delivery_lines
from actonce.messages.effect_store import DynamoDbEffects, find_effect_store, from_dynamodb
from actonce.messages.history import Execution, Step
from actonce.messages.unstarted import Unstarted, find_by_message_id
from actonce.queues.scan import QueueReader
from actonce.stack.aws_errors import error_text
from actonce.stack.clients import Stack
from actonce.stack.message_ids import message_reader
from actonce.terminal.error_names import error_label
from actonce.terminal.errors import Failed
from actonce_core.execution import execution_name
from actonce_core.first_attempt import FIRST_ATTEMPT
from actonce_core.histories.events import Event
from actonce_core.histories.reading import read_events
from actonce_core.histories.stays import DecisionWait, decision_waits
from actonce_core.records import timestamp

Record = dict[str, Any]
T = TypeVar("T")

Part = Literal["execution", "history", "row", "effects", "unstarted", "log"]
"""What a story is read from; `row` is of the Fingerprints table."""

SURELY_REMEMBERED = timedelta(days=25)
"""How long Step Functions surely knows an execution after its row was written, whatever the
account's quota; the parameter NamesRememberedDays is no less by default."""

_LOGGED = (
    *("at", "end", "reason", "detail", "error", "fingerprint"),
    *("sqs_message_id", "receive_count", "sent_at", "first_received_at"),
)
"""What a story keeps of a line of the log."""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A line of the story: when (UTC), where, what happened, and more of it."""

    at: datetime
    where: str
    event_type: str
    detail: str = ""

    def as_json(self) -> Record:
        """For machines."""
        return asdict(self) | {"at": timestamp(self.at)}


@dataclass(frozen=True, slots=True)
class UnstartedScan:
    """What was read of UnstartedQueue.

    Attributes:
        entries: its entries.
        in_flight_elsewhere: how many messages another reader held, so that these lack them.
        at: when it was read (UTC); None: never.
    """

    entries: Sequence[Unstarted] = ()
    in_flight_elsewhere: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """What was found. Every record comes from the part of the stack that keeps it.

    Attributes:
        lines: of the starter's log.
        fingerprint: `fingerprint`, `first_seen` and `memory` of the row that the starter wrote.
        row: that row, if a starter that makes the first attempt itself wrote it.
        effects: `OwnEffect.as_json` of each.
        unstarted_scan: its entries in UnstartedQueue, as far as that was read.
        effects_location: a person's name for where effects were looked for; None: nowhere, so that
            only the execution or the row tells.
        may_be_forgotten: there may have been an execution although none is found: the row is older
            than Step Functions surely remembers, or another state machine's.
        unread: the parts that could not be read, with the reason; their empty fields say nothing.
        options: see `Stack.options`.
        read_at: UTC.
    """

    message_id: str
    execution_name: str
    lines: Sequence[Record] = ()
    fingerprint: Record | None = None
    row: Record | None = None
    execution: Execution | None = None
    steps: Sequence[Step] = ()
    dead_letters: Sequence[DecisionWait] = ()
    effects: Sequence[Record] = ()
    unstarted_scan: UnstartedScan = UnstartedScan()
    effects_location: str | None = None
    has_find_function: bool = True
    may_be_forgotten: bool = False
    unread: Mapping[Part, str] = field(default_factory=dict)
    options: str = ""
    read_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def deliveries(self) -> list[Record]:
        """Its lines, but for conflicts."""
        return [line for line in self.lines if not _is_conflict(line)]

    @property
    def conflicts(self) -> list[Record]:
        """The lines of deliveries that brought the same id with other content."""
        return [line for line in self.lines if _is_conflict(line)]

    @property
    def unstarted(self) -> Sequence[Unstarted]:
        """Its entries of UnstartedQueue, the oldest first."""
        return self.unstarted_scan.entries

    @property
    def is_known(self) -> bool:
        """Whether any part of the stack has a record of the message."""
        parts = (self.lines, self.fingerprint, self.row, self.execution, self.effects)
        return any(parts) or bool(self.unstarted)

    def as_json(self) -> Record:
        """One object for machines."""
        execution = None
        if self.execution is not None:
            execution = self.execution.as_json() | {"steps": [s.as_json() for s in self.steps]}
        return {
            "message_id": self.message_id,
            "execution_name": self.execution_name,
            "deliveries": self.deliveries,
            "conflicts": self.conflicts,
            "fingerprint": self.fingerprint,
            "row": self.row,
            "execution": execution,
            "dead_letters": [wait.as_json() for wait in self.dead_letters],
            "effects": [*self.effects],
            "effects_location": self.effects_location,
            "unstarted": [entry.as_json() for entry in self.unstarted],
            "unstarted_in_flight_elsewhere": self.unstarted_scan.in_flight_elsewhere
            if self.unstarted_scan.at
            else None,
            "unread": dict(self.unread),
            "timeline": [entry.as_json() for entry in self.timeline()],
        }

    def timeline(self) -> list[TimelineEntry]:
        """All of it in order of time. Each time is by the clock of the part that recorded it."""
        # Where two times are the same, this order tells the story.
        entries: list[TimelineEntry] = []
        if self.fingerprint is not None:
            at = datetime.fromisoformat(self.fingerprint["first_seen"])
            digits = self.fingerprint["fingerprint"][:12]
            entries.append(TimelineEntry(at, "Fingerprints", "first seen", digits))
        entries += map(_delivery_entry, self.lines)
        entries += [
            TimelineEntry(entry.since, "UnstartedQueue", "waits", entry.reason)
            for entry in self.unstarted
        ]
        entries += [_step_entry(step) for step in self.steps if not _is_passed_over(step)]
        entries += [
            _effect_entry(effect, self.effects_location) for effect in self.effects if effect["at"]
        ]
        if self.row is not None:
            at = datetime.fromisoformat(self.row["updated"])
            outcome = f" ({self.row['outcome']})" if "outcome" in self.row else ""
            stage = "" if outcome else f", {self.row['stage']}"
            what = f"{self.row['status']}{outcome}{stage}"
            attempt = f"attempt {self.row.get('consumption_count', 1)}"
            entries.append(TimelineEntry(at, "Fingerprints", what, attempt))
        return sorted(entries, key=lambda entry: entry.at)


def read_story(
    stack: Stack,
    message_id: str,
    effect_store: DynamoDbEffects | None = None,
    *,
    log: bool = True,
    unstarted: UnstartedScan | None = None,
) -> Story:
    """Read a message's story, all its parts side by side.

    Args:
        stack: that has it.
        message_id: the producer's id, or the name of its execution.
        effect_store: None: the stack's effects table, if it names one.
        log: whether to read the starter's log, for deliveries.
        unstarted: what was read of UnstartedQueue before; None: read it now.

    Raises:
        Failed, ClientError, BotoCoreError: a part could not be read, and no other knows the
            message.
    """
    effect_store = effect_store or find_effect_store(stack)
    errors: dict[Part, _ReadError] = {}
    execution = _read(errors, "execution", lambda: history.find_execution_of(stack, message_id))
    if execution is not None:
        message_id = str(execution.input.get("message_id", message_id))
    arn = None if execution is None else execution.arn
    with ThreadPoolExecutor(6, thread_name_prefix="story") as threads:

        def begun(part: Part, read: Callable[[], T]) -> Callable[[], T | None]:
            return threads.submit(_read, errors, part, read).result

        lines = begun("log", lambda: _deliveries(stack, message_id) if log else [])
        known = begun("row", lambda: _row(stack, message_id))
        effects = begun("effects", lambda: _effects(message_id, effect_store))
        waiting = begun("unstarted", lambda: _unstarted(stack, message_id, unstarted))
        events = begun("history", lambda: _events(stack, arn))
    row = known() or {}
    names = ("fingerprint", "first_seen", "memory")
    # The row of an earlier release's lease has `updated` alone.
    known_since = {"first_seen": row["updated"], **row} if "updated" in row else row
    fingerprint = {name: known_since[name] for name in names if name in known_since} or None
    story = Story(
        message_id=message_id,
        execution_name=execution_name(message_id),
        lines=lines() or [],
        fingerprint=fingerprint,
        row=row if "stage" in row else None,
        execution=execution,
        steps=history.steps(events() or []),
        dead_letters=decision_waits(events() or []),
        effects=effects() or [],
        unstarted_scan=waiting() or UnstartedScan(),
        effects_location=None if effect_store is None else effect_store.location,
        has_find_function=stack.find_function is not None,
        may_be_forgotten=_may_be_forgotten(stack, fingerprint, datetime.now(UTC)),
        unread=_in_words(errors),
        options=stack.options,
    )
    if errors and not story.is_known:
        raise next(iter(errors.values()))
    return story


def with_log(stack: Stack, story: Story) -> Story:
    """The same, with what the starter's log has of it now."""
    errors: dict[Part, _ReadError] = {}
    lines = _read(errors, "log", lambda: _deliveries(stack, story.message_id))
    return replace(story, lines=lines or [], unread={**story.unread, **_in_words(errors)})


_ReadError = Failed | ClientError | BotoCoreError


def _read(errors: dict[Part, _ReadError], part: Part, read: Callable[[], T]) -> T | None:
    """A part of a story; None where it cannot be read, with the error noted under its name."""
    try:
        return read()
    except (Failed, ClientError, BotoCoreError) as error:
        errors[part] = error
        return None


def _in_words(errors: Mapping[Part, _ReadError]) -> dict[Part, str]:
    return {part: error_text(error) for part, error in errors.items()}


def _deliveries(stack: Stack, message_id: str) -> list[Record]:
    """The message's lines of the `deliveries` stream.

    They have its execution's name, which needs no quoting whatever its id is.
    """
    name = execution_name(message_id)
    own = (line for line in delivery_lines(stack, name) if line.get("execution_name") == name)
    lines = sorted(own, key=lambda line: str(line["at"]))
    return [{key: line[key] for key in _LOGGED if line.get(key) is not None} for line in lines]


def _is_conflict(line: Record) -> bool:
    return line.get("end") == "refused" and line.get("reason") == "conflict"


def _row(stack: Stack, message_id: str) -> Record | None:
    """The id's row in the Fingerprints table."""
    item = stack.dynamodb.get_item(
        TableName=stack.fingerprints_table,
        Key={"message_id": {"S": message_id}},
        ConsistentRead=True,
    ).get("Item")
    return None if item is None else {name: from_dynamodb(one) for name, one in item.items()}


def _may_be_forgotten(stack: Stack, fingerprint: Record | None, now: datetime) -> bool:
    """See `Story`."""
    if fingerprint is None:
        return False
    memory = str(fingerprint.get("memory", "")).removesuffix(FIRST_ATTEMPT)
    if memory not in ("", stack.state_machine):
        return True
    return now - datetime.fromisoformat(fingerprint["first_seen"]) > SURELY_REMEMBERED


def _events(stack: Stack, execution_arn: str | None) -> list[Event]:
    return [] if execution_arn is None else read_events(stack.stepfunctions, execution_arn)


def _effects(message_id: str, effect_store: DynamoDbEffects | None) -> list[Record]:
    found = [] if effect_store is None else effect_store.find_effects(message_id)
    return sorted((effect.as_json() for effect in found), key=lambda effect: str(effect["at"]))


def _unstarted(stack: Stack, message_id: str, scan: UnstartedScan | None) -> UnstartedScan:
    """The message's entries; of an earlier scan, if there is one."""
    if scan is not None:
        entries = [entry for entry in scan.entries if entry.is_named(message_id)]
        return replace(scan, entries=entries)
    reader = message_reader(stack)
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        found = find_by_message_id(queue, reader, message_id)
        return UnstartedScan(found, queue.in_flight_elsewhere, datetime.now(UTC))


def _delivery_entry(line: Record) -> TimelineEntry:
    shown = line | ({"error": error_label(line["error"])} if line.get("error") else {})
    more = [str(shown[key]) for key in ("reason", "error", "detail") if shown.get(key)]
    if line.get("receive_count", 1) != 1:
        more.append(f"received {line['receive_count']} times")
    at = datetime.fromisoformat(line["at"])
    return TimelineEntry(at, "StarterFunction", str(line["end"]), ", ".join(more))


def _is_passed_over(step: Step) -> bool:
    """Whether a step tells nothing: what a choice chose, what comes next says."""
    states = ("Performed?", history.TELL_DEAD_LETTER, history.TELL_DECISION, "Decision")
    return step.event_type == "entered" and step.state in states


_LOOKED_UP = {
    True: ("found", "it had happened"),
    False: ("found nothing", "it had not happened"),
}
_NO_ANSWER = ("no clear answer", "whether it had happened")


def _step_entry(step: Step) -> TimelineEntry:
    detail = step.detail
    if step.event_type == "attempt":
        return TimelineEntry(step.at, step.state, f"attempt {detail['number']}")
    if step.event_type == "error":
        return TimelineEntry(
            step.at, step.state, error_label(detail.get("error", "failed")), _cause(detail)
        )
    if step.event_type == "looked_up":
        performed = detail["performed"]  # 1 is no yes, and an object no key
        texts = _LOOKED_UP[performed] if isinstance(performed, bool) else _NO_ANSWER
        return TimelineEntry(step.at, step.state, *texts)
    if step.event_type == "decision":
        by = f"by {detail['decided_by']}" if "decided_by" in detail else ""
        more = ", ".join(filter(None, [detail["note"], by]))
        return TimelineEntry(step.at, step.state, f"decided: {detail['decision']}", more)
    if step.event_type == "ended":
        more = detail.get("outcome") or " ".join(
            filter(None, [detail.get("error"), _cause(detail)])
        )
        return TimelineEntry(step.at, "execution", detail["status"], more)
    return TimelineEntry(step.at, step.state or "execution", step.event_type)


def _cause(detail: Record) -> str:
    return history.short_cause(detail.get("cause"))


def _effect_entry(effect: Record, location: str | None) -> TimelineEntry:
    more = json.dumps(effect["description"], ensure_ascii=False) if effect["description"] else ""
    detail = ", ".join(filter(None, [effect["effect_id"], more]))
    return TimelineEntry(datetime.fromisoformat(effect["at"]), str(location), "acted on", detail)
