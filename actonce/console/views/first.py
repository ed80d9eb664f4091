"""The first screen: what waits for a person, and how the stack is."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import as_json, elsewhere, form, one, page, wants_json
from actonce.console.desk import Desk
from actonce.console.snapshots import A_MOMENT, Reader
from actonce.console.templating import address
from actonce.messages.filters import grouped


def first(desk: Desk, request: Request) -> Response:
    """What waits; the stack's state comes after it, for it takes a dozen calls."""
    _look_if_changed(desk)
    if wants_json(request):
        return as_json(_as_json(desk))
    return page(desk, "first.html.j2", **_waiting(desk))


def waiting(desk: Desk, _: Request) -> Response:
    """The part of it that tells what waits, again."""
    _look_if_changed(desk)
    return page(desk, "waiting.html.j2", **_waiting(desk))


def stack(desk: Desk, _: Request) -> Response:
    """The part of it that tells how the stack is."""
    status = desk.watched.status.seen()
    rates = desk.watched.rates.seen()
    calls = desk.calls.of_last_hour()
    return page(desk, "stack.html.j2", status=status, rates=rates, calls=calls)


async def look(desk: Desk, request: Request) -> Response:
    """Read a queue again because somebody asks, here or on a message's page."""
    said = await form(request)
    readers: dict[str, Reader[Any]] = {
        "dead-letters": desk.letters,
        "unstarted": desk.unstarted,
    }
    reader = readers.get(one(said, "queue"))
    if reader is not None:
        reader.look()
        reader.wait(A_MOMENT)
    desk.watched.counts.forget()
    message_id = one(said, "message")
    return elsewhere(request, address("/message", id=message_id) if message_id else "/")


def _look_if_changed(desk: Desk) -> None:
    desk.look_if_changed("dead_letters")
    desk.look_if_changed("unstarted")


def _waiting(desk: Desk) -> dict[str, Any]:
    counts = desk.watched.counts.seen()
    queues = [
        _queue(
            "dead-letters",
            "Dead letters",
            "wait for a decision",
            desk.letters,
            desk.number_in("dead_letters"),
        ),
        _queue(
            "unstarted",
            "Unstarted",
            "could not be started",
            desk.unstarted,
            desk.number_in("unstarted"),
        ),
    ]
    works = [(work, work.progress()) for work in desk.works.all()]
    under_way = [(work, progress) for work, progress in works if not progress.is_over]
    return {"queues": queues, "counts": counts, "works": under_way}


def _queue(
    path: str, name: str, what: str, reader: Reader[Any], count: int | None
) -> dict[str, Any]:
    standing = reader.standing()
    latest = standing.latest
    changed = latest is not None and count is not None and count != latest.messages
    return {
        "path": path,
        "name": name,
        "what": what,
        "count": count,
        "latest": latest,
        # The longest waiting kind first: what has waited longest is the worst.
        "groups": []
        if latest is None
        else sorted(grouped(latest.entries), key=lambda group: group.oldest),
        "reading": standing.reading,
        "error": standing.error,
        "changed": changed,
        "is_sure": standing.is_sure and count is not None and not changed,
    }


def _as_json(desk: Desk) -> dict[str, Any]:
    told = {}
    for queue in _waiting(desk)["queues"]:
        latest = queue["latest"]
        told[queue["path"]] = {
            "count": queue["count"],
            "seen": None if latest is None else len(latest.entries),
            "held_elsewhere": None if latest is None else latest.held_elsewhere,
            "at": None if latest is None else latest.at.isoformat(),
            "groups": [group.as_json() for group in queue["groups"]],
            "error": queue["error"],
        }
    status = desk.watched.status.seen()
    return {
        **told,
        "status": None if status.value is None else status.value.as_json(),
        "not_seen": status.error,
    }
