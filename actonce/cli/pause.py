"""`actonce pause`, `actonce resume`."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from actonce.cli.options import stack_options
from actonce.operate import pausing
from actonce.stack.clients import Stack
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce_core.records import timestamp


@stack_options(asks=True)
def pause(
    note: Annotated[str, typer.Option(help="Why; others see it.")] = "",
    *,
    at: TargetOptions,
) -> None:
    """Take no more messages from the requests queue.

    They wait there, for 14 days at most, free of charge. What was taken before is finished: open
    executions go on, and wait for their provider. On AWS it takes up to a minute until nothing more
    is taken. The producer notices nothing.

    Example:

        actonce pause --note "provider down, ticket 4711"
    """
    stack = find_stack(at, changes=True)
    now = datetime.now(UTC)
    found = pausing.pause(stack, by=_who(stack), note=note, now=now)
    if note and found.since != timestamp(now):
        console.say_warning(
            "It was already paused, and this note was not kept. To change the note, actonce resume "
            "and pause again."
        )
    console.out.print(f"Paused since {found.text}. actonce resume takes messages again.")


@stack_options(asks=True)
def resume(*, at: TargetOptions) -> None:
    """Take messages again.

    Example:

        actonce resume
    """
    stack = find_stack(at, changes=True)
    found = pausing.resume(stack)
    was = f"It was paused since {found.text}." if found else "It was not paused."
    console.out.print(f"The stack takes messages. {was}")


def _who(stack: Stack) -> str:
    """Who asks, as AWS knows them."""
    caller = stack.aws.caller
    return "somebody" if caller is None else caller.arn
