"""The story of one message: everything that each part of the stack recorded of it.

A part that cannot be read, as where somebody may not read it, does not end the story: it is named
with why, and nothing is said to be absent because of it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages import history
from actonce.messages.delivery_log import delivery_lines
from actonce.messages.history import Execution, Step
from actonce.messages.own_effects import Attributes, EffectsTable, OwnEffects, plain, typed
from actonce.messages.unstarted import Unstarted, named
from actonce.queues.scan import QueueReader
from actonce.stack.aws_errors import error_text
from actonce.stack.clients import Stack
from actonce.stack.message_ids import message_reader
from actonce.terminal.error_names import in_words
from actonce.terminal.errors import Failed
from actonce_core.execution import execution_name
from actonce_core.histories.events import Event
from actonce_core.histories.reading import read_events
from actonce_core.histories.stays import Stay, dead_letter_stays
from actonce_core.records import timestamp

Record = dict[str, Any]
T = TypeVar("T")

Part = Literal["execution", "history", "row", "effects", "unstarted", "log"]
"""What a story is read from; `row` is of the Fingerprints table, or the ledger's."""

SURELY_REMEMBERED = timedelta(days=25)
"""For which Step Functions knows an execution after its row was written, whatever an account's
quota is; the parameter NamesRememberedDays is no less by default."""

_LOGGED = (
    *("at", "end", "reason", "detail", "error", "fingerprint"),
    *("sqs_message_id", "receive_count", "sent_at", "first_received_at"),
)
"""What is told of a line of the log."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A line of the story: when (UTC), where, what happened, and more of it."""

    at: datetime
    where: str
    what: str
    more: str = ""

    def as_json(self) -> Record:
        """For machines."""
        return {
            "at": timestamp(self.at),
            "where": self.where,
            "what": self.what,
            "more": self.more,
        }


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of UnstartedQueue.

    Attributes:
        entries: that it had.
        held_elsewhere: how many of its messages another reader held, so that they are not here.
        at: when (UTC); None: it was never read.
    """

    entries: Sequence[Unstarted] = ()
    held_elsewhere: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """What was found. Every record comes from where its part of the stack keeps it.

    Attributes:
        lines: of the starter's log.
        fingerprint: the row, `fingerprint` and `first_seen`.
        row: of the ledger, where a ledger or a lease stands in the state machine's place.
        effects: `OwnEffect.as_json` of each, the example's appointments too; none where a team does
            not say where its effects are: then the execution or the row tells.
        seen: what lies in UnstartedQueue of it, as far as that was read.
        effects_place: what a person calls the place where effects were looked for; None: nowhere,
            so that `effects` is empty whatever happened.
        looks_up: whether the stack names a function that can look the effect up.
        may_be_forgotten: its row is older than Step Functions surely remembers executions for, or
            of another state machine, so that an execution which is not found may have been there.
        unread: the parts that could not be read, and why in a sentence. What they would have told
            is empty here, and not known.
        options: what a command needs to find it where it was read; see `Stack.options`.
        read_at: when that was (UTC).
    """

    message_id: str
    execution_name: str
    lines: list[Record]
    fingerprint: Record | None
    row: Record | None
    execution: Execution | None
    steps: list[Step]
    dead_letters: list[Stay]
    effects: list[Record]
    seen: Seen
    effects_place: str | None = None
    looks_up: bool = True
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
        return self.seen.entries

    @property
    def is_known(self) -> bool:
        """Whether any part of the stack has a record of the message."""
        parts = (
            self.lines,
            self.fingerprint,
            self.row,
            self.execution,
            self.effects,
        )
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
            "dead_letters": [stay.as_json() for stay in self.dead_letters],
            "effects": self.effects,
            "effects_place": self.effects_place,
            "unstarted": [entry.as_json() for entry in self.unstarted],
            "unstarted_held_elsewhere": self.seen.held_elsewhere if self.seen.at else None,
            "unread": dict(self.unread),
            "timeline": [moment.as_json() for moment in self.timeline()],
        }

    def timeline(self) -> list[Moment]:
        """All of it in order of time. Each time is by the clock of the part that recorded it."""
        moments = [moment for part in self._parts() for moment in part]
        return sorted(moments, key=lambda moment: moment.at)

    def _parts(self) -> Iterator[Iterator[Moment]]:
        # Where two times are the same, this order tells the story.
        yield self._fingerprint_moments()
        yield (_delivery_moment(line) for line in self.lines)
        yield (Moment(e.since, "UnstartedQueue", "waits", e.reason) for e in self.unstarted)
        yield (_step_moment(step) for step in self.steps if _is_told(step))
        yield (_effect_moment(one, self.effects_place) for one in self.effects if one["at"])
        yield self._row_moments()

    def _fingerprint_moments(self) -> Iterator[Moment]:
        if self.fingerprint is not None:
            at = datetime.fromisoformat(self.fingerprint["first_seen"])
            yield Moment(at, "Fingerprints", "first seen", self.fingerprint["fingerprint"][:12])

    def _row_moments(self) -> Iterator[Moment]:
        if self.row is not None:
            at = datetime.fromisoformat(self.row["updated"])
            outcome = f" ({self.row['outcome']})" if "outcome" in self.row else ""
            attempts = f"{self.row['consumption_count']} attempts"
            more = ", ".join(filter(None, [attempts, self.row.get("note")]))
            yield Moment(at, "Ledger", f"{self.row['status']}{outcome}", more)


def read_story(
    stack: Stack,
    message_id: str,
    own: OwnEffects | None = None,
    *,
    log: bool = True,
    unstarted: Seen | None = None,
) -> Story:
    """Read a message's story, all its parts side by side.

    Args:
        stack: that has it.
        message_id: the producer's id, or the name of its execution.
        own: where a team's own effects are; None: the Appointments table, if there is one.
        log: whether the starter's log is read, for its deliveries.
        unstarted: what is known of UnstartedQueue already; None: the queue is read.

    Raises:
        Failed: some of it could not be read, and what could knows nothing of the message.
        ClientError: likewise, by AWS's word.
        BotoCoreError: likewise, for AWS was not reached.
    """
    reading, own = _Reading(), own or _example(stack)
    execution = reading.part("execution", lambda: history.find_execution_of(stack, message_id))
    if execution is not None:
        message_id = str(execution.input.get("message_id", message_id))
    arn = None if execution is None else execution.arn
    with ThreadPoolExecutor(6, thread_name_prefix="story") as threads:

        def begun(part: Part, read: Callable[[], T]) -> Callable[[], T | None]:
            return threads.submit(reading.part, part, read).result

        lines = begun("log", lambda: _deliveries(stack, message_id) if log else [])
        known = begun("row", lambda: _known(stack, message_id))
        effects = begun("effects", lambda: _effects(message_id, own))
        waiting = begun("unstarted", lambda: _unstarted(stack, message_id, unstarted))
        events = begun("history", lambda: _events(stack, arn))
        fingerprint = _fingerprint(known())
        told = Story(
            message_id=message_id,
            execution_name=execution_name(message_id),
            lines=lines() or [],
            fingerprint=fingerprint,
            row=_row(known()),
            execution=execution,
            steps=history.steps(events() or []),
            dead_letters=dead_letter_stays(events() or []),
            effects=effects() or [],
            seen=waiting() or Seen(),
            effects_place=None if own is None else own.place,
            looks_up=stack.find_function is not None,
            may_be_forgotten=_may_be_forgotten(stack, fingerprint, datetime.now(UTC)),
            options=stack.options,
        )
    told = replace(told, unread=reading.unread)
    if reading.errors and not told.is_known:
        raise next(iter(reading.errors.values()))
    return told


def with_log(stack: Stack, story: Story) -> Story:
    """The same, with what the starter's log has of it now."""
    reading = _Reading()
    lines = reading.part("log", lambda: _deliveries(stack, story.message_id))
    return replace(story, lines=lines or [], unread={**story.unread, **reading.unread})


