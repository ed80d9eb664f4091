"""What a verdict is, and which a message has.

One verdict per message: that of the first of the `rules` that holds. `conflict` stands above
`performed_once` because one of two requests was *not* carried out, and somebody has to know.

What is there is told at once; that something is missing (`lost`, refused by silence, an effect that
nobody asked for), only of messages whose last record is of a day that is over: see `horizon`. What
cannot be told because a stream is missing, or could not be read, on the message's days is not
guessed: the row says `judged` false, and it is never `lost`.

A message without an end is `lost` if its execution is closed; or if it was sent or started, no
execution is seen, and the newest file was written more than the grace period after its last record.
Files that are older than their own records vouch for no silence. A running execution is in flight,
however old. That a delivery was suppressed proves an execution, of before the records began.

Clocks: records of one execution, or of one dead letter, are compared with each other; an effect's
only with the decision of a person, which takes longer than clocks differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import add, or_
from typing import Final, NamedTuple, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.functions import col

from actonce_core.execution import HASHED_NAME, SAFE_NAME
from actonce_pipeline.audit.horizon import Horizon
from actonce_pipeline.audit.reading.events import is_of
from actonce_pipeline.audit.reading.listing import Listing
from actonce_pipeline.audit.reading.streams import (
    DELIVERED,
    HASHED_IDS,
    REFUSED,
    STREAMS,
    Code,
    codes_of,
)
from actonce_pipeline.audit.times import Interval, absent, intervals

GRACE_MS: Final = 900_000
"""How long a message without an end is in flight, not lost."""
_CODE_BITS: Final = max(codes_of(*STREAMS)).bit_length()  # a code fits below its record's time
_NONE: Final = -1  # in place of a code: there is no record
_DONE: Final = (Code.CLOSED_PERFORMED, Code.CLOSED_FOUND)
_DECIDED: Final = (Code.CLOSED_REJECTED, Code.CLOSED_RESOLVED)
_CLOCKS_DIFFER_MS: Final = 60_000
_NAME: Final = rf"\A(?!{HASHED_NAME.pattern}\z){SAFE_NAME.pattern}\z"
"""An id that is its execution's name, as `execution_name` has it; others are hashed."""
_MOST_INTERVALS: Final = 100  # of a stream, in a plan


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which stream was there when, from the first day that any has a file for to the last.

    Attributes:
        missing: days in between on which a stream has no file.
        unread: days of a stream on which something could not be read.
    """

    since: date
    until: date
    missing: Mapping[str, Sequence[Interval]]
    unread: Mapping[str, Sequence[Interval]]

    @classmethod
    def of(cls, listing: Listing, unread: Mapping[str, frozenset[date]]) -> Self:
        """From the files, and the days of each stream on which something could not be read."""
        since, until = min(listing.days()), max(listing.days())
        return cls(
            since,
            until,
            {name: _few(absent(listing.days_of(name), since, until)) for name in STREAMS},
            {name: _few(intervals(unread.get(name, ()))) for name in (*STREAMS, HASHED_IDS)},
        )

    def has(self, stream: str) -> Column:
        """Whether the stream was there from the first to the last day of a message."""
        return ~_meets(self.missing[stream], col("last_day"))

    def saw(self, last: str, *streams: str) -> Column:
        """Whether whatever streams have up to a last day was seen; late lines included."""
        first, until = col("first_day"), col(last)
        seen = (first >= self.since) & (until <= self.until)
        for stream in streams:
            seen &= ~_meets(self.missing[stream], until)
            seen &= ~_meets(self.unread[stream], F.date_add(until, 1))
        return seen


def _meets(intervals: Iterable[Interval], last: Column) -> Column:
    """Whether one of them has a day of `first_day` to a last day."""
    first = col("first_day")
    meeting = ((first <= until) & (last >= since) for since, until in intervals)
    return reduce(or_, meeting, F.lit(False))


def _few(found: list[Interval]) -> list[Interval]:
    """So many that a plan can hold them; what is put together only makes less certain."""
    if len(found) <= _MOST_INTERVALS:
        return found
    return [*found[: _MOST_INTERVALS - 1], (found[_MOST_INTERVALS - 1][0], found[-1][1])]


def per_message(rows: DataFrame, days: Interval | None) -> DataFrame:
    """One row of numbers per message id: the audit's one shuffle.

    Args:
        rows: as `events.narrow` gives them; a null id gathers what tells none.
        days: `touched` says whether a record is of these, or `late`; None: every message is.
    """
    at, code, identity = col("at"), col("code"), col("identity")
    execution, dead_letter = (code.isin(*codes_of(one)) for one in ("executions", "dead_letters"))
    delivered, effect = code.isin(*DELIVERED), code == Code.EFFECT
    accepted = code.isin(Code.STARTED, Code.SUPPRESSED)
    state = F.shiftleft(at, _CODE_BITS) + code
    counts = {
        "sent": code == Code.SENT,
        "started": code == Code.STARTED,
        "suppressed": code == Code.SUPPRESSED,
        **{f"refused_{reason}": code == number for reason, number in REFUSED.items()},
        "failed": code == Code.FAILED,
        "execution_records": execution,
        "effect_records": effect,
        "nameless": effect & identity.isNull(),
        "dead_letter_records": dead_letter,
    }
    numbers = {
        "first_at": F.min(at),
        "last_at": F.max(at),
        "touched": F.max(F.lit(True) if days is None else col("late") | is_of(days)),
        **{name: F.count_if(condition) for name, condition in counts.items()},
        "sent_at": F.min(F.when(code == Code.SENT, at)),
        "delivered_first": F.min(F.when(delivered, at)),
        "delivered_last": F.max(F.when(delivered, at)),
        "effect_at": F.min(F.when(effect, at)),
        "effect_low": F.min(F.when(effect, identity)),
        "effect_high": F.max(F.when(effect, identity)),
        "performed_first": F.min(F.when(code == Code.CLOSED_PERFORMED, at)),
        "execution_state": F.max(F.when(execution, state)),
        "dead_letter_state": F.max(F.when(dead_letter, state)),
        "content_low": F.min(F.when(accepted, identity)),
        "content_high": F.max(F.when(accepted, identity)),
    }
    # Without the exchange, the aggregate's own follows a partial aggregate, which costs twice the
    # CPU here: most messages have few records, so little is saved before it.
    by_message = rows.repartition("message_id").groupBy("message_id")
    return by_message.agg(*(number.alias(name) for name, number in numbers.items()))


def with_verdicts(messages: DataFrame, coverage: Coverage, horizon: Horizon) -> DataFrame:
    """The verdicts.

    Returns:
        One row per message id, as `messages/` holds it; times are timestamps.
    """
    verdict = F.lit("in_flight")
    for rule in reversed(rules()):
        verdict = F.when(rule.condition, rule.verdict).otherwise(verdict)
    facts = facts_of(messages, coverage, horizon)
    return facts.select(
        col("first_day").alias("day"),
        "message_id",
        verdict.alias("verdict"),
        (~col("settled") | ~reduce(or_, doubts().values())).alias("judged"),
        _time("first_at").alias("first_at"),
        _time("last_at").alias("last_at"),
        *("sent", "deliveries", "started", "suppressed"),
        *(f"refused_{reason}" for reason in REFUSED),
        *("execution_records", "effect_records", "effects", "dead_letter_records"),
        _time("sent_at").alias("sent_at"),
        _time("delivered_first").alias("first_delivery_at"),
        _time("delivered_last").alias("last_delivery_at"),
        _time("effect_at").alias("effect_at"),
        *("touched", "failed"),
        (col("nameless") > 0).alias("unrepeatable"),
    )


class Rule(NamedTuple):
    """A verdict, when a message has it unless an earlier rule holds, and the same in words."""

    verdict: str
    condition: Column
    sentence: str


def rules() -> list[Rule]:
    """Which verdict a message has, by its facts: that of the first rule that holds.

    Where none does, it is in flight.
    """
    one, unasked, saw_who_asks = col("effects") == 1, col("unasked"), col("saw_who_asks")
    settled = col("settled")
    done_unseen = col("said_done") & ~col("has_effects") & settled
    found = [
        ("performed_again", col("effects") > 1,
         "it has two different effects; an effect that was exported twice is one"),
        ("lost", col("gone") & col("witnessed"),
         "it was accepted and ended nowhere, and every witness was there"),
        ("contradiction", one & col("was_rejected"),
         "it has an effect, and an operator rejected it"),
        ("contradiction", one & col("resolved_before"),
         "it has an effect that came after an operator resolved it"),
        ("contradiction", one & col("performed_twice"),
         "its executions say twice that they performed it"),
        ("contradiction", one & unasked & saw_who_asks & settled,
         "it has an effect, and nothing ever asked for it"),
        ("conflict", col("conflicting"),
         "its id came with another content, which was refused or (worse) accepted"),
        ("in_flight", one & unasked & ~settled,
         "it has an effect, and what asked for it may still be told"),
        ("awaiting_decision", col("waits"),
         "its dead letter is posted and not answered"),
        ("performed_once", one | done_unseen,
         "it has one effect, or (not judged) its execution says so and no stream has effects"),
        ("rejected", col("was_rejected"),
         "an operator decided that it is not to happen"),
        ("resolved", col("was_resolved"),
         "an operator decided that it needs no effect any more"),
        ("refused", col("only_refused"),
         "every delivery of it was refused, or failed until SQS gave it up"),
    ]  # fmt: skip
    return [Rule(*rule) for rule in found]


def doubts() -> dict[str, Column]:
    """What keeps a verdict from being certain, in words, by a message's facts."""
    no_effect, one = col("effects") == 0, col("effects") == 1
    decided = no_effect & ~col("said_done") & (col("was_rejected") | col("was_resolved"))
    acted = (col("closed") | col("accepted") | one) & (col("effects") < 2)
    return {
        "it ended nowhere, but not every witness was there": col("gone") & ~col("witnessed"),
        "its effects would not be seen": (~col("has_effects") & acted & ~decided & ~col("waits")),
        "what asked for its effect may not have been read": (
            one & col("unasked") & ~col("saw_who_asks")
        ),
    }


