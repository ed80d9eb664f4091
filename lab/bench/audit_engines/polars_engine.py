"""Polars: lazy, an aggregate per stream, joined."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

from lab.bench.audit_engines import rules
from lab.bench.audit_engines.task import STREAMS, Run, Task


@contextmanager
def polars(task: Task) -> Iterator[Run]:
    """The same answer from the same files."""
    os.environ["POLARS_MAX_THREADS"] = str(task.cores)
    import polars as pl  # noqa: PLC0415 - reads its threads when it is imported

    ms = pl.col("at").dt.timestamp("ms")
    ended = pl.col("end")
    accepted = pl.col("fingerprint").filter(ended != "refused")
    told = {
        "sent": [pl.len().alias("sent"), ms.min().alias("sent_ms")],
        "deliveries": [
            pl.len().alias("deliveries"),
            (ended == "started").sum().alias("started"),
            (ended == "suppressed").sum().alias("suppressed"),
            *(
                ((ended == "refused") & (pl.col("reason") == reason))
                .sum()
                .alias(f"refused_{reason}")
                for reason in rules.REASONS
            ),
            ms.min().alias("first_delivery_ms"),
            ms.max().alias("last_delivery_ms"),
            ms.sum().alias("sum_ms"),
            (accepted.min() != accepted.max()).alias("contents_differ"),
        ],
        "executions": [
            pl.len().alias("execution_records"),
            (ms * 8 + pl.sql_expr(rules.EXECUTION_RANK)).max().alias("run"),
        ],
        "effects": [
            pl.len().alias("effect_records"),
            ms.min().alias("effect_ms"),
            pl.col("appointment_id").min().alias("effect_low"),
            pl.col("appointment_id").max().alias("effect_high"),
        ],
        "dead_letters": [
            pl.len().alias("dead_letter_records"),
            (ms * 8 + pl.sql_expr(rules.DEAD_LETTER_RANK)).max().alias("letter"),
        ],
    }

    def of(stream: str) -> pl.LazyFrame:
        rows = pl.scan_parquet(task.files(stream))
        if stream == "deliveries":
            rows = rows.filter(ended != "failed")
        return rows.group_by("message_id").agg(
            ms.min().alias(f"{stream}_first"), ms.max().alias(f"{stream}_last"), *told[stream]
        )

    def run(out: Path) -> None:
        out.mkdir(parents=True)
        joined = reduce(
            lambda one, other: one.join(other, on="message_id", how="full", coalesce=True),
            [of(stream) for stream in STREAMS],
        )
        rows = (
            joined.with_columns(
                *(pl.col(name).fill_null(0).cast(pl.Int64) for name in rules.COUNTS),
                *(pl.col(name).mod(8).fill_null(-1) for name in ("run", "letter")),
                pl.col("contents_differ").fill_null(value=False),
                pl.min_horizontal(*(f"{stream}_first" for stream in STREAMS)).alias("first_ms"),
                pl.max_horizontal(*(f"{stream}_last" for stream in STREAMS)).alias("last_ms"),
            )
            .with_columns(
                pl.sql_expr(rules.SECOND_DELIVERY).alias("second_delivery_ms"),
                pl.sql_expr(rules.EFFECTS).alias("effects"),
            )
            .select(
                "message_id",
                pl.sql_expr(rules.verdict(task.newest_ms)).alias("verdict"),
                "effects",
                *rules.COUNTS,
                *(pl.from_epoch(column, "ms").alias(name) for name, column in rules.TIMES.items()),
            )
        )
        rows.sink_parquet(out / "rows.parquet", compression="snappy")

    yield run
