"""`actonce where`: the story of one message."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from actonce.cli import tables
from actonce.cli.effects_options import EffectsPlace, of_own_effects
from actonce.cli.options import Json, check_id, of_a_stack
from actonce.messages.story import Story, read_story
from actonce.operate.message_summary import sentence, sentence_of_conflicts
from actonce.operate.pausing import find_pause
from actonce.operate.status import depth_of
from actonce.operate.unread import sentences
from actonce.queues.sent_record import sent_of
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.records import timestamp


@of_a_stack()
@of_own_effects(shown=True)
def where(
    message_id: Annotated[
        str,
        typer.Argument(metavar="MESSAGE_ID", help="The producer's id, or an execution's name."),
    ],
    *,
    own: EffectsPlace,
    sent: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder that actonce send --record was given: tells when it was sent  [the "
            "demo's]",
        ),
    ] = None,
    at: Chosen,
    json: Json = False,
) -> None:
    """Tell the whole story of one message, in order of time.

    Its deliveries, its fingerprint, its execution and the states it went through (or its row of the
    ledger), its effect, its dead letter and the decision, and what of it lies in UnstartedQueue.
    Of a message that nothing has seen yet it tells what waits unread, and when it was sent.
    The effects of a function of your own are looked up where you say; else its execution's word is
    all there is.

    Examples:

        actonce where request-4711

        actonce where g-1 --effects-table gift-cards --effects-description card
    """
    check_id(message_id)
    stack = find_stack(at)
    story = read_story(stack, message_id, own.effects(stack))
    if not story.is_known:
        raise Failed(" ".join(_unseen(stack, story, sent)))
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
    conflicts = sentence_of_conflicts(story)
    if conflicts is not None:
        console.out.print(conflicts, markup=False)


def _unseen(stack: Stack, story: Story, sent: Path | None) -> list[str]:
    folder = sent or Paths.default().sent
    try:
        lines = sent_of(folder, story.message_id)
    except (OSError, EOFError, ValueError) as error:
        raise WrongUse(f"{folder} cannot be read: {error}.") from error
    requests = depth_of(stack, stack.requests_queue, datetime.now(UTC))
    paused = find_pause(stack.sqs, stack.requests_queue)
    held_elsewhere = story.unstarted_held_elsewhere
    return sentences(story.message_id, requests, paused, lines, held_elsewhere)