def facts_of(messages: DataFrame, coverage: Coverage, horizon: Horizon) -> DataFrame:
    """Messages as `per_message` has them, with the facts that `rules` and `doubts` name.

    None of these is null.
    """
    # In steps, because a method that is too long is not compiled.
    return (
        messages.withColumns(_counts())
        .withColumns(_ends(horizon) | {"has_effects": coverage.has("effects")})
        .withColumns(_absences(coverage, horizon))
    )


def _counts() -> dict[str, Column]:
    refused = reduce(add, (col(f"refused_{reason}") for reason in REFUSED))
    accepted = col("started") + col("suppressed")
    # Without a name of its own no effect can be told from another: there is one at least.
    several = F.when(col("effect_low") != col("effect_high"), col("effect_records")).otherwise(1)
    conflicting = (col("refused_conflict") > 0) | (col("content_low") != col("content_high"))
    return {
        "refused": refused,
        "deliveries": accepted + refused,
        "accepted": accepted > 0,
        "effects": F.when(col("effect_records") == 0, 0).otherwise(several),
        "conflicting": _surely(conflicting),
        "execution": _last_code("execution"),
        "dead_letter": _last_code("dead_letter"),
        "first_day": _time("first_at").cast("date"),
        "last_day": _time("last_at").cast("date"),
    }


