"""`actonce list`: recent messages."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from actonce.cli import tables
from actonce.cli.options import Json, stack_options, with_glossary
from actonce.messages.filters import read_moment
from actonce.messages.recent import (
    MOST_STATES,
    ONLY_TROUBLE,
    Page,
    Recent,
    is_of_trouble,
    page,
)
from actonce.messages.states import STATES
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce_core.records import timestamp

_ID_CHARACTERS = 40  # of an id whose execution has a hash for its name


@stack_options()
@with_glossary({state.label: state.explanation for state in STATES.values()})
def list_(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Only what began since: 2026-01-31T09:30 (UTC), or within the last 90s, 30m, 2h, "
            "3d.",
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="Only of this status: running, succeeded, failed, timed_out or aborted.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="No more than N, the newest first.")
    ] = 20,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """List recent messages, the newest first.

    It lists those that have an execution; where executions are started on trouble only, no message
    that the first attempt performed. Every command takes the ID. STATE is ActOnce's word for how
    the message stands, STATUS is that of AWS.
    actonce dead-letters list shows what waits for a decision, actonce unstarted list what could not
    be started.

    Examples:

        actonce list

        actonce list --since 1h --status failed

        actonce list --status aborted --json
    """
    wanted = None if status is None else status.upper().replace(" ", "_").replace("-", "_")
    moment = read_moment(since, datetime.now(UTC)) if since is not None else None
    stack = find_stack(at)
    found = page(stack, between=(moment, None), status=wanted, limit=limit)
    if json:
        console.print_json(
            {
                "messages": [one.as_json() for one in found.messages],
                "more": found.cursor is not None,
                "only_trouble": is_of_trouble(stack),
            }
        )
    else:
        if is_of_trouble(stack):
            console.err.print(ONLY_TROUBLE)
        _show(found, is_narrowed=bool(since or wanted))


def _show(found: Page, *, is_narrowed: bool) -> None:
    if not found.messages:
        console.out.print(f"There is no message {'that matches' if is_narrowed else 'yet'}.")
    else:
        columns: dict[str, Callable[[Recent], str]] = {
            "ID": lambda one: one.name,
            "State": lambda one: STATES[one.state].label if one.state else "",
            "Status": lambda one: one.status,
            "Began": lambda one: timestamp(one.since),
            "Took": _took,
            "Message id": _id_of,
        }
        rows = [[tell(one) for tell in columns.values()] for one in found.messages]
        # A column in which nothing stands is left out.
        kept = [number for number, column in enumerate(zip(*rows, strict=True)) if any(column)]
        headers = [*columns]
        tables.print_rows(
            [headers[number] for number in kept], [[row[number] for number in kept] for row in rows]
        )
    if any(one.state is None for one in found.messages):
        console.err.print(f"States are looked up for up to {MOST_STATES} messages: say --limit.")
    if found.cursor is not None:
        console.err.print("There are more: --limit shows them.")
        if any(one.ended for one in found.messages):
            console.err.print(
                "Step Functions lists a message by when it ended: of those not listed, some may "
                "have begun later than these."
            )


def _took(one: Recent) -> str:
    return "" if one.ended is None else f"{(one.ended - one.since).total_seconds():.1f} s"


def _id_of(one: Recent) -> str:
    """The message's id, where the name is another."""
    message_id = one.message_id or ""
    if message_id == one.name:
        return ""
    if len(message_id) > _ID_CHARACTERS:
        return message_id[: _ID_CHARACTERS - 1] + "…"
    return message_id
