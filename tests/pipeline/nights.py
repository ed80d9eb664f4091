"""Audits, and what they say."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from actonce_pipeline.audit.job import audit
from actonce_pipeline.audit.request import Request, parser
from tests.pipeline.streams_on_disk import EFFECTS

Row = dict[str, Any]


class Killed(BaseException):
    """As the end of the process: nothing catches it."""


def requested(records: str, **options: Any) -> Request:
    """What the options of a command line ask for, and what no option of the job's says."""
    if day := options.pop("day", None):
        options |= {"since": day, "until": day}
    beyond = {name: options.pop(name) for name in ("as_of",) if name in options}
    words = [records]
    for name, value in options.items():
        option = "--from" if name == "since" else f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    return replace(Request.of(parser().parse_args(words)), **beyond)


def audited(spark: SparkSession, root: Path, out: Path | str | None = None, **options: Any) -> Row:
    """The summary of an audit."""
    options = {"effects": EFFECTS} | options
    return audit(spark, requested(str(root), out=None if out is None else str(out), **options))


def rows_of(out: Path, since: date = date.min) -> list[Row]:
    """Each row of each day that the results hold, from a day on."""
    if not list((out / "messages").rglob("*.parquet")):
        return []
    rows = ds.dataset(out / "messages", partitioning="hive").to_table().to_pylist()
    rows = [row for row in rows if date.fromisoformat(str(row["day"])) >= since]
    return sorted(rows, key=lambda row: (str(row["day"]), row["message_id"]))


def verdicts_of(out: Path) -> dict[str, str]:
    """Each message's verdict in the results."""
    return {row["message_id"]: row["verdict"] for row in rows_of(out)}


def judgements_of(out: Path) -> dict[str, tuple[str, bool]]:
    """Each message's verdict in the results, and whether it is certain."""
    return {row["message_id"]: (row["verdict"], row["judged"]) for row in rows_of(out)}


def comparable(summary: Row) -> Row:
    """What an audit says of the records; beside when it was made, and of what it made use."""
    beside = {"generated_at", "read", "run", "is_news"}
    return {name: value for name, value in summary.items() if name not in beside}
