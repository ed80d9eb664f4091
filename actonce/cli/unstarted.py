"""`actonce unstarted`: deliveries that could not be started."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError

from actonce.cli import many, tables
from actonce.cli.options import Json, check_id, of_a_stack
from actonce.messages import history, unstarted
from actonce.messages.unstarted import Unstarted
from actonce.operate.discarding import Cleared, Clearing, Discarding, Redriving, Shown, look
from actonce.operate.unread import cannot_be_told
from actonce.queues.scan import QueueReader, held_by_another
from actonce.stack.clients import Stack
from actonce.stack.endpoint import Chosen
from actonce.stack.message_ids import message_reader
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader
from actonce_core.records import timestamp

app = typer.Typer(
    help="Look at deliveries that could not be started, send them back, or take them away.\n\n"
    "Example:\n\n    actonce unstarted list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="SQS message ids or message ids; or --all."),
]
Note = Annotated[str, typer.Option(help="Why; it is kept with each of them.")]
Match = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only with TEXT in an id, detail or body.")
]
Reason = Annotated[
    str | None,
    typer.Option(metavar="REASON", help=f"Only of this reason: {', '.join(unstarted.REASONS)}."),
]
_KINDS = {"reason": Reason}


@app.command("list")
@of_a_stack()
@many.asked_how(_KINDS, Match)
def list_(*, how: many.Many, at: Chosen) -> None:
    """List what could not be started, the oldest first.

    Where there is much it tells how many of which kind; --each lists them all.

    Example:

        actonce unstarted list --reason conflict
    """
    _check_reason(how)
    stack = find_stack(at)
    shown = _look(stack, message_reader(stack), how)
    entries = shown.entries
    if how.json:
        found = [entry.as_json() for entry in entries]
        console.print_json(
            {
                "unstarted": found,
                "groups": many.groups_as_json(entries),
                "held_elsewhere": shown.held_elsewhere,
            }
        )
    elif not entries and not shown.held_elsewhere:
        of_this = "of this " if how.is_narrowed else ""
        console.out.print(f"Nothing {of_this}lies in UnstartedQueue.")
    elif not entries:
        pass  # what another reader holds has been told of
    elif len(entries) > many.GROUPED_FROM and not how.each:
        console.out.print(f"{len(entries):,} deliveries could not be started:")
        many.print_groups(entries)
    else:
        rows = [
            (one.sqs_message_id, one.reason, timestamp(one.since), one.message_id or "", one.detail)
            for one in entries
        ]
        tables.print_rows(("SQS message id", "Reason", "Since", "Message id", "Detail"), rows)


@app.command()
@of_a_stack()
def show(
    message_id: Annotated[str, typer.Argument(metavar="ID", help="SQS message id or message id.")],
    *,
    at: Chosen,
    json: Json = False,
) -> None:
    """Show what could not be started whole: its body, its producer's attributes.

    Of a conflict it also shows what was started under its id, where an execution has that.

    Example:

        actonce unstarted show 5fea7756-0ea4-451a-a703-a558b933e274
    """
    check_id(message_id)
    stack = find_stack(at)
    with _queue(stack) as queue:
        entries = unstarted.entries(queue, message_reader(stack))
    found = [entry for entry in entries if entry.is_named(message_id)]
    if not found and queue.held_elsewhere:
        told = cannot_be_told(f"{message_id!r} lies", queue.held_elsewhere)
        raise Failed(f"{told[0].upper()}{told[1:]}; look again.")
    if not found:
        raise Failed(
            f"There is no {message_id!r} in UnstartedQueue; actonce unstarted list shows what is."
        )
    started = {
        name: _started_under(stack, name)
        for name in dict.fromkeys(entry.message_id for entry in found if entry.is_conflict)
        if name is not None
    }
    if json:
        shown = [
            entry.as_json()
            | {"attributes": entry.attributes, "body": entry.queued.body}
            | {"started": started.get(entry.message_id or "")}
            for entry in found
        ]
        console.print_json({"unstarted": shown, "held_elsewhere": queue.held_elsewhere})
        return
    for entry in found:
        tables.print_fields(entry.as_json() | {"attributes": entry.attributes or None})
        console.print_lines(entry.queued.body)
    for name, message in started.items():
        if message is not None:
            console.out.print(f"What was started under the id {name}:")
            console.print_json_in_lines(message)


def _started_under(stack: Stack, stored_id: str) -> dict[str, Any] | None:
    """The message that an execution has; None: there is none, or nobody here may look."""
    if stack.ledger_table is not None:
        return None  # a row keeps no content
    try:
        execution = history.find_execution(stack, execution_name(stored_id))
    except ClientError:
        return None
    return None if execution is None else execution.input or None


@app.command()
@of_a_stack()
@many.asked_how(_KINDS, Match, acts=True, paced=True)
def redrive(*, ids: Ids = None, how: many.Many, at: Chosen) -> None:
    """Send messages back to RequestsQueue as their producers sent them.

    What still cannot be started comes here again. A message that has an execution is suppressed.

    With --all it shows what it would send back, asks, and sends back these and none that come
    later. It may be interrupted, and said again.

    Examples:

        actonce unstarted redrive 5fea7756-0ea4-451a-a703-a558b933e274

        actonce unstarted redrive --all --reason received_too_often
    """
    how.check(ids)
    _check_reason(how)
    stack = find_stack(how.allowing(at), changes=not how.every)
    reader = message_reader(stack)
    chosen = _choose(stack, reader, ids, how, "redriven")
    if chosen is None:
        return
    work = Redriving(stack, reader, chosen.entries, rate=how.rate)
    _clear(work, how, "redriven", "Sent back", chosen)


@app.command()
@of_a_stack()
@many.asked_how(_KINDS, Match, acts=True)
def discard(
    *,
    ids: Ids = None,
    note: Note,
    how: many.Many,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A new file for them; default discarded-TIME.jsonl here."
        ),
    ] = None,
    at: Chosen,
) -> None:
    """Take away what shall not be started. It is written to a file first, whole.

    A line of the file is a JSON object with the message's body, its producer's attributes, the
    reason and the note. Keep it: it is all that is left of them.

    With --all it shows what it would discard, asks, and discards these and none that come later.

    Examples:

        actonce unstarted discard 5fea7756-0ea4-451a-a703-a558b933e274 --note 'a test of ours'

        actonce unstarted discard --all --reason not_json --to garbage.jsonl --note 'a scanner'
    """
    how.check(ids)
    _check_reason(how)
    if not note.strip():
        raise WrongUse("An empty note is none: say why, for whoever reads the file.")
    file = to or Path(f"discarded-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.jsonl")
    if file.exists():
        raise WrongUse(f"{file} is there already; name a new file.")
    stack = find_stack(how.allowing(at), changes=not how.every)
    reader = message_reader(stack)
    chosen = _choose(stack, reader, ids, how, "discarded")
    if chosen is None:
        return
    if chosen.entries:
        work = Discarding(stack, reader, chosen.entries, file, note=note)
        _clear(work, how, "discarded", "Discarded", chosen, str(file))
    else:
        _clear(None, how, "discarded", "Discarded", chosen)


def _check_reason(how: many.Many) -> None:
    many.check_reason(how.narrowing.kind.get("reason"), unstarted.REASONS)


@dataclass(frozen=True, slots=True)
class _ToClear:
    """What is to be acted on, names of which nothing was seen, and how many others held."""

    entries: Sequence[Unstarted]
    missing: list[str]
    held_elsewhere: int


def _choose(
    stack: Stack, reader: MessageReader, ids: list[str] | None, how: many.Many, word: str
) -> _ToClear | None:
    """What is to be acted on; None: nothing at all, and all is said.

    Raises:
        Failed: nothing was seen, and not all could be.
    """
    shown = _look(stack, reader, how)
    entries = shown.entries
    if ids:
        chosen = [entry for entry in entries if any(map(entry.is_named, ids))]
        missing = [name for name in dict.fromkeys(ids) if not any(e.is_named(name) for e in chosen)]
        return _ToClear(chosen, missing, shown.held_elsewhere)
    if not how.json:
        if not entries:
            many.check_all_seen(how, 0, shown.held_elsewhere)
            console.out.print("Nothing of this lies in UnstartedQueue.")
            return None
        deliveries = console.counted(len(entries), "delivery", "deliveries")
        console.out.print(f"To be {word}: {deliveries}")
        many.print_groups(entries)
    if how.dry_run:
        if how.json:
            found = [entry.as_json() for entry in entries]
            groups = many.groups_as_json(entries)
            console.print_json(
                {
                    "dry_run": True,
                    "groups": groups,
                    "unstarted": found,
                    "held_elsewhere": shown.held_elsewhere,
                }
            )
            if not entries:
                many.check_all_seen(how, 0, shown.held_elsewhere)
        return None
    many.ask(f"{len(entries):,} to be {word}?", how)
    return _ToClear(entries, [], shown.held_elsewhere)


def _clear(
    work: Clearing | None,
    how: many.Many,
    word: str,
    said: str,
    chosen: _ToClear,
    file: str | None = None,
) -> None:
    """Do it, and tell what became of each."""
    early: list[BaseException] = []
    cleared: list[Cleared] = []
    left = 0
    total = len(chosen.entries)
    if work is not None:
        with many.acting(said, total, lambda: work.left) as (tell, early):
            work.run(tell)
        cleared, left = work.cleared, work.left
    failed = [one for one in cleared if one.why]
    done = len(cleared) - len(failed)
    if how.json:
        console.print_json(
            {
                word: done,
                "failed": [
                    {"sqs_message_id": one.entry.sqs_message_id, "why": one.why} for one in failed
                ],
                "missing": chosen.missing,
                "held_elsewhere": chosen.held_elsewhere,
                "left": left,
                "file": file,
                "ends": [one.as_json() for one in cleared],
            }
        )
    else:
        for one in cleared if how.each else failed:
            line = f"{one.entry.sqs_message_id}: {one.why or said.lower()}"
            (console.err if one.why else console.out).print(line)
        console.out.print(f"{said}: {done}" + (f", kept in {file}" if file and done else ""))
    if work is not None and work.left_behind:
        console.err.print(
            f"{work.left_behind} of them could not be deleted and come again; that is harmless."
        )
    if early:
        raise early[0]
    if chosen.missing:
        names = ", ".join(chosen.missing)
        if chosen.held_elsewhere:
            held = held_by_another(chosen.held_elsewhere)
            raise Failed(f"Not seen in UnstartedQueue: {names}; {held}; look again.")
        raise Failed(f"Not in UnstartedQueue: {names}")
    if failed:
        raise Failed(f"{len(failed)} of {total} stay where they are; see above.")
    if how.every:
        many.check_all_seen(how, total, chosen.held_elsewhere)


def _look(stack: Stack, reader: MessageReader, how: many.Many) -> Shown:
    with _queue(stack) as queue:
        return many.reading(
            queue, "UnstartedQueue", lambda tell: look(queue, reader, how.narrowing, tell)
        )


def _queue(stack: Stack) -> QueueReader:
    return QueueReader(stack.sqs, stack.unstarted_queue)
