"""`actonce where`: the story of one message."""

from actonce.cli import tables
from actonce.cli.effects_options import EffectsPlace, of_own_effects
from actonce.cli.options import Json, MessageId, check_id, of_a_stack
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.message_summary import (
    WAITING,
    Summary,
    command_to_decide,
    seen_nowhere,
    summarize,
    waits_for_decision,
)
from actonce.messages.story import read_story, waiting_letter
from actonce.operate.decisions.offered import decisions_on
from actonce.stack.clients import Stack
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp


@of_a_stack()
@of_own_effects(shown=True)
def where(
    message_id: MessageId,
    *,
    own: EffectsPlace,
    at: Chosen,
    json: Json = False,
) -> None:
    """Tell the whole story of one message, in order of time.

    Its deliveries, its fingerprint, its execution and the states it went through (or its row of the
    ledger), its effect, its dead letter and the decision, and what of it is in UnstartedQueue.
    If no part of the stack has seen the message, it tells what waits unread. Then it says how the
    message stands, what is known of its effect, and what to do now.
    The effects of a function of your own are looked up where you say; otherwise only its execution
    says whether it happened.

    Examples:

        actonce where request-4711

        actonce where g-1 --effects-table gift-cards --effects-description card
    """
    check_id(message_id)
    stack = find_stack(at)
    story = read_story(stack, message_id, own.effects(stack))
    if not story.is_known:
        raise Failed(" ".join(seen_nowhere(stack, story)))
    letter = waiting_letter(stack, story) if waits_for_decision(story) else None
    summary = summarize(story, letter)
    if json:
        told = {"summary": summary.as_json(), "letter": letter and letter.entry}
        console.print_json(told | story.as_json())
        return
    rows = [
        (timestamp(moment.at), moment.where, moment.what, moment.more)
        for moment in story.timeline()
    ]
    tables.print_rows(("Time", "Where", "What", "More"), rows)
    console.out.print()
    print_summary(summary)
    if letter is not None:
        print_choice(stack, letter, summary)
    elif summary.state == WAITING:
        console.say("Its dead letter was not found just now: look again, to be shown it.")


def print_choice(stack: Stack, letter: DeadLetter, summary: Summary) -> None:
    """Print the command that decides on a letter, with the decisions that it takes."""
    # What is advised comes first.
    choice = decisions_on(stack, letter.reason, letter.cause)
    choice.sort(key=lambda one: one != summary.advised)
    command = command_to_decide(stack.options, letter, "DECISION")
    console.say(f"To decide, with {', '.join(choice)} as DECISION: {command}")


def print_summary(summary: Summary) -> None:
    """Print how a message stands, and what to do now."""
    status = f" ({summary.status})" if summary.status else ""
    fields = {"State": summary.label + status, "What happened": summary.sentence}
    if summary.advice is not None:
        fields["What to do"] = summary.advice
    if summary.conflicts is not None:
        fields["Conflict"] = summary.conflicts
    tables.print_fields(fields)
    for unread in summary.unread:
        console.out.print(unread, markup=False)
