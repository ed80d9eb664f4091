"""`actonce unstarted`: deliveries that could not be started."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from actonce.cli import bulk, tables
from actonce.cli.bulk import BulkOptions, EntryFormat, bulk_options
from actonce.cli.options import Json, check_id, stack_options, with_glossary
from actonce.messages.difference import difference
from actonce.messages.filters import Listing, reason_label
from actonce.messages.sentences import unknown_because_in_flight
from actonce.messages.summary import advice_on
from actonce.messages.unstarted import (
    EXPLANATIONS,
    REASONS,
    Unstarted,
    find_by_message_id,
    find_first_execution,
    list_unstarted,
)
from actonce.operate.discarding import BulkDiscard
from actonce.operate.sending_back import BulkSendBack
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.endpoint import TargetOptions
from actonce.stack.message_ids import message_reader
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, UsageError
from actonce_core.message import MessageReader
from actonce_core.records import timestamp

app = typer.Typer(
    help="Look at, send back or discard what was not started.\n\n"
    "Example:\n\n    actonce unstarted list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="SQS message ids or message ids; or --all."),
]
Note = Annotated[str, typer.Option(help="Why you discard them; each line of the file keeps it.")]
_TEXTS = "an id, detail or body"
_DELIVERIES: EntryFormat[Unstarted] = EntryFormat(
    queue="UnstartedQueue",
    name="unstarted",
    one="unstarted delivery",
    several="unstarted deliveries",
    headers=("SQS message id", "Reason", "Since", "Message id", "Detail"),
    row=lambda one: (
        one.entry,
        reason_label(one.reason),
        timestamp(one.since),
        one.message_id or "",
        one.detail,
    ),
    as_json=Unstarted.as_json,
)


@app.command("list")
@stack_options()
@bulk_options(REASONS, _TEXTS)
@with_glossary(EXPLANATIONS)
def list_(*, how: BulkOptions, at: TargetOptions) -> None:
    """List what could not be started, the oldest first.

    They stay in UnstartedQueue, 14 days at most, until somebody sends them back or discards them.
    More than 50 are counted by kind; --limit lists so many. Why a delivery was not started:

    Example:

        actonce unstarted list --reason conflict
    """
    stack = find_stack(at)
    listing = _look(stack, message_reader(stack), how)
    bulk.print_list(_DELIVERIES, listing, how)
    if listing.entries and not how.json:
        for reason, entry in {one.reason: one for one in reversed(listing.entries)}.items():
            explanation = EXPLANATIONS.get(reason, "it does not say why")
            console.say(f"--reason {reason}: {explanation}. {advice_on(stack, entry).text}")


@app.command()
@stack_options()
def show(
    message_id: Annotated[str, typer.Argument(metavar="ID", help="SQS message id or message id.")],
    *,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """Show one delivery whole, with its body.

    It shows the producer's attributes as well. Of a conflict it also marks what differs from the
    content that was started under this id.

    Example:

        actonce unstarted show 5fea7756-0ea4-451a-a703-a558b933e274
    """
    check_id(message_id)
    stack = find_stack(at)
    with _queue(stack) as queue:
        found = find_by_message_id(queue, message_reader(stack), message_id)
    if not found and queue.in_flight_elsewhere:
        reason = unknown_because_in_flight(f"{message_id!r} is", queue.in_flight_elsewhere)
        raise Failed(f"{reason[0].upper()}{reason[1:]}; look again.")
    if not found:
        raise Failed(
            f"{message_id!r} is not in UnstartedQueue. What is: actonce unstarted "
            f"list{stack.options}"
        )
    firsts = {
        one.message_id: find_first_execution(stack, one.message_id)
        for one in found
        if one.is_conflict and one.message_id is not None
    }
    if json:
        shown = []
        for entry in found:
            first = firsts.get(entry.message_id or "")
            started = None if first is None or isinstance(first, str) else first.message
            whole = {"attributes": entry.attributes, "body": entry.queued.body, "started": started}
            shown.append(entry.as_json() | whole)
        console.print_json({"unstarted": shown, "in_flight_elsewhere": queue.in_flight_elsewhere})
        return
    for entry in found:
        fields = entry.as_json() | {"reason": reason_label(entry.reason)}
        tables.print_fields(fields | {"attributes": entry.attributes or None})
        console.print_lines(entry.queued.body)
        first = firsts.get(entry.message_id or "")
        if isinstance(first, str):
            console.say(first)
        elif first is not None and entry.is_conflict:
            console.out.print("Against the content that was started first, which is behind -:")
            apart = difference(str(first.input.get("body", "")), entry.queued.body)
            for line in apart.lines():
                console.out.print(line)
            console.say(" ".join(apart.notes))


@app.command()
@stack_options()
@bulk_options(REASONS, _TEXTS, acts=True, paced=True)
def send_back(*, ids: Ids = None, how: BulkOptions, at: TargetOptions) -> None:
    """Send back to the requests queue what was not started.

    Each message goes back as its producer sent it, and the starter tries it again: as a duplicate
    it suppresses a message that has an execution by now, and what it still cannot start it puts
    into UnstartedQueue.

    --all shows what it would send back, asks, and sends back these and none that come later. If it
    is interrupted, give the same command again.

    Examples:

        actonce unstarted send-back 5fea7756-0ea4-451a-a703-a558b933e274

        actonce unstarted send-back --all --reason received_too_often
    """
    stack = how.stack(at, ids)
    reader = message_reader(stack)
    work = BulkSendBack(stack, _look(stack, reader, how, ids), reader, rate=how.rate)
    bulk.act(_DELIVERIES, "send-back", work, how, ids or ())


@app.command()
@stack_options()
@bulk_options(REASONS, _TEXTS, acts=True)
def discard(
    *,
    ids: Ids = None,
    note: Note,
    how: BulkOptions,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The new file  [discarded-TIME.jsonl in this folder]"),
    ] = None,
    at: TargetOptions,
) -> None:
    """Delete what shall not be started, once a file has it.

    Each line of the file is a JSON object with the message's body, its producer's attributes, the
    reason and the note. Keep the file: nothing else has these messages.

    --all shows what it would discard, asks, and discards these and none that come later.

    Examples:

        actonce unstarted discard 5fea7756-0ea4-451a-a703-a558b933e274 --note 'a test of ours'

        actonce unstarted discard --all --reason not_json --to garbage.jsonl --note 'a scanner'
    """
    if not note.strip():
        raise UsageError("The note is empty: say why, for whoever reads the file.")
    file = to or Path(f"discarded-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.jsonl")
    if file.exists():
        raise UsageError(f"{file} is there already; name a new file.")
    stack = how.stack(at, ids)
    reader = message_reader(stack)
    work = BulkDiscard(stack, _look(stack, reader, how, ids), reader, file, note)
    bulk.act(_DELIVERIES, "discard", work, how, ids or ())


def _look(
    stack: Stack, reader: MessageReader, how: BulkOptions, ids: Sequence[str] | None = None
) -> Listing[Unstarted]:
    queue = _queue(stack)
    entry_filter = how.entry_filter
    return bulk.read(
        queue,
        _DELIVERIES.queue,
        lambda tell: list_unstarted(queue, reader, entry_filter, tell),
        ids or (),
    )


def _queue(stack: Stack) -> QueueReader:
    return QueueReader(stack.sqs, stack.unstarted_queue)
