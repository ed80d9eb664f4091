"""Collects the streams of some days through AWS's ordinary APIs, for the audit.

Each comes from where its part of the stack recorded it: deliveries from the starter's log,
executions and dead letters from the executions' histories, effects from the table that the stack
names. `sent` is not collected: `actonce send --record` writes it where the audit reads it.
Collecting consumes and changes nothing.

A reader yields a stream's records, and `_keep` puts each, with the stack that it is of, into the
file of its day.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.delivery_log import delivery_lines
from actonce.messages.effect_store import EffectStore, find_effect_store
from actonce.records.day_files import DayFiles, files_of_others
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, UsageError
from actonce_core.histories.day_file import FILE_NAME
from actonce_core.histories.reading import executions_between, read_histories
from actonce_core.histories.records import records
from actonce_core.records import timestamp

COLLECTED = ("deliveries", "executions", "effects", "dead_letters")
"""In the order in which they are collected, but that executions and dead letters are one: of a
message on its way the earlier records are read first, so that none seems to come from nowhere."""

EXECUTIONS_KEPT = timedelta(days=90)
"""Step Functions forgets a Standard execution 90 days after it ended ("Service quotas")."""

_RETRY_FOR = 300.0  # seconds for which calls that AWS throttles are repeated

_LOGGED_WITHIN = timedelta(hours=1)  # after `at`, by the same clock; an invocation lasts minutes

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CollectRequest:
    """What to collect.

    Attributes:
        days: UTC days.
        root: the folder of the streams.
        streams: names out of `COLLECTED`.
    """

    days: Sequence[date]
    root: Path
    streams: frozenset[str] = frozenset(COLLECTED)


@dataclass(slots=True)
class CollectResult:
    """What was collected.

    Attributes:
        lines: of each stream's file of each day; None where this run wrote none.
        missing: what could not be collected, a sentence each.
        notes: what a reader of the records has to know, a sentence each.
    """

    lines: dict[date, dict[str, int | None]]
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "days": [{"day": day.isoformat(), "lines": lines} for day, lines in self.lines.items()],
            "missing": self.missing,
            "notes": self.notes,
        }


def collect(stack: Stack, request: CollectRequest, now: datetime | None = None) -> CollectResult:
    """Collect the streams; a day collected again replaces its files, one by one.

    A stream that cannot be read leaves the others alone, and its own files as they were. If the
    day before was collected before it was over, it is collected again: so no newer file vouches for
    records that are missing.

    Args:
        stack: whose.
        request: what to collect.
        now: the moment; None: by AWS's own clock.

    Raises:
        UsageError: the folder holds records of those days that something else put there.
        OSError: the folder cannot be written.
    """
    unfinished = _unfinished(request)
    if unfinished is not None:
        request = replace(request, days=[unfinished, *request.days])
    run = _Run(stack, request, now or stack.aws.now())
    run.check_folders()
    run.collect()
    return run.result


def _unfinished(request: CollectRequest) -> date | None:
    """The last earlier day that has files, if one of them was written before the day was over."""
    for stream in sorted(request.streams):
        files = request.root.glob(f"{stream}/dt=????-??-??/{FILE_NAME}")
        days = {day: file for file in files if (day := _day_of(file.parent.name))}
        if earlier := [day for day in days if day < min(request.days)]:
            day = max(earlier)
            over = _midnight(day + timedelta(days=1)) + _LOGGED_WITHIN
            if datetime.fromtimestamp(days[day].stat().st_mtime, UTC) < over:
                return day
    return None


def _day_of(folder: str) -> date | None:
    try:
        return date.fromisoformat(folder.removeprefix("dt="))
    except ValueError:
        return None


@dataclass(slots=True)
class _Run:
    stack: Stack
    request: CollectRequest
    now: datetime
    result: CollectResult = field(init=False)

    def __post_init__(self) -> None:
        streams = [stream for stream in COLLECTED if stream in self.request.streams]
        self.result = CollectResult(
            {day: dict.fromkeys(streams) for day in sorted(self.request.days)}
        )

    @property
    def until(self) -> datetime:
        return _midnight(max(self.request.days)) + timedelta(days=1)

    def check_folders(self) -> None:
        for stream in sorted(self.request.streams):
            for day in self.request.days:
                others = files_of_others(self.request.root, stream, day)
                if others:
                    raise UsageError(
                        f"{others[0]} was not written by actonce collect, and records must not be "
                        "counted twice; collect into another folder."
                    )

    def collect(self) -> None:
        for day in self.result.lines:
            if _midnight(day) + timedelta(days=1) + _LOGGED_WITHIN > self.now:
                self.result.notes.append(
                    f"{day} (UTC) is not over, or not for an hour: collect it again when it is."
                )
        # By name, for a message on its way: its deliveries are read before its executions.
        for read, *streams in (
            (self._deliveries, "deliveries"),
            (self._executions, "executions", "dead_letters"),
            (self._effects, "effects"),
        ):
            wanted = [name for name in streams if name in next(iter(self.result.lines.values()))]
            if not wanted:
                continue
            try:
                read(wanted)
            except (ClientError, BotoCoreError, Failed) as error:
                self.result.missing.append(
                    f"{' and '.join(wanted)}: {error} (files that were there stay as they were)."
                )

    def _keep(
        self,
        streams: Sequence[str],
        days: Sequence[date],
        records: Iterable[Record],
    ) -> None:
        """Put each record into the file of its stream and day, and count those without a day.

        Args:
            streams: of the records.
            days: records of any other are left out.
            records: all of those days.
        """
        timeless: list[Record] = []
        source = self.stack.state_machine
        with contextlib.ExitStack() as opened:
            files = {name: opened.enter_context(self._files(name, days)) for name in streams}
            bar = opened.enter_context(console.progress(streams[0].capitalize(), None))
            for number, record in enumerate(records, 1):
                day = _day(record.get("at"))
                if day is None:
                    timeless.append(record)
                elif record["stream"] in files:
                    files[record["stream"]].write(day, record | {"source": source})
                bar.update(number)
        if timeless:
            self.result.missing.append(
                f"{' and '.join(streams)}: {len(timeless)} have no time that can be read, and are "
                f"in no day's file; the first is of message {timeless[0].get('message_id')}."
            )

    @contextlib.contextmanager
    def _files(self, stream: str, days: Sequence[date]) -> Iterator[DayFiles]:
        # Step Functions forgets executions of a day that is over, and adds none.
        forgets = stream in ("executions", "dead_letters")
        files = DayFiles(self.request.root, stream, days, keep_longer=forgets, read_at=self.now)
        with files.replaced():
            yield files
        for day, lines in files.lines.items():
            if day not in files.longer:
                self.result.lines[day][stream] = lines
                continue
            self.result.missing.append(
                f"{stream} of {day}: Step Functions tells {lines}, and the file that is there has "
                "more, so that stays; to have it written anew, remove it."
            )

    def _days_after(self, kept_since: datetime, streams: Sequence[str], why: str) -> list[date]:
        """The days of which AWS still has all records; a file of any other has more, and stays."""
        gone = [day for day in self.result.lines if _midnight(day) < kept_since]
        if gone:
            of = f"{gone[0]}" if len(gone) == 1 else f"{gone[0]} to {gone[-1]}"
            self.result.missing.append(f"{' and '.join(streams)} of {of}: {why}")
        return [day for day in self.result.lines if day not in gone]

    # ----------------------------------------------------------------- deliveries

    def _deliveries(self, streams: Sequence[str]) -> None:
        days = list(self.result.lines)
        keeps = self._log_retention()
        if keeps is not None:
            why = f"the starter's log keeps {keeps.days} day(s) (LogRetentionDays)."
            days = self._days_after(self.now - keeps, streams, why)
        if not days:
            return
        lines = delivery_lines(
            self.stack, since=_midnight(days[0]), until=self.until + _LOGGED_WITHIN
        )
        self._keep(
            streams,
            days,
            ({name: line[name] for name in line if name != "log_event"} for line in lines),
        )

    def _log_retention(self) -> timedelta | None:
        name = self.stack.starter_log_group
        groups = self.stack.logs.get_paginator("describe_log_groups").paginate(
            logGroupNamePrefix=name
        )
        days = groups.search(f"logGroups[?logGroupName=='{name}'].retentionInDays")
        return next((timedelta(days=one) for one in days), None)

    # ----------------------------------------------------------------- executions, dead letters

    def _executions(self, streams: Sequence[str]) -> None:
        why = f"Step Functions forgets executions {EXECUTIONS_KEPT.days} days after they ended."
        days = self._days_after(self.now - EXECUTIONS_KEPT, streams, why)
        if days:
            self._keep(streams, days, self._records_of_executions((_midnight(days[0]), self.until)))

    def _records_of_executions(self, between: tuple[datetime, datetime]) -> Iterator[Record]:
        stepfunctions, machine = self.stack.stepfunctions, self.stack.state_machine
        pages = executions_between(stepfunctions, machine, between, retry_for=_RETRY_FOR)
        listed = [execution for page in pages for execution in page]
        for read in read_histories(stepfunctions, listed, records, _RETRY_FOR):
            if read.records is None:
                self.result.missing.append(
                    f"Step Functions forgot the execution {read.execution.name} while it was read."
                )
            yield from read.records or ()

    # ----------------------------------------------------------------- effects

    def _effects(self, streams: Sequence[str]) -> None:
        source = self._source()
        if source.attributes.time is None:
            raise Failed(
                f"nothing says when those in {source.location} happened: name the attribute that "
                "does (EffectsAttributes)"
            )
        left_out: Counter[str] = Counter()
        self._keep(streams, list(self.result.lines), self._effects_of(source, left_out))
        self.result.notes += [
            f"effects: {number} in {source.location} {what}." for what, number in left_out.items()
        ]

    def _source(self) -> EffectStore:
        """Where the stack says that the effects are."""
        source = find_effect_store(self.stack)
        if source is None:
            raise Failed(
                "this stack names no table of effects (EffectsTableName): name it, put a file of "
                "them into effects/dt=DAY/, or have the audit take its executions' word "
                "(--effects-by executions)"
            )
        return source

    def _effects_of(self, source: EffectStore, left_out: Counter[str]) -> Iterator[Record]:
        """The record of each effect; counts in `left_out` what the notes tell."""
        number = 0
        for effect in source.every():
            number += 1
            if effect is None or not effect.has_time:
                name = source.attributes.key if effect is None else source.attributes.time
                left_out[f"have no {name}, and are not counted as effects"] += 1
                continue
            identity = {} if effect.effect_id is None else {"effect_id": effect.effect_id}
            if not identity:
                left_out[_ALONE] += 1
            at = timestamp(effect.at) if effect.at else None
            record = {"stream": "effects", "version": 1, "at": at}
            yield record | {"message_id": effect.message_id} | identity
        if number and sum(left_out.values()) - left_out[_ALONE] == number:
            # An empty file would make every message a lost one.
            raise Failed(
                f"all {number} in {source.location} {min(left_out)}: name the attributes that they "
                "have (EffectsAttributes)"
            )


_ALONE = (
    "have a message's id as their only key: a second effect of it would not be seen; the audit "
    "says so"
)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _day(at: Any) -> date | None:
    """The UTC day of a record's time; None if that cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
        return moment.astimezone(UTC).date() if moment.tzinfo else None
    except (TypeError, ValueError, OverflowError):
        return None
