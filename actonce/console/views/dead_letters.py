"""Messages that wait for a decision: lists of them, and deciding on some, on one or on all."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, cast

from actonce.console.answers import Refused
from actonce.console.context import Context
from actonce.console.views.queue_view import QueueView, Scope
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.filters import Listing
from actonce.messages.message_summary import as_argument
from actonce.operate.deciding_many import Deciding
from actonce.operate.decisions import IN_VAIN, Decision, is_retried_in_vain
from actonce_core.records import timestamp

DECISIONS: Mapping[str, str] = {
    "retry": "Have the effect tried again; where the outcome is unknown it is looked up first.",
    "perform": "Say that it did not happen, and have it performed without a look-up: only if you "
    "have seen so yourself, since the letter was posted. What did happen happens twice.",
    "resolve": "Declare it done: the effect happened, or was made to happen by hand.",
    "reject": "Declare that it shall not be done; its execution fails.",
}
"""What each decision means, as the command line's help says it."""


def command_of_one(
    context: Context, message_id: str, execution_name: str, decision: str, note: str
) -> str:
    """The command line that decides on one message."""
    told = f" --note {shlex.quote(note)}" if note or decision != "retry" else ""
    return (
        f"actonce dead-letters {decision} {as_argument(message_id, execution_name)}{told}"
        f"{context.place.options}"
    )


def _command(
    context: Context, scope: Scope, chosen: Sequence[DeadLetter], decision: str, note: str
) -> str:
    """Of several that were ticked, one for each."""
    if not scope.all:
        return "\n".join(
            command_of_one(context, one.message_id, one.execution_name, decision, note)
            for one in chosen
        )
    told = "".join(f" --{name} {shlex.quote(value)}" for name, value in scope.kind.items())
    # SQS tells milliseconds, and what waited before is meant, not what was sent that very moment.
    before = max(letter.since for letter in chosen) + timedelta(milliseconds=1)
    told += f" --before {timestamp(before)}"
    if note:
        told += f" --note {shlex.quote(note)}"
    return f"actonce dead-letters {decision} --all{told}{context.place.options}"


def _one(context: Context, entry: str) -> DeadLetter:
    """SQS's id of the entry is that letter's alone."""
    letter = context.letters.find(lambda letter: letter.entry == entry)
    if letter is None:
        sentence = (
            "Nothing was decided: the letter that this page showed is not among what is known any "
            "more. It was decided on, or the message has another letter since: open the page again."
        )
        raise Refused(sentence, 410, VIEW.path)
    return letter


def _check(context: Context, chosen: Sequence[DeadLetter], decision: str) -> None:
    """Refuse what would decide on none of them; the job says so of some."""
    if decision == "retry" and all(
        is_retried_in_vain(context.stack, one.reason, one.cause) for one in chosen
    ):
        raise Refused(IN_VAIN)


def _task(context: Context, shown: Listing[DeadLetter], decision: str, note: str) -> Deciding:
    chosen = cast("Decision", decision)
    return Deciding(context.stack, shown, chosen, note, wait_for_others=context.job_waits)


VIEW: Final = QueueView(
    queue="dead_letters",
    scans=lambda context: context.letters,
    noun=("dead letter", "dead letters"),
    kinds=("reason", "error"),
    actions=DECISIONS,
    command=_command,
    task=_task,
    check=_check,
    one=_one,
)
