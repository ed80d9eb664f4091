"""Collects the streams of some days through AWS's ordinary APIs, for the audit.

Each comes from where its part of the stack recorded it: deliveries from the starter's log,
executions and dead letters from the executions' histories, rows from the table of a ledger or a
lease, effects from the example's table or a team's own, sent from what `actonce send --record`
wrote. Collecting consumes and changes nothing of it.

All but `sent` go one way: a reader yields a stream's records, and `_keep` puts each, with the stack
that it is of, into the file of its day.
"""

import contextlib
import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.delivery_log import delivery_lines
from actonce.messages.own_effects import EffectStore, find_effect_store
from actonce.records.day_files import (
    DayFiles,
    day_folder,
    files_of_others,
)
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.histories.day_file import FILE_NAME
from actonce_core.histories.reading import executions_between, read_histories
from actonce_core.histories.records import records
from actonce_core.records import timestamp

STREAMS = ("sent", "deliveries", "executions", "rows", "effects", "dead_letters")
"""In the order in which they are collected, but that executions and dead letters are one: of a
message on its way the earlier records are read first, so that none seems to come from nowhere."""

EXECUTIONS_KEPT = timedelta(days=90)
"""Step Functions forgets a Standard execution 90 days after it ended ("Service quotas")."""

_LOGGED_WITHIN = timedelta(hours=1)  # after `at`, by the same clock; an invocation lasts minutes

_TELL_WHEN = ("executions", "rows")  # an effect happened, where nothing of its own does

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CollectRequest:
    """What to collect.

    Attributes:
        days: UTC days.
        root: the folder of the streams.
        sent: the folder that `actonce send --record` was given; None: none was.
        streams: names out of `STREAMS`; a stack without a ledger or a lease has no rows.
        retry_for: seconds for which calls that AWS throttles are repeated.
        effects: where a team's own effects are; None: it did not say.
    """

    days: Sequence[date]
    root: Path
    sent: Path | None = None
    streams: frozenset[str] = frozenset(STREAMS)
    retry_for: float = 300.0
    effects: EffectStore | None = None


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
        WrongUse: the folder holds records of those days that something else put there, or there
            are no sent records where they are said to be.
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
    first = min(request.days)
    for stream in sorted(request.streams - {"sent"}):
        files = request.root.glob(f"{stream}/dt=????-??-??/{FILE_NAME}")
        days = [day for file in files if (day := _named(file.parent.name)) and day < first]
        if days:
            written = (day_folder(request.root, stream, max(days)) / FILE_NAME).stat().st_mtime
            over = _midnight(max(days) + timedelta(days=1)) + _LOGGED_WITHIN
            if datetime.fromtimestamp(written, UTC) < over:
                return max(days)
    return None


