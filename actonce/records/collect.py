"""Getting the five streams of some days through AWS's ordinary APIs, for the audit.

Each comes from where its part of the stack recorded it: deliveries from the starter's log,
executions and dead letters from the executions' histories, rows from the table of a ledger or a
lease, effects from the Appointments table, or from where a team says that its own are, sent from
what `actonce send --record` wrote. Nothing is consumed, and nothing of it is changed.
"""

import contextlib
import gzip
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.delivery_log import delivery_lines
from actonce.messages.own_effects import OwnEffects
from actonce.records.day_files import DayFiles, day_folder, files_of_others
from actonce.records.execution_records import records
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.histories.reading import executions_between, tell
from actonce_core.records import timestamp

STREAMS = ("sent", "deliveries", "executions", "rows", "effects", "dead_letters")
"""In the order in which they are collected, but that executions and dead letters are one: of a
message on its way the earlier records are read first, so that none seems to come from nowhere."""

EXECUTIONS_KEPT = timedelta(days=90)
"""Step Functions forgets a Standard execution 90 days after it ended ("Service quotas")."""

_LOGGED_WITHIN = timedelta(hours=1)  # after `at`, by the same clock; an invocation lasts minutes
_EFFECT = "appointment-"  # other items of the table are the practices' books

Progress = Callable[[str, int | None], AbstractContextManager[console.Bar]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to collect.

    Attributes:
        days: UTC days.
        root: the folder of the streams.
        sent: the folder that `actonce send --record` was given; None: none was.
        streams: names out of `STREAMS`; a stack without a ledger or a lease has no rows.
        retry_for: seconds after which what AWS throttles is given up.
        effects: where a team's own effects are; None: it did not say.
    """

    days: Sequence[date]
    root: Path
    sent: Path | None = None
    streams: frozenset[str] = frozenset(STREAMS)
    retry_for: float = 300.0
    effects: OwnEffects | None = None


@dataclass(slots=True)
class Collected:
    """What was collected.

    Attributes:
        lines: day to stream to the lines of its file; None where there is no file of this run.
        missing: what was asked for and could not be got, a sentence each.
        notes: what a reader of the records has to know, a sentence each.
    """

    lines: dict[date, dict[str, int | None]]
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "days": [{"day": day.isoformat(), "lines": lines} for day, lines in self.lines.items()],
            "missing": self.missing,
            "notes": self.notes,
            "seconds": self.seconds,
        }


def collect(
    stack: Stack, wanted: Wanted, progress: Progress = console.progress, now: datetime | None = None
) -> Collected:
    """Collect the streams; a day collected again replaces its files, one by one.

    A stream that cannot be got leaves the others alone, and its own files as they were.

    Raises:
        WrongUse: the folder holds records of those days that something else put there, or there
            are no sent records where they are said to be.
        OSError: the folder cannot be written.
    """
    started = time.monotonic()
    run = _Run(stack, wanted, progress, now or datetime.now(UTC))
    run.check_folders()
    run.collect()
    run.result.seconds = round(time.monotonic() - started, 3)
    return run.result


@dataclass(slots=True)
class _Run:
    stack: Stack
    wanted: Wanted
    progress: Progress
    now: datetime
    result: Collected = field(init=False)
    ended: dict[str, str] = field(default_factory=dict)
    """The last time that an execution, or a row, has of a message; only where nothing else tells
    when its effect was."""

    def __post_init__(self) -> None:
        has = STREAMS if self.stack.ledger_table else [one for one in STREAMS if one != "rows"]
        streams = [stream for stream in has if stream in self.wanted.streams]
        self.result = Collected({day: dict.fromkeys(streams) for day in sorted(self.wanted.days)})

    @property
    def since(self) -> datetime:
        return _midnight(min(self.wanted.days))

    @property
    def until(self) -> datetime:
        return _midnight(max(self.wanted.days)) + timedelta(days=1)

    def check_folders(self) -> None:
        sent = self.wanted.sent
        if sent is not None and not (sent / "sent").is_dir():
            raise WrongUse(
                f"--sent {sent}: there is no folder {sent / 'sent'}; name the one that actonce "
                "send --record was given."
            )
        for stream in sorted(self.wanted.streams):
            if stream == "sent" and (sent is None or self._sent_is_in_place()):
                continue
            for day in self.wanted.days:
                others = files_of_others(self.wanted.root, stream, day)
                if others:
                    raise WrongUse(
                        f"{others[0]} was not written by actonce collect, and records must not be "
                        "counted twice; collect into another folder."
                    )

    def collect(self) -> None:
        for day in self.result.lines:
            if _midnight(day) + timedelta(days=1) > self.now:
                self.result.notes.append(f"{day} is not over (UTC); collect it again when it is.")
        wanted = self.wanted.streams
        if "sent" in wanted:
            self._sent()
        if "deliveries" in wanted:
            with self._reported("deliveries"):
                self._deliveries()
        if wanted & {"executions", "dead_letters"}:
            with self._reported(*sorted(wanted & {"executions", "dead_letters"})):
                self._executions()
        if "rows" in wanted and self.stack.ledger_table:
            with self._reported("rows"):
                self._rows(self.stack.ledger_table)
        if "effects" in wanted:
            with self._reported("effects"):
                if self.wanted.effects is not None:
                    self._own_effects(self.wanted.effects)
                else:
                    self._effects()

    @contextlib.contextmanager
    def _reported(self, *streams: str) -> Iterator[None]:
        """One stream that AWS does not give must not keep the others from being collected."""
        try:
            yield
        except (ClientError, BotoCoreError, Failed) as error:
            self.result.missing.append(
                f"{' and '.join(streams)}: {error} (files that were there stay as they were)."
            )

    @contextlib.contextmanager
    def _files(self, stream: str, days: Sequence[date]) -> Iterator[DayFiles]:
        with DayFiles(self.wanted.root, stream, days).replaced() as files:
            yield files
        for day, lines in files.lines.items():
            self.result.lines[day][stream] = lines

    def _tell_of_no_day(self, stream: str, what: str, time: str, ids: Sequence[str]) -> None:
        """Of the messages `ids`, whose records are in no day's file."""
        if ids:
            self.result.missing.append(
                f"{stream}: {len(ids)} {what} have no time `{time}` that can be read, and are in "
                f"no day's file; the first is of message {ids[0]}."
            )

    def _days_after(self, kept_since: datetime, streams: str, sentence: str) -> list[date]:
        """The days whose records are still kept.

        A day that is not is left alone: its file, if it has one, knows more than AWS does now.
        """
        kept = [day for day in self.result.lines if _midnight(day) >= kept_since]
        gone = [day for day in self.result.lines if _midnight(day) < kept_since]
        if gone:
            of = f"{gone[0]}" if len(gone) == 1 else f"{gone[0]} to {gone[-1]}"
            self.result.missing.append(f"{streams} of {of}: {sentence}")
        return kept

    # ----------------------------------------------------------------- sent

    def _sent_is_in_place(self) -> bool:
        sent = self.wanted.sent
        return sent is not None and sent.resolve() == self.wanted.root.resolve()

    def _sent(self) -> None:
        root, source = self.wanted.root, self.wanted.sent
        if source is None or self._sent_is_in_place():
            for day in self.result.lines:
                files = files_of_others(root, "sent", day)
                lines = sum(sum(1 for _ in _lines(file)) for file in files)
                self.result.lines[day]["sent"] = lines if files else None
        else:
            days = [day for day in self.result.lines if day_folder(source, "sent", day).is_dir()]
            with self._files("sent", days) as written:
                for day in days:
                    for file in sorted(day_folder(source, "sent", day).glob("*.jsonl.gz")):
                        written.copy(day, _lines(file))
        for day, counts in self.result.lines.items():
            if counts["sent"] is None:
                self.result.notes.append(
                    f"sent of {day}: nothing recorded what was sent (actonce send --record DIR, "
                    "then collect --sent DIR)."
                )

    # ----------------------------------------------------------------- deliveries

    def _deliveries(self) -> None:
        days = list(self.result.lines)
        keeps = self._log_retention()
        if keeps is not None:
            days = self._days_after(
                self.now - keeps,
                "deliveries",
                f"the starter's log keeps {keeps.days} day(s) (LogRetentionDays).",
            )
        if not days:
            return
        lines = delivery_lines(
            self.stack, since=_midnight(days[0]), until=self.until + _LOGGED_WITHIN
        )
        unreadable = 0
        with self.progress("Deliveries", None) as bar, self._files("deliveries", days) as files:
            for number, line in enumerate(lines, 1):
                day = _day(line.get("at"))
                unreadable += day is None
                files.write(day, {name: line[name] for name in line if name != "log_event"})
                bar.update(number)
        if unreadable:
            self.result.missing.append(
                f"deliveries: {unreadable} line(s) of the starter's log have no time `at` that can "
                "be read, and are in no day's file."
            )

    def _log_retention(self) -> timedelta | None:
        name = self.stack.starter_log_group
        pages = self.stack.logs.get_paginator("describe_log_groups").paginate(
            logGroupNamePrefix=name
        )
        for page in pages:
            for group in page["logGroups"]:
                if group["logGroupName"] == name and "retentionInDays" in group:
                    return timedelta(days=group["retentionInDays"])
        return None

    # ----------------------------------------------------------------- executions, dead letters

    def _executions(self) -> None:
        streams = sorted(self.wanted.streams & {"executions", "dead_letters"})
        days = self._days_after(
            self.now - EXECUTIONS_KEPT,
            " and ".join(streams),
            f"Step Functions forgets executions {EXECUTIONS_KEPT.days} days after they ended.",
        )
        if not days:
            return
        with contextlib.ExitStack() as open_files:
            files = {name: open_files.enter_context(self._files(name, days)) for name in streams}
            retry_for = self.wanted.retry_for
            stepfunctions = self.stack.stepfunctions
            between = (_midnight(days[0]), self.until)
            listed = []
            if self.stack.ledger_table is None:
                pages = executions_between(
                    stepfunctions, self.stack.state_machine, between, retry_for=retry_for
                )
                listed = [one for page in pages for one in page]
            gone: list[str] = []
            bar = open_files.enter_context(self.progress("Executions", len(listed)))
            for number, told in enumerate(tell(stepfunctions, listed, records, retry_for), 1):
                if told.records is None:
                    gone.append(told.listed.name)
                for record in told.records or ():
                    self._note_end(record)
                    if record["stream"] in files:
                        files[record["stream"]].write(_day(record["at"]), record)
                bar.update(number)
        if gone:
            self.result.missing.append(
                f"{' and '.join(streams)}: Step Functions forgot {len(gone)} execution(s) while "
                f"they were read, {gone[0]} the first."
            )

    def _note_end(self, record: dict[str, Any]) -> None:
        source = self.wanted.effects
        if source is None or source.attributes.time is not None or record["message_id"] is None:
            return
        if record["stream"] != "dead_letters":
            at = max(self.ended.get(record["message_id"], ""), record["at"])
            self.ended[record["message_id"]] = at

    # ----------------------------------------------------------------- rows

    def _rows(self, table: str) -> None:
        """How each message stands now; of the day on which its row was last written."""
        pages = self.stack.dynamodb.get_paginator("scan").paginate(
            TableName=table,
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
        without_time: list[str] = []
        number = 0
        with (
            self.progress("Rows", None) as bar,
            self._files("rows", list(self.result.lines)) as files,
        ):
            for page in pages:
                for item in page["Items"]:
                    record = self._row(item)
                    if (day := _day(record["at"])) is None:
                        without_time.append(record["message_id"])
                    else:
                        self._note_end(record)
                    files.write(day, record)
                    number += 1
                bar.update(number)
        self._tell_of_no_day("rows", "row(s)", "updated", without_time)

    def _row(self, item: Mapping[str, Any]) -> dict[str, Any]:
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

    # ----------------------------------------------------------------- effects

    def _own_effects(self, source: OwnEffects) -> None:
        """What a team says that its effects are, as plain records."""
        without_time: list[str] = []
        nameless = written = 0
        days = list(self.result.lines)
        if source.attributes.time is None and not self._know_when(days):
            raise Failed(
                f"nothing says when those in {source.place} happened: name what does with "
                "--effects-time, or collect executions and rows with them"
            )
        seen = one_row = 0
        with self.progress("Effects", None) as bar, self._files("effects", days) as files:
            for effect in source.every():
                seen += 1
                if effect is None:
                    nameless += 1
                    continue
                at = timestamp(effect.at) if effect.at else self.ended.get(effect.message_id)
                day = _day(at)
                if day is None:
                    without_time.append(effect.message_id)
                    continue
                named = {} if effect.effect_id is None else {"effect_id": effect.effect_id}
                one_row += effect.effect_id is None
                record = {"stream": "effects", "version": 1, "at": at}
                files.write(day, record | {"message_id": effect.message_id} | named)
                written += 1
                if seen % 1000 == 0:
                    bar.update(seen)
            if seen and nameless == seen:
                raise Failed(
                    f"nothing in {source.place} has a {source.attributes.key}, of {seen}: name the "
                    "one that holds the message's id with --effects-key"
                )
        self._tell_of_own(source, nameless, without_time, one_row)

    def _know_when(self, days: Sequence[date]) -> bool:
        """Whether executions, or rows, were collected of each day: they have times."""
        return all(
            any(self.result.lines[day].get(name) is not None for name in ("executions", "rows"))
            for day in days
        )

    def _tell_of_own(
        self, source: OwnEffects, nameless: int, without_time: list[str], one_row: int
    ) -> None:
        time = source.attributes.time
        if nameless:
            self.result.notes.append(
                f"effects: {nameless} in {source.place} have no {source.attributes.key}, and are "
                "taken for no effects."
            )
        if one_row:
            self.result.notes.append(
                f"effects: {source.place} has room for one effect of a message, so a second one "
                "would not be seen; the audit says so."
            )
        if without_time and time is None:
            self.result.notes.append(
                f"effects: nothing says when those in {source.place} happened (--effects-time), so "
                "each has the time of its execution, or row. Of "
                f"{len(without_time)}, such as {without_time[0]}, there is none on these days, and "
                "they are in no day's file: an effect that nobody asked for would not be seen."
            )
        elif time is not None:
            self._tell_of_no_day("effects", "effect(s)", time, without_time)

    def _effects(self) -> None:
        if not self.stack.is_example:
            self.result.missing.append(
                "effects: this stack's effect is a function of your own: say where its effects are "
                "(--effects-table, --effects-file), or have the audit take its executions' word "
                "(--effects-by executions)."
            )
            return
        pages = self.stack.dynamodb.get_paginator("scan").paginate(
            TableName=self.stack.appointments_table,
            FilterExpression="begins_with(appointment_id, :appointment)",
            ExpressionAttributeValues={":appointment": {"S": _EFFECT}},
            # Not the request: the audit does not need what was asked for, and it may be personal.
            ProjectionExpression="message_id, appointment_id, practice, slot, booked_at",
            ConsistentRead=True,
        )
        without_time: list[str] = []
        number = 0
        days = list(self.result.lines)
        with self.progress("Effects", None) as bar, self._files("effects", days) as files:
            for page in pages:
                for item in page["Items"]:
                    day = _day(item.get("booked_at", {}).get("S"))
                    if day is None:
                        without_time.append(str(item["message_id"].get("S")))
                    files.write(day, {"Item": item})
                    number += 1
                bar.update(number)
        self._tell_of_no_day("effects", "appointment(s)", "booked_at", without_time)


def _lines(file: Path) -> Iterator[bytes]:
    with gzip.open(file, "rb") as source:
        yield from source


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _day(at: Any) -> date | None:
    """The UTC day of a record's time; None if that cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC).date() if moment.tzinfo else None
