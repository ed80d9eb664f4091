"""The audit: from the records that each part wrote on its own, what happened to each message.

    python -m actonce_pipeline.audit RECORDS [--from D --until D] [--out DIR]
    spark-submit pipeline/actonce_pipeline/audit/__main__.py RECORDS ...

A message belongs to the UTC day of its first record. The days asked for are judged by the records
of `REACH` before them, too, so that a duplicate of an old message is not taken for a new one.

Exit status: see `Status`.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from operator import itemgetter
from typing import Any, Final, TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.cache import Cache, DayCounts
from actonce_pipeline.audit.horizon import Horizon, horizon_of
from actonce_pipeline.audit.judging.verdict_names import ALARMS, VERDICTS
from actonce_pipeline.audit.judging.verdicts import Coverage, per_message, with_verdicts
from actonce_pipeline.audit.reading.events import is_of, narrow, of_messages
from actonce_pipeline.audit.reading.listing import Listing, list_records
from actonce_pipeline.audit.reading.quarantine import Quarantine, quarantine
from actonce_pipeline.audit.reading.row import KINDS
from actonce_pipeline.audit.reading.storage import alone_in, as_argument, first_line, is_uri, place
from actonce_pipeline.audit.request import Request, Status, parser
from actonce_pipeline.audit.results import summary
from actonce_pipeline.audit.results.summary import Findings
from actonce_pipeline.audit.results.tables import CACHE, empty_days, refuse_others, write_days
from actonce_pipeline.audit.times import (
    DAY_MS,
    Interval,
    all_days,
    as_text,
    end_of,
    midnight,
    now_ms,
)
from actonce_pipeline.errors import CannotAudit
from actonce_pipeline.spark.session import spark_session

VERSION = 2
"""Of summary.json's form."""
REACH: Final = timedelta(days=100)
"""Step Functions remembers the name of an execution for 90 days after its end."""
INTERNAL: Final = ("touched", "unrepeatable")
"""Columns of the judgement that `messages/` does not hold."""
_MOST_TOLD: Final = 200
_MOST_LOOKED_FOR: Final = 25_000_000
"""Rows in the days that are judged, of some four million messages: each that is looked for in other
days costs some 64 bytes in every process."""


def audit(spark: SparkSession, request: Request) -> dict[str, Any]:
    """Judge, write the results, and return the summary.

    Raises:
        CannotAudit: there is nothing to audit, or the audit did not come to its end.
    """
    request = replace(request, out=_absolute(request.out))
    try:
        listing = _within_reach(request, list_records(spark, request.records, request.out))
        span = request.days or (min(listing.days()), max(listing.days()))
        refuse_others(spark, request.out)
        with alone_in(request.out):
            last_alarms = _begin(spark, request)
            try:
                cache = Cache(spark, request.out, request.from_raw, request.effects)
                cache.bring_up_to_date(
                    listing, lambda: list_records(spark, request.records, request.out)
                )
                _check_one_stack(
                    cache, all_days(*request.days) if request.days else sorted(cache.days)
                )
                counts = [manifest.counts for manifest in cache.days.values()]
                horizon = horizon_of(request, listing, counts)
                _check_effects_have_times(cache, request, span, horizon)
                result = _Audit(
                    spark, request, listing, span, cache, horizon, last_alarms
                ).summary()
                _write_summary(spark, request, result)
                cache.close(_over(span, horizon))
            except CannotAudit as error:
                _write_summary(
                    spark, request, _head(request, str(error), Status.NOT_AUDITED, last_alarms)
                )
                raise
            return result
    except (PySparkException, Py4JError) as error:
        sentence = f"The audit did not come to its end: {first_line(error)}"
        if f"/{CACHE}/rows/" in str(error):
            sentence += " (the cache cannot be read: --from-raw reads the records again)"
        raise CannotAudit(sentence) from error
    except OSError as error:
        raise CannotAudit(f"The audit did not come to its end: {error}") from error


