"""`actonce where`: the story of one message."""

from typing import Annotated

import typer
from botocore.exceptions import ClientError

from actonce import console
from actonce.aws import Stack
from actonce.beginnings import SHORTEST, only_one
from actonce.commands import tables
from actonce.commands.effects_options import (
    EffectsDescription,
    EffectsFileName,
    EffectsId,
    EffectsKey,
    EffectsTableName,
    EffectsTime,
    own_effects,
)
from actonce.commands.options import Json, check_id, of_a_stack
from actonce.deployed import timestamp
from actonce.errors import Failed
from actonce.own_effects import DEFAULT_ID, DEFAULT_KEY, Attributes
from actonce.recent import MOST_NAMES, newest_names
from actonce.standing import sentence
from actonce.story import read_story
from actonce.target import find_stack
from actonce.whereabouts import Chosen


@of_a_stack()
def where(
    message_id: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE_ID", help="The producer's id, an execution's name, or a beginning."
        ),
    ],
    effects_table: EffectsTableName = None,
    effects_file: EffectsFileName = None,
    effects_key: EffectsKey = DEFAULT_KEY,
    effects_time: EffectsTime = None,
    effects_id: EffectsId = DEFAULT_ID,
    effects_description: EffectsDescription = None,
    *,
    at: Chosen,
    json: Json = False,
) -> None:
    """Tell the whole story of one message, in order of time.

    Its deliveries, its fingerprint, its execution and the states it went through (or its row of the
    ledger), its effect, its dead letter and the decision, and what of it lies in UnstartedQueue.
    The effects of a function of your own are looked up where you say; else its execution's word is
    all there is.

    Examples:

        actonce where request-4711

        actonce where g-1 --effects-table gift-cards --effects-description card
    """
    check_id(message_id)
    stack = find_stack(at)
    named = Attributes(effects_key, effects_time, tuple(effects_description or ()), effects_id)
    own = own_effects(stack, effects_table, effects_file, named)
    story = read_story(stack, message_id, own)
    if not story.is_known:
        whole = _by_beginning(stack, message_id)
        story = story if whole is None else read_story(stack, whole, own)
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


def _by_beginning(stack: Stack, beginning: str) -> str | None:
    """The only one of the newest executions whose name begins so; None: there is none.

    DynamoDB cannot search for the beginning of a row's id, and no table is read for it.
    """
    if len(beginning) < SHORTEST:
        return None
    if stack.ledger_table is not None:
        console.say("Behind a ledger or a lease a message is found by its whole id only.")
        return None
    try:
        names = newest_names(stack)
    except ClientError:  # who may not list them names ids whole
        return None
    whole = only_one(beginning, {name: name for name in names})
    if whole is not None:
        console.say(f"{beginning} is the beginning of {whole}")
    else:
        console.say(f"No id of the newest {MOST_NAMES:,} executions begins so, either.")
    return whole
