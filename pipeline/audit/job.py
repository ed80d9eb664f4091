"""The audit: from the records that each part wrote on its own, what happened to each message.

    python -m pipeline.audit RECORDS [--day D | --from D --to D] [--out DIR] [--json]
    spark-submit pipeline/audit/__main__.py RECORDS ...
    SPARK_REMOTE=sc://host python -m pipeline.audit RECORDS ...

A message belongs to the UTC day of its first record. The days asked for are judged by all records
below RECORDS, so that a duplicate of an old message is not taken for a new one; see `--reach`.

Exit status: 0, every message is accounted for and none was acted on twice; 1, alarms, or something
that could not be read or judged; 2, wrong use or nothing to audit.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.types import ArrayType

from pipeline.audit import summary
from pipeline.audit.gaps import gap_columns, gaps
from pipeline.audit.layout import Listing, as_argument, is_small, list_records, readable
from pipeline.audit.quarantine import quarantine
from pipeline.audit.reading import before, is_unreadable, narrow, records, without_broken
from pipeline.audit.results import days_held, empty_days, write_days, write_json
from pipeline.audit.sql import columns
from pipeline.audit.streams import STREAMS
from pipeline.audit.verdicts import ALARMS, VERDICTS, Coverage, judged, per_message
from pipeline.errors import CannotAudit
from pipeline.session import configured, spark_session
from pipeline.visible import guard_standard_streams, json_text

VERSION = 1
"""Of summary.json's form."""
GRACE = timedelta(minutes=15)
_INTERNAL = ("touched", "failed", "quarantined")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        records: the root of the streams.
        out: where the results go.
        since: first day to judge; None: all days that there are.
        until: last day to judge; None with `since`.
        as_of: later records are left out, and silence is measured against this moment; None: all
            records, and when the newest file was written, but not after the last day that there is.
        grace: how long a message without an end is in flight, not lost.
        reach: how many days before `since` records are read from; None: all.
    """

    records: str
    out: str
    since: date | None = None
    until: date | None = None
    as_of: datetime | None = None
    grace: timedelta = GRACE
    reach: int | None = None


def requested(
    records: str,
    *,
    day: str | None = None,
    since: str | None = None,
    until: str | None = None,
    out: str | None = None,
    as_of: str | None = None,
    grace: float = GRACE.total_seconds(),
    reach: int | None = None,
) -> Request:
    """What a command line asks for; `grace` in seconds.

    Raises:
        CannotAudit: it cannot be asked for.
    """
    if day is not None:
        if since is not None or until is not None:
            raise CannotAudit("--day and --from/--to exclude each other: leave one of them out.")
        since = until = day
    if (since is None) != (until is None):
        raise CannotAudit("--from and --to belong together: give both, or --day.")
    try:
        first = None if since is None else date.fromisoformat(since)
        last = None if until is None else date.fromisoformat(until)
        moment = None if as_of is None else datetime.fromisoformat(as_of)
    except ValueError as error:
        raise CannotAudit(f"{error}: write a day as YYYY-MM-DD, a time as ISO 8601.") from error
    if first is not None and last is not None and first > last:
        raise CannotAudit(f"--from {first} is after --to {last}: exchange them.")
    if moment is not None and moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Request(
        records,
        out or records.rstrip("/") + "/audit",
        first,
        last,
        moment,
        timedelta(seconds=grace),
        reach,
    )


def audit(spark: SparkSession, request: Request) -> dict[str, Any]:
    """Judge, write the results, and return the summary.

    Raises:
        CannotAudit: there is nothing to audit, or something that no result can leave out.
    """
    configured(spark)
    listing = _listing(spark, request)
    try:
        return _audited(spark, request, listing)
    except (PySparkException, Py4JJavaError) as error:
        if not is_unreadable(error):
            raise
        return _audited(spark, request, without_broken(spark, listing, error))


def _listing(spark: SparkSession, request: Request) -> Listing:
    out = readable(request.out).rstrip("/") + "/"
    listing = list_records(spark, request.records, ignore=(out,))
    if request.since is None or request.reach is None:
        return listing
    oldest = request.since - timedelta(days=request.reach)
    files = tuple(file for file in listing.files if file.day >= oldest)
    if not files:
        raise CannotAudit(f"Nothing to audit in {request.records} since {oldest}.")
    return Listing(files, listing.unread, listing.modified)


def message_rows(rows: DataFrame, request: Request, listing: Listing) -> DataFrame:
    """The whole judgement as one plan with one shuffle: records in, a row per message id out."""
    since, until = _span(request, listing)
    span = (_midnight(since), _midnight(until + timedelta(days=1)))
    coverage = Coverage.of(listing.days(), {name: listing.days_of(name) for name in STREAMS})
    grace_ms = int(request.grace.total_seconds() * 1000)
    numbers = per_message(narrow(rows, request.since, request.until), span)
    return judged(numbers, coverage, _as_of(request, listing), grace_ms)


def _audited(spark: SparkSession, request: Request, listing: Listing) -> dict[str, Any]:
    rows = _until(records(spark, listing.files), request.as_of)
    judgement = message_rows(rows, request, listing)
    since, until = _span(request, listing)
    in_range = F.lit(True) if request.since is None else F.col("day").between(since, until)
    seen = Observation()
    unattributed = F.col("message_id").isNull()
    late = ~unattributed & F.col("touched") & ~in_range
    observed = judgement.observe(
        seen,
        F.coalesce(F.sum(F.when(unattributed, F.col("failed"))), F.lit(0)).alias("failed"),
        F.coalesce(F.sum("quarantined"), F.lit(0)).alias("quarantined"),
        _days_where(~unattributed & in_range).alias("days"),
        _days_where(late).alias("late_days"),
        _days_where(late & F.col("verdict").isin(*ALARMS)).alias("late_alarms"),
    )
    folder = f"{request.out}/messages"
    held = days_held(spark, folder)
    messages = observed.where(F.col("message_id").isNotNull() & in_range).drop(*_INTERNAL)
    write_days(messages, folder, whole=request.since is None, schema=judgement.schema)
    told = seen.get
    if request.since is not None:
        gone = {day for day in held if since <= day <= until} - _dates(told["days"])
        empty_days(folder, messages, gone)
        empty_days(f"{request.out}/days", summary.by_day(messages), gone)
    messages = _written(spark, folder, messages, in_range)
    by_day = summary.by_day(messages)
    day_rows = sorted((row.asDict() for row in by_day.collect()), key=itemgetter("day"))
    # As JSON: rows of Python's would start a Python worker to be taken apart.
    told_days = F.from_json(F.lit(json.dumps(day_rows, default=str)), ArrayType(by_day.schema))
    write_days(
        spark.range(1).select(F.inline(told_days)),
        f"{request.out}/days",
        whole=request.since is None,
    )
    of_all = gap_columns() | summary.latency_columns()
    numbers = messages.agg(*columns(of_all)).collect()[0].asDict()
    asked = tuple(
        file for file in listing.files if request.since is None or since <= file.day <= until
    )
    bad = quarantine(spark, listing, asked, told["quarantined"], f"{request.out}/quarantine")
    verdicts = {name: sum(row[name] for row in day_rows) for name in VERDICTS}
    alarms_total = sum(verdicts[name] for name in ALARMS)
    unjudged = sum(row["unjudged"] for row in day_rows)
    days = summary.days_told(day_rows, listing)
    late_alarms = [day.isoformat() for day in sorted(_dates(told["late_alarms"]))]
    result = {
        "version": VERSION,
        "from": since.isoformat(),
        "to": until.isoformat(),
        "generated_at": datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
        "sentence": summary.sentence(verdicts, unjudged, bad.lines, late_alarms),
        "exit_status": int(bool(alarms_total or unjudged or bad.lines or late_alarms)),
        "messages": sum(verdicts.values()),
        "totals": summary.totals(day_rows, listing, told["failed"]),
        "verdicts": verdicts,
        "days": days,
        "gaps": gaps(messages, numbers, lambda: _deliveries(spark, request, listing)),
        "latency": summary.latency(numbers),
        "alarms": summary.alarms(messages, rows) if alarms_total else [],
        "alarms_total": alarms_total,
        "quarantine": {
            "lines": bad.lines,
            "by_reason": bad.by_reason,
            "examples": bad.examples,
        },
        "cannot_judge": [sentence for day in days for sentence in day["cannot_judge"]],
        "late_days": [day.isoformat() for day in sorted(_dates(told["late_days"]))],
        "late_alarms": late_alarms,
    }
    write_json(spark, f"{request.out}/summary.json", result)
    return result


def _deliveries(spark: SparkSession, request: Request, listing: Listing) -> DataFrame:
    files = tuple(file for file in listing.files if file.stream == "deliveries")
    return _until(records(spark, files, located=False), request.as_of)


def _until(rows: DataFrame, as_of: datetime | None) -> DataFrame:
    return rows if as_of is None else before(rows, int(as_of.timestamp() * 1000))


def _span(request: Request, listing: Listing) -> tuple[date, date]:
    if request.since is not None and request.until is not None:
        return request.since, request.until
    days = listing.days()
    return min(days), max(days)


def _as_of(request: Request, listing: Listing) -> int:
    if request.as_of is not None:
        return int(request.as_of.timestamp() * 1000)
    last = _midnight(max(listing.days()) + timedelta(days=1))
    return min(last, int(listing.modified.timestamp() * 1000))


def _days_where(condition: Column) -> Column:
    return F.concat_ws(" ", F.collect_set(F.when(condition, F.col("day").cast("string"))))


def _dates(text: str) -> set[date]:
    return {date.fromisoformat(day) for day in text.split()}


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _written(spark: SparkSession, folder: str, schema_of: DataFrame, in_range: Column) -> DataFrame:
    """The messages as they were written, so that nothing is judged twice."""
    schema = schema_of.schema
    reader = spark.read.schema(schema).option("basePath", folder)
    return reader.parquet(as_argument(folder)).where(in_range)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the audit from a command line; see the module for the exit status."""
    guard_standard_streams()
    arguments = _parser().parse_args(argv)
    try:
        request = requested(
            arguments.records,
            day=arguments.day,
            since=arguments.since,
            until=arguments.until,
            out=arguments.out,
            as_of=arguments.as_of,
            grace=arguments.grace,
            reach=arguments.reach,
        )
        result = audit(spark_session("actonce-audit", brief=is_small(request.records)), request)
    except CannotAudit as error:
        sys.stderr.write(f"audit: {error}\n")
        return 2
    if arguments.json:
        sys.stdout.write(json_text(result) + "\n")
    else:
        sys.stdout.write(result["sentence"] + "\n")
    return int(result["exit_status"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.audit", description="Say what happened to each message."
    )
    parser.add_argument("records", metavar="RECORDS", help="the root of the streams")
    parser.add_argument("--day", metavar="D", help="judge one UTC day, YYYY-MM-DD")
    parser.add_argument("--from", dest="since", metavar="D", help="first day to judge")
    parser.add_argument("--to", dest="until", metavar="D", help="last day to judge")
    parser.add_argument("--out", metavar="DIR", help="where the results go (RECORDS/audit)")
    parser.add_argument(
        "--as-of", metavar="TIME", help="judge by the records before this moment, ISO 8601"
    )
    parser.add_argument(
        "--grace", metavar="SECONDS", type=float, default=GRACE.total_seconds(),
        help="a message without an end is in flight for so long, then lost (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--reach", metavar="DAYS", type=int, help="read records of so many days before"
    )
    parser.add_argument("--json", action="store_true", help="print the summary")
    return parser
