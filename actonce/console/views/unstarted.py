"""Deliveries that could not be started: one kind of them, one whole, and their way back or away."""

import secrets
import shlex
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError
from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import (
    as_json,
    elsewhere,
    form,
    number,
    one,
    page,
    problem,
    wants_json,
)
from actonce.console.desk import Desk
from actonce.console.difference import difference
from actonce.console.snapshots import Standing
from actonce.console.tasks import Clear
from actonce.console.templating import address
from actonce.console.views.many import asked, choice, exported, how_far_read, scope_of, seen
from actonce.messages import history
from actonce.messages.unstarted import Unstarted
from actonce_core.execution import execution_name

_KINDS = ("reason",)
_ACTIONS = {
    "redrive": "Send it back to RequestsQueue as its producer sent it. What still cannot be "
    "started comes here again; what has an execution already is suppressed.",
    "discard": "Take it away for good. It is written to a file first, whole.",
}


def list_(desk: Desk, request: Request) -> Response:
    """Those of one kind, or all."""
    said = asked(request)
    scope = scope_of(said, _KINDS)
    if not scope.snapshot:
        desk.look_if_changed("unstarted")
    count = desk.number_in("unstarted")
    found = seen(desk.unstarted, scope, number(one(said, "page")), count)
    if wants_json(request):
        return exported(found, "unstarted", lambda entry: entry.as_json())
    return page(
        desk,
        "unstarted.html.j2",
        found=found,
        scope=scope,
        page_link=lambda to: address(
            "/unstarted", snapshot=found.snapshot and found.snapshot.number, page=to, **scope.kind
        ),
        actions=_ACTIONS,
    )


def entry(desk: Desk, request: Request) -> Response:
    """One of them whole; of a conflict also what was first, and how the two differ."""
    name = request.query_params.get("entry", "")
    standing = desk.unstarted.standing()
    found = _entry(standing, name)
    if found is None:
        desk.look_if_changed("unstarted")
        standing = desk.unstarted.standing()
        found = _entry(standing, name)
    if found is None:
        sentence = (
            "This is not in UnstartedQueue, as far as it has been read: it was sent back, "
            f"discarded, or came later. {how_far_read('UnstartedQueue', standing)}"
        )
        return page(desk, "lost.html.j2", code=404, sentence=sentence, back="/unstarted")
    latest = standing.latest
    values: dict[str, Any] = {
        "entry": found,
        "first": None,
        "first_error": None,
        "difference": None,
        "snapshot": latest.number if latest is not None else 0,
        "has_body": bool(found.queued.body),
        "word": secrets.token_urlsafe(16),
        "actions": _ACTIONS,
        "commands": {
            "redrive": _command(desk, "redrive", [found.sqs_message_id], None, ""),
            "discard": _command(desk, "discard", [found.sqs_message_id], None, "WHY"),
        },
    }
    if found.is_conflict and found.message_id is not None:
        if desk.has_rows:
            values["first_error"] = (
                "A ledger and a lease keep no content: what came first is not known any more."
            )
        else:
            values |= _first(desk, found.message_id, found.queued.body)
    if wants_json(request):
        whole = found.as_json() | {"attributes": found.attributes, "body": found.queued.body}
        return as_json(whole | {"started": values["first"] and values["first"]["input"]})
    return page(desk, "unstarted_entry.html.j2", **values)


def confirm(desk: Desk, request: Request) -> Response:
    """What would be sent back, or discarded."""
    said = asked(request)
    scope = scope_of(said, _KINDS)
    action = one(said, "action")
    asked_for = choice(desk.unstarted, scope)
    if action not in _ACTIONS:
        return problem(desk, "There is no such action: redrive or discard.", 404)
    if asked_for.refusal is not None:
        sentence, code = asked_for.refusal
        return page(desk, "lost.html.j2", code=code, sentence=sentence, back="/unstarted")
    chosen = asked_for.chosen
    ids = [item.sqs_message_id for item in chosen]
    return page(
        desk,
        "clear.html.j2",
        action=action,
        meaning=_ACTIONS[action],
        chosen=chosen,
        snapshot=asked_for.snapshot,
        fields=scope.query(),
        word=secrets.token_urlsafe(16),
        command=_command(desk, action, ids, scope.kind if scope.all else None, "WHY"),
    )


async def clear(desk: Desk, request: Request) -> Response:
    """Send back, or discard, what was seen."""
    said = await form(request)
    begun = desk.works.begun_with(one(said, "word"))
    if begun is not None:
        return elsewhere(request, f"/works/{begun.number}")
    action, note = one(said, "action"), one(said, "note").strip()
    if action not in _ACTIONS or not one(said, "word"):
        return problem(desk, "Choose what to do: redrive or discard.")
    if action == "discard" and not note:
        return problem(desk, "Say why, for whoever reads the file: an empty note is none.")
    scope = scope_of(said, _KINDS)
    asked_for = choice(desk.unstarted, scope)
    if asked_for.refusal is not None:
        return problem(desk, *asked_for.refusal)
    chosen = asked_for.chosen
    file = None
    if action == "discard":
        now = datetime.now(UTC)
        file = desk.place.discarded / f"discarded-{now:%Y%m%dT%H%M%S%fZ}.jsonl"
    deliveries = "1 delivery" if len(chosen) == 1 else f"{len(chosen):,} deliveries"
    ids = [item.sqs_message_id for item in chosen]
    work = desk.works.begin(
        one(said, "word"),
        f"{'Send back' if file is None else 'Discard'} {deliveries}",
        _command(desk, action, ids, scope.kind if scope.all else None, note),
        len(chosen),
        Clear(desk.stack, chosen, file, note),
    )
    return elsewhere(request, f"/works/{work.number}")


def _entry(standing: Standing[Unstarted], name: str) -> Unstarted | None:
    entries = () if standing.latest is None else standing.latest.entries
    return next((entry for entry in entries if entry.sqs_message_id == name), None)


def _first(desk: Desk, stored_id: str, body: str) -> dict[str, Any]:
    """What was started under the id, and how another content differs from it."""
    try:
        execution = history.find_execution(desk.stack, execution_name(stored_id))
    except ClientError as error:
        return {"first_error": f"What came first cannot be looked at: {error}"}
    if execution is None:
        return {
            "first_error": "What came first has no execution any more, so it cannot be compared."
        }
    content = str(execution.input.get("body", ""))
    return {
        "first": {"execution": execution, "input": execution.input, "content": content},
        "difference": difference(content, body),
    }


def _command(
    desk: Desk, action: str, ids: list[str], kind: dict[str, str] | None, note: str
) -> str:
    """The command line that does the same; `kind` is None where each is named."""
    if kind is None:
        told = " ".join(map(shlex.quote, ids))
    else:
        told = "--all" + "".join(f" --{name} {shlex.quote(kind[name])}" for name in kind)
    if action == "discard":
        told += f" --note {shlex.quote(note)}"
    return f"actonce unstarted {action} {told}{desk.place.options}"
