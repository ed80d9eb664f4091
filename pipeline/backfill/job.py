"""A backfill: the messages of an archive sent once each, whenever it was killed in between.

    plan    every row of the archive and where it ends; made once, then read only
    send    what is planned and not confirmed, at a bounded rate
    sum up  from the plan and the confirmations, never from counters

Invariant: rows = sent + already sent + not sent + duplicates + conflicts + quarantined.
"""

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipeline.backfill import archive as archives
from pipeline.backfill import plan as plans
from pipeline.backfill import small
from pipeline.backfill.archive import CSV, ArchiveFile, columns_of, files_of, format_of
from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.backfill.plan import Plan, PlanFiles
from pipeline.backfill.rows import Selection
from pipeline.backfill.send import Queue, Run, send_parts
from pipeline.backfill.work import (
    ConfirmationCount,
    let_send,
    read_state,
    the_only_run,
    write_whole,
)

VERSION = 1
"""Of `plan.json`; a folder of another version is refused."""

POLL_SECONDS = 0.2

Progress = Callable[[int, int], None]
"""Told how many messages are confirmed, and how many there are."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Where every row ended.

    Attributes:
        rows: of the archive, blank lines left out.
        messages: distinct message ids: sent, already sent and not sent.
        sent: confirmed by this run.
        already_sent: confirmed by earlier runs.
        not_sent: planned and not confirmed.
    """

    rows: int
    messages: int
    sent: int
    already_sent: int
    not_sent: int
    duplicates: int
    conflicts: int
    quarantined: int

    @classmethod
    def of(cls, ends: dict[str, int], already: int, confirmed: int) -> "Summary":
        """Sum up a plan's rows by their end, confirmations before this run, and after it."""
        return cls(
            rows=sum(ends.values()),
            messages=ends["message"],
            sent=confirmed - already,
            already_sent=already,
            not_sent=ends["message"] - confirmed,
            duplicates=ends["duplicate"],
            conflicts=ends["conflict"],
            quarantined=ends["quarantined"],
        )


class Backfill:
    """A backfill whose folder is held and whose plan is made. See `opened`."""

    def __init__(self, make_session: Callable[[], SparkSession], work: Path, plan: Plan) -> None:
        self._make_session = make_session
        self._work = work
        self._plan = plan
        self._count = ConfirmationCount(work)
        self._already = self._count()

    def summary(self) -> Summary:
        """Where every row ended until now."""
        return Summary.of(self._plan.rows, self._already, self._count())

    def some_messages(self, most: int) -> list[tuple[str, str]]:
        """Ids and bodies of the first planned messages."""
        rows = PlanFiles(self._work / "plan").rows("message")
        return [(row["message_id"], row["body"]) for _, row in zip(range(most), rows, strict=False)]

    def send(
        self, queue: Queue, rate: float, progress: Progress, *, retry_for: float = 60.0
    ) -> list[str]:
        """Send what is not confirmed yet, at most `rate` messages a second.

        However this ends, no message is sent any more once the batches in flight are answered.

        Returns:
            Sentences that say what was not sent and why; none if all was.

        Raises:
            WrongRequest: earlier runs sent to another queue.
        """
        self._remember(queue)
        if not self.summary().not_sent:
            return []
        spark = self._make_session()
        name = str(uuid.uuid4())
        run = Run(self._work.absolute(), name, queue, rate / self._plan.senders, retry_for)
        let_send(self._work, name)
        problems: list[str] = []
        errors: list[BaseException] = []

        def send_all() -> None:
            try:
                parts = range(self._plan.parts)
                problems.extend(send_parts(spark, run, parts, self._plan.senders))
            except Exception as error:  # noqa: BLE001 - raised again below
                errors.append(error)

        sending = threading.Thread(target=send_all, name="backfill", daemon=True)
        sending.start()
        try:
            while sending.is_alive():
                sending.join(POLL_SECONDS)
                progress(self._count(), self._plan.rows["message"])
        finally:
            let_send(self._work, "")
            sending.join()
        if errors:
            raise BackfillFailed(f"Spark: {str(errors[0]).strip().splitlines()[-1]}") from errors[0]
        return problems

    def _remember(self, queue: Queue) -> None:
        path = self._work / "queue.json"
        known = read_state(path)
        if known is not None and known.get("url") != queue.url:
            raise WrongRequest(
                f"{self._work} has sent to {known.get('url')}, and is now asked to send to "
                f"{queue.url}: name another folder with --work."
            )
        if known is None:
            write_whole(path, json.dumps({"url": queue.url}))


@contextmanager
def opened(
    make_session: Callable[[], SparkSession], archive: Path, selection: Selection, work: Path
) -> Iterator[Backfill]:
    """Hold the folder and plan the archive there, unless it is planned already.

    Spark is started only if there is much to plan, or something to send.

    Raises:
        WrongRequest: the archive or the selection cannot be read, or is not what the folder was
            made for; another backfill works there.
    """
    files = files_of(archive)
    with the_only_run(work):
        known = _known_plan(work, files, selection)
        if known is None:
            _check_columns(files, selection)
            known = _plan(make_session, files, selection, work)
        yield Backfill(make_session, work, known)


def _plan(
    make_session: Callable[[], SparkSession],
    files: dict[str, Path],
    selection: Selection,
    work: Path,
) -> Plan:
    was = archives.fingerprinted(files)
    if small.is_small(files):
        plan = small.write(files, selection, work)
    else:
        plan = plans.write(make_session(), files, selection, work)
    with contextlib.suppress(OSError):
        if archives.changed(was, files) is None:
            state = {
                "version": VERSION,
                "selection": asdict(selection),
                "files": [file.as_json() for file in was],
                "plan": asdict(plan),
                "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }
            write_whole(work / "plan.json", json.dumps(state, indent=1))
            return plan
    raise BackfillFailed("The archive changed while it was read: run this again when it is whole.")


def _known_plan(work: Path, files: dict[str, Path], selection: Selection) -> Plan | None:
    state = read_state(work / "plan.json")
    if state is None:
        if (work / "sent").exists():
            raise WrongRequest(
                f"{work} has confirmations and no plan that they belong to: name another folder "
                "with --work."
            )
        return None
    if state.get("version") != VERSION:
        raise WrongRequest(f"{work} was made by another version: name another with --work.")
    # As JSON has it: tuples are lists there.
    if state["selection"] != json.loads(json.dumps(asdict(selection))):
        raise WrongRequest(
            f"{work} was made with {_options(state['selection'])}: ask for the same, or name "
            "another folder with --work."
        )
    name = archives.changed([ArchiveFile(**file) for file in state["files"]], files)
    if name is not None:
        raise WrongRequest(
            f"{name} of the archive is not what it was when {work} was made: name another folder "
            "with --work to start anew."
        )
    return Plan(**state["plan"])


def _check_columns(files: dict[str, Path], selection: Selection) -> None:
    for name, path in files.items():
        if format_of(name) == CSV and (columns := columns_of(path)):
            selection.check_columns(name, columns)


def _options(selection: dict[str, Any]) -> str:
    names = {"message_id": "--message-id", "content": "--content", "leave_out": "--leave-out"}
    return " ".join(
        f"{option} '{','.join(selection[name])}'"
        for name, option in names.items()
        if selection[name]
    )
