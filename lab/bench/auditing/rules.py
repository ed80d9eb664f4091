# ruff: noqa: S608 - every part of this SQL is in this file
"""The verdicts once more, in SQL that Spark and DuckDB both understand.

Shares nothing with `pipeline/`: written from what the verdicts mean, so that two independent
answers are compared. Tables are views with the columns that `AGGREGATES` names; `ms` is a record's
time in milliseconds. A dialect brings `timestamp_millis(ms)`.
"""

from typing import Final

GRACE_MS: Final = 15 * 60_000
REASONS: Final = (
    "conflict",
    "not_json",
    "no_message_id",
    "too_large",
    "too_old_to_tell",
    "not_startable",
    "other_memory",
)

EXECUTION_RANK: Final = (
    "CASE WHEN status = 'RUNNING' THEN 0 "
    "WHEN status = 'SUCCEEDED' AND outcome = 'resolved' THEN 3 "
    "WHEN status = 'SUCCEEDED' THEN 4 "
    "WHEN status = 'FAILED' AND error = 'RejectedByOperator' THEN 2 ELSE 1 END"
)
"""0 running, 1 failed, 2 rejected, 3 resolved, 4 performed; the later one wins a tie."""
DEAD_LETTER_RANK: Final = (
    "CASE WHEN decision IN ('retry', 'perform') THEN 1 WHEN decision = 'resolve' THEN 2 "
    "WHEN decision = 'reject' THEN 3 ELSE 0 END"
)
"""0 posted, then the decision."""

_REFUSED: Final = ", ".join(
    f"count(*) FILTER (WHERE ended = 'refused' AND reason = '{reason}') AS refused_{reason}"
    for reason in REASONS
)
AGGREGATES: Final = {
    "sent": "SELECT message_id, min(ms) AS first_ms, max(ms) AS last_ms, count(*) AS sent "
    "FROM sent GROUP BY message_id",
    "deliveries": "SELECT message_id, min(ms) AS first_ms, max(ms) AS last_ms, "
    "sum(ms) AS sum_ms, count(*) AS deliveries, "
    "count(*) FILTER (WHERE ended = 'started') AS started, "
    "count(*) FILTER (WHERE ended = 'suppressed') AS suppressed, "
    f"{_REFUSED}, "
    "min(fingerprint) FILTER (WHERE ended <> 'refused') AS low, "
    "max(fingerprint) FILTER (WHERE ended <> 'refused') AS high "
    "FROM deliveries WHERE ended <> 'failed' GROUP BY message_id",
    "executions": "SELECT message_id, min(ms) AS first_ms, max(ms) AS last_ms, "
    f"count(*) AS execution_records, max(ms * 8 + {EXECUTION_RANK}) AS state "
    "FROM executions GROUP BY message_id",
    "effects": "SELECT message_id, min(ms) AS first_ms, max(ms) AS last_ms, "
    "count(*) AS effect_records, "
    "min(appointment_id) AS low, max(appointment_id) AS high FROM effects GROUP BY message_id",
    "dead_letters": "SELECT message_id, min(ms) AS first_ms, max(ms) AS last_ms, "
    f"count(*) AS dead_letter_records, max(ms * 8 + {DEAD_LETTER_RANK}) AS state "
    "FROM dead_letters GROUP BY message_id",
}
"""What each stream says of a message: one row per message id."""

_WAITS: Final = "(letter = 0 AND run IN (-1, 0))"
_REJECTED: Final = "(effects = 0 AND (run = 2 OR letter = 3))"
_RESOLVED: Final = "(effects = 0 AND (run = 3 OR letter = 2))"
_REFUSED_ONLY: Final = "(effects = 0 AND run = -1 AND started + suppressed = 0 AND deliveries > 0)"


def verdict(newest_ms: int) -> str:
    """The verdict over `run` and `letter` (ranks, -1: none), `effects`, counts and `last_ms`."""
    silent = f"({newest_ms} - last_ms > {GRACE_MS})"
    return (
        "CASE WHEN effects > 1 THEN 'performed_again' "
        f"WHEN effects = 0 AND NOT {_WAITS} AND NOT {_REJECTED} AND NOT {_RESOLVED} "
        f"AND NOT {_REFUSED_ONLY} AND (run IN (1, 4) OR (run = -1 AND {silent})) THEN 'lost' "
        "WHEN refused_conflict > 0 OR contents_differ THEN 'conflict' "
        f"WHEN {_WAITS} THEN 'awaiting_decision' "
        "WHEN effects = 1 THEN 'performed_once' "
        f"WHEN {_REJECTED} THEN 'rejected' "
        f"WHEN {_RESOLVED} THEN 'resolved' "
        f"WHEN {_REFUSED_ONLY} THEN 'refused' "
        "ELSE 'in_flight' END"
    )


COUNTS: Final = (
    "sent",
    "deliveries",
    "started",
    "suppressed",
    *(f"refused_{reason}" for reason in REASONS),
    "execution_records",
    "effect_records",
    "dead_letter_records",
)
TIMES: Final = {
    "first_at": "first_ms",
    "last_at": "last_ms",
    "sent_at": "sent_ms",
    "first_delivery_at": "first_delivery_ms",
    "second_delivery_at": "second_delivery_ms",
    "last_delivery_at": "last_delivery_ms",
    "effect_at": "effect_ms",
}
"""The rows' times, and the columns in milliseconds that they come from."""

SECOND_DELIVERY: Final = (
    "CASE WHEN deliveries = 2 THEN last_delivery_ms "
    "WHEN deliveries = 3 THEN sum_ms - first_delivery_ms - last_delivery_ms END"
)
EFFECTS: Final = (
    "CASE WHEN effect_records = 0 THEN 0 WHEN effect_low = effect_high THEN 1 "
    "ELSE effect_records END"
)


def joined(newest_ms: int) -> str:
    """The whole answer: five aggregates, joined on the message id."""
    of_streams = ", ".join(f"{stream}_of AS ({text})" for stream, text in AGGREGATES.items())
    counts = ", ".join(f"coalesce({name}, 0) AS {name}" for name in COUNTS)
    return f"""
WITH {of_streams},
joined AS (
    SELECT message_id, {counts},
        least(s.first_ms, d.first_ms, e.first_ms, f.first_ms, l.first_ms) AS first_ms,
        greatest(s.last_ms, d.last_ms, e.last_ms, f.last_ms, l.last_ms) AS last_ms,
        s.first_ms AS sent_ms, d.first_ms AS first_delivery_ms, d.last_ms AS last_delivery_ms,
        d.sum_ms AS sum_ms, f.first_ms AS effect_ms,
        coalesce(d.low <> d.high, false) AS contents_differ,
        f.low AS effect_low, f.high AS effect_high,
        coalesce(e.state % 8, -1) AS run, coalesce(l.state % 8, -1) AS letter
    FROM sent_of s
    FULL JOIN deliveries_of d USING (message_id)
    FULL JOIN executions_of e USING (message_id)
    FULL JOIN effects_of f USING (message_id)
    FULL JOIN dead_letters_of l USING (message_id)
),
counted AS (
    SELECT *, {SECOND_DELIVERY} AS second_delivery_ms, {EFFECTS} AS effects FROM joined
)
SELECT message_id, {verdict(newest_ms)} AS verdict, effects, {", ".join(COUNTS)},
    {", ".join(f"timestamp_millis({column}) AS {name}" for name, column in TIMES.items())}
FROM counted"""