def _ends(horizon: Horizon) -> dict[str, Column]:
    """How its executions, its dead letter and its deliveries ended."""
    execution, dead_letter, last_at = col("execution"), col("dead_letter"), col("last_at")
    letter_resolved = dead_letter == Code.DECIDED_RESOLVE
    resolved = execution == Code.CLOSED_RESOLVED
    resolved_at = F.when(letter_resolved, _last_time("dead_letter")).when(
        resolved, _last_time("execution")
    )
    performed = execution == Code.CLOSED_PERFORMED
    performed_before = col("performed_first") < _last_time("execution")
    # SQS gives a message up whose deliveries fail; it lies in UnstartedQueue then.
    settled = last_at < horizon.over
    said_done = execution.isin(*_DONE)
    # So is what has ended in a state that nobody thought of here.
    said_failed = ~execution.isin(_NONE, Code.RUNNING, *_DONE, *_DECIDED)
    given_up = (col("failed") > 0) & _silent(horizon.silence) & settled
    only_refused = ((col("refused") > 0) | given_up) & ~col("accepted") & (execution == _NONE)
    no_request = col("deliveries") + col("failed") + col("sent") == 0
    seen_until = F.greatest(last_at, F.least(last_at + GRACE_MS, F.lit(horizon.silence - 1)))
    return {
        "settled": settled,
        "said_done": said_done,
        "said_failed": said_failed,
        "closed": said_done | said_failed,
        "waits": (dead_letter == Code.POSTED) & execution.isin(_NONE, Code.RUNNING),
        "was_rejected": (execution == Code.CLOSED_REJECTED) | (dead_letter == Code.DECIDED_REJECT),
        "was_resolved": resolved | letter_resolved,
        "resolved_before": _surely(col("effect_at") > resolved_at),
        "performed_twice": _surely(performed & performed_before),
        "only_refused": only_refused & (col("effects") == 0),
        "no_request": no_request,
        "unasked": ~col("accepted") & (execution == _NONE) & (dead_letter == _NONE),
        "seen_until": F.timestamp_millis(seen_until).cast("date"),
    }


