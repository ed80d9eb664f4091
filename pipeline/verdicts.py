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
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.streams import REFUSED, STREAM_OF, Code

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

    def has(self, stream: str) -> Column:
        """Whether the stream was there on all days of a message."""
        first, last = F.to_date("first_at"), F.to_date("last_at")
        gaps = [
            (first <= F.lit(until)) & (last >= F.lit(since))
            for since, until in self.missing.get(stream, ())
        ]
        return ~reduce(lambda one, other: one | other, gaps, F.lit(False))


def per_message(rows: DataFrame, newest_in: tuple[int, int]) -> DataFrame:
    """One row of numbers per message id: the audit's one shuffle.

    Args:
        rows: `message_id`, `at` (ms), `code`, `f1` to `f4`; a null id gathers what tells none.
        newest_in: from and until (ms, exclusive); `touched` says whether a record lies in it.
    """
    code, at = F.col("code"), F.col("at")
    execution = code.between(*STREAM_OF["executions"])
    dead_letter = code.between(*STREAM_OF["dead_letters"])
    effect = code == int(Code.EFFECT)
    delivered = code.between(int(Code.STARTED), int(Code.REFUSED_NOT_STARTABLE))
    accepted = code.between(int(Code.STARTED), int(Code.SUPPRESSED))
    state = at * _STATES + code
    return (
        # Without this, the aggregate's own exchange follows a partial aggregate, which costs
        # twice the CPU here: most messages have few records, so little is saved before it.
        rows.repartition("message_id")
        .groupBy("message_id")
        .agg(
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
            F.max(at.between(newest_in[0], newest_in[1] - 1)).alias("touched"),
            F.count_if(code == int(Code.SENT)).alias("sent"),
            F.count_if(code == int(Code.STARTED)).alias("started"),
            F.count_if(code == int(Code.SUPPRESSED)).alias("suppressed"),
            *(F.count_if(code == int(c)).alias(f"refused_{name}") for name, c in REFUSED.items()),
            F.count_if(code == int(Code.FAILED)).alias("failed"),
            F.count_if(execution).alias("execution_records"),
            F.count_if(effect).alias("effect_records"),
            F.count_if(dead_letter).alias("dead_letter_records"),
            F.count_if(code == int(Code.QUARANTINED)).alias("quarantined"),
            F.min(F.when(code == int(Code.SENT), at)).alias("sent_at"),
            F.min(F.when(delivered, at)).alias("delivered_first"),
            F.max(F.when(delivered, at)).alias("delivered_last"),
            F.sum(F.when(delivered, at)).alias("delivered_sum"),
            F.min(F.when(effect, at)).alias("effect_at"),
            F.min(F.when(effect, F.col("f1"))).alias("effect_low"),
            F.max(F.when(effect, F.col("f1"))).alias("effect_high"),
            F.max(F.when(execution, state)).alias("execution_state"),
            F.max(F.when(dead_letter, state)).alias("dead_letter_state"),
            *(F.min(F.when(accepted, F.col(f"f{n}"))).alias(f"low{n}") for n in range(1, 5)),
            *(F.max(F.when(accepted, F.col(f"f{n}"))).alias(f"high{n}") for n in range(1, 5)),
        )
    )


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
    refused = reduce(lambda a, b: a + b, [F.col(f"refused_{name}") for name in REFUSED])
    contents_differ = reduce(
        lambda a, b: a | b, [F.col(f"low{n}") != F.col(f"high{n}") for n in range(1, 5)]
    )
    counted = messages.withColumns(
        {
            "refused": refused,
            "deliveries": F.col("started") + F.col("suppressed") + refused,
            "effects": F.when(F.col("effect_records") == 0, F.lit(0).cast("long"))
            .when(F.col("effect_low") == F.col("effect_high"), F.lit(1).cast("long"))
            .otherwise(F.col("effect_records")),
            "conflicting": (F.col("refused_conflict") > 0) | _surely(contents_differ),
            "execution": _rank("execution_state"),
            "dead_letter": _rank("dead_letter_state"),
            "first_ms": F.col("first_at"),
            "last_ms": F.col("last_at"),
        }
    ).withColumns({"first_at": _time("first_at"), "last_at": _time("last_at")})
    verdict, certain = _verdict(coverage, newest, grace_ms)
    return counted.select(
        F.to_date("first_at").alias("day"),
        "message_id",
        verdict.alias("verdict"),
        certain.alias("judged"),
        "first_at",
        "last_at",
        "sent",
        "deliveries",
        "started",
        "suppressed",
        *(f"refused_{name}" for name in REFUSED),
        "execution_records",
        "effect_records",
        "effects",
        "dead_letter_records",
        _time("sent_at").alias("sent_at"),
        _time("delivered_first").alias("first_delivery_at"),
        # Of two or three deliveries the second follows from the sum; of more it is looked up.
        F.when(F.col("deliveries") == 2, _time("delivered_last"))
        .when(
            F.col("deliveries") == 3,
            F.timestamp_millis(
                F.col("delivered_sum") - F.col("delivered_first") - F.col("delivered_last")
            ),
        )
        .alias("second_delivery_at"),
        _time("delivered_last").alias("last_delivery_at"),
        _time("effect_at").alias("effect_at"),
        F.col("touched"),
        F.col("failed"),
        F.col("quarantined"),
    )