def _begin(spark: SparkSession, request: Request) -> Any:
    """Put the last result away: a run that does not end leaves no clean one behind.

    Returns:
        `told` of the last summary, which stays until a run has come to its end.
    """
    out = place(spark, request.out)
    try:
        last = json.loads(out.read("summary.json") or "{}")
    except ValueError:
        last = {}
    last_alarms = last.get("alarms_key") if isinstance(last, dict) else None
    sentence = f"The audit that began at {as_text(now_ms())} has not come to its end."
    out.delete("report.html")
    try:
        _write_summary(spark, request, _head(request, sentence, Status.NOT_AUDITED, last_alarms))
    except BaseException:  # no room for it; then there is none
        out.delete("summary.json")
        raise
    return last_alarms


def _head(request: Request, sentence: str, status: Status, last_alarms: Any) -> dict[str, Any]:
    """What each summary has; that of a run that has judged nothing has no more."""
    return {
        "version": VERSION,
        "run": request.run,
        "alarms_key": last_alarms,
        "exit_status": int(status),
        "sentence": sentence,
        "generated_at": as_text(now_ms()),
        "records": request.records,
    }


def _check_one_stack(cache: Cache, days: Iterable[date]) -> None:
    first_day: dict[str, date] = {}
    for day in days:
        for source in cache.days[day].counts.sources if day in cache.days else ():
            first_day.setdefault(source, day)
    for kind in KINDS:
        stacks = sorted(source for source in first_day if source.startswith(f"{kind} "))
        if len(stacks) > 1:
            first, second = (f"{stack} ({first_day[stack]})" for stack in stacks[:2])
            raise CannotAudit(
                f"The records are of two stacks, {first} and {second}: keep those of each in a "
                "folder of its own."
            )


def _check_effects_have_times(
    cache: Cache, request: Request, span: Interval, horizon: Horizon
) -> None:
    for day in all_days(*span):
        if request.effects is None or end_of(day) > horizon.over:
            return  # nothing is called missing of it, and its effects may be exported later
        of_day = cache.days[day].counts if day in cache.days else DayCounts()
        if of_day.of_others and of_day.performed and not of_day.effects:
            raise CannotAudit(
                f"Of the effects of {day} nothing has {request.effects.time} "
                f"({of_day.of_others:,} without it), while executions say that they performed "
                "some: name the attribute of the time, second of EffectsAttributes (--effects)."
            )


def _over(span: Interval, horizon: Horizon) -> Iterator[date]:
    """The days that were judged and are over.

    Of those beside one that is not over a day later only: the night brings more files.
    """
    since, until = span
    delay = 0 if end_of(until) <= horizon.over else DAY_MS
    return (day for day in all_days(since, until) if end_of(day) + delay <= horizon.over)


def _write_summary(spark: SparkSession, request: Request, summary: dict[str, Any]) -> None:
    text = json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
    place(spark, request.out).write("summary.json", text)


def _within_reach(request: Request, listing: Listing) -> Listing:
    if request.days is None:
        return listing
    oldest = request.days[0] - REACH
    files = tuple(file for file in listing.files if file.day >= oldest)
    if not files:
        raise CannotAudit(f"Nothing to audit in {request.records} since {oldest}.")
    return replace(listing, files=files, since=oldest)


def message_rows(
    rows: DataFrame,
    request: Request,
    listing: Listing,
    horizon: Horizon,
    unread: Mapping[str, frozenset[date]] | None = None,
) -> DataFrame:
    """The whole judgement as one plan with one shuffle: records in, a row per message id out.

    Args:
        unread: the days of each stream on which something could not be read.
    """
    coverage = Coverage.of(listing, unread or {})
    numbers = per_message(narrow(rows, request.days), request.days)
    return with_verdicts(numbers, coverage, horizon)


