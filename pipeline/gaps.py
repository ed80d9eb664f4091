"""How long after a message's first delivery its duplicates come."""

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.streams import Code

BUCKETS: Final = (1, 10, 60, 300, 3600, 86_400, 14 * 86_400, 90 * 86_400, None)
"""Upper ends in seconds; None: longer. 300 is a FIFO queue's window, 14 days a queue's longest
retention, 90 days how long Step Functions remembers a name."""


def gaps(messages: DataFrame, rows: DataFrame) -> dict[str, Any]:
    """The distribution; a duplicate is any delivery of a message but its first.

    Args:
        messages: as `messages/` holds them.
        rows: all records; read only if a message came more than three times.
    """
    first = F.unix_millis("first_delivery_at")
    often = messages.where(F.col("deliveries") > 3).select(
        "message_id",
        F.unix_millis("first_delivery_at").alias("first"),
    )
    gap = messages.where(F.col("deliveries").between(2, 3)).select(
        F.explode(
            F.when(
                F.col("deliveries") == 2,
                F.array(F.unix_millis("last_delivery_at") - first),
            ).otherwise(
                F.array(
                    F.unix_millis("second_delivery_at") - first,
                    F.unix_millis("last_delivery_at") - first,
                )
            )
        ).alias("gap")
    )
    counts = _counted(gap)
    if not often.isEmpty():
        delivered = F.col("code").between(int(Code.STARTED), int(Code.REFUSED_NOT_STARTABLE))
        after = (
            # Named by its stream, so that Spark leaves the others' files alone.
            rows.where((F.col("stream") == "deliveries") & delivered)
            .where(F.col("message_id").isNotNull())
            .select("message_id", "at")
            .join(often, on="message_id", how="inner")
            .select((F.col("at") - F.col("first")).alias("gap"))
        )
        for bucket, count in _counted(after).items():
            counts[bucket] = counts.get(bucket, 0) + count
        # Each message's first delivery has come along, at a gap of 0.
        counts[0] = counts.get(0, 0) - often.count()
    return _summary(counts)


def _counted(gap: DataFrame) -> dict[int, int]:
    bucket = F.lit(len(BUCKETS) - 1)
    for index in reversed(range(len(BUCKETS) - 1)):
        bucket = F.when(F.col("gap") <= F.lit(BUCKETS[index]) * 1000, index).otherwise(bucket)
    return {
        row["bucket"]: row["count"] for row in gap.groupBy(bucket.alias("bucket")).count().collect()
    }


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
