"""What a verdict is, and which a message has.

One verdict per message; the first that holds, from the top:

    effect_check       nobody's message: effects of an `actonce effect check`
    performed_again    two different effects (an effect exported twice is one)          alarm
    lost               accepted, and ended nowhere                                      alarm
    contradiction      its records cannot all be true                                   alarm
    conflict           its id came with another content, refused or (worse) accepted    alarm
    awaiting_decision  its dead letter is posted and not answered
    performed_once     one effect
    rejected           an operator decided that it is not to happen
    resolved           an operator decided that it needs no effect any more
    refused            every delivery of it was refused, or failed until SQS gave it up
    in_flight          none of these yet

`conflict` stands above `performed_once` because one of two requests was *not* carried out, and
somebody has to know; the row's `effects` tells that the other was.

A message is `lost` if it has no effect, its dead letter does not wait, nobody rejected or resolved
it, and either its execution is closed, or it was sent or started, has no execution and no refusal,
and the newest file was written more than the grace period after its last record. Files that are
older than their own records vouch for no silence: it is not judged then, unless another record came
so much later. A running execution is in flight, however old. That a delivery was suppressed proves
an execution, so one that is not seen began before the records did.

An `effect_check` has effects and no record else, its days' deliveries and executions were all read,
and its id begins as those do. So no producer hides a second effect by an id: whatever SQS delivered
has a record. That it was the check is the id's word alone, which the audit says.

A `contradiction` has one effect, and: it was rejected; or it was resolved before the effect; or
its executions say twice that they performed it; or nothing ever asked for it.

The row of a ledger or a lease stands in its execution's place, and says how its message stands
*now*. One in progress is `lost` when SQS can hold its message no more, after 14 days; as of an
earlier moment nothing tells whether there was one, so that a message without is not judged.

Judged by the executions' word, where no stream tells the effects: an execution that says that it
performed it counts for one effect; one that ended without a word is not judged, for it may have.

What cannot be told because a stream is missing, or could not be read, on the message's days is not
guessed: the row says `judged` false, and it is never `lost`.

What is there is told at once; that something is missing (`lost`, refused by silence, an effect that
nobody asked for), only of messages whose last record is of a day that is over: see `horizon`.

Clocks: records of one execution, or of one dead letter, are compared with each other; an effect's
only with the decision of a person, which takes longer than clocks differ. An execution that ended
in the last minute of a day without an effect is not judged before the next day is over.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Final, Self

from pyspark.sql import DataFrame

from pipeline.audit.horizon import Horizon
from pipeline.audit.judging.verdict_names import EFFECT_CHECK_IDS
from pipeline.audit.reading.listing import Listing
from pipeline.audit.reading.streams import REFUSED, STANDS_FOR, STREAM_OF, STREAMS, Code
from pipeline.audit.sql import columns
from pipeline.audit.times import Interval, absent, end_of, intervals, midnight

NAMES_LIVE_DAYS: Final = 90
"""Step Functions remembers the name of an execution so long after its end."""
_STATES: Final = 8  # a state's rank fits below its time
_CLOCKS_DIFFER_MS: Final = 60_000
_QUEUE_HOLDS_MS: Final = 14 * 86_400_000  # the longest retention of SQS
_MOST_INTERVALS: Final = 100  # of a stream, in SQL


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which stream was there when.

    Attributes:
        since: first day that any stream has a file for.
        until: the last.
        missing: days in between on which a stream has no file.
        apart: those of them on which another stream has one.
        unread: days of a stream on which something could not be read.
        began: the first day of each stream.
        rows: there are rows of a ledger or a lease.
        by_executions: where no stream tells the effects, an execution's word is taken for one.
    """

    since: date
    until: date
    missing: Mapping[str, Sequence[Interval]]
    apart: Mapping[str, Sequence[Interval]]
    unread: Mapping[str, Sequence[Interval]]
    began: Mapping[str, date]
    rows: bool
    by_executions: bool

    @classmethod
    def of(
        cls, listing: Listing, unread: Mapping[str, frozenset[date]], *, by_executions: bool
    ) -> Self:
        """From the files, and the days of each stream on which something could not be read.

        What stands for a stream counts as that stream.
        """
        days = listing.days()
        since, until = min(days), max(days)
        of_stream = {name: listing.seen_on(name) for name in STREAMS}
        unread_of = {
            name: {day for one in (name, *STANDS_FOR.get(name, ())) for day in unread.get(one, ())}
            for name in STREAMS
        }
        return cls(
            since,
            until,
            {name: _few(absent(have, since, until)) for name, have in of_stream.items()},
            {name: _few(_apart(days, have)) for name, have in of_stream.items()},
            {name: _few(intervals(which)) for name, which in unread_of.items()},
            {name: min(have) for name, have in of_stream.items() if have},
            bool(listing.days_of("rows")),
            by_executions,
        )

    def has(self, stream: str, last: str = "last_day") -> str:
        """Whether the stream was there from `first_day` to a last day of a message, as SQL.

        Days without any file do not count: the summary names them.
        """
        return f"(NOT ({_meets(self.apart[stream], last)}))"

    def saw(self, stream: str, last: str) -> str:
        """Whether whatever the stream has of these days was seen, as SQL; late lines included."""
        return (
            f"(NOT ({_meets(self.missing[stream], last)}) AND first_day >= DATE'{self.since}' "
            f"AND {last} <= DATE'{self.until}' "
            f"AND NOT ({_meets(self.unread[stream], f'date_add({last}, 1)')}))"
        )


