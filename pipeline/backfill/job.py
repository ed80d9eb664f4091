"""A backfill: the messages of an archive sent once each, whenever it was killed in between.

    plan    every row of the archive and where it ends; made once, then read only
    send    what is planned and not confirmed, at a bounded rate
    sum up  from the plan and the confirmations, never from counters

Invariant: rows = sent + already sent + not sent + duplicates + conflicts + quarantined.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from pipeline.backfill import plan as plans
from pipeline.backfill.archive import CSV, columns_of, digests, files_of, format_of
from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.backfill.plan import ENDS, Plan
from pipeline.backfill.rows import Selection
from pipeline.backfill.send import Sending
from pipeline.backfill.work import confirmed_in, read_state, the_only_run, write_whole

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

VERSION = 3
"""Of `plan.json`; a folder of another version is refused."""

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


class Backfill:
    """A backfill whose folder is held and whose plan is made. See `opened`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._plan = Plan(work / "plan")
        self._ends = {end: self._plan.count(end) for end in ENDS}
        self._already = confirmed_in(work)

    def summary(self) -> Summary:
        """Where every row ended until now."""
        ends, confirmed = self._ends, confirmed_in(self._work)
        return Summary(
            rows=sum(ends.values()),
            messages=ends["message"],
            sent=confirmed - self._already,
            already_sent=self._already,
            not_sent=ends["message"] - confirmed,
            duplicates=ends["duplicate"],
            conflicts=ends["conflict"],
            quarantined=ends["quarantined"],
        )

    def some_messages(self, most: int) -> list[tuple[str, str]]:
        """Ids and bodies of the first planned messages."""
        rows = islice(self._plan.rows("message"), most)
        return [(row["message_id"], row["body"]) for row in rows]

    def send(
        self,
        sqs: "SQSClient",
        queue_url: str,
        rate: float,
        progress: Progress,
        *,
        retry_for: float = 60.0,
    ) -> list[str]:
        """Send what is not confirmed yet, at most `rate` messages a second.

        However this ends, no message is sent any more once the batches in flight are answered.

        Returns:
            Sentences that say what was not sent and why; none if all was.

        Raises:
            WrongRequest: earlier runs sent to another queue.
            BackfillFailed: a confirmation cannot be written.
        """
        self._remember(queue_url)
        if not self.summary().not_sent:
            return []
        sending = Sending(sqs, queue_url, self._work, rate, retry_for)
        total = self._ends["message"]
        sending.send(lambda: progress(self._already + sending.sent, total))
        return sending.problems

    def _remember(self, queue_url: str) -> None:
        path = self._work / "queue.json"
        known = read_state(path)
        if known is not None and known.get("url") != queue_url:
            raise WrongRequest(
                f"{self._work} has sent to {known.get('url')}, and is now asked to send to "
                f"{queue_url}: name another folder with --work."
            )
        if known is None:
            write_whole(path, json.dumps({"url": queue_url}))


@contextmanager
def opened(
    make_session: Callable[[], SparkSession], archive: Path, selection: Selection, work: Path
) -> Iterator[Backfill]:
    """Hold the folder and plan the archive there, unless it is planned already.

    Spark is started only to plan.

    Raises:
        WrongRequest: the archive or the selection cannot be read, or is not what the folder was
            made for; another backfill works there.
    """
    files = files_of(archive)
    with the_only_run(work):
        if not _is_planned(work, files, selection):
            _check_columns(files, selection)
            _plan(make_session, files, selection, work)
        yield Backfill(work)


def _plan(
    make_session: Callable[[], SparkSession],
    files: dict[str, Path],
    selection: Selection,
    work: Path,
) -> None:
    was = digests(files)
    plans.write(make_session(), files, selection, work)
    try:
        if digests(files) != was:
            raise BackfillFailed(
                "The archive changed while it was read: run this again when it is whole."
            )
        state = {"version": VERSION, "selection": _as_json(selection), "files": was}
        write_whole(work / "plan.json", json.dumps(state, indent=1))
    except OSError as error:
        raise BackfillFailed(f"The plan cannot be made: {error}.") from error


def _is_planned(work: Path, files: dict[str, Path], selection: Selection) -> bool:
    state = read_state(work / "plan.json")
    if state is None:
        if (work / "sent").exists():
            raise WrongRequest(
                f"{work} has confirmations and no plan that they belong to: name another folder "
                "with --work."
            )
        return False
    if state.get("version") != VERSION:
        raise WrongRequest(f"{work} was made by another version: name another with --work.")
    if state["selection"] != _as_json(selection):
        raise WrongRequest(
            f"{work} was made with other options: ask for the same, or name another folder with "
            "--work."
        )
    known, now = state["files"], digests(files)
    for name in sorted(known.keys() | now.keys()):
        if known.get(name) != now.get(name):
            raise WrongRequest(
                f"{name} of the archive is not what it was when {work} was made: name another "
                "folder with --work to start anew."
            )
    return True


def _as_json(selection: Selection) -> dict[str, list[str]]:
    return {name: list(fields) for name, fields in asdict(selection).items()}


def _check_columns(files: dict[str, Path], selection: Selection) -> None:
    for name, path in files.items():
        if format_of(name) == CSV and (columns := columns_of(path)):
            selection.check_columns(name, columns)
