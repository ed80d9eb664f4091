"""What the audit says of each message id.

One verdict per message; the first that holds, from the top:

    performed_again    two different effects (an effect exported twice is one)          alarm
    lost               accepted, and ended nowhere                                      alarm
    conflict           its id came with another content, refused or (worse) accepted    alarm
    awaiting_decision  its dead letter is posted and not answered
    performed_once     one effect
    rejected           an operator decided that it is not to happen
    resolved           an operator decided that it needs no effect any more
    refused            every delivery of it was refused
    in_flight          none of these yet

`conflict` stands above `performed_once` because one of two requests was *not* carried out, and
somebody has to know; the row's `effects` tells that the other was.

A message is `lost` if it has no effect, its dead letter does not wait, nobody rejected or resolved
it, and either its execution is closed, or it was accepted, has no execution and no refusal, and
the newest record of all is more than the grace period younger than its last one. A running
execution is in flight, however old. What cannot be told because a stream is missing on one of the
message's days is not guessed: the row says `judged` false, and it is never `lost`.

Clocks: records of one execution, or of one dead letter, are compared with each other only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from pyspark.sql import DataFrame

from pipeline.audit.sql import columns
from pipeline.audit.streams import REFUSED, STREAM_OF, Code

VERDICTS: Final = (
    "performed_once",
    "performed_again",
    "lost",
    "conflict",
    "refused",
    "awaiting_decision",
    "rejected",
    "resolved",
    "in_flight",
)
ALARMS: Final = ("performed_again", "lost", "conflict")
_HALVES: Final = (1, 2)  # of a fingerprint
_STATES: Final = 8  # a state's rank fits below its time


@dataclass(frozen=True, slots=True)
class Coverage:
    """Days on which a stream has no file although another has, as closed intervals of days."""

    missing: Mapping[str, tuple[tuple[date, date], ...]]

    @staticmethod
    def of(days: Iterable[date], of_stream: Mapping[str, frozenset[date]]) -> "Coverage":
        """From the days that there are, and those that each stream has."""
        ordered = sorted(days)
        return Coverage({stream: _intervals(ordered, have) for stream, have in of_stream.items()})

    def has(self, stream: str) -> str:
        """Whether the stream was there from `first_day` to `last_day` of a message, as SQL."""
        gaps = (
            f"first_day <= DATE'{until}' AND last_day >= DATE'{since}'"
            for since, until in self.missing.get(stream, ())
        )
        return f"(NOT ({' OR '.join(gaps) or 'false'}))"


def per_message(rows: DataFrame, newest_in: tuple[int, int]) -> DataFrame:
    """One row of numbers per message id: the audit's one shuffle.

    Args:
        rows: `message_id`, `at` (ms), `code`, `f1`, `f2`; a null id gathers what tells none.
        newest_in: from and until (ms, exclusive); `touched` says whether a record lies in it.
    """
    since, until = newest_in
    execution, dead_letter = _codes(*STREAM_OF["executions"]), _codes(*STREAM_OF["dead_letters"])
    effect, sent = _codes(Code.EFFECT), _codes(Code.SENT)
    delivered = _codes(Code.STARTED, Code.REFUSED_OTHER_MEMORY)
    accepted = _codes(Code.STARTED, Code.SUPPRESSED)
    state = f"at * {_STATES} + code"
    numbers = {
        "first_at": "min(at)",
        "last_at": "max(at)",
        "touched": f"max(at BETWEEN {since} AND {until - 1})",
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
        "delivered_sum": f"sum(CASE WHEN {delivered} THEN at END)",
        "effect_at": f"min(CASE WHEN {effect} THEN at END)",
        "effect_low": f"min(CASE WHEN {effect} THEN f1 END)",
        "effect_high": f"max(CASE WHEN {effect} THEN f1 END)",
        "execution_state": f"max(CASE WHEN {execution} THEN {state} END)",
        "dead_letter_state": f"max(CASE WHEN {dead_letter} THEN {state} END)",
        **{f"low{n}": f"min(CASE WHEN {accepted} THEN f{n} END)" for n in _HALVES},
        **{f"high{n}": f"max(CASE WHEN {accepted} THEN f{n} END)" for n in _HALVES},
    }
    # Without the exchange, the aggregate's own follows a partial aggregate, which costs twice the
    # CPU here: most messages have few records, so little is saved before it.
    return rows.repartition("message_id").groupBy("message_id").agg(*columns(numbers))


def _codes(first: int, last: int | None = None) -> str:
    """Whether a record's code is this, or one of these."""
    return f"code = {int(first)}" if last is None else f"code BETWEEN {int(first)} AND {int(last)}"


