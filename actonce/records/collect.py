"""Collects the streams of some days through AWS's ordinary APIs, for the audit.

Each comes from where its part of the stack recorded it: deliveries from the starter's log,
executions and dead letters from the executions' histories, effects from the table that the stack
names. `sent` is not collected: `actonce send --record` writes it where the audit reads it.
Collecting consumes and changes nothing.

A reader yields a stream's records, and `_keep` puts each, with the stack that it is of, into the
file of its day.
"""

import contextlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.delivery_log import delivery_lines
from actonce.messages.effect_store import DynamoDbEffects, find_effect_store
from actonce.records.day_files import (
    DayFiles,
    file_of,
    files_of_others,
    is_final,
    last_day,
    midnight,
    over,
)
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, UsageError
from actonce_core.histories.reading import executions_between, read_histories
from actonce_core.histories.records import records
from actonce_core.records import timestamp
from actonce_pipeline.audit.reading.effects import parse_time

COLLECTED = ("deliveries", "executions", "effects", "dead_letters")
"""In the order in which they are collected, but that executions and dead letters are one: of a
message on its way the earlier records are read first, so that none seems to come from nowhere."""

_OF_EXECUTIONS = ("executions", "dead_letters")  # by their histories

EXECUTIONS_KEPT = timedelta(days=90)
"""Step Functions forgets a Standard execution 90 days after it ended ("Service quotas")."""

EXECUTIONS_SURELY_KEPT = timedelta(days=30)
"""An account may have that shortened to 30 days ("Execution history retention")."""

_RETRY_FOR = 300.0  # seconds for which calls that AWS throttles are repeated

Record = dict[str, Any]


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


def collect(
    stack: Stack,
    days: Iterable[date],
    root: Path,
    streams: Collection[str] = COLLECTED,
    now: datetime | None = None,
) -> CollectResult:
    """Collect the streams of some days.

    Invariant: a file that was read when its day was over is final, and stays as it is; an audit may
    vouch for it. Any other is replaced as a whole, the last one of each stream whatever was asked
    for: no newer file vouches for records that one lacks. A stream that cannot be read leaves the
    others alone, and its own files as they were.

    Args:
        stack: whose.
        days: UTC days.
        root: the folder of the streams.
        streams: names out of `COLLECTED`.
        now: the moment; None: by AWS's own clock.

    Raises:
        UsageError: the folder holds records of those days that something else put there, or of
            executions that were read too early, and may be forgotten by now.
        OSError: the folder cannot be written.
    """
    days, names, now = set(days), list(streams), now or stack.aws.now()
    for name in COLLECTED:
        last = last_day(root, name)
        if last is not None and not is_final(root, name, last):
            days.add(last)
            names.append(name)
    names = [name for name in COLLECTED if name in names]
    for name, day in itertools.product(names, sorted(days)):
        if others := files_of_others(root, name, day):
            raise UsageError(
                f"{others[0]} was not written by actonce collect, and records must not be counted "
                "twice; collect into another folder."
            )
        file = file_of(root, name, day)
        is_kept = name not in _OF_EXECUTIONS or midnight(day) >= now - EXECUTIONS_SURELY_KEPT
        if not is_kept and file.exists() and not is_final(root, name, day):
            raise UsageError(
                f"{file} was not read when its day was over, and Step Functions may have forgotten "
                "what came later. Move it away, and what is left is collected."
            )
    run = _Run(stack, root, sorted(days), names, now)
    run.collect()
    return run.result


