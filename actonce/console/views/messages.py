"""The recent messages by status and day, and finding one by its id."""

from datetime import date
from typing import Final

from botocore.exceptions import ClientError
from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import as_json, elsewhere, page, wants_json
from actonce.console.desk import Desk
from actonce.console.templating import address
from actonce.messages.recent import EXECUTION_STATUSES, MOST_NAMES, ROW_STATUSES, newest_names
from actonce.messages.recent import page as page_of
from actonce.terminal.errors import WrongUse

SHORTEST: Final = 4
"""Characters of a beginning."""

_PAGE: Final = 50
_MOST_FOUND: Final = 50


def list_(desk: Desk, request: Request) -> Response:
    """A page of them; what is asked for is in the address."""
    query = request.query_params
    status = query.get("status") or None
    told_day = query.get("day") or None
    cursor = query.get("cursor") or None
    day = _day(told_day)
    found = page_of(desk.stack, status=status, day=day, cursor=cursor, limit=_PAGE)
    if wants_json(request):
        return as_json(
            {
                "messages": [one.as_json() for one in found.messages],
                "cursor": found.cursor,
                "read_in_part": found.read_in_part,
            }
        )
    return page(
        desk,
        "messages.html.j2",
        found=found,
        status=status,
        day=told_day,
        cursor=cursor,
        statuses=ROW_STATUSES if desk.has_rows else EXECUTION_STATUSES,
        has_rows=desk.has_rows,
    )


def find(desk: Desk, request: Request) -> Response:
    """A message by its id: one execution is asked for. Of a beginning, the newest that begin so.

    Whether there is such a message its own page tells.
    """
    text = request.query_params.get("q", "").strip()
    if not text:
        return elsewhere(request, "/messages")
    beginnings: list[str] = []
    not_looked = None
    if request.query_params.get("how") == "beginning":
        if desk.has_rows:
            not_looked = "Behind a ledger or a lease a message is found by its whole id only."
        elif len(text) < SHORTEST:
            not_looked = f"Say {SHORTEST} characters of it at least."
        else:
            try:
                names = newest_names(desk.stack)
                beginnings = [name for name in names if name.startswith(text)]
            except ClientError as error:
                not_looked = f"The newest executions cannot be listed: {error}"
        return page(
            desk,
            "beginnings.html.j2",
            text=text,
            beginnings=beginnings[:_MOST_FOUND],
            more=max(0, len(beginnings) - _MOST_FOUND),
            not_looked=not_looked,
            most=MOST_NAMES,
        )
    return elsewhere(request, address("/message", id=text))


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise WrongUse(f"{text!r} is no day: say it as 2026-01-31.") from error
