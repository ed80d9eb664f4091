"""`actonce unstarted`: deliveries that could not be started."""

from typing import Annotated

import typer

from actonce import console, unstarted
from actonce.aws import Stack
from actonce.commands import tables
from actonce.commands.options import Json, StackName
from actonce.deployed import timestamp
from actonce.errors import Failed, WrongUse
from actonce.message_ids import message_reader
from actonce.queue_peek import QueueReader
from actonce.target import find_stack
from actonce.unstarted import Unstarted

app = typer.Typer(
    help="Look at deliveries that could not be started, and send them back.\n\n"
    "Example:\n\n    actonce unstarted list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Reason = Annotated[
    str | None,
    typer.Option(metavar="REASON", help=f"Only of this reason: {', '.join(unstarted.REASONS)}."),
]


@app.command("list")
def list_(
    reason: Reason = None,
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """List what could not be started, the oldest first.

    Example:

        actonce unstarted list --reason conflict
    """
    _check(reason)
    stack = find_stack(stack_name)
    with _queue(stack) as queue:
        entries = _of_reason(unstarted.entries(queue, message_reader(stack)), reason)
    held = queue.held_elsewhere
    if json:
        found = [entry.as_json() for entry in entries]
        console.print_json({"unstarted": found, "held_elsewhere": held})
    elif entries:
        rows = [
            (one.sqs_message_id, one.reason, timestamp(one.since), one.message_id or "", one.detail)
            for one in entries
        ]
        tables.print_rows(("SQS message id", "Reason", "Since", "Message id", "Detail"), rows)
    else:
        console.out.print("Nothing lies in UnstartedQueue.")
    _say_held(held)


@app.command()
def show(
    message_id: Annotated[str, typer.Argument(metavar="ID", help="SQS message id or message id.")],
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Show what could not be started whole: its body, its producer's attributes.

    Example:

        actonce unstarted show 5fea7756-0ea4-451a-a703-a558b933e274
    """
    stack = find_stack(stack_name)
    with _queue(stack) as queue:
        entries = unstarted.entries(queue, message_reader(stack))
    found = [entry for entry in entries if entry.is_named(message_id)]
    if not found:
        raise Failed(f"There is no {message_id!r} in UnstartedQueue.")
    if json:
        shown = [
            entry.as_json() | {"attributes": entry.attributes, "body": entry.queued.body}
            for entry in found
        ]
        console.print_json({"unstarted": shown, "held_elsewhere": queue.held_elsewhere})
        return
    for entry in found:
        tables.print_fields(entry.as_json() | {"attributes": entry.attributes or None})
        console.print_lines(entry.queued.body)


@app.command()
def redrive(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="SQS message ids or message ids.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Everything that lies there now.")] = False,
    reason: Reason = None,
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Send messages back to RequestsQueue as their producers sent them.

    What still cannot be started comes here again. A message that has an execution is suppressed.

    Examples:

        actonce unstarted redrive 5fea7756-0ea4-451a-a703-a558b933e274

        actonce unstarted redrive --all --reason received_too_often
    """
    if bool(ids) == every:
        raise WrongUse("Name the messages to send back, or say --all (and not both).")
    _check(reason)
    names = ids or []
    stack = find_stack(stack_name)
    with _queue(stack) as queue:
        entries = _of_reason(unstarted.entries(queue, message_reader(stack)), reason)
        chosen = [e for e in entries if every or any(e.is_named(name) for name in names)]
        failures = unstarted.redrive(stack.sqs, stack.requests_queue, queue, chosen)
    missing = [name for name in names if not any(entry.is_named(name) for entry in chosen)]
    redriven = len(chosen) - len(failures)
    if json:
        console.print_json(
            {
                "redriven": redriven,
                "failed": [
                    {"sqs_message_id": failure.entry.sqs_message_id, "why": failure.why}
                    for failure in failures
                ],
                "missing": missing,
            }
        )
    else:
        console.out.print(f"Sent back: {redriven}")
    _say_held(queue.held_elsewhere)
    for failure in failures:
        console.err.print(f"{failure.entry.sqs_message_id}: {failure.why}", markup=False)
    if missing:
        raise Failed(f"Not in UnstartedQueue: {', '.join(missing)}")
    if failures:
        raise Failed(f"{len(failures)} of {len(chosen)} could not be sent back; see above.")


def _queue(stack: Stack) -> QueueReader:
    return QueueReader(stack.sqs, stack.unstarted_queue)


def _check(reason: str | None) -> None:
    if reason is not None and reason not in unstarted.REASONS:
        raise WrongUse(f"There is no reason {reason!r}; there are {', '.join(unstarted.REASONS)}.")


def _of_reason(entries: list[Unstarted], reason: str | None) -> list[Unstarted]:
    return [entry for entry in entries if reason in (None, entry.reason)]


def _say_held(held: int) -> None:
    if held:
        console.err.print(f"Another reader holds {held} more at this moment.")