def _meets(intervals: Iterable[Interval], last: str) -> str:
    """Whether one of them has a day of `first_day` to a last day, as SQL."""
    meeting = (
        f"first_day <= DATE'{until}' AND {last} >= DATE'{since}'" for since, until in intervals
    )
    return " OR ".join(meeting) or "false"


def _apart(days: frozenset[date], have: frozenset[date]) -> list[Interval]:
    """Neighbours among the days that are missing, put together; there may be gaps in them."""
    runs = groupby(sorted(days), key=lambda day: day not in have)
    missing = [list(run) for is_missing, run in runs if is_missing]
    return [(run[0], run[-1]) for run in missing]


def _few(found: list[Interval]) -> list[Interval]:
    """So many that a plan can hold them; what is put together only makes less certain."""
    if len(found) <= _MOST_INTERVALS:
        return found
    return [*found[: _MOST_INTERVALS - 1], (found[_MOST_INTERVALS - 1][0], found[-1][1])]


def per_message(rows: DataFrame, days: Interval | None) -> DataFrame:
    """One row of numbers per message id: the audit's one shuffle.

    Args:
        rows: as `all_streams.narrow` gives them; a null id gathers what tells none.
        days: `touched` says whether a record is of these, or `late`; None: every message is.
    """
    touched = "true"
    if days is not None:
        touched = f"late OR at BETWEEN {midnight(days[0])} AND {end_of(days[1]) - 1}"
    execution, dead_letter = _codes(*STREAM_OF["executions"]), _codes(*STREAM_OF["dead_letters"])
    effect, sent = _codes(Code.EFFECT), _codes(Code.SENT)
    delivered = _codes(Code.STARTED, Code.REFUSED_OTHER_MEMORY)
    accepted = _codes(Code.STARTED, Code.SUPPRESSED)
    state = f"at * {_STATES} + code"
    numbers = {
        "first_at": "min(at)",
        "last_at": "max(at)",
        "touched": f"max({touched})",
        "sent": f"count_if({sent})",
        "started": f"count_if({_codes(Code.STARTED)})",
        "suppressed": f"count_if({_codes(Code.SUPPRESSED)})",
        **{f"refused_{name}": f"count_if({_codes(code)})" for name, code in REFUSED.items()},
        "failed": f"count_if({_codes(Code.FAILED)})",
        "execution_records": f"count_if({execution})",
        "effect_records": f"count_if({effect})",
        "dead_letter_records": f"count_if({dead_letter})",
        "quarantined": f"count_if({_codes(Code.QUARANTINED)})",
        "sent_at": f"min(CASE WHEN {sent} THEN at END)",
        "delivered_first": f"min(CASE WHEN {delivered} THEN at END)",
        "delivered_last": f"max(CASE WHEN {delivered} THEN at END)",
        "effect_at": f"min(CASE WHEN {effect} THEN at END)",
        "effect_low": f"min(CASE WHEN {effect} THEN identity END)",
        "effect_high": f"max(CASE WHEN {effect} THEN identity END)",
        "performed_first": f"min(CASE WHEN {_codes(Code.CLOSED_PERFORMED)} THEN at END)",
        "execution_state": f"max(CASE WHEN {execution} THEN {state} END)",
        "dead_letter_state": f"max(CASE WHEN {dead_letter} THEN {state} END)",
        "content_low": f"min(CASE WHEN {accepted} THEN identity END)",
        "content_high": f"max(CASE WHEN {accepted} THEN identity END)",
    }
    # Without the exchange, the aggregate's own follows a partial aggregate, which costs twice the
    # CPU here: most messages have few records, so little is saved before it.
    return rows.repartition("message_id").groupBy("message_id").agg(*columns(numbers))


