"""`actonce backfill`: a historical archive's messages, each sent once."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from actonce.cli.options import Json, of_a_stack
from actonce.stack.clients import Stack
from actonce.stack.endpoint import Chosen
from actonce.stack.message_ids import message_reader
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.delivery import Delivery
from actonce_core.message import Message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.backfill.job import Backfill, Summary

_CHECKED_MESSAGES = 100


@of_a_stack(asks=True)
def backfill(
    archive: Annotated[
        Path,
        typer.Argument(
            metavar="ARCHIVE", help="JSON Lines or CSV, plain or .gz: one file or a folder."
        ),
    ],
    message_id: Annotated[
        str,
        typer.Option(
            metavar="FIELDS", help="Columns or dotted paths whose values, joined by /, are the id."
        ),
    ],
    leave_out: Annotated[
        str, typer.Option(metavar="FIELDS", help="Fields that are not sent.")
    ] = "",
    rate: Annotated[float, typer.Option(min=0.001, help="Messages a second, at most.")] = 100.0,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="What makes it go on where it was killed. Default: ARCHIVE.backfill.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and count; send nothing.")
    ] = False,
    *,
    at: Chosen,
    json: Json = False,
) -> None:
    """Send each distinct message of an archive once.

    Killed, it goes on where it was. Duplicates are counted, conflicts (one id, another content) and
    rows that are no message are listed in DIR with file and line, and the exit status is then 1.

    Examples:

        actonce backfill 2016.csv.gz --message-id 'PatientId,ScheduledDay' --leave-out 'No-show'

        actonce backfill archive/ --message-id order.id --rate 50 --dry-run
    """
    # Here, for Spark takes longer to import than all else of the command line.
    from pipeline.backfill import job  # noqa: PLC0415
    from pipeline.backfill.errors import BackfillFailed, WrongRequest  # noqa: PLC0415
    from pipeline.backfill.rows import Selection  # noqa: PLC0415
    from pipeline.errors import CannotAudit  # noqa: PLC0415
    from pipeline.spark.session import ended_together, spark_session  # noqa: PLC0415

    def session() -> "SparkSession":
        console.say("Starting Spark, which plans")
        return spark_session("actonce backfill")

    started = time.monotonic()
    folder = work or archive.absolute().with_name(f"{archive.absolute().name}.backfill")
    stack = None if dry_run else find_stack(at, changes=True)
    if stack is not None and stack.is_fifo:
        raise WrongUse(
            "The requests queue is a FIFO queue; a backfill sends to standard queues only."
        )
    problems: list[str] = []
    try:
        selection = Selection.of_options(message_id, leave_out)
        console.say(f"Planning {archive} in {folder}")
        with ended_together(), job.opened(session, archive, selection, folder) as planned:
            if stack is not None:
                _check_ids(stack, planned)
                target = (stack.sqs, stack.requests_queue)
                with console.progress("Sending", planned.summary().messages) as bar:
                    problems = planned.send(*target, rate, bar.update)
            summary = planned.summary()
    except (WrongRequest, CannotAudit) as error:
        raise WrongUse(str(error)) from error
    except BackfillFailed as error:
        raise Failed(str(error)) from error
    for problem in problems:
        console.err.print(problem, markup=False)
    seconds = round(time.monotonic() - started, 3)
    if json:
        ends = {"dry_run": dry_run, "work": str(folder), "seconds": seconds}
        console.print_json(asdict(summary) | ends)
    else:
        _print(summary, seconds, dry_run=dry_run)
    _judge(summary, folder, dry_run=dry_run)


def _check_ids(stack: Stack, planned: "Backfill") -> None:
    """Let the stack's own rule read the ids: a wrong one would refuse, or conflict, every row."""
    reader = message_reader(stack)
    for expected, body in planned.some_messages(_CHECKED_MESSAGES):
        message = reader.read(Delivery("backfill", body, {}, {}))
        if not isinstance(message, Message) or message.message_id != expected:
            raise WrongUse(
                f"The stack {stack.called!r} would not read the id {expected!r} out of its "
                "message, in which it is at 'message_id': see the stack's parameter MessageIdFrom."
            )


def _print(summary: "Summary", seconds: float, *, dry_run: bool) -> None:
    lines = {
        "rows": summary.rows,
        "= to be sent" if dry_run else "= sent": summary.not_sent if dry_run else summary.sent,
        "+ already sent": summary.already_sent,
        "+ not sent": 0 if dry_run else summary.not_sent,
        "+ duplicates": summary.duplicates,
        "+ conflicts": summary.conflicts,
        "+ quarantined": summary.quarantined,
    }
    for name, number in lines.items():
        console.out.print(f"{name:<15}{number:>15,}")
    console.out.print(f"in {seconds:.1f} s")


def _judge(summary: "Summary", folder: Path, *, dry_run: bool) -> None:
    wrong = {
        f"not sent: run it again with the same {folder}": 0 if dry_run else summary.not_sent,
        f"conflicts, listed in {folder / 'conflicts.jsonl'}": summary.conflicts,
        f"quarantined, listed in {folder / 'quarantine.jsonl'}": summary.quarantined,
    }
    found = [f"{number:,} {what}" for what, number in wrong.items() if number]
    if found:
        raise Failed(f"Of {summary.rows:,} rows {'; '.join(found)}.")