def judged(messages: DataFrame, coverage: Coverage, newest: int | None, grace_ms: int) -> DataFrame:
    """The verdicts.

    Args:
        messages: what `per_message` gives.
        coverage: which stream was missing when.
        newest: the moment (ms) that silence is measured against; None: cannot be told.
        grace_ms: how long a message without an end is in flight.

    Returns:
        One row per message id, as `messages/` holds it; times are timestamps.
    """
    refused = " + ".join(f"refused_{name}" for name in REFUSED)
    contents_differ = " OR ".join(f"low{n} != high{n}" for n in _HALVES)
    counted = messages.selectExpr(
        "*",
        f"{refused} AS refused",
        f"started + suppressed + {refused} AS deliveries",
        "CASE WHEN effect_records = 0 THEN 0L WHEN effect_low = effect_high THEN 1L "
        "ELSE effect_records END AS effects",
        f"refused_conflict > 0 OR {_surely(contents_differ)} AS conflicting",
        f"{_rank('execution')} AS execution",
        f"{_rank('dead_letter')} AS dead_letter",
        f"to_date({_time('first_at')}) AS first_day",
        f"to_date({_time('last_at')}) AS last_day",
    )
    verdict, certain = _verdict(coverage, newest, grace_ms)
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
        # Of two or three deliveries the second follows from the sum; of more it is looked up.
        f"CASE deliveries WHEN 2 THEN {_time('delivered_last')} "
        f"WHEN 3 THEN {_time('delivered_sum - delivered_first - delivered_last')} "
        "END AS second_delivery_at",
        f"{_time('delivered_last')} AS last_delivery_at",
        f"{_time('effect_at')} AS effect_at",
        *("touched", "failed", "quarantined"),
    )


def _verdict(coverage: Coverage, newest: int | None, grace_ms: int) -> tuple[str, str]:
    """The verdict, and whether it is certain, as SQL."""
    running = int(Code.RUNNING)
    has_effect = "effects > 0"
    closed = _surely(f"execution IN ({int(Code.CLOSED_PERFORMED)}, {int(Code.CLOSED_FAILED)})")
    waits = _surely(
        f"dead_letter = {int(Code.POSTED)} AND (execution IS NULL OR execution = {running})"
    )
    no, yes = (
        _surely(f"effects = 0 AND (execution = {int(ended)} OR dead_letter = {int(decided)})")
        for ended, decided in (
            (Code.CLOSED_REJECTED, Code.DECIDED_REJECT),
            (Code.CLOSED_RESOLVED, Code.DECIDED_RESOLVE),
        )
    )
    accepted = "started + suppressed > 0"
    only_refused = f"(refused > 0 AND NOT {accepted} AND execution IS NULL AND effects = 0)"
    silent = "false" if newest is None else f"{newest} - last_at > {grace_ms}"
    ended = f"({has_effect} OR {waits} OR {no} OR {yes} OR {only_refused})"
    # An execution's end tells by itself; without one, silence does, if every witness was there.
    gone = f"(NOT {ended} AND ({closed} OR (execution IS NULL AND {silent})))"
    witnessed = (
        f"({coverage.has('effects')} AND "
        f"({closed} OR ({coverage.has('deliveries')} AND {coverage.has('executions')})))"
    )
    by_its_word = _surely(
        f"NOT {coverage.has('effects')} AND execution = {int(Code.CLOSED_PERFORMED)}"
    )
    verdict = f"""
        CASE WHEN effects > 1 THEN 'performed_again'
        WHEN {gone} AND {witnessed} THEN 'lost'
        WHEN conflicting THEN 'conflict'
        WHEN {waits} THEN 'awaiting_decision'
        WHEN {has_effect} OR {by_its_word} THEN 'performed_once'
        WHEN {no} THEN 'rejected'
        WHEN {yes} THEN 'resolved'
        WHEN {only_refused} THEN 'refused'
        ELSE 'in_flight' END
    """
    unseen = f"(NOT {coverage.has('effects')} AND ({closed} OR {accepted} OR {has_effect}))"
    doubtful = f"({unseen} AND NOT {no} AND NOT {yes} AND NOT {waits})"
    return verdict, f"NOT (({gone} AND NOT {witnessed}) OR {doubtful})"


def _surely(condition: str) -> str:
    """The condition, false where it cannot be told."""
    return f"coalesce({condition}, false)"


def _rank(stream: str) -> str:
    """The code in a state, which is `time * 8 + code`: its rank is above the first code's."""
    first = int(STREAM_OF[f"{stream}s"][0])
    return f"CAST(pmod({stream}_state - {first}, {_STATES}) AS int) + {first}"


def _time(milliseconds: str) -> str:
    return f"timestamp_millis({milliseconds})"


def _intervals(days: list[date], have: frozenset[date]) -> tuple[tuple[date, date], ...]:
    """Neighbouring days of the list that are missing, put together; there may be gaps in it."""
    found: list[tuple[date, date]] = []
    open_since: date | None = None
    for day in days:
        if day in have:
            open_since = None
            continue
        if open_since is None:
            open_since = day
            found.append((day, day))
        else:
            found[-1] = (open_since, day)
    return tuple(found)