class _Reading:
    """Reads parts of a story, in threads, and keeps why those could not be read that could not."""

    def __init__(self) -> None:
        self.errors: dict[Part, Failed | ClientError | BotoCoreError] = {}

    @property
    def unread(self) -> dict[Part, str]:
        """See `Story`."""
        return {part: error_text(error) for part, error in self.errors.items()}

    def part(self, part: Part, read: Callable[[], T]) -> T | None:
        """What is read; None where it cannot be."""
        try:
            return read()
        except (Failed, ClientError, BotoCoreError) as error:
            self.errors[part] = error
            return None


def _deliveries(stack: Stack, message_id: str) -> list[Record]:
    """The message's lines of the `deliveries` stream.

    Most have its execution's name, which needs no quoting whatever its id is. A message that is too
    large has none yet, and a delivery that failed has not even its id.
    """
    name, stored = execution_name(message_id), message_id
    with ThreadPoolExecutor(3, thread_name_prefix="logs") as threads:
        named, too_large, failed = threads.map(
            lambda word: list(delivery_lines(stack, word)), (name, "too_large", "failed")
        )
    own = {
        line["log_event"]: line
        for line in [*named, *too_large]
        if line.get("execution_name") == name or line.get("message_id") == stored
    }
    sqs_ids = {line.get("sqs_message_id") for line in own.values()}
    own |= {
        line["log_event"]: line
        for line in failed
        if line.get("end") == "failed" and line.get("sqs_message_id") in sqs_ids
    }
    lines = sorted(own.values(), key=lambda line: str(line["at"]))
    return [{key: line[key] for key in _LOGGED if line.get(key) is not None} for line in lines]