class _Run:
    def __init__(
        self, stack: Stack, root: Path, days: Sequence[date], streams: Sequence[str], now: datetime
    ) -> None:
        self.stack, self.root, self.now = stack, root, now
        self.result = CollectResult({day: dict.fromkeys(streams) for day in days})
        self.result.notes += [
            f"{day} (UTC) is not over, or not for an hour: collect it again when it is."
            for day in days
            if over(day) > now
        ]
        self.days: dict[str, list[date]] = {}  # to be read, of each stream
        for stream in streams:
            final = [day for day in days if is_final(root, stream, day)]
            self.days[stream] = [day for day in days if day not in final]
            if final:
                more = f", as do {len(final) - 1} more of {stream}" if len(final) > 1 else ""
                self.result.notes.append(
                    f"{file_of(root, stream, final[0])} stays{more}: it was read when its day was "
                    "over. To have it anew, remove it."
                )

    def collect(self) -> None:
        for read, *streams in (
            (self._deliveries, "deliveries"),
            (self._executions, *_OF_EXECUTIONS),
            (self._effects, "effects"),
        ):
            wanted = [name for name in streams if self.days.get(name)]
            try:
                if wanted:
                    read(wanted)
            except (ClientError, BotoCoreError, Failed) as error:
                self.result.missing.append(
                    f"{' and '.join(wanted)}: {error} (files that were there stay as they were)."
                )

    def _keep(self, streams: Sequence[str], records: Iterable[Record]) -> None:
        """Put each record into the file of its stream and day.

        Args:
            streams: of the records; of others, and of days that are not to be read, they are left
                out. What has no time is put into each day's file, for it may be of that.
            records: all of those days.
        """
        timeless: list[Record] = []
        source = self.stack.state_machine
        with contextlib.ExitStack() as opened:
            files = {
                name: opened.enter_context(
                    DayFiles(self.root, name, self.days[name], self.now).replaced()
                )
                for name in streams
            }
            bar = opened.enter_context(console.progress(streams[0].capitalize(), None))
            for number, record in enumerate(records, 1):
                at = parse_time(str(record.get("at")))
                if at is None:
                    timeless.append(record)
                if record["stream"] in files:
                    for day in [at.date()] if at else self.days[record["stream"]]:
                        files[record["stream"]].write(day, record | {"source": source})
                bar.update(number)
        for name, written in files.items():
            for day, lines in written.lines.items():
                self.result.lines[day][name] = lines
        if timeless:
            self.result.missing.append(
                f"{' and '.join(streams)}: {len(timeless)} have no time that can be read, and are "
                f"in each day's file; the first is of message {timeless[0].get('message_id')}."
            )

    def _days_since(self, moment: datetime, streams: Sequence[str], why: str) -> list[date]:
        """The days of any of the streams; those of which AWS has forgotten records are left out."""
        first = (moment + timedelta(days=1)).date()  # the first that is whole
        days = sorted({day for name in streams for day in self.days[name]})
        if days and days[0] < first:
            self.result.missing.append(f"{' and '.join(streams)} before {first}: {why}")
        for name in streams:
            self.days[name] = [day for day in self.days[name] if day >= first]
        return [day for day in days if day >= first]

    # ----------------------------------------------------------------- deliveries

    def _deliveries(self, streams: Sequence[str]) -> None:
        days = self.days["deliveries"]
        name = self.stack.starter_log_group
        pages = self.stack.logs.get_paginator("describe_log_groups").paginate(
            logGroupNamePrefix=name
        )
        for kept in pages.search(f"logGroups[?logGroupName=='{name}'].retentionInDays"):
            why = f"the starter's log keeps {kept} day(s) (LogRetentionDays)."
            days = self._days_since(self.now - timedelta(days=kept), streams, why)
        if days:
            lines = delivery_lines(self.stack, since=midnight(days[0]), until=over(days[-1]))
            self._keep(
                streams,
                ({name: line[name] for name in line if name != "log_event"} for line in lines),
            )

    # ----------------------------------------------------------------- executions, dead letters

    def _executions(self, streams: Sequence[str]) -> None:
        why = f"Step Functions forgets executions {EXECUTIONS_KEPT.days} days after they ended."
        days = self._days_since(self.now - EXECUTIONS_KEPT, streams, why)
        if days:
            between = midnight(days[0]), midnight(days[-1]) + timedelta(days=1)
            self._keep(streams, self._records_of_executions(between))

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
        source = find_effect_store(self.stack)
        if source is None:
            raise Failed(
                "this stack names no table of effects (EffectsTableName): name it, or put a file "
                "of them into effects/dt=DAY/"
            )
        if source.attributes.time is None:
            raise Failed(
                f"nothing says when those in {source.location} happened: name the attribute that "
                "does (EffectsAttributes)"
            )
        left_out: Counter[str] = Counter()
        self._keep(streams, _records_of_effects(source, left_out))
        self.result.notes += [
            f"effects: {number} in {source.location} {what}." for what, number in left_out.items()
        ]


def _records_of_effects(source: DynamoDbEffects, left_out: Counter[str]) -> Iterator[Record]:
    """The record of each effect; counts in `left_out` what the notes tell."""
    found = False
    for effect in source.every():
        if not effect.has_time:
            left_out[f"have no {source.attributes.time}, and are not counted as effects"] += 1
            continue
        found |= bool(effect.message_id)
        if not effect.message_id:
            left_out[f"have no {source.attributes.key} that is an id, as the audit will say"] += 1
        elif effect.effect_id is None:
            left_out["have no other key than a message's id, so no second effect can be seen"] += 1
        at = timestamp(effect.at) if effect.at else None
        identity = {} if effect.effect_id is None else {"effect_id": effect.effect_id}
        known = {"message_id": effect.message_id or None, "at": at}
        yield {"stream": "effects", "version": 1, **known, **identity}
    if left_out and not found:
        # An empty file would make every message a lost one.
        raise Failed(
            f"all {left_out.total()} in {source.location} {min(left_out)}: name the attributes "
            "that they have (EffectsAttributes)"
        )
