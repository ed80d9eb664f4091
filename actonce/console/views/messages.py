"""The recent messages by status and day, and finding one by its id."""

from typing import Final

from starlette.responses import Response

from actonce.console.context import Context
from actonce.console.responses import ViewRequest, page, redirect
from actonce.console.views.dead_letters import VIEW
from actonce.messages.recent import (
    EXECUTION_STATUSES,
    ONLY_TROUBLE,
    is_of_trouble,
    whole_day,
)
from actonce.messages.recent import page as page_of
from actonce.messages.states import WAITING
from actonce.terminal.days import parse_day

_PAGE: Final = 50


def list_(context: Context, request: ViewRequest) -> Response:
    """A page of them, chosen by the address.

    Messages that wait for a decision are listed as dead letters: Step Functions cannot list them.
    """
    status = request.value("status") or None
    if status == WAITING:
        return redirect(request, VIEW.path)
    day = parse_day(request.value("day"), ahead=True) if request.value("day") else None
    cursor = request.value("cursor") or None
    found = page_of(
        context.stack,
        status=status,
        between=whole_day(day) if day else (None, None),
        cursor=cursor,
        limit=_PAGE,
        known=context.ended,
    )
    state = context.letters.refresh(request.patience)
    letters = () if state.is_old else state.listing.entries
    return page(
        context,
        "messages.html.j2",
        found=found,
        letters={letter.execution_name: letter for letter in letters},
        only_trouble=ONLY_TROUBLE if is_of_trouble(context.stack) else None,
        waiting=WAITING,
        status=status,
        day=day,
        cursor=cursor,
        statuses=EXECUTION_STATUSES,
    )
