"""`actonce where`: the story of one message."""

from typing import Annotated

import typer

from actonce import console
from actonce.commands import tables
from actonce.commands.options import Json, StackName
from actonce.deployed import timestamp
from actonce.errors import Failed
from actonce.standing import sentence
from actonce.story import read_story
from actonce.target import find_stack


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
    console.out.print(sentence(story), markup=False)
