"""Messages that wait for a decision: lists of them, and deciding on some, on one or on all."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from actonce.console.context import Context
from actonce.console.views.queue_view import QueueView
from actonce.messages.arguments import command_to_decide
from actonce.messages.dead_letters import REASONS, DeadLetter
from actonce.messages.filters import Listing
from actonce.operate.decisions.allowed import Decision, why_not
from actonce.operate.decisions.deciding import BulkDecision

DECISIONS: Mapping[str, str] = {
    "retry": "Try again. Where the outcome is unknown, ActOnce looks the effect up first.",
    "perform": "Perform it without a look-up, because you have seen for yourself, since the letter "
    "was posted, that it did not happen. If it did happen, it happens twice.",
    "resolve": "Close it as done: the effect happened, or somebody made it happen by hand.",
    "reject": "Close it as rejected: it shall not be done.",
}
"""What each decision means."""


def _command(context: Context, chosen: Sequence[DeadLetter], decision: str, note: str) -> str:
    return "\n".join(
        command_to_decide(context.stack.options, letter, decision, note) for letter in chosen
    )


def _task(context: Context, shown: Listing[DeadLetter], decision: str, note: str) -> BulkDecision:
    chosen = cast("Decision", decision)
    return BulkDecision(context.stack, shown, chosen, note, wait_for_others=context.job_waits)


VIEW: Final = QueueView(
    queue="dead-letters",
    noun=("dead letter", "dead letters"),
    kinds=("reason", "error"),
    reasons=REASONS,
    actions=DECISIONS,
    command=_command,
    task=_task,
    why_not=lambda context, letter, name: why_not(context.stack, name, letter.reason, letter.cause),
)