def _codes(first: int, last: int | None = None) -> str:
    """Whether a record's code is this, or one of these."""
    return f"code = {int(first)}" if last is None else f"code BETWEEN {int(first)} AND {int(last)}"


def judged(messages: DataFrame, coverage: Coverage, horizon: Horizon, grace_ms: int) -> DataFrame:
    """The verdicts.

    Returns:
        One row per message id, as `messages/` holds it; times are timestamps.
    """
    refused = " + ".join(f"refused_{name}" for name in REFUSED)
    counted = messages.selectExpr(
        "*",
        f"{refused} AS refused",
        f"started + suppressed + {refused} AS deliveries",
        # Without a name of its own no effect can be told from another: there is one at least.
        "CASE WHEN effect_records = 0 THEN 0L WHEN effect_low != effect_high THEN effect_records "
        "ELSE 1L END AS effects",
        f"refused_conflict > 0 OR {_surely('content_low != content_high')} AS conflicting",
        f"{_rank('execution')} AS execution",
        f"{_rank('dead_letter')} AS dead_letter",
        f"to_date({_time('first_at')}) AS first_day",
        f"to_date({_time('last_at')}) AS last_day",
    )
    # In steps, because a method that is too long is not compiled.
    *steps, (verdict, certain) = _verdict(coverage, horizon, grace_ms)
    for step in steps:
        counted = counted.selectExpr("*", *step)
    return counted.selectExpr(
        "first_day AS day",
        "message_id",
        f"{verdict} AS verdict",
        f"{certain} AS judged",
        f"{_time('first_at')} AS first_at",
        f"{_time('last_at')} AS last_at",
        *("sent", "deliveries", "started", "suppressed"),
        *(f"refused_{name}" for name in REFUSED),
        *("execution_records", "effect_records", "effects", "dead_letter_records"),
        f"{_time('sent_at')} AS sent_at",
        f"{_time('delivered_first')} AS first_delivery_at",
        f"{_time('delivered_last')} AS last_delivery_at",
        f"{_time('effect_at')} AS effect_at",
        *("touched", "failed", "quarantined"),
        f"{UNRESOLVED} AS unresolved",
        f"{_unsent(coverage, grace_ms)} AND settled AS unsent",
        "effect_records > 0 AND effect_low IS NULL AS unrepeatable",
    )


UNRESOLVED: Final = (
    "coalesce((startswith(message_id, 'sqs:') AND started + suppressed = 0 "
    "AND sent + failed > 0) OR (startswith(message_id, 'sha256-') "
    "AND execution_records > 0 AND started + suppressed = 0), false)"
)
"""Of a message as `per_message` has it: its id is a name; see `all_streams.with_known_ids`."""


