"""`actonce pause`, `actonce resume`, `actonce status`."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from actonce import console, pausing
from actonce import status as stack_status
from actonce.aws import Stack
from actonce.commands import tables
from actonce.commands.options import Json, of_a_stack
from actonce.message_ids import parameters
from actonce.pausing import Pause
from actonce.target import find_stack
from actonce.whereabouts import Chosen


@of_a_stack(asks=True)
def pause(
    note: Annotated[str, typer.Option(help="Why; others see it.")] = "",
    *,
    at: Chosen,
) -> None:
    """Take no more messages: they wait in RequestsQueue, for 14 days at most, free of charge.

    What was taken before is finished: open executions go on, and wait for their provider as
    PatienceSeconds say. On AWS it takes up to a minute until nothing more is taken, and with
    workers likewise. The producer notices nothing.

    Example:

        actonce pause --note "provider down, ticket 4711"
    """
    stack = find_stack(at, changes=True)
    found = pausing.pause(stack, by=_who(stack), note=note, now=datetime.now(UTC))
    console.out.print(f"Paused since {_told(found)}. actonce resume goes on.")


@of_a_stack(asks=True)
def resume(*, at: Chosen) -> None:
    """Take messages again.

    Example:

        actonce resume
    """
    stack = find_stack(at, changes=True)
    found = pausing.resume(stack)
    was = f"It was paused since {_told(found)}." if found else "It was not paused."
    console.out.print(f"Messages are taken. {was}")


@of_a_stack()
def status(*, at: Chosen, json: Json = False) -> None:
    """Show whether the stack takes messages, and how many wait where.

    Example:

        actonce status --json
    """
    stack = find_stack(at)
    found = stack_status.status(stack, datetime.now(UTC))
    if json:
        console.print_json(found.as_json())
        return
    told = [f"{one.function} ({one.state})" for one in found.feeds]
    if parameters(stack).get("QueueFeeds", "function") == "worker":
        told = ["workers on hosts"]
    tables.print_fields(
        {
            "Stack": found.stack,
            "Paused": f"since {_told(found.pause)}" if found.pause else "no",
            "Queue feeds": ", ".join(told) or "nothing",
        }
    )
    if found.is_fed_all_the_same:
        console.err.print(
            "It says that it is paused, and messages are taken all the same: a deployment, or "
            "somebody, has enabled what its queue feeds. actonce pause pauses it again, actonce "
            "resume lets it go on."
        )
    rows = [
        (
            name.replace("_", " "),
            str(depth.waiting),
            str(depth.in_flight),
            str(depth.delayed),
            "" if depth.oldest_seconds is None else f"{depth.oldest_seconds} s",
        )
        for name, depth in found.queues.items()
    ]
    tables.print_rows(("Queue", "Waiting", "In flight", "Delayed", "Oldest"), rows)


def _told(found: Pause) -> str:
    return f"{found.since} by {found.by}" + (f": {found.note}" if found.note else "")


def _who(stack: Stack) -> str:
    """Who asks, as AWS knows them."""
    caller = stack.aws.caller()
    return "somebody" if caller is None else caller.arn
