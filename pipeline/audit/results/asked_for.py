"""Why messages asked a person: was it bad weather that outlasted the patience, or the message?"""

from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame

from pipeline.audit.reading.streams import Code
from pipeline.audit.sql import worked_out

REASONS: Final = (
    "not_performed",
    "throttled",
    "outcome_unknown",
    "rounds_used_up",
    "rejected",
    "other",
)
"""A dead letter's reasons, with throttling apart, which it calls `not_performed` too; `other` is a
reason that this version does not know."""

_THROTTLED: Final = "posted not_performed Lambda.TooManyRequestsException"


def asked_for(
    messages: DataFrame, asked: int, dead_letters: Callable[[], DataFrame]
) -> dict[str, int]:
    """How many messages asked a person for each reason; only what there is.

    A message that asked for two reasons counts for both, one that asked twice for one of them once.

    Args:
        messages: as `messages/` holds them.
        asked: how many records of dead letters they have.
        dead_letters: makes these records; called only if there are any.
    """
    if not asked:
        return {}
    known = (reason for reason in REASONS if reason not in {"throttled", "other"})
    cases = [(_THROTTLED, "throttled"), *((f"posted {name}", name) for name in known)]
    when = " ".join(f"WHEN startswith(what, '{said}') THEN '{name}'" for said, name in cases)
    counted = (
        worked_out(dead_letters(), "message_id", "code", "what")
        .where(f"code = {int(Code.POSTED)}")
        .join(
            messages.where("dead_letter_records > 0").select("message_id"),
            on="message_id",
            how="inner",
        )
        .selectExpr("message_id", f"CASE {when} ELSE 'other' END AS reason")
        .distinct()
        .groupBy("reason")
        .count()
    )
    found = {row["reason"]: row["count"] for row in counted.collect()}
    return {reason: found[reason] for reason in REASONS if reason in found}
