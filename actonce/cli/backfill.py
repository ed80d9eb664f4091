"""`actonce backfill`: the distinct messages of a historical archive, as a folder to send."""

import shlex
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from actonce.cli.options import Json
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, UsageError
from actonce.terminal.files import sync_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def backfill(
    archive: Annotated[
        Path,
        typer.Argument(metavar="ARCHIVE", help="JSON Lines, CSV or Parquet: a file or a folder."),
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
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A new folder. Default: ARCHIVE.backfill."),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Write the distinct messages of an archive into a folder to send.

    That is DIR/messages, in the archive's order. Duplicates are counted, conflicts (one id, another
    content) and rows that are no message are listed in DIR with file and line, and the exit status
    is then 1.

    Examples:

        actonce backfill 2016.csv.gz --message-id 'PatientId,ScheduledDay' --leave-out 'No-show'

        actonce backfill archive/ --message-id order.id --to plan
    """
    # Here, for Spark takes longer to import than all else of the command line.
    from actonce_pipeline.backfill import plan  # noqa: PLC0415
    from actonce_pipeline.backfill.rows import (  # noqa: PLC0415
        BackfillFailed,
        Selection,
        WrongRequest,
    )
    from actonce_pipeline.errors import CannotAudit  # noqa: PLC0415
    from actonce_pipeline.spark.session import spark_session  # noqa: PLC0415

    def session() -> "SparkSession":
        console.say("Starting Spark, which plans")
        return spark_session("actonce backfill")

    started = time.monotonic()
    folder = to or Path(f"{archive.absolute()}.backfill")
    try:
        selection = Selection.of_options(message_id, leave_out)
        counts = plan.make(session, archive, selection, folder, sync_folder)
    except (WrongRequest, CannotAudit) as error:
        raise UsageError(str(error)) from error
    except BackfillFailed as error:
        raise Failed(str(error)) from error
    seconds = round(time.monotonic() - started, 3)
    if json:
        console.print_json(asdict(counts) | {"to": str(folder), "seconds": seconds})
    else:
        for sign, (name, number) in zip(" =+++", asdict(counts).items(), strict=True):
            console.out.print(f"{sign} {name:<13}{number:>15,}")
        where = shlex.quote(str(folder))
        console.out.print(f"in {seconds:.1f} s. To send them:")
        console.out.print(
            f"actonce send {shlex.quote(str(folder / 'messages'))} --rate 100 "
            f"--record {where} --resume"
        )
    wrong = {"conflicts": counts.conflicts, "quarantine": counts.quarantined}
    found = [f"{number:,} in {folder / name}" for name, number in wrong.items() if number]
    if found:
        raise Failed(f"Of {counts.rows:,} rows some are no messages to send: {', '.join(found)}.")
