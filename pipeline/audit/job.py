"""The audit: from the records that each part wrote on its own, what happened to each message.

    python -m pipeline.audit RECORDS [--day D | --from D --until D] [--out DIR] [--json]
    spark-submit pipeline/audit/__main__.py RECORDS ...
    SPARK_REMOTE=sc://host python -m pipeline.audit RECORDS ...

A message belongs to the UTC day of its first record. The days asked for are judged by all records
below RECORDS, so that a duplicate of an old message is not taken for a new one; see `--reach`.

Exit status: see `Status`.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import Any, Final, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.cache import Cache, now_ms
from pipeline.audit.judging.verdict_names import ALARMS, VERDICTS
from pipeline.audit.judging.verdicts import UNRESOLVED, Coverage, Until, judged, per_message
from pipeline.audit.reading.all_streams import before, narrow, of_messages, with_known_ids
from pipeline.audit.reading.listing import Listing, list_records
from pipeline.audit.reading.places import (
    alone_in,
    as_argument,
    files_below,
    first_line,
    is_uri,
    place,
)
from pipeline.audit.reading.quarantine import NOTHING_UNREAD, Quarantine, quarantine
from pipeline.audit.reading.streams import STREAMS
from pipeline.audit.request import Request, Status, parser, requested
from pipeline.audit.results import summary
from pipeline.audit.results.digests import name_of
from pipeline.audit.results.tables import (
    CACHE,
    empty_days,
    refuse_others,
    write_days,
)
from pipeline.audit.sealing import Seal
from pipeline.audit.sql import columns
from pipeline.audit.watermarks import Watermarks, moment
from pipeline.errors import CannotAudit
from pipeline.spark.session import configured, spark_session
from pipeline.visible import give_up_output, guard_standard_streams, json_text

VERSION = 1
"""Of summary.json's form."""
INTERNAL: Final = ("touched", "quarantined", "unresolved", "unrepeatable")
"""Columns of the judgement that `messages/` does not hold."""
_LITTLE: Final = 128 * 2**20  # bytes; 10,000 messages are about 3 MB
"""Up to here the quick compiler costs less: 1 million events took 31 CPU s by it and 50 by both."""
_MOST_TOLD: Final = 200
_MOST_LOOKED_FOR: Final = 25_000_000
"""Rows in the days that are judged, of some four million messages: each that is looked for in other
days costs some 64 bytes in every process."""


