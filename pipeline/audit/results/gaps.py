"""How long after a message's first delivery its duplicates come."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame

from pipeline.audit.reading.streams import Code

BUCKETS: Final = (1, 10, 60, 300, 3600, 86_400, 14 * 86_400, 90 * 86_400, None)
"""Upper ends in seconds; None: longer. 300 is a FIFO queue's window, 14 days a queue's longest
retention, 90 days how long Step Functions remembers a name."""


def gap_columns() -> dict[str, str]:
    """Aggregates over messages, as `gaps` reads them: one pass serves all numbers of a page.

    Of up to three deliveries a message tells all times itself; of more they are looked up.
    """
    first = "unix_millis(first_delivery_at)"
    last = _bucket(f"unix_millis(last_delivery_at) - {first}")
    second = _bucket(f"unix_millis(second_delivery_at) - {first}")
    return {
        "often": "count_if(deliveries > 3)",
        **{
            f"gap_{index}": f"count_if(deliveries BETWEEN 2 AND 3 AND {last} = {index}) "
            f"+ count_if(deliveries = 3 AND {second} = {index})"
            for index in range(len(BUCKETS))
        },
    }


def gaps(
    messages: DataFrame, counted: Mapping[str, Any], deliveries: Callable[[], DataFrame]
) -> dict[str, Any]:
    """The distribution; a duplicate is any delivery of a message but its first.

    Args:
        messages: as `messages/` holds them.
        counted: the values of `gap_columns` over them.
        deliveries: makes the records of deliveries; called only if a message came more than three
            times.
    """
    counts = {index: counted.get(f"gap_{index}", 0) for index in range(len(BUCKETS))}
    if counted.get("often"):
        often = messages.where("deliveries > 3").selectExpr(
            "message_id", "unix_millis(first_delivery_at) AS first"
        )
        after = (
            deliveries()
            .where(f"code BETWEEN {int(Code.STARTED)} AND {int(Code.REFUSED_OTHER_MEMORY)}")
            .join(often, on="message_id", how="inner")
            .selectExpr(f"{_bucket('at - first')} AS bucket")
        )
        for row in after.groupBy("bucket").count().collect():
            counts[row["bucket"]] += row["count"]
        # Each message's first delivery has come along, at a gap of 0.
        counts[0] -= counted["often"]
    return _summary(counts)


def _bucket(gap: str) -> str:
    """Which of `BUCKETS` a gap in ms is in; null, if it is. SQL, as the gap."""
    above = (f"CAST({gap} > {end * 1000} AS int)" for end in BUCKETS if end is not None)
    return f"({' + '.join(above)})"


def _summary(counts: dict[int, int]) -> dict[str, Any]:
    total = sum(counts.values())

    def within(seconds: int) -> float | None:
        if not total:
            return None
        return sum(counts.get(i, 0) for i in range(BUCKETS.index(seconds) + 1)) / total

    return {
        "duplicates": total,
        "buckets": [
            {"up_to_seconds": end, "duplicates": counts.get(index, 0)}
            for index, end in enumerate(BUCKETS)
        ],
        "within_5_minutes": within(300),
        "within_14_days": within(14 * 86_400),
        "within_90_days": within(90 * 86_400),
    }