def _absences(coverage: Coverage, horizon: Horizon) -> dict[str, Column]:
    """What is missing, and whether whoever would have told of it was there."""
    closed, last_at, started, suppressed = map(col, ("closed", "last_at", "started", "suppressed"))
    no_execution = col("execution") == _NONE
    ends = ("waits", "was_rejected", "was_resolved", "only_refused")
    ended = reduce(or_, map(col, ends), col("effects") > 0)
    # An execution's end tells by itself; without one, silence.
    was_requested = (started > 0) | ((col("sent") > 0) & (suppressed == 0))
    silent = no_execution & _silent(horizon.silence) & was_requested
    is_end_certain = last_at < horizon.over - _CLOCKS_DIFFER_MS
    vouched = F.when(closed, is_end_certain).otherwise(coverage.saw("seen_until", "deliveries"))
    # Nobody's message: no producer's, and none that SQS delivered.
    by_hand = col("said_failed") & col("no_request")
    unread_names = _meets(coverage.unread[HASHED_IDS], F.date_add("seen_until", 1))
    vouched &= _surely(col("message_id").rlike(_NAME)) | ~unread_names
    return {
        "gone": ~ended & col("settled") & (closed | silent),
        "witnessed": coverage.saw("seen_until", "effects", "executions") & vouched & ~by_hand,
        "saw_who_asks": coverage.saw("last_day", "deliveries", "executions"),
    }


def _surely(condition: Column) -> Column:
    """The condition, false where it cannot be told."""
    return F.coalesce(condition, F.lit(False))


def _silent(moment: int) -> Column:
    """Whether a message had no record for longer than the grace period before a moment."""
    return col("last_at") < moment - GRACE_MS


def _last_code(stream: str) -> Column:
    """The last record's code, out of a state as `per_message` has it."""
    return F.coalesce(col(f"{stream}_state").bitwiseAND(2**_CODE_BITS - 1), F.lit(_NONE))


def _last_time(stream: str) -> Column:
    """The last record's time, likewise."""
    return F.shiftright(f"{stream}_state", _CODE_BITS)


def _time(milliseconds: str) -> Column:
    return F.timestamp_millis(col(milliseconds))