@dataclass(slots=True)
class _Audit:
    """One audit of what is cached.

    Attributes:
        span: the days that are judged.
        last_notified: the `alarms_key` of the last summary.
        bad: what could not be read.
    """

    spark: SparkSession
    request: Request
    listing: Listing
    span: Interval
    cache: Cache
    horizon: Horizon
    last_notified: Any = None
    bad: Quarantine = field(default_factory=Quarantine)

    def summary(self) -> dict[str, Any]:
        """Judge, then the results and their summary."""
        since = None if self.request.days is None else self.request.days[0]
        torn = [
            day
            for day, manifest in self.cache.days.items()
            if manifest.counts.quarantined and (since is None or day >= since)
        ]
        lines = self.cache.rows(torn).where("problem IS NOT NULL") if torn else None
        folder = f"{self.request.out}/quarantine"
        self.bad = quarantine(self.spark, self.listing, lines, since, folder)
        return self._results(*self._judge())

    def _rows_to_judge(self) -> DataFrame:
        """The rows of the messages that are judged, and of those that these days touch.

        Touched is a message with a record of these days, or in their folders.
        """
        rows, (since, until) = self.cache.rows(), self.span
        inside = sum(
            one.counts.rows for day, one in self.cache.days.items() if since <= day <= until
        )
        if self.request.days is None or self.request.from_raw or inside > _MOST_LOOKED_FOR:
            return rows
        # No record lies in a folder of before it happened, but for an hour by which clocks differ.
        recent = [day for day in self.cache.days if day >= since - timedelta(days=1)]
        in_folders = F.col("folder").between(since.isoformat(), until.isoformat())
        return of_messages(rows, self.cache.rows(recent).where(is_of(self.span) | in_folders))

    def _judge(self) -> tuple[DataFrame, dict[str, Any]]:
        """The messages as they were written, and what was observed of all on the way."""
        judgement = message_rows(
            self._rows_to_judge(), self.request, self.listing, self.horizon, self.bad.days
        )
        whole = self.request.days is None
        in_range = F.lit(True) if whole else F.col("day").between(*self.span)
        seen = Observation()
        unattributed = F.col("message_id").isNull()
        late = ~unattributed & F.col("touched") & ~in_range
        observed = judgement.observe(
            seen,
            F.coalesce(F.sum(F.when(unattributed, F.col("failed"))), F.lit(0)).alias("failed"),
            F.count_if(F.col("unrepeatable") & in_range).alias("unrepeatable"),
            _days_where(~unattributed & in_range).alias("days"),
            _days_where(late).alias("late_days"),
            _days_where(late & F.col("verdict").isin(*ALARMS)).alias("late_alarms"),
            _days_where(late & ~F.col("judged")).alias("late_unjudged"),
        )
        folder = f"{self.request.out}/messages"
        messages = observed.where(F.col("message_id").isNotNull() & in_range).drop(*INTERNAL)
        write_days(messages, folder, whole=whole)
        found = seen.get
        if not whole:
            there = set(map(date.fromisoformat, found["days"].split()))
            empty_days(self.spark, folder, self.span, there)
        # As they were written, so that nothing is judged twice.
        reader = self.spark.read.schema(messages.schema).option("basePath", folder)
        return reader.parquet(as_argument(folder)).where(in_range), found

    def _results(self, messages: DataFrame, observed: dict[str, Any]) -> dict[str, Any]:
        """Write everything else."""
        listing, span, over = self.listing, self.span, self.horizon.over
        counted = messages.groupBy("day").agg(*summary.numbers(over)).collect()
        days = sorted((row.asDict() for row in counted), key=itemgetter("day"))
        uncovered = summary.uncovered(listing, span, self.horizon)
        found = self._findings(days, observed, [reason for _, reason in uncovered])
        shown_days = summary.of_days(days, listing, uncovered + summary.unrecorded(listing, span))
        cannot_judge = [reason for day in shown_days for reason in day["cannot_judge"]]
        sentence = found.sentence()
        if over < end_of(span[1]):
            sentence = f"{summary.not_over(span, over, found.not_yet_judged)} {sentence}"
        alarms = self._alarms(messages) if found.alarms else []
        alarms_key = f"{int(found.status)} {summary.known_by(alarms, found.late_alarms)}"
        changed = sorted(self.cache.changed.items())
        return {
            **_head(self.request, sentence, found.status, alarms_key),
            "is_news": alarms_key != self.last_notified,
            "from": span[0].isoformat(),
            "to": span[1].isoformat(),
            "messages": sum(found.verdicts.values()),
            "totals": summary.totals(days, listing, observed["failed"]),
            "verdicts": found.verdicts,
            "days": shown_days,
            "alarms": alarms,
            "alarms_total": found.alarms,
            "quarantine": {
                "lines": found.unread,
                "by_reason": self.bad.by_reason,
                "examples": self.bad.examples,
            },
            "cannot_judge": list(dict.fromkeys([*cannot_judge, *found.unseen]))[:_MOST_TOLD],
            "late_days": sorted(observed["late_days"].split()),
            "late_alarms": found.late_alarms,
            "on_trust": found.trusted,
            "notes": summary.notes(
                self.request,
                [one.counts for day, one in self.cache.days.items() if span[0] <= day <= span[1]],
            ),
            "over_until": as_text(over) if over else None,
            "not_yet_judged": found.not_yet_judged,
            "changed": {
                "total": len(changed),
                "files": [{"file": path, "what": what} for path, what in changed[:_MOST_TOLD]],
            },
            "read": {"days_read": len(self.cache.again)},
        }

    def _findings(
        self, days: Sequence[Mapping[str, Any]], observed: Mapping[str, Any], unseen: list[str]
    ) -> Findings:
        """What was found; `unseen` are sentences that say what no witness has told."""
        late = sorted(observed["late_unjudged"].split())
        unseen += [f"{day}: messages that have late records could not be judged." for day in late]
        if self.cache.changed and not self.request.from_raw:
            unseen.insert(0, summary.changed_files(self.cache.changed))
        verdicts = {name: sum(day[name] for day in days) for name in VERDICTS}
        return Findings(
            verdicts,
            unjudged=sum(day["unjudged"] for day in days),
            not_yet_judged=sum(day["not_yet_judged"] for day in days),
            unread=self.bad.lines,
            late_alarms=sorted(observed["late_alarms"].split()),
            unseen=unseen,
            unrepeatable=observed["unrepeatable"],
        )

    def _alarms(self, messages: DataFrame) -> list[dict[str, Any]]:
        # They began in the days that are judged, so none of their records is of before.
        rows = self.cache.rows().where(F.col("at") >= midnight(self.span[0]))
        return summary.alarms(messages, rows)