def _named(folder: str) -> date | None:
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
    ended: dict[str, str] = field(default_factory=dict)
    """When the execution, or the row, of each message was last recorded; only where the effects
    have no time of their own."""

    def __post_init__(self) -> None:
        has = STREAMS if self.stack.ledger_table else [one for one in STREAMS if one != "rows"]
        streams = [stream for stream in has if stream in self.request.streams]
        self.result = CollectResult(
            {day: dict.fromkeys(streams) for day in sorted(self.request.days)}
        )

    @property
    def until(self) -> datetime:
        return _midnight(max(self.request.days)) + timedelta(days=1)

    def check_folders(self) -> None:
        sent = self.request.sent
        if sent is not None and not (sent / "sent").is_dir():
            raise WrongUse(
                f"--sent {sent}: there is no folder {sent / 'sent'}; name the one that actonce "
                "send --record was given."
            )
        for stream in sorted(self.request.streams):
            if stream == "sent" and (sent is None or self._sent_is_in_place()):
                continue
            for day in self.request.days:
                others = files_of_others(self.request.root, stream, day)
                if others:
                    raise WrongUse(
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
            (self._sent, "sent"),
            (self._deliveries, "deliveries"),
            (self._executions, "executions", "dead_letters"),
            (self._rows, "rows"),
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
        source = self.stack.ledger_table or self.stack.state_machine
        with contextlib.ExitStack() as opened:
            files = {name: opened.enter_context(self._files(name, days)) for name in streams}
            bar = opened.enter_context(console.progress(streams[0].capitalize(), None))
            for number, record in enumerate(records, 1):
                day = _day(record.get("at"))
                if day is None:
                    timeless.append(record)
                else:
                    self._note_end(record)
                    if record["stream"] in files:
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

    def _note_end(self, record: Record) -> None:
        source, message_id = self.request.effects, record.get("message_id")
        if source is None or source.attributes.time is not None or message_id is None:
            return
        if record["stream"] in _TELL_WHEN:
            self.ended[message_id] = max(self.ended.get(message_id, ""), record["at"])

    def _days_after(self, kept_since: datetime, streams: Sequence[str], why: str) -> list[date]:
        """The days of which AWS still has all records; a file of any other has more, and stays."""
        gone = [day for day in self.result.lines if _midnight(day) < kept_since]
        if gone:
            of = f"{gone[0]}" if len(gone) == 1 else f"{gone[0]} to {gone[-1]}"
            self.result.missing.append(f"{' and '.join(streams)} of {of}: {why}")
        return [day for day in self.result.lines if day not in gone]

    # ----------------------------------------------------------------- sent

    def _sent_is_in_place(self) -> bool:
        sent = self.request.sent
        return sent is not None and sent.resolve() == self.request.root.resolve()

    def _sent(self, _: Sequence[str]) -> None:
        root, source = self.request.root, self.request.sent
        if source is None or self._sent_is_in_place():
            for day in self.result.lines:
                files = files_of_others(root, "sent", day)
                lines = sum(sum(1 for _ in _lines(file)) for file in files)
                self.result.lines[day]["sent"] = lines if files else None
        else:
            days = [day for day in self.result.lines if day_folder(source, "sent", day).is_dir()]
            with self._files("sent", days) as written:
                for day in days:
                    for file in sorted(day_folder(source, "sent", day).iterdir()):
                        if file.name.endswith(".jsonl.gz"):
                            written.copy(day, _lines(file))
                        elif not file.name.startswith("."):
                            self.result.missing.append(
                                f"sent: {file} is not named as actonce send --record names its "
                                "files, and was not read."
                            )
        for day, counts in self.result.lines.items():
            if counts["sent"] is None:
                self.result.notes.append(
                    f"sent of {day}: nothing recorded what was sent (actonce send --record DIR, "
                    "then collect --sent DIR)."
                )

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
        gone: list[str] = []

        def told() -> Iterator[Record]:
            stepfunctions, retry_for = self.stack.stepfunctions, self.request.retry_for
            listed = []
            if self.stack.ledger_table is None:
                between = (_midnight(days[0]), self.until)
                machine = self.stack.state_machine
                pages = executions_between(stepfunctions, machine, between, retry_for=retry_for)
                listed = [one for page in pages for one in page]
            for one in read_histories(stepfunctions, listed, records, retry_for):
                if one.records is None:
                    gone.append(one.execution.name)
                yield from one.records or ()

        if days:
            self._keep(streams, days, told())
        if gone:
            self.result.missing.append(
                f"{' and '.join(streams)}: Step Functions forgot {len(gone)} execution(s) while "
                f"they were read, {gone[0]} the first."
            )

    # ----------------------------------------------------------------- rows

    def _rows(self, streams: Sequence[str]) -> None:
        """How each message stands now, under the day on which its row was last written."""
        pages = self.stack.dynamodb.get_paginator("scan").paginate(
            TableName=self.stack.ledger_table or "",
            ConsistentRead=True,
            FilterExpression="attribute_exists(#status)",  # a starter's own has none
            # Not the effect's description, nor a note: they may be personal.
            ProjectionExpression="message_id, #status, #outcome, consumption_count, updated, #way",
            ExpressionAttributeNames={
                "#status": "status",
                "#outcome": "outcome",
                "#way": "memory",
            },
        )
        rows = (_row(item) for page in pages for item in page["Items"])
        self._keep(streams, list(self.result.lines), rows)

    # ----------------------------------------------------------------- effects

    def _effects(self, streams: Sequence[str]) -> None:
        source = self._source()
        time, days = source.attributes.time, list(self.result.lines)
        if time is None and not all(
            any(self.result.lines[day].get(name) is not None for name in _TELL_WHEN) for day in days
        ):
            raise Failed(
                f"nothing says when those in {source.location} happened: name what does with "
                "--effects-time, or collect executions and rows with them"
            )
        left_out: Counter[str] = Counter()
        self._keep(streams, days, self._effects_of(source, left_out))
        sentences = {
            "nameless": f"have no {source.attributes.key}, and are taken for no effects",
            "alone": "have a message's id as their only key: a second effect of it would not be "
            "seen; the audit says so",
            "endless": f"have no time ({source.attributes.time or '--effects-time'}), nor an "
            "execution, or row, on these days: they are in no day's file, and an effect that "
            "nobody asked for would not be seen",
        }
        self.result.notes += [
            f"effects: {left_out[what]} in {source.location} {said}."
            for what, said in sentences.items()
            if left_out[what]
        ]

    def _source(self) -> EffectStore:
        """Where the request, or else the stack, says that the effects are."""
        source = self.request.effects or find_effect_store(self.stack)
        if source is None:
            raise Failed(
                "this stack names no table of effects (EffectsTableName): say where they are "
                "(--effects-table, --effects-file), or have the audit take its executions' word "
                "(--effects-by executions)"
            )
        return source

    def _effects_of(self, source: EffectStore, left_out: Counter[str]) -> Iterator[Record]:
        """The record of each effect; counts in `left_out` what the notes tell."""
        number = 0
        for effect in source.every():
            number += 1
            if effect is None:
                left_out["nameless"] += 1
                continue
            at = timestamp(effect.at) if effect.at else self.ended.get(effect.message_id)
            if at is None and not effect.has_time:
                left_out["endless"] += 1
                continue
            named = {} if effect.effect_id is None else {"effect_id": effect.effect_id}
            left_out["alone"] += not named
            record = {"stream": "effects", "version": 1, "at": at}
            yield record | {"message_id": effect.message_id} | named
        if number and left_out["nameless"] == number:
            raise Failed(
                f"nothing in {source.location} has a {source.attributes.key}, of {number}: name "
                "the one that holds the message's id with --effects-key"
            )


def _row(item: Mapping[str, Any]) -> Record:
    def text(name: str) -> str | None:
        told: str | None = item.get(name, {}).get("S")
        return told

    return {
        "stream": "rows",
        "version": 1,
        "at": text("updated"),
        "message_id": text("message_id"),
        "status": text("status"),
        "outcome": text("outcome"),
        "attempts": int(item.get("consumption_count", {}).get("N", "0")),
        "way": text("memory"),
    }


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with gzip.open(file, "rb") as source:
            yield from source
    except (OSError, EOFError, zlib.error) as error:
        raise Failed(f"{file} cannot be read: {error}") from error


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _day(at: Any) -> date | None:
    """The UTC day of a record's time; None if that cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
        return moment.astimezone(UTC).date() if moment.tzinfo else None
    except (TypeError, ValueError, OverflowError):
        return None
