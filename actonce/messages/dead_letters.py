"""Dead letters: messages that the state machine cannot finish without a decision."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from actonce.messages.filters import Entry, EntryFilter, Listing, excerpt
from actonce.messages.history import ENDED_UNDECIDED, find_ended_undecided
from actonce.queues.scan import Queued, QueueReader, held_by_another
from actonce.stack.clients import Stack
from actonce.terminal.errors import UsageError
from actonce_core.execution import HASHED_NAME_PREFIX, execution_name
from actonce_core.reason import NOTHING_HAPPENED, DeadLetterReason
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from actonce_core.histories.stays import DecisionWait

EXPLANATIONS = {
    **{reason.value: reason.explanation for reason in DeadLetterReason},
    **{
        status.lower(): "its execution ended before anybody had decided; only retry continues it"
        for status in ENDED_UNDECIDED
    },
}
REASONS = tuple(EXPLANATIONS)
"""Why a message waits for a decision, or waits no more; `EXPLANATIONS` explains each."""

LETTER_CHARACTERS = 8
"""Of an SQS id, as lists print it; fewer are no name."""


@dataclass(frozen=True, slots=True)
class DeadLetter(Entry):
    """An entry of DeadLetterQueue; the fields are those that the state DeadLetter posts.

    Attributes:
        message: the execution's input; None where it was too large to be posted.
        excerpt: a line of the message's body; empty where that was too large to be posted.
        older: other letters of the same execution, which wait no more.
        ended: `aborted`, `failed` or `timed_out` where its execution ended undecided: it waits no
            more, and only a retry continues it. None: not so, or not looked at.
    """

    message_id: str
    execution_name: str
    execution_arn: str
    reason: str
    error: str
    cause: str
    rounds: int
    posted_at: str
    task_token: str
    message: dict[str, Any] | None
    excerpt: str
    older: tuple["DeadLetter", ...] = ()
    ended: str | None = None

    @property
    def kind(self) -> Mapping[str, str]:
        """See `Entry`."""
        return {"reason": self.ended or self.reason, "error": self.error}

    @property
    def letter(self) -> str:
        """What a command line names it by: the beginning of its SQS id."""
        return self.entry[:LETTER_CHARACTERS]

    @property
    def nothing_happened(self) -> bool:
        """Whether its reason proves that the effect did not happen."""
        return self.reason in NOTHING_HAPPENED

    @property
    def entries(self) -> list[str]:
        """See `Entry`."""
        return [self.entry, *(letter.entry for letter in self.older)]

    @property
    def ids(self) -> Mapping[str, str | None]:
        """See `Entry`."""
        return {"message_id": self.message_id, "execution_name": self.execution_name}

    def texts(self) -> list[str]:
        """The texts that `EntryFilter.match` searches."""
        message = json.dumps(self.message, ensure_ascii=False) if self.message else ""
        return [self.message_id, self.execution_name, self.error, self.cause, message]

    def is_named(self, name: str) -> bool:
        """Whether `name` is the message's id, or its execution's name."""
        return self.execution_name in (execution_name(name), name)

    def as_json(self) -> dict[str, Any]:
        """For machines; without the token, which is as good as the decision."""
        return {
            **self.ids,
            "letter": self.entry,
            "execution_arn": self.execution_arn,
            "reason": self.reason,
            "error": self.error,
            "cause": self.cause,
            "rounds": self.rounds,
            "posted_at": self.posted_at,
        }


def dead_letter(queued: Queued) -> DeadLetter | None:
    """Read an entry; None if it is no dead letter."""
    try:
        posted = json.loads(queued.body)
        message = posted.get("message")
        body = message.get("body") if isinstance(message, dict) else None
        return DeadLetter(
            queued=queued,
            message_id=_text(posted["message_id"]),
            execution_name=_text(posted["execution_name"]),
            execution_arn=_text(posted["execution_arn"]),
            reason=_text(posted["reason"]),
            error=_text(posted["error"]),
            cause=_text(posted["cause"]),
            rounds=int(posted["rounds"]),
            posted_at=_text(posted["posted_at"]),
            task_token=_text(posted["task_token"]),
            message=message,
            excerpt=excerpt(body) if isinstance(body, str) else "",
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def of_each_message(letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """The letter of each message that was posted last, with its older ones; oldest first."""
    of_message: dict[str, list[DeadLetter]] = {}
    for letter in sorted(letters, key=lambda it: (it.posted_at, it.since), reverse=True):
        of_message.setdefault(letter.execution_arn, []).append(letter)
    newest_first = [replace(newest, older=tuple(older)) for newest, *older in of_message.values()]
    return newest_first[::-1]


def find_letter(queue: QueueReader, name: str, letter: str = "") -> DeadLetter | None:
    """A letter of a message, whole, with its other ones as older; None: it was not read.

    A producer may send the name of another message's execution as an id. It means that message only
    where no letter can have that name.

    Args:
        queue: of dead letters; all of it is read, and held afterwards.
        name: the message's id, or its execution's name, which comes first.
        letter: what its SQS id begins with, which tells one from all others; empty: the newest.

    Raises:
        UsageError: several begin with that.
    """
    read = map(dead_letter, queue.messages())
    matching = [each for each in read if each is not None and each.is_named(name)]
    meant = [each for each in matching if each.entry.startswith(letter)]
    if letter and len(meant) > 1:
        raise UsageError(f"--letter {letter}: {len(meant)} dead letters begin so; say more of it.")
    exact = [each for each in meant if each.execution_name == name]
    is_held = name.startswith(HASHED_NAME_PREFIX) and queue.in_flight_elsewhere
    if not letter and (exact or is_held):
        meant = exact
    found = of_each_message(meant)
    if not found:
        return None
    *_, one = found
    of = (one.message_id, one.execution_arn)
    own = (each for each in matching if (each.message_id, each.execution_arn) == of)
    return replace(one, older=tuple(each for each in own if each.entry != one.entry))


def list_dead_letters(
    stack: Stack,
    queue: QueueReader,
    entry_filter: EntryFilter,
    tell: Callable[[int], None] = lambda _: None,
) -> Listing[DeadLetter]:
    """Read all of the queue and choose letters, without their messages: there may be 10,000.

    Of each message, the newest letter decides whether it is chosen, and how long it has waited. One
    whose execution ended undecided waits no more: it is chosen only by that reason.
    """
    letters: list[DeadLetter] = []
    matching: set[str] = set()
    others = 0
    for queued in queue.messages(tell):
        letter = dead_letter(queued)
        if letter is None:
            others += 1
            continue
        if entry_filter.matches(letter.texts()):
            matching.add(letter.entry)
        letters.append(replace(letter, queued=replace(queued, body=""), message=None))
    newest = of_each_message(letters)
    ends = find_ended_undecided(stack, {one.execution_arn for one in newest})
    for number, one in enumerate(newest):
        status, at = ends.get(one.execution_arn, (None, None))
        # Not of a letter that was posted since: both times are Step Functions' own.
        if status and at and one.posted_at <= timestamp(at):
            newest[number] = replace(one, ended=status.lower())
    wait = [one for one in newest if one.ended in (None, entry_filter.kind.get("reason"))]
    chosen = entry_filter.of(one for one in wait if one.entry in matching)
    left_out = [one for one in newest if one.ended is not None and one not in wait]
    not_listed = others + sum(len(letter.older) for letter in chosen)
    not_listed += sum(len(letter.entries) for letter in left_out)
    states = Counter(str(one.ended) for one in left_out)
    return Listing(chosen, queue.in_flight_elsewhere, not_listed, states)


def is_of_last(letter: DeadLetter, waits: Sequence["DecisionWait"]) -> bool:
    """Whether the last of an execution's waits posted the letter, and not an earlier one.

    The token tells, where the history has it. Otherwise the time does, compared with the end of the
    wait before: the letter's and its own wait's are by two clocks.
    """
    last = waits[-1]
    if last.task_token is not None:
        return letter.task_token == last.task_token
    if len(waits) == 1:
        return True
    before = waits[-2]
    return letter.posted_at > timestamp(before.answered_at or before.posted_at)


def describe_missing_letter(message_id: str, in_flight_elsewhere: int) -> str:
    """What to say where none was found and others hold some, perhaps its own; no full stop."""
    if not in_flight_elsewhere:
        return f"There is no dead letter of {message_id!r} in the queue"
    return (
        f"Whether there is a dead letter of {message_id!r} cannot be told: "
        f"{held_by_another(in_flight_elsewhere)}; look again"
    )
