"""Messages that wait for a decision: one kind of them, and deciding on some or all of it."""

import secrets
import shlex
from collections.abc import Mapping
from datetime import timedelta
from typing import Final, get_args

from starlette.responses import Response

from actonce.console.answers import Asked, Refused, elsewhere, page
from actonce.console.context import Context
from actonce.console.jobs import decide_task
from actonce.console.letters import Letter
from actonce.console.templating import address
from actonce.console.views.many import Scope, chosen_of, exported, scope_of, seen
from actonce.messages.dead_letters import IN_VAIN, MEANINGS, Decision, is_retried_in_vain
from actonce.stack.message_ids import as_argument
from actonce_core.records import timestamp

DECISIONS: Mapping[Decision, str] = {
    "retry": "Have the effect tried again; where the outcome is unknown it is looked up first.",
    "perform": "Say that it did not happen, and have it performed without a look-up: only if you "
    "have seen so yourself, since the letter was posted. What did happen happens twice.",
    "resolve": "Declare it done: the effect happened, or was made to happen by hand.",
    "reject": "Declare that it shall not be done; its execution fails.",
}
"""What each decision means, as the command line's help says it."""

_LIST: Final = "/dead-letters"
_KINDS: Final = ("reason", "error")


def list_(context: Context, asked: Asked) -> Response:
    """Those of one kind, or all."""
    scope = scope_of(asked, _KINDS)
    if not scope.snapshot:
        context.scan_if_changed("dead_letters")
    found = seen(context.letters, scope, asked.number("page"), context.count("dead_letters"))
    if asked.wants_json:
        return exported(found, "dead_letters", lambda letter: letter.newest.as_json())
    snapshot = found.snapshot and found.snapshot.number
    return page(
        context,
        "dead_letters.html.j2",
        found=found,
        scope=scope,
        page_link=lambda to: address(_LIST, snapshot=snapshot, page=to, **scope.kind),
        meanings=MEANINGS,
        decisions=DECISIONS,
    )


def confirm(context: Context, asked: Asked) -> Response:
    """What would be decided: on which, how many, and by which command."""
    decision, scope = _decision(asked), scope_of(asked, _KINDS)
    snapshot, chosen = chosen_of(context.letters, scope, _LIST)
    _refuse_in_vain(context, decision, chosen)
    note = "" if decision == "retry" else "WHY"
    return page(
        context,
        "decide.html.j2",
        decision=decision,
        meaning=DECISIONS[decision],
        chosen=chosen,
        snapshot=snapshot,
        fields=scope.query(),
        key=secrets.token_urlsafe(16),
        command=_command(context, scope, chosen, decision, note),
    )


def decide(context: Context, asked: Asked) -> Response:
    """Decide on what was seen. A second click finds the first one's job."""
    key = asked.one("key")
    job = context.jobs.begun_with(key)
    if job is None:
        decision, note = _decision(asked), asked.one("note").strip()
        if not key:
            raise Refused("This form has no key: open the page again.")
        if decision != "retry" and not note:
            raise Refused("Say why, for whoever reads the history: an empty note is none.")
        scope = scope_of(asked, _KINDS)
        if scope.snapshot:
            _, chosen = chosen_of(context.letters, scope, _LIST)
        else:
            chosen = [_one_letter(context, asked.one("entry"))]
        _refuse_in_vain(context, decision, chosen)
        called = chosen[0].called if len(chosen) == 1 else f"{len(chosen):,} dead letters"
        job = context.jobs.begin(
            key,
            f"{decision.capitalize()} {called}",
            _command(context, scope, chosen, decision, note),
            len(chosen),
            decide_task(context.stack, chosen, decision, note),
        )
    return elsewhere(asked, f"/jobs/{job.number}")


def command_of_one(
    context: Context, message_id: str, execution_name: str, decision: Decision, note: str
) -> str:
    """The command line that decides on one message."""
    told = f" --note {shlex.quote(note)}" if note or decision != "retry" else ""
    return (
        f"actonce dead-letters {decision} {as_argument(message_id, execution_name)}{told}"
        f"{context.place.options}"
    )


def _one_letter(context: Context, entry: str) -> Letter:
    """What the page of one message has shown; SQS's id of the entry is that letter's alone."""
    letter = context.letters.find(lambda letter: letter.entry == entry)
    if letter is None:
        sentence = (
            "Nothing was decided: the letter that this page showed is not among what is known any "
            "more. It was decided on, or the message has another letter since: open the page again."
        )
        raise Refused(sentence, 410, _LIST)
    return letter


def _refuse_in_vain(context: Context, decision: Decision, chosen: list[Letter]) -> None:
    """Refuse what would decide on none of them; the job says so of some."""
    if decision == "retry" and all(
        is_retried_in_vain(context.stack, one.newest.reason, one.newest.cause) for one in chosen
    ):
        raise Refused(IN_VAIN)


def _command(
    context: Context, scope: Scope, chosen: list[Letter], decision: Decision, note: str
) -> str:
    """The command line that does the same; of several that were ticked, one for each."""
    if not scope.all:
        return "\n".join(
            command_of_one(context, one.message_id, one.execution_name, decision, note)
            for one in (letter.newest for letter in chosen)
        )
    told = "".join(f" --{name} {shlex.quote(value)}" for name, value in scope.kind.items())
    # SQS tells milliseconds, and what waited before is meant, not what was sent that very moment.
    before = max(letter.since for letter in chosen) + timedelta(milliseconds=1)
    told += f" --before {timestamp(before)}"
    if note:
        told += f" --note {shlex.quote(note)}"
    return f"actonce dead-letters {decision} --all{told}{context.place.options}"


def _decision(asked: Asked) -> Decision:
    known: tuple[Decision, ...] = get_args(Decision)
    for decision in known:
        if decision == asked.one("decision"):
            return decision
    raise Refused("Choose a decision: retry, perform, resolve or reject.")