def _is_conflict(line: Record) -> bool:
    return line.get("end") == "refused" and line.get("reason") == "conflict"


def _known(stack: Stack, message_id: str) -> Record | None:
    """The id's row in the Fingerprints table, whoever wrote it."""
    row = stack.dynamodb.get_item(
        TableName=stack.fingerprints_table,
        Key={"message_id": {"S": message_id}},
        ConsistentRead=True,
    ).get("Item")
    return None if row is None else _plain(row)


def _fingerprint(row: Record | None) -> Record | None:
    """What a starter wrote."""
    if row is None or "status" in row:
        return None
    return {name: row[name] for name in ("fingerprint", "first_seen", "memory") if name in row}


def _may_be_forgotten(stack: Stack, fingerprint: Record | None, now: datetime) -> bool:
    """See `Story`."""
    if fingerprint is None:
        return False
    if stack.ledger_table is not None or fingerprint.get("memory") not in (
        None,
        stack.state_machine,
    ):
        return True
    return now - datetime.fromisoformat(fingerprint["first_seen"]) > SURELY_REMEMBERED


def _row(row: Record | None) -> Record | None:
    """What a ledger or a lease wrote."""
    return row if row is not None and "status" in row else None


def _events(stack: Stack, execution_arn: str | None) -> list[Event]:
    return [] if execution_arn is None else read_events(stack.stepfunctions, execution_arn)


def _example(stack: Stack) -> OwnEffects | None:
    if not stack.is_example:
        return None
    shown = Attributes(time="booked_at", description=("practice", "slot"))
    return EffectsTable(stack.dynamodb, stack.appointments_table, shown, "the Appointments table")


def _effects(message_id: str, own: OwnEffects | None) -> list[Record]:
    found = [] if own is None else [effect.as_json() for effect in own.of_message(message_id)]
    return sorted(found, key=lambda effect: str(effect["at"]))


def _plain(item: Mapping[str, Any]) -> Record:
    return {name: plain(value) for name, value in typed(item).items()}


def _unstarted(stack: Stack, message_id: str, seen: Seen | None) -> Seen:
    """The message's entries; the queue is read where nothing was seen before."""
    if seen is not None:
        return replace(seen, entries=[one for one in seen.entries if one.is_named(message_id)])
    reader = message_reader(stack)
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        found = named(queue, reader, message_id)
        return Seen(found, queue.held_elsewhere, datetime.now(UTC))


def _delivery_moment(line: Record) -> Moment:
    told = line | ({"error": in_words(line["error"])} if line.get("error") else {})
    more = [str(told[key]) for key in ("reason", "error", "detail") if told.get(key)]
    if line.get("receive_count", 1) != 1:
        more.append(f"received {line['receive_count']} times")
    return Moment(
        datetime.fromisoformat(line["at"]), "StarterFunction", str(line["end"]), ", ".join(more)
    )


_PASSED = frozenset({"Performed?", history.TELL_DEAD_LETTER, history.TELL_DECISION, "Decision"})
"""States of which an entry tells nothing: what a choice chose, what comes next says."""


def _is_told(step: Step) -> bool:
    return not (step.what == "entered" and step.state in _PASSED)


_LOOKED_UP = {
    True: ("found", "it had happened"),
    False: ("found nothing", "it had not happened"),
}
_NO_ANSWER = ("no clear answer", "whether it had happened")


def _step_moment(step: Step) -> Moment:
    detail = step.detail
    if step.what == "attempt":
        return Moment(step.at, step.state, f"attempt {detail['number']}")
    if step.what == "error":
        return Moment(step.at, step.state, in_words(detail.get("error", "failed")), _cause(detail))
    if step.what == "looked_up":
        performed = detail["performed"]  # 1 is no yes, and an object no key
        told = _LOOKED_UP[performed] if isinstance(performed, bool) else _NO_ANSWER
        return Moment(step.at, step.state, *told)
    if step.what == "decision":
        by = f"by {detail['decided_by']}" if "decided_by" in detail else ""
        more = ", ".join(filter(None, [detail["note"], by]))
        return Moment(step.at, step.state, f"decided: {detail['decision']}", more)
    if step.what == "ended":
        more = detail.get("outcome") or " ".join(
            filter(None, [detail.get("error"), _cause(detail)])
        )
        return Moment(step.at, "execution", detail["status"], more)
    return Moment(step.at, step.state or "execution", step.what)


def _cause(detail: Record) -> str:
    return history.short_cause(detail.get("cause"))


def _effect_moment(effect: Record, place: str | None) -> Moment:
    more = json.dumps(effect["description"], ensure_ascii=False) if effect["description"] else ""
    told = ", ".join(filter(None, [effect["effect_id"], more]))
    return Moment(datetime.fromisoformat(effect["at"]), str(place), "acted on", told)
