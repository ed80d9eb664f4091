"""The first screen: what waits for a person, and how the stack is."""

from typing import Any

from starlette.responses import Response

from actonce.console.context import REPLACED, Context
from actonce.console.responses import A_WHILE, ViewRequest, page, redirect
from actonce.console.templating import address
from actonce.messages.filters import group_entries


def first(context: Context, request: ViewRequest) -> Response:
    """What waits; the page asks for the stack's state after it, for that takes a dozen calls."""
    return page(context, "overview.html.j2", **_waiting(context, request))


def waiting(context: Context, request: ViewRequest) -> Response:
    """The part with what waits."""
    return page(context, "waiting.html.j2", **_waiting(context, request))


def stack(context: Context, _: ViewRequest) -> Response:
    """The part with the stack's state."""
    return page(context, "stack.html.j2", status=context.status.get())


def scan(context: Context, request: ViewRequest) -> Response:
    """Read a queue again, for this page or a message's."""
    for name, queue in context.queues.items():
        if name == request.value("queue"):
            queue.scan()
            queue.wait(A_WHILE)
    context.counts.expire()
    message_id = request.value("message")
    return redirect(request, address("/message", id=message_id) if message_id else "/")


def _waiting(context: Context, request: ViewRequest) -> dict[str, Any]:
    jobs = [(job, job.progress()) for job in context.jobs.all()]
    queues = [context.look_at(name, request.patience) for name in context.queues]
    for queue in queues:
        # The longest waiting kind first: what has waited longest is the worst.
        groups = group_entries(queue["state"].listing.entries)
        queue["groups"] = sorted(groups, key=lambda group: group.oldest)
    return {
        "queues": queues,
        "counts": context.counts.get(),
        "is_replaced": context.is_replaced.get(),
        "replaced": REPLACED,
        "jobs": [(job, progress) for job, progress in jobs if progress.state != "ended"],
    }
