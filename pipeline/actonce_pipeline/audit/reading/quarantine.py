"""Lines that are no records: where each is, and why."""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from actonce_pipeline.audit.reading.listing import Listing
from actonce_pipeline.audit.reading.storage import is_uri, readable
from actonce_pipeline.audit.reading.streams import HASHED_IDS, STREAMS

MAX_EXAMPLES = 100
_OF_ANOTHER: Final = frozenset({"not_a_record", "missing_field", "unknown_value", "wrong_type"})
"""Reasons for which a line may be one of another stream, put into the wrong folder."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """What was not read.

    Attributes:
        by_reason: how many lines and files, by the reason.
        examples: the first of them.
        days: of each stream, the days of which something may not have been read.
    """

    by_reason: dict[str, int] = field(default_factory=dict)
    examples: list[dict[str, Any]] = field(default_factory=list)
    days: dict[str, frozenset[date]] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """How many there are."""
        return sum(self.by_reason.values())


def quarantine(
    spark: SparkSession, listing: Listing, bad: DataFrame | None, since: date | None, folder: str
) -> Quarantine:
    """What is not read; where each such line is, is written to `folder`, and not what it says.

    Args:
        listing: what is unread of it from `since` on, or in no stream's day, counts.
        bad: the lines that are no records, as `row.COLUMNS` has them; None: there is none,
            and none of an earlier run stays behind.
    """
    unread = [one for one in listing.unread if since is None or one.day is None or one.day >= since]
    by_reason: dict[str, int] = {}
    days: dict[str, set[date]] = {stream: set() for stream in (*STREAMS, HASHED_IDS)}
    for one in unread:
        by_reason[one.reason] = by_reason.get(one.reason, 0) + 1
        for stream in (one.stream,) if one.stream else STREAMS:
            days[stream] |= {one.day} if one.day else listing.days()
    examples = [{"file": readable(one.path), "line": None, "reason": one.reason} for one in unread]
    if bad is not None:
        places = bad.selectExpr("file", "line", "problem AS reason")
        places.write.mode("overwrite").json(folder)
        for row in bad.groupBy("problem", "stream", "folder").count().collect():
            reason = row["problem"]
            by_reason[reason] = by_reason.get(reason, 0) + row["count"]
            of = HASHED_IDS if reason == "hashed_id" else row["stream"]
            for stream in STREAMS if reason in _OF_ANOTHER else (of,):
                days[stream].add(date.fromisoformat(row["folder"]))
        examples += [
            row.asDict() | {"file": readable(row["file"])}
            for row in places.orderBy("file", "line").limit(MAX_EXAMPLES).collect()
        ]
    elif is_uri(folder) or Path(folder).exists():
        spark.range(0).write.mode("overwrite").json(folder)
    unsure = {stream: frozenset(which) for stream, which in days.items() if which}
    return Quarantine(by_reason, examples[:MAX_EXAMPLES], unsure)