def _absolute(out: str) -> str:
    out = out.rstrip("/") or "/"
    return out if is_uri(out) else os.path.abspath(out)  # noqa: PTH100 - links stay


def _days_where(condition: Column) -> Column:
    return F.concat_ws(" ", F.collect_set(F.when(condition, F.col("day").cast("string"))))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the audit from a command line, and print a line of JSON; for the exit see `Status`."""
    try:
        request = Request.of(parser().parse_args(argv))
        spark = spark_session("actonce-audit")
        result = audit(spark, request)
        found = {name: result[name] for name in ("exit_status", "sentence")}
        _print(sys.stdout, **found, summary=f"{request.out}/summary.json")
    except CannotAudit as error:
        _print(sys.stderr, audit=str(error))
        return int(Status.NOT_AUDITED)
    except Exception as error:  # noqa: BLE001 - a traceback would end with the status of an alarm
        reason = f"it did not come to its end: {type(error).__name__}: {first_line(error)}"
        _print(sys.stderr, audit=reason)
        return int(Status.NOT_AUDITED)
    return int(result["exit_status"])


def _print(file: TextIO, **fields: Any) -> None:
    """Others wrote ids and names of files: escaped, they harm no terminal; DEL is a control."""
    print(json.dumps(fields).replace("\x7f", "\\u007f"), file=file, flush=True)