def audit(
    spark: SparkSession, request: Request, say: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Judge, write the results, and return the summary.

    Args:
        spark: the session.
        request: what is asked for.
        say: told how much is read, if that takes long.

    Raises:
        CannotAudit: there is nothing to audit, or the audit did not come to its end.
    """
    request = replace(request, out=_absolute(request.out))
    try:
        configured(spark)
        began = now_ms()
        everything = list_records(spark, request.records, request.out)
        listing = _within_reach(request, everything)
        span = _span(request, listing)
        refuse_others(spark, request.out)
        with alone_in(request.out):
            kept = _begin(spark, request)
            try:
                seal = Seal.of(spark, request.out, kept["digest"])
                cache = Cache(spark, request.out, request.from_raw)
                cache.bring_up_to_date(listing, everything.days(), say)
                changed = seal.changed(cache.days, everything.days(), _oldest(request))
                if changed:
                    result = _changed(request, kept, seal, changed)
                    _write_summary(spark, request, result)
                    return result
                counted = {day: one.counted for day, one in cache.days.items()}
                marks = Watermarks.read(listing, counted, by_executions=request.by_executions)
                if request.as_of is None:
                    marks.check(kept["watermarks"], listing.modified)
                return _Audit(spark, request, listing, span, cache, marks, seal, began).summary()
            except CannotAudit as error:
                _write_summary(spark, request, _unjudged(request, kept, str(error)))
                raise
    except (PySparkException, Py4JError) as error:
        said = f"The audit did not come to its end: {first_line(error)}"
        if f"/{CACHE}/rows/" in str(error):
            said += " (the cache cannot be read: --from-raw reads the records again)"
        raise CannotAudit(said) from error
    except OSError as error:
        raise CannotAudit(f"The audit did not come to its end: {error}") from error


def _begin(spark: SparkSession, request: Request) -> dict[str, Any]:
    """Put the last result away: a run that does not end leaves no clean one behind.

    Returns:
        What stays of it until a run has come to its end: the head of the chain of digests
        (`digest`; None: it has none) and the `watermarks` that it told, if of these records.
    """
    out = place(spark, request.out)
    try:
        last = json.loads(out.read("summary.json") or "{}")
    except ValueError:
        last = {}
    last = last if isinstance(last, dict) else {}
    marks = last.get("watermarks") if last.get("records") == request.records else None
    kept = {
        "digest": last.get("digest"),
        "watermarks": marks if isinstance(marks, dict) else {},
    }
    said = f"The audit that began at {_now()} has not come to its end."
    out.delete("report.html")
    try:
        _write_summary(spark, request, _unjudged(request, kept, said))
    except BaseException:  # no room for it; then there is none
        out.delete("summary.json")
        raise
    return kept


def _unjudged(
    request: Request, kept: Mapping[str, Any], sentence: str, status: Status = Status.NOT_AUDITED
) -> dict[str, Any]:
    """The summary of a run that has judged nothing."""
    return {
        **kept,
        "version": VERSION,
        "sentence": sentence,
        "exit_status": int(status),
        "generated_at": _now(),
        "records": request.records,
    }


def _changed(
    request: Request, kept: Mapping[str, Any], seal: Seal, changed: list[dict[str, Any]]
) -> dict[str, Any]:
    """The summary that says which files of judged days are others now, and what to do."""
    first, number = changed[0], len(changed)
    files = (
        "1 file is not what it was" if number == 1 else f"{number:,} files are not what they were"
    )
    became = "was changed" if first["what"] == "changed" else "is gone, or cannot be read"
    sentence = (
        f"Nothing was judged: {files} when the day was judged. {first['file']} {became}, as "
        f"{name_of(first['digest'])} tells of {seal.chain.records}. Put back what was there (S3 "
        f"keeps older versions), or accept what is: actonce audit verify {request.out} --accept"
    )
    result = _unjudged(request, kept, sentence, Status.ALARMS)
    result |= {"digest": seal.chain.head()}
    return result | {"changed": {"total": number, "files": changed[:_MOST_TOLD]}}


def _write_summary(spark: SparkSession, request: Request, summary: dict[str, Any]) -> None:
    text = json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
    place(spark, request.out).write("summary.json", text)


def _within_reach(request: Request, listing: Listing) -> Listing:
    if request.since is None or request.reach is None:
        return listing
    oldest = _oldest(request)
    files = tuple(file for file in listing.files if file.day >= oldest)
    if not files:
        raise CannotAudit(f"Nothing to audit in {request.records} since {oldest}.")
    return Listing(files, listing.unread, listing.modified)


def _oldest(request: Request) -> date:
    """The first day that is read."""
    if request.since is None or request.reach is None:
        return _FIRST
    return request.since - timedelta(days=min(request.reach, (request.since - _FIRST).days))


def is_brief(request: Request) -> bool:
    """Whether there is so little to read, and here, that starting is most of the work.

    Of a day that is cached no records are read, and to read its rows costs a tenth of that.
    """
    if is_uri(request.records) or is_uri(request.out):
        return False
    here = cast("SparkSession", None)  # nobody is asked for files here
    try:
        listing = _within_reach(request, list_records(here, request.records, request.out))
    except CannotAudit:
        return True
    cached = [] if request.from_raw else files_below(here, f"{request.out}/{CACHE}")
    there = {one.below for one in cached}
    read = (one.size for one in listing.files if f"{one.day}.manifest" not in there)
    return sum(read) + sum(one.size for one in cached) // 10 < _LITTLE


def message_rows(
    rows: DataFrame,
    request: Request,
    listing: Listing,
    unread: Mapping[str, frozenset[date]] | None = None,
    seen: tuple[int, int] = (0, 0),
    complete_until: int | None = None,
) -> DataFrame:
    """The whole judgement as one plan with one shuffle: records in, a row per message id out.

    Args:
        rows: the records.
        request: what is asked for.
        listing: what they are of.
        unread: the days of each stream on which something could not be read.
        seen: the times (ms) of the newest record that shows life, and of the newest of all.
        complete_until: the moment (ms) before which every stream tells everything; None: not
            known, or not asked: `as_of` is.
    """
    since, until = _span(request, listing)
    span = None
    if request.since is not None:
        span = (_midnight(since), _midnight(until + timedelta(days=1)))
    coverage = Coverage.of(
        {name: listing.days_of(name) for name in STREAMS},
        unread or {},
        of_later=request.as_of is not None,
        by_executions=request.by_executions,
    )
    grace_ms = int(request.grace.total_seconds() * 1000)
    numbers = per_message(narrow(rows, request.since, request.until), span)
    tells = Until(*_silence(request, listing, seen))
    if complete_until is not None:
        is_over = _midnight(until + timedelta(days=1)) <= complete_until
        tells = Until(complete_until, complete_until, complete_until, 0 if is_over else grace_ms)
    return judged(numbers, coverage, tells, grace_ms)


@dataclass(slots=True)
class _Audit:
    """One audit of what is cached: what it has found so far.

    Attributes:
        span: the days that are judged.
        marks: how far the streams are complete.
        began: before the records were listed (ms).
        bad: what could not be read.
        known_ids: records are to be put under the ids that they stand for.
        seen: see `message_rows`.
    """

    spark: SparkSession
    request: Request
    listing: Listing
    span: tuple[date, date]
    cache: Cache
    marks: Watermarks
    seal: Seal
    began: int
    bad: Quarantine = NOTHING_UNREAD
    known_ids: bool = False
    seen: tuple[int, int] = (0, 0)

    @property
    def complete_until(self) -> int | None:
        """See `message_rows`."""
        at = self.marks.complete_until
        if at is None or self.request.as_of is not None:
            return None
        return min(at, int(self.listing.modified.timestamp() * 1000))

    def summary(self) -> dict[str, Any]:
        """Judge, then the results and their summary."""
        since, days = self.request.since, self.cache.days
        torn = [
            day
            for day, manifest in days.items()
            if manifest.counted.quarantined and (since is None or day >= since)
        ]
        bad = self.cache.rows(torn).where("problem IS NOT NULL") if torn else None
        self.bad = quarantine(
            self.spark, self.listing, bad, since, f"{self.request.out}/quarantine"
        )
        seen_at, newest_at = (
            max((getattr(one.counted, name) or 0 for one in days.values()), default=0)
            for name in ("seen_at", "newest_at")
        )
        self.seen = seen_at, newest_at
        self.known_ids = self._is_an_id_unresolved()
        return self._results(*self._judge())

    def _is_an_id_unresolved(self) -> bool:
        if not any(one.counted.unknown_ids for one in self.cache.days.values()):
            return False
        unknown = "startswith(message_id, 'sqs:') OR startswith(message_id, 'sha256-')"
        rows = self._as_of(self.cache.rows().where(unknown))
        numbers = per_message(narrow(rows, None, None), None)
        return bool(numbers.where(UNRESOLVED).limit(1).count())

    def _as_of(self, rows: DataFrame) -> DataFrame:
        return rows if self.request.as_of is None else before(rows, self.request.as_of)

    def _rows(self) -> DataFrame:
        rows = self._as_of(self.cache.rows())
        return with_known_ids(rows) if self.known_ids else rows

    def _rows_to_judge(self) -> DataFrame:
        """The rows of the messages that are judged, and of those that these days touch.

        Touched is a message with a record of these days, or in their folders.
        """
        rows, days = self._rows(), self.cache.days
        since, until = self.span
        inside = [day for day in days if since <= day <= until]
        many = sum(days[day].counted.rows for day in inside) > _MOST_LOOKED_FOR
        if self.request.since is None or self.request.from_raw or many:
            return rows
        of_days = f"at BETWEEN {_midnight(since)} AND {_midnight(until + timedelta(days=1)) - 1}"
        if self.known_ids:
            folders = f"folder BETWEEN '{since}' AND '{until}'"
            return of_messages(rows, rows.where(f"{of_days} OR {folders}"))
        outside = self.cache.rows(days.keys() - set(inside)).where(of_days)
        return of_messages(rows, self.cache.rows(inside).union(outside))

    def _judge(self) -> tuple[DataFrame, dict[str, Any]]:
        """Judge, write the messages, and tell what was seen on the way."""
        judgement = message_rows(
            self._rows_to_judge(),
            self.request,
            self.listing,
            self.bad.days,
            self.seen,
            self.complete_until,
        )
        whole = self.request.since is None
        in_range = F.lit(True) if whole else F.col("day").between(*self.span)
        seen = Observation()
        unattributed = F.col("message_id").isNull()
        late = ~unattributed & F.col("touched") & ~in_range
        observed = judgement.observe(
            seen,
            F.coalesce(F.sum(F.when(unattributed, F.col("failed"))), F.lit(0)).alias("failed"),
            F.count_if(F.expr("unrepeatable") & in_range).alias("unrepeatable"),
            _days_where(~unattributed & in_range).alias("days"),
            _days_where(late).alias("late_days"),
            _days_where(late & F.col("verdict").isin(*ALARMS)).alias("late_alarms"),
            _days_where(late & ~F.col("judged")).alias("late_unjudged"),
        )
        folder = f"{self.request.out}/messages"
        messages = observed.where(F.col("message_id").isNotNull() & in_range).drop(*INTERNAL)
        write_days(messages, folder, judgement.schema, whole=whole)
        told = seen.get
        if not whole:
            empty_days(self.spark, folder, self.span, _dates(told["days"]))
        # As they were written, so that nothing is judged twice.
        reader = self.spark.read.schema(messages.schema).option("basePath", folder)
        return reader.parquet(as_argument(folder)).where(in_range), told

    def _results(self, messages: DataFrame, told: dict[str, Any]) -> dict[str, Any]:
        """Write everything else: the numbers of each day and of all are one aggregation."""
        request, listing, bad = self.request, self.listing, self.bad
        span, complete_until = self.span, self.complete_until
        numbers = (
            summary.day_columns(complete_until) | summary.gap_columns() | summary.latency_columns()
        )
        counted = [one.asDict() for one in messages.rollup("day").agg(*columns(numbers)).collect()]
        row = next((one for one in counted if one["day"] is None), {})
        day_rows = sorted((one for one in counted if one["day"]), key=itemgetter("day"))
        verdicts = {name: sum(row[name] for row in day_rows) for name in VERDICTS}
        alarms_total = sum(verdicts[name] for name in ALARMS)
        unjudged = sum(row["unjudged"] for row in day_rows)
        by_word = request.by_executions
        absent = summary.not_looked_at(
            listing, span, request.as_of, complete_until, by_word=by_word
        )
        days = summary.days_told(day_rows, listing, absent + summary.not_recorded(listing, span))
        trusted = summary.on_trust(
            listing, span, told["unrepeatable"], verdicts["effect_check"], by_word=by_word
        )
        late_alarms, late_unjudged = (
            [day.isoformat() for day in sorted(_dates(told[name]))]
            for name in ("late_alarms", "late_unjudged")
        )
        unseen = [said for _, said in absent]
        unseen += [
            f"{day['day']}: sent is there in part only." for day in day_rows if day["unsent"]
        ]
        unseen += [
            f"{day}: messages that have late records could not be judged." for day in late_unjudged
        ]
        unseen += self._standing()
        later = sum(row["not_yet_judged"] for row in day_rows)
        sentence = summary.sentence(
            verdicts, unjudged, bad.lines, late_alarms, unseen, trusted, later
        )
        if complete_until is not None and complete_until < _midnight(span[1] + _DAY):
            sentence = f"{summary.complete(complete_until, later)} {sentence}"
        if alarms_total or late_alarms:
            status = Status.ALARMS
        elif unjudged or bad.lines or unseen:
            status = Status.NOT_WHOLE
        else:
            status = Status.ON_TRUST if trusted else Status.CLEAN
        alarms = self._alarms(messages) if alarms_total else []
        cannot_judge = list(dict.fromkeys([s for d in days for s in d["cannot_judge"]] + unseen))
        result = {
            "version": VERSION,
            "digest": self._sealed({day["day"]: day["verdicts"] for day in days}),
            "from": span[0].isoformat(),
            "to": span[1].isoformat(),
            "generated_at": _now(),
            "sentence": sentence,
            "exit_status": int(status),
            "alarms_sha256": summary.known_by(alarms, late_alarms),
            "records": request.records,
            "messages": sum(verdicts.values()),
            "totals": summary.totals(day_rows, listing, told["failed"]),
            "verdicts": verdicts,
            "days": days,
            "gaps": summary.gaps(row),
            "latency": summary.latency(row),
            "alarms": alarms,
            "alarms_total": alarms_total,
            "quarantine": {
                "lines": bad.lines,
                "by_reason": bad.by_reason,
                "examples": bad.examples,
            },
            "cannot_judge": cannot_judge[:_MOST_TOLD],
            "late_days": [day.isoformat() for day in sorted(_dates(told["late_days"]))],
            "late_alarms": late_alarms,
            "on_trust": trusted,
            "watermarks": self.marks.told(),
            "complete_until": None if complete_until is None else moment(complete_until),
            "not_yet_judged": None if complete_until is None else later,
            "read": self.cache.told(),
        }
        _write_summary(self.spark, request, result)
        return result

    def _sealed(self, verdicts: Mapping[str, Mapping[str, int]]) -> dict[str, Any] | None:
        """Vouch for the files of the judged days that are over, and for what came late to others.

        Returns:
            The head of the chain.
        """
        as_of, (since, until) = self.request.as_of, self.span
        over = self.began if as_of is None else min(self.began, as_of.timestamp() * 1000)
        over = over if self.complete_until is None else min(over, self.complete_until)
        days = {
            day: manifest
            for day, manifest in self.cache.days.items()
            if day in self.seal.chain.days
            or (since <= day <= until and _midnight(day + timedelta(days=1)) <= over)
        }
        of_days = {date.fromisoformat(day): told for day, told in verdicts.items()}
        return self.seal.add(days, of_days, _now(), _absolute(self.request.records))

    def _standing(self) -> list[str]:
        """The streams that stand still; see `Request.complete_by`."""
        request, (since, until) = self.request, self.span
        if request.complete_by is not None:
            return self.marks.standing(int(request.complete_by.timestamp() * 1000))
        last = min(until, self.listing.modified.date() - _DAY)
        if self.complete_until is None or last < since:
            return []
        return self.marks.standing(_midnight(last + _DAY))

    def _alarms(self, messages: DataFrame) -> list[dict[str, Any]]:
        # They began in the days that are judged, so none of their records is of before.
        rows = self._rows().where(f"at >= {_midnight(self.span[0])}")
        return summary.alarms(messages, rows)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _absolute(out: str) -> str:
    out = out.rstrip("/") or "/"
    return out if is_uri(out) else os.path.abspath(out)  # noqa: PTH100 - links stay


def _span(request: Request, listing: Listing) -> tuple[date, date]:
    """The days that are judged.

    Raises:
        CannotAudit: all of them are later than `as_of`.
    """
    days = listing.days()
    since = request.since or min(days)
    if request.as_of is not None and _midnight(since) >= request.as_of.timestamp() * 1000:
        raise CannotAudit(f"--as-of {request.as_of} is before {since}, the first day to judge.")
    if request.since is not None and request.until is not None:
        return request.since, request.until
    until = max(days)
    if request.as_of is not None:
        until = min(until, (request.as_of - timedelta(milliseconds=1)).astimezone(UTC).date())
    return since, until


def _silence(request: Request, listing: Listing, seen: tuple[int, int]) -> tuple[int, int]:
    """The moments (ms) until which silence is silence, and may be: see `judged`.

    A file vouches that nothing more was there when it was written, but not if that is before its
    own records: then nothing may have come until the last day ended. A record vouches for itself.
    """
    if request.as_of is not None:
        moment = int(request.as_of.timestamp() * 1000)
        return moment, moment
    seen_at, newest_at = seen
    last = _midnight(max(listing.days()) + timedelta(days=1))
    written = int(listing.modified.timestamp() * 1000)
    known_until = min(last, max(written, seen_at))
    return known_until, known_until if written >= newest_at else last


def _days_where(condition: Column) -> Column:
    return F.concat_ws(" ", F.collect_set(F.when(condition, F.col("day").cast("string"))))


def _dates(text: str) -> set[date]:
    return {date.fromisoformat(day) for day in text.split()}


_FIRST: Final = date(2000, 1, 1)
_DAY: Final = timedelta(days=1)


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the audit from a command line; see `Status` for the exit status."""
    guard_standard_streams()
    asked = vars(parser().parse_args(argv))
    as_json = asked.pop("json")
    try:
        request = requested(**asked)
        spark = spark_session("actonce-audit", brief=is_brief(request))
        result = audit(spark, request, lambda said: _err(f"audit: {said}"))
    except CannotAudit as error:
        _err(f"audit: {error}")
        return int(Status.NOT_AUDITED)
    except Exception as error:  # noqa: BLE001 - a traceback would end with the status of an alarm
        _err(f"audit: it did not come to its end: {type(error).__name__}: {first_line(error)}")
        return int(Status.NOT_AUDITED)
    try:
        sys.stdout.write((json_text(result) if as_json else result["sentence"]) + "\n")
        sys.stdout.flush()
    except OSError as error:
        give_up_output()
        _err(f"audit: {unwritten(request, error)}")
        return int(Status.NOT_AUDITED)
    return int(result["exit_status"])


def unwritten(request: Request, error: OSError) -> str:
    """That the answer could not be printed, and where it is."""
    return f"The answer cannot be written ({error.strerror}): it is in {request.out}/summary.json."


def _err(said: str) -> None:
    sys.stderr.write(f"{said}\n")
    sys.stderr.flush()
