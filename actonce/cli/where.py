"""`actonce where`: the story of one message."""

from actonce.cli import tables
from actonce.cli.options import Json, MessageId, check_id, stack_options
from actonce.messages.arguments import message_argument
from actonce.messages.effect_store import find_effect_store
from actonce.messages.not_found import not_found_sentences
from actonce.messages.states import WAITING
from actonce.messages.story import read_story
from actonce.messages.summary import Summary, summarize
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp


@stack_options()
def where(
    message_id: MessageId,
    *,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """Tell the whole story of one message, in order of time.

    Its deliveries, its fingerprint, its execution and the states it went through (or the row of its
    first attempt), its effect, its dead letter and the decision, and what of it is in
    UnstartedQueue. If no part of the stack has seen the message, it tells what waits unread. Then
    it says how the message stands, what is known of its effect, and what to do now.
    Effects are looked up in the table that the stack names (EffectsTableName); without one only the
    execution says whether it happened.

    Example:

        actonce where request-4711
    """
    check_id(message_id)
    stack = find_stack(at)
    story = read_story(stack, message_id, find_effect_store(stack))
    if not story.is_known:
        raise Failed(" ".join(not_found_sentences(stack, story)))
    summary = summarize(story)
    if json:
        console.print_json({"summary": summary.as_json(), **story.as_json()})
        return
    rows = [
        (timestamp(moment.at), moment.where, moment.event_type, moment.detail)
        for moment in story.timeline()
    ]
    tables.print_rows(("Time", "Where", "What", "More"), rows)
    console.out.print()
    print_summary(summary)
    if summary.state == WAITING:
        command = f"actonce dead-letters show{stack.options} {message_argument(story)}"
        console.say(f"To decide, look at its dead letter: {command}")


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
