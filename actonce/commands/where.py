"""`actonce where`: the story of one message."""

import shlex
from typing import Annotated

import typer

from actonce import console
from actonce.commands import tables
from actonce.commands.options import Json, StackName
from actonce.deployed import timestamp
from actonce.errors import Failed
from actonce.story import Story, read_story
from actonce.target import find_stack
from pipeline.visible import visible


def where(
    message_id: Annotated[
        str, typer.Argument(metavar="MESSAGE_ID", help="The producer's id, or an execution's name.")
    ],
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Tell the whole story of one message, in order of time.

    Its deliveries, its fingerprint, its execution and the states it went through (or its row of the
    ledger), its effect, its dead letter and the decision, and what of it lies in UnstartedQueue.

    Example:

        actonce where request-4711
    """
    story = read_story(find_stack(stack_name), message_id)
    if not story.is_known:
        raise Failed(f"Nothing is known of a message {message_id!r}: no part of the stack saw it.")
    if json:
        console.print_json(story.as_json())
        return
    rows = [
        (timestamp(moment.at), moment.where, moment.what, moment.more)
        for moment in story.timeline()
    ]
    tables.print_rows(("Time", "Where", "What", "More"), rows)
    console.out.print()
    console.out.print(_how_it_stands(story), markup=False)


def _how_it_stands(story: Story) -> str:
    """One sentence: where the message is now."""
    if story.dead_letters and not story.dead_letters[-1].over:
        return (
            f"It is a dead letter and waits for a decision: "
            f"actonce dead-letters show {_argument(story)}"
        )
    effects = len(story.effects)
    acted = {0: "not acted on", 1: "acted on once"}.get(effects, f"acted on {effects} times")
    suppressed = sum(line["end"] == "suppressed" for line in story.deliveries)
    of_deliveries = f"{suppressed} of {len(story.deliveries)} deliveries suppressed"
    if story.row is not None and story.row.get("outcome") == "dead_letter":
        return f"It is a dead letter: actonce dead-letters show {_argument(story)}"
    if story.row is not None:
        outcome = story.row.get("outcome")
        status = f"{story.row['status']}{f' ({outcome})' if outcome else ''}"
        return f"Its row is {status}; it was {acted}; {of_deliveries}."
    if story.execution is None:
        place = "in UnstartedQueue" if story.unstarted else "nowhere any more"
        return f"No execution is known; it lies {place}; it was {acted}."
    status = story.execution.status
    outcome = story.execution.output.get("outcome")
    return (
        f"Its execution is {status}{f' ({outcome})' if outcome else ''}; it was {acted}; "
        f"{of_deliveries}."
    )


def _argument(story: Story) -> str:
    """The message as an argument that can be copied into a shell."""
    message_id = story.message_id
    if visible(message_id) != message_id:
        return story.execution_name
    return f"{'-- ' if message_id.startswith('-') else ''}{shlex.quote(message_id)}"