def _verdict(coverage: Coverage, newest: int | None, grace_ms: int) -> tuple[Column, Column]:
    execution, dead_letter = F.col("execution"), F.col("dead_letter")
    has_effect = F.col("effects") > 0
    closed = execution.isin(int(Code.CLOSED_PERFORMED), int(Code.CLOSED_FAILED))
    awaiting = (dead_letter == int(Code.POSTED)) & (
        execution.isNull() | (execution == int(Code.RUNNING))
    )
    rejected = ~has_effect & (
        (execution == int(Code.CLOSED_REJECTED)) | (dead_letter == int(Code.DECIDED_REJECT))
    )
    resolved = ~has_effect & (
        (execution == int(Code.CLOSED_RESOLVED)) | (dead_letter == int(Code.DECIDED_RESOLVE))
    )
    waits, no, yes = (_surely(held) for held in (awaiting, rejected, resolved))
    accepted = F.col("started") + F.col("suppressed")
    only_refused = (F.col("refused") > 0) & (accepted == 0) & execution.isNull() & ~has_effect
    silent = (F.lit(newest) - F.col("last_ms")) > grace_ms if newest is not None else F.lit(False)
    ended = has_effect | waits | no | yes | only_refused
    # An execution's end tells by itself; without one, silence does, if every witness was there.
    gone = ~ended & (_surely(closed) | (execution.isNull() & silent))
    witnessed = coverage.has("effects") & (
        _surely(closed) | (coverage.has("deliveries") & coverage.has("executions"))
    )
    by_its_word = ~coverage.has("effects") & (execution == int(Code.CLOSED_PERFORMED))
    performed = has_effect | _surely(by_its_word)
    verdict = (
        F.when(F.col("effects") > 1, "performed_again")
        .when(gone & witnessed, "lost")
        .when(F.col("conflicting"), "conflict")
        .when(waits, "awaiting_decision")
        .when(performed, "performed_once")
        .when(no, "rejected")
        .when(yes, "resolved")
        .when(only_refused, "refused")
        .otherwise("in_flight")
    )
    unseen = ~coverage.has("effects") & (_surely(closed) | (accepted > 0) | has_effect)
    return verdict, ~((gone & ~witnessed) | (unseen & ~no & ~yes & ~waits))


def _surely(condition: Column) -> Column:
    """The condition, false where it cannot be told."""
    return F.coalesce(condition, F.lit(False))


def _rank(state: str) -> Column:
    """The code in a state, which is `time * 8 + code`: its rank is above the first code's."""
    first = STREAM_OF["executions" if state.startswith("execution") else "dead_letters"][0]
    return F.pmod(F.col(state) - int(first), F.lit(_STATES)).cast("int") + int(first)


def _time(name: str) -> Column:
    return F.timestamp_millis(F.col(name))


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
