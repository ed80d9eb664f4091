"""Deliveries that could not be started: their list, one of them, sending back and discarding."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response

from actonce.console.context import Context
from actonce.console.responses import Refused, ViewRequest, page
from actonce.console.views.queue_view import QueueView
from actonce.messages.difference import difference
from actonce.messages.filters import Listing
from actonce.messages.history import Execution
from actonce.messages.summary import advice_on
from actonce.messages.unstarted import REASONS, Unstarted, find_first_execution
from actonce.operate.discarding import BulkDiscard
from actonce.operate.sending_back import BulkSendBack
from actonce.stack.message_ids import message_reader


def entry(context: Context, request: ViewRequest) -> Response:
    """One of them; of a conflict also the first content, and how the two differ."""
    state = context.unstarted.refresh(request.patience)
    name = request.value("entry")
    found = next((entry for entry in state.listing.entries if entry.entry == name), None)
    if found is None:
        sentence = (
            "This delivery was not found in UnstartedQueue: somebody sent it back or discarded it, "
            f"or it came later. {state.how_far_read('UnstartedQueue')}"
        )
        raise Refused(sentence, 404, VIEW.path)
    first = None
    if found.is_conflict and found.message_id is not None:
        first = find_first_execution(context.stack, found.message_id)
    advice = advice_on(context.stack, found, differs_beside=True)
    actions = VIEW.offered(context, [found], advice)
    return page(
        context,
        "unstarted_entry.html.j2",
        entry=found,
        advice=advice.text,
        actions=actions,
        commands=[_command(context, [found], action, "WHY") for action in actions],
        first=first,
        difference=difference(str(first.input.get("body", "")), found.queued.body)
        if isinstance(first, Execution) and found.queued.body
        else None,
    )


def _command(context: Context, chosen: Sequence[Unstarted], action: str, note: str) -> str:
    entries = " ".join(shlex.quote(entry.entry) for entry in chosen)
    option = f" --note {shlex.quote(note)}" if action == "discard" else ""
    return f"actonce unstarted {action} {entries}{option}{context.stack.options}"


def _task(
    context: Context, shown: Listing[Unstarted], action: str, note: str
) -> BulkSendBack | BulkDiscard:
    stack, waits = context.stack, context.job_waits
    reader = message_reader(stack)
    if action == "send-back":
        return BulkSendBack(stack, shown, reader, wait_for_others=waits)
    file = context.discarded / f"discarded-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.jsonl"
    return BulkDiscard(stack, shown, reader, file, note, wait_for_others=waits)


VIEW: Final = QueueView(
    queue="unstarted",
    noun=("delivery", "deliveries"),
    kinds=("reason",),
    reasons=REASONS,
    actions={
        "send-back": "Send it back to RequestsQueue as its producer sent it. If the same content "
        "was started before, it is suppressed as a duplicate; if it is refused again, as a "
        "conflict is, it comes back here.",
        "discard": "Delete it for good. First it is written, whole, to a file in the folder where "
        "this console was started.",
    },
    command=_command,
    task=_task,
)
