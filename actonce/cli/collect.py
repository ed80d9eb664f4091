"""`actonce collect`: the records of a day, for the audit."""

from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

import typer

from actonce.cli import tables
from actonce.cli.options import Json, stack_options
from actonce.records.collect import COLLECTED, CollectResult
from actonce.records.collect import collect as collect_streams
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.days import HELP as DAY_HELP
from actonce.terminal.days import parse_span
from actonce.terminal.errors import Failed, UsageError

MAX_DAYS = 366


@stack_options()
def collect(
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="The records' folder: DIR/STREAM/dt=DAY/.")
    ],
    day: Annotated[str | None, typer.Option(metavar="DAY", help=DAY_HELP)] = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="The first of several days.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="The last of them, included.")
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(help=f"Only this one, of {', '.join(COLLECTED)}; may be given several times."),
    ] = None,
    *,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """Write the records of a day, for actonce audit.

    They are what each part of the stack has of it. A file that was read when its day was over
    stays: remove it to have it anew. One read earlier is collected again, whatever you name. What
    could not be got is said, and the exit status is 1; the rest is there.

    Examples:

        actonce collect --day yesterday --to records/

        actonce collect --from 2026-11-01 --until 2026-11-07 --to records/ --json
    """
    days, streams = _days(day, first, last), _streams(stream)
    stack = find_stack(at)
    try:
        collected = collect_streams(stack, days, to, streams)
    except OSError as error:
        raise Failed(f"The records cannot be written: {error}.") from error
    if json:
        console.print_json({"to": str(to)} | collected.as_json())
    else:
        _print(collected)
    if collected.missing:
        for sentence in collected.missing:
            console.err.print(f"Missing: {sentence}", markup=False)
        raise Failed("Not everything could be collected; see above.")


def _print(collected: CollectResult) -> None:
    streams = list(next(iter(collected.lines.values())))
    rows = [
        (day.isoformat(), *("-" if lines[s] is None else f"{lines[s]:,}" for s in streams))
        for day, lines in collected.lines.items()
    ]
    tables.print_rows(("Day", *streams), rows)
    for sentence in collected.notes:
        console.out.print(f"Note: {sentence}", markup=False)


def _streams(names: list[str] | None) -> frozenset[str]:
    for name in names or ():
        if name not in COLLECTED:
            raise UsageError(f"There is no stream {name!r}; there are {', '.join(COLLECTED)}.")
    return frozenset(names or COLLECTED)


def _days(day: str | None, first: str | None, last: str | None) -> list[date]:
    span = parse_span(day, first, last)
    if span is None:
        raise UsageError("Name the days: either --day DAY, or --from DAY and --until DAY.")
    begin, end = span
    number = (end - begin).days + 1
    if number > MAX_DAYS:
        raise UsageError(f"These are {number} days; collect at most {MAX_DAYS} at a time.")
    return [begin + timedelta(days=index) for index in range(number)]
