"""Deliveries that could not be started: one kind of them, one whole, and their way back or away."""

import secrets
import shlex
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError
from starlette.responses import Response

from actonce.console.answers import Asked, Refused, as_json, elsewhere, page
from actonce.console.context import Context
from actonce.console.difference import difference
from actonce.console.jobs import discard_task, redrive_task
from actonce.console.templating import address
from actonce.console.views.many import Scope, chosen_of, exported, how_far_read, scope_of, seen
from actonce.messages import history
from actonce.messages.unstarted import Unstarted
from actonce_core.execution import execution_name

_LIST: Final = "/unstarted"
_KINDS: Final = ("reason",)
_ACTIONS: Final = {
    "redrive": "Send it back to RequestsQueue as its producer sent it. What still cannot be "
    "started comes here again; what has an execution already is suppressed.",
    "discard": "Take it away for good. It is written to a file first, whole.",
}


def list_(context: Context, asked: Asked) -> Response:
    """Those of one kind, or all."""
    scope = scope_of(asked, _KINDS)
    if not scope.snapshot:
        context.scan_if_changed("unstarted")
    found = seen(context.unstarted, scope, asked.number("page"), context.count("unstarted"))
    if asked.wants_json:
        return exported(found, "unstarted", lambda entry: entry.as_json())
    snapshot = found.snapshot and found.snapshot.number
    return page(
        context,
        "unstarted.html.j2",
        found=found,
        scope=scope,
        page_link=lambda to: address(_LIST, snapshot=snapshot, page=to, **scope.kind),
        actions=_ACTIONS,
    )


def entry(context: Context, asked: Asked) -> Response:
    """One of them whole; of a conflict also what was first, and how the two differ."""
    name = asked.one("entry")
    found = _entry(context, name)
    if found is None:
        context.scan_if_changed("unstarted")
        found = _entry(context, name)
    state = context.unstarted.state()
    if found is None:
        sentence = (
            "This is not in UnstartedQueue, as far as it has been read: it was sent back, "
            f"discarded, or came later. {how_far_read('UnstartedQueue', state)}"
        )
        raise Refused(sentence, 404, _LIST)
    values: dict[str, Any] = {"first": None, "first_error": None, "difference": None}
    if found.is_conflict and found.message_id is not None:
        values |= _first(context, found.message_id, found.queued.body)
    if asked.wants_json:
        whole = found.as_json() | {"attributes": found.attributes, "body": found.queued.body}
        return as_json(whole | {"started": values["first"] and values["first"].input})
    one = Scope(0, {}, frozenset([found.entry]), all=False)
    return page(
        context,
        "unstarted_entry.html.j2",
        entry=found,
        snapshot=state.latest.number if state.latest is not None else 0,
        actions=_ACTIONS,
        commands=[_command(context, one, [found], action, "WHY") for action in _ACTIONS],
        **values,
    )


def confirm(context: Context, asked: Asked) -> Response:
    """What would be sent back, or discarded."""
    action, scope = _action(asked), scope_of(asked, _KINDS)
    snapshot, chosen = chosen_of(context.unstarted, scope, _LIST)
    return page(
        context,
        "clear.html.j2",
        action=action,
        meaning=_ACTIONS[action],
        chosen=chosen,
        snapshot=snapshot,
        fields=scope.query(),
        key=secrets.token_urlsafe(16),
        command=_command(context, scope, chosen, action, "WHY"),
    )


def clear(context: Context, asked: Asked) -> Response:
    """Send back, or discard, what was seen. A second click finds the first one's job."""
    key = asked.one("key")
    job = context.jobs.begun_with(key)
    if job is None:
        action, note = _action(asked), asked.one("note").strip()
        if not key:
            raise Refused("This form has no key: open the page again.")
        if action == "discard" and not note:
            raise Refused("Say why, for whoever reads the file: an empty note is none.")
        scope = scope_of(asked, _KINDS)
        _, chosen = chosen_of(context.unstarted, scope, _LIST)
        if action == "redrive":
            task = redrive_task(context.stack, chosen)
        else:
            name = f"discarded-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.jsonl"
            task = discard_task(context.stack, chosen, context.place.discarded / name, note)
        what = "Send back" if action == "redrive" else "Discard"
        deliveries = "1 delivery" if len(chosen) == 1 else f"{len(chosen):,} deliveries"
        job = context.jobs.begin(
            key,
            f"{what} {deliveries}",
            _command(context, scope, chosen, action, note),
            len(chosen),
            task,
        )
    return elsewhere(asked, f"/jobs/{job.number}")


def _entry(context: Context, name: str) -> Unstarted | None:
    latest = context.unstarted.latest
    entries = () if latest is None else latest.entries
    return next((entry for entry in entries if entry.entry == name), None)


def _first(context: Context, stored_id: str, body: str) -> dict[str, Any]:
    """What was started under the id, and how another content differs from it."""
    if context.has_rows:
        sentence = "A ledger and a lease keep no content: what came first is not known any more."
        return {"first_error": sentence}
    try:
        execution = history.find_execution(context.stack, execution_name(stored_id))
    except ClientError as error:
        return {"first_error": f"What came first cannot be looked at: {error}"}
    if execution is None:
        sentence = "What came first has no execution any more, so it cannot be compared."
        return {"first_error": sentence}
    content = str(execution.input.get("body", ""))
    return {"first": execution, "difference": difference(content, body)}


def _command(
    context: Context, scope: Scope, chosen: list[Unstarted], action: str, note: str
) -> str:
    """The command line that does the same."""
    if scope.all:
        told = "--all" + "".join(f" --{name} {shlex.quote(v)}" for name, v in scope.kind.items())
    else:
        told = " ".join(shlex.quote(one.entry) for one in chosen)
    if action == "discard":
        told += f" --note {shlex.quote(note)}"
    return f"actonce unstarted {action} {told}{context.place.options}"


def _action(asked: Asked) -> str:
    action = asked.one("action")
    if action not in _ACTIONS:
        raise Refused("Choose what to do: redrive or discard.")
    return action
