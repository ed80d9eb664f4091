"""Which of the kept rows a judgement of some days needs: all of the messages that they touch.

A message that no record of these days is of is not judged, so its rows need not be looked at but
to see that. They are looked for by 64 bits of the id: another message with the same ones comes
along, and changes nothing; none is passed over.
"""

import re
from datetime import date
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.kept_rows import NAMELESS
from pipeline.audit.layout import DAY

Span = tuple[int, int]
"""From and until (ms, exclusive)."""
_MOST_PER_GIGABYTE: Final = 4_000_000
"""Messages to look for: each costs some 64 bytes in every process."""
MANY_ROWS: Final = 5_000_000
"""So many are looked through in two columns first: the other fourteen cost two thirds of it all,
and an old day mostly has no row of a message that is judged. For fewer a further job costs as much.
"""


def may_be_looked_for(messages: int, heap: str) -> bool:
    """Whether so many messages can be looked for in other days; if not, all rows are judged.

    Args:
        messages: how many.
        heap: of Spark's driver, as `spark.driver.memory` has it.
    """
    units = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
    told = re.fullmatch(r"(\d+)([kmgt])b?", heap.strip().lower())
    size = int(told[1]) * units[told[2]] if told else 2**30
    return messages <= _MOST_PER_GIGABYTE * size / 2**30


def touched_hashes(inside: DataFrame, outside: DataFrame, span: Span) -> DataFrame:
    """The hash of every message that `per_message` may find touched; one column.

    Args:
        inside: the rows of the folders of the days judged: each may touch, for it may be late.
        outside: the rows of other folders.
        span: of the days judged.
    """
    elsewhere = outside.where(f"at BETWEEN {span[0]} AND {span[1] - 1}")
    named = inside.select("id_hash", "message_id").union(elsewhere.select("id_hash", "message_id"))
    return named.where("message_id IS NOT NULL").select("id_hash").distinct()


def is_worth_a_look(rows: int) -> bool:
    """Whether to ask first which days have any of the rows that are needed; see `days_of`."""
    return rows >= MANY_ROWS


def days_of(hashes: DataFrame, rows: DataFrame) -> frozenset[date]:
    """The days in whose folders these messages, or others with their hash, have rows."""
    found = _matching(rows.select("id_hash", "file"), "id_hash", hashes)
    days = found.selectExpr(f"{DAY} AS day").distinct().collect()
    return frozenset(date.fromisoformat(row["day"]) for row in days)


def with_other_names(touched: DataFrame, rows: DataFrame) -> DataFrame:
    """The hashes of all that goes into the touched messages, under whatever name.

    Touched is also a message that is known by a name that is touched, and then its other names are;
    see `reading.with_known_ids`.

    Args:
        touched: see `touched_hashes`.
        rows: all rows.
    """
    known = [
        _matching(rows, column, touched).select("id_hash") for column in ("sqs_hash", "sha_hash")
    ]
    messages = touched.union(known[0]).union(known[1]).distinct()
    names = _matching(rows, "id_hash", messages).selectExpr(
        "inline(array(struct(sqs_hash AS id_hash), struct(sha_hash AS id_hash)))"
    )
    return messages.union(names.where("id_hash IS NOT NULL")).distinct()


def rows_of(hashes: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows of these messages, and those of no id."""
    return _matching(rows, "id_hash", _and_of_no_id(hashes))


def rows_of_any_name(hashes: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows of these messages and of no id, and those by which a name stands for another one.

    A name of two messages stands for neither.
    """
    hashes = _and_of_no_id(hashes)
    columns = ("id_hash", "sqs_hash", "sha_hash")
    found, names = rows, rows.columns
    for column in columns:
        asked = F.broadcast(hashes.selectExpr(f"id_hash AS asked_{column}"))
        found = found.join(asked, on=F.col(column) == F.col(f"asked_{column}"), how="left")
    return found.where(" OR ".join(f"asked_{column} IS NOT NULL" for column in columns)).select(
        *names
    )


def _and_of_no_id(hashes: DataFrame) -> DataFrame:
    nobody = hashes.sparkSession.range(1).selectExpr(f"CAST({NAMELESS} AS bigint) AS id_hash")
    return hashes.union(nobody)


def _matching(rows: DataFrame, column: str, hashes: DataFrame) -> DataFrame:
    asked = F.broadcast(hashes.selectExpr("id_hash AS asked"))
    return rows.join(asked, on=F.col(column) == F.col("asked"), how="left_semi")