def _unsent(coverage: Coverage, grace_ms: int) -> str:
    """Whether `sent` lacks a message that was started while it was there, as SQL."""
    if "sent" not in coverage.began:
        return "false"
    earlier = f"to_date({_time(f'first_at - {grace_ms}')})"
    return (
        f"(started > 0 AND sent = 0 AND {coverage.has('sent')} "
        f"AND {earlier} >= DATE'{coverage.began['sent']}')"
    )


def _verdict(coverage: Coverage, horizon: Horizon, grace_ms: int) -> list[tuple[str, ...]]:
    """The verdict, and whether it is certain, as SQL; before them the columns that they name."""
    running = int(Code.RUNNING)
    said_done = _surely(f"execution IN ({int(Code.CLOSED_PERFORMED)}, {int(Code.CLOSED_FOUND)})")
    letter_waits = (
        f"dead_letter = {int(Code.POSTED)} AND (execution IS NULL OR execution = {running})"
    )
    row_waits = f"execution = {int(Code.ROW_DEAD_LETTER)}"
    waits = _surely(f"({letter_waits}) OR {row_waits}" if coverage.rows else letter_waits)
    rejected, resolved = (
        _surely(f"execution = {int(ended)} OR dead_letter = {int(decided)}")
        for ended, decided in (
            (Code.CLOSED_REJECTED, Code.DECIDED_REJECT),
            (Code.CLOSED_RESOLVED, Code.DECIDED_RESOLVE),
        )
    )
    accepted = "started + suppressed > 0"
    silent, may_be_silent = (
        f"({moment} - last_at > {grace_ms})" for moment in (horizon.silence, horizon.latest)
    )
    settled = f"(last_at < {horizon.over})"
    # SQS gives a message up whose deliveries fail; it lies in UnstartedQueue then.
    only_refused = (
        f"(refused > 0 OR (failed > 0 AND {silent} AND {settled})) AND NOT {accepted} "
        "AND execution IS NULL AND effects = 0"
    )
    waited = f"least(last_at + {grace_ms}, {horizon.latest - 1})"
    resolved_before = _surely(
        f"effect_at > CASE WHEN dead_letter = {int(Code.DECIDED_RESOLVE)} "
        f"THEN {_since('dead_letter')} WHEN execution = {int(Code.CLOSED_RESOLVED)} "
        f"THEN {_since('execution')} END"
    )
    performed_twice = _surely(
        f"execution = {int(Code.CLOSED_PERFORMED)} AND performed_first < {_since('execution')}"
    )
    first = (
        f"{said_done} AS said_done",
        f"{_surely(f'execution = {int(Code.CLOSED_FAILED)}')} AS said_failed",
        f"{waits} AS waits",
        f"{rejected} AS was_rejected",
        f"{resolved} AS was_resolved",
        f"{only_refused} AS only_refused",
        f"to_date({_time(f'greatest(last_at, {waited})')}) AS seen_until",
        f"{resolved_before} AS resolved_before",
        f"{performed_twice} AS performed_twice",
        f"{coverage.has('effects')} AS has_effects",
        f"{settled} AS settled",
    )
    by_word = "(said_done AND NOT has_effects)" if coverage.by_executions else "false"
    ended = f"(effects > 0 OR waits OR was_rejected OR was_resolved OR only_refused OR {by_word})"
    closed = "(said_done OR said_failed)"
    asked_for = "(started > 0 OR (sent > 0 AND suppressed = 0))"
    # Nobody's message: no producer's, and none that SQS delivered.
    by_hand = "(said_failed AND deliveries + failed + sent = 0)"
    # A row in progress whose message SQS cannot hold any more; until then it may wait there.
    held_until = f"{horizon.latest} - {_QUEUE_HOLDS_MS}"
    abandoned = f"(execution = {int(Code.ROW_IN_PROGRESS)} AND last_at < {held_until})"
    silence = f"(execution IS NULL AND {may_be_silent} AND {asked_for})"
    if coverage.rows:
        silence = f"({silence} OR {_surely(abandoned)})"
    # A row tells how its message stands now: whether it had one at an earlier moment, nothing does.
    silence_tells = "false"
    if not coverage.rows or horizon.as_of is None:
        silence_tells = f"({silent} AND {coverage.saw('deliveries', 'seen_until')})"
    saw_effects = coverage.saw("effects", "seen_until")
    if coverage.by_executions:
        saw_effects = f"({saw_effects} OR (NOT has_effects AND NOT {closed}))"
    # An execution of before the records began, but of no more than its name lives.
    began = coverage.began.get("executions", coverage.until)
    second = (
        # An execution's end tells by itself; without one, silence, if every witness was there.
        f"NOT {ended} AND settled AND ({closed} OR {silence}) AS gone",
        (
            f"{saw_effects} AND {coverage.saw('executions', 'seen_until')} "
            f"AND (({closed} AND last_at < {horizon.over - _CLOCKS_DIFFER_MS}) "
            f"OR (NOT {closed} AND {silence_tells})) AND NOT {by_hand} AS witnessed"
        ),
        (
            f"NOT {ended} AND execution IS NULL AND suppressed > 0 AND started = 0 "
            f"AND datediff(first_day, DATE'{began}') > {NAMES_LIVE_DAYS} AS earlier"
        ),
        f"NOT {accepted} AND execution IS NULL AND dead_letter IS NULL AS unasked",
        (
            f"startswith(message_id, '{EFFECT_CHECK_IDS}') AND effects > 0 "
            "AND deliveries + failed + sent = 0 AS named_check"
        ),
        (
            f"{coverage.saw('deliveries', 'last_day')} "
            f"AND {coverage.saw('executions', 'last_day')} AS saw_who_asks"
        ),
    )
    verdict = f"""
        CASE WHEN named_check AND unasked AND saw_who_asks THEN 'effect_check'
        WHEN effects > 1 THEN 'performed_again'
        WHEN gone AND witnessed THEN 'lost'
        WHEN effects = 1 AND (was_rejected OR resolved_before OR performed_twice
            OR (unasked AND saw_who_asks AND settled)) OR ({by_word} AND performed_twice)
            THEN 'contradiction'
        WHEN conflicting THEN 'conflict'
        WHEN effects = 1 AND unasked AND NOT settled THEN 'in_flight'
        WHEN waits THEN 'awaiting_decision'
        WHEN effects > 0 OR {by_word} OR (NOT has_effects AND said_done AND settled)
            THEN 'performed_once'
        WHEN was_rejected THEN 'rejected'
        WHEN was_resolved THEN 'resolved'
        WHEN only_refused THEN 'refused'
        ELSE 'in_flight' END
    """
    doubtful = (
        f"(NOT has_effects AND ({closed} OR {accepted} OR effects > 0) AND effects < 2 "
        "AND NOT (effects = 0 AND (was_rejected OR was_resolved)) AND NOT waits)"
    )
    if coverage.by_executions:
        doubtful = "false"  # an execution that ended without a word is gone, and nobody saw it
    # Who asked for an effect may stand in what could not be read.
    unexplained = "(effects = 1 AND unasked AND NOT saw_who_asks)"
    certain = (
        f"NOT settled OR NOT ((gone AND NOT witnessed) OR {doubtful} OR earlier OR {unexplained})"
    )
    return [first, second, (verdict, certain)]


def _surely(condition: str) -> str:
    """The condition, false where it cannot be told."""
    return f"coalesce({condition}, false)"


def _rank(stream: str) -> str:
    """The code in a state, which is `time * 8 + code`: its rank is above the first code's."""
    first = int(STREAM_OF[f"{stream}s"][0])
    return f"CAST(pmod({stream}_state - {first}, {_STATES}) AS int) + {first}"


def _since(stream: str) -> str:
    """The time in a state."""
    return f"(({stream}_state - {int(STREAM_OF[f'{stream}s'][0])}) div {_STATES})"


def _time(milliseconds: str) -> str:
    return f"timestamp_millis({milliseconds})"
