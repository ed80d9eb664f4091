"""Messages that wait for a decision: one kind of them, and deciding on some or all of it."""

import secrets
import shlex
from collections.abc import Mapping
from datetime import timedelta
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import (
    Form,
    elsewhere,
    form,
    number,
    one,
    page,
    problem,
    wants_json,
)
from actonce.console.desk import Desk
from actonce.console.letters import Letter
from actonce.console.tasks import Decide
from actonce.console.templating import address
from actonce.console.views.many import Choice, Scope, asked, choice, exported, scope_of, seen
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

_CHOICE = "retry, perform, resolve or reject"
_KINDS = ("reason", "error")
_KNOWN_NO_MORE = (
    "Nothing was decided: the letter that this page showed is not among what is known any more. It "
    "was decided on, or the message has another letter since: open the page again."
)


def list_(desk: Desk, request: Request) -> Response:
    """Those of one kind, or all."""
    said = asked(request)
    scope = scope_of(said, _KINDS)
    if not scope.snapshot:
        desk.look_if_changed("dead_letters")
    count = desk.number_in("dead_letters")
    found = seen(desk.letters, scope, number(one(said, "page")), count)
    if wants_json(request):
        return exported(found, "dead_letters", lambda letter: letter.newest.as_json())
    return page(
        desk,
        "dead_letters.html.j2",
        found=found,
        scope=scope,
        page_link=lambda to: address(
            "/dead-letters",
            snapshot=found.snapshot and found.snapshot.number,
            page=to,
            **scope.kind,
        ),
        meanings=MEANINGS,
        decisions=DECISIONS,
    )


def confirm(desk: Desk, request: Request) -> Response:
    """What would be decided: on which, how many, and by which command."""
    said = asked(request)
    scope = scope_of(said, _KINDS)
    asked_for = choice(desk.letters, scope)
    decision = _decision(one(said, "decision"))
    if decision is None:
        return problem(desk, f"There is no such decision: {_CHOICE}.", 404)
    if asked_for.refusal is not None:
        sentence, code = asked_for.refusal
        return page(desk, "lost.html.j2", code=code, sentence=sentence, back="/dead-letters")
    chosen = asked_for.chosen
    if _is_in_vain(desk, decision, chosen):
        return problem(desk, IN_VAIN)
    return page(
        desk,
        "decide.html.j2",
        decision=decision,
        meaning=DECISIONS[decision],
        chosen=chosen,
        snapshot=asked_for.snapshot,
        fields=scope.query(),
        word=secrets.token_urlsafe(16),
        command=_command(desk, scope, chosen, decision, "" if decision == "retry" else "WHY"),
    )


async def decide(desk: Desk, request: Request) -> Response:
    """Decide on what was seen. A second click finds the first one's work."""
    said = await form(request)
    begun = desk.works.begun_with(one(said, "word"))
    if begun is not None:
        return elsewhere(request, f"/works/{begun.number}")
    decision, note = _decision(one(said, "decision")), one(said, "note").strip()
    if decision is None or not one(said, "word"):
        return problem(desk, f"Choose a decision: {_CHOICE}.")
    if decision != "retry" and not note:
        return problem(desk, "Say why, for whoever reads the history: an empty note is none.")
    scope = scope_of(said, _KINDS)
    asked_for = choice(desk.letters, scope) if scope.snapshot else _one_letter(desk, said)
    if asked_for.refusal is not None:
        return problem(desk, *asked_for.refusal)
    chosen = asked_for.chosen
    if _is_in_vain(desk, decision, chosen):
        return problem(desk, IN_VAIN)
    work = desk.works.begin(
        one(said, "word"),
        f"{decision.capitalize()} {_called(chosen)}",
        _command(desk, scope, chosen, decision, note),
        len(chosen),
        Decide(desk.stack, chosen, decision, note),
    )
    return elsewhere(request, f"/works/{work.number}")


def _is_in_vain(desk: Desk, decision: Decision, chosen: list[Letter]) -> bool:
    """Whether it would decide on none of them; the work says so of some."""
    return decision == "retry" and all(
        is_retried_in_vain(desk.stack, letter.newest.reason, letter.newest.cause)
        for letter in chosen
    )


def _one_letter(desk: Desk, said: Form) -> Choice[Letter]:
    """What the page of one message has shown; SQS's id of the entry is that letter's alone."""
    entry = one(said, "entry")
    letter = desk.letters.find(lambda letter: letter.entry == entry)
    if letter is None:
        return Choice(None, [], (_KNOWN_NO_MORE, 410))
    return Choice(None, [letter], None)


def command_of_one(
    desk: Desk, message_id: str, execution_name: str, decision: Decision, note: str
) -> str:
    """The command line that decides on one message."""
    told = f" --note {shlex.quote(note)}" if note or decision != "retry" else ""
    return (
        f"actonce dead-letters {decision} {as_argument(message_id, execution_name)}{told}"
        f"{desk.place.options}"
    )


def _command(desk: Desk, scope: Scope, chosen: list[Letter], decision: Decision, note: str) -> str:
    """The command line that does the same; of several that were ticked, one for each."""
    if not scope.all:
        return "\n".join(
            command_of_one(
                desk, letter.newest.message_id, letter.newest.execution_name, decision, note
            )
            for letter in chosen
        )
    told = "".join(f" --{name} {shlex.quote(value)}" for name, value in scope.kind.items())
    # SQS tells milliseconds, and what waited before is meant, not what was sent that very moment.
    before = max(letter.since for letter in chosen) + timedelta(milliseconds=1)
    told += f" --before {timestamp(before)}"
    if note:
        told += f" --note {shlex.quote(note)}"
    return f"actonce dead-letters {decision} --all{told}{desk.place.options}"


def _decision(text: str) -> Decision | None:
    known: tuple[Decision, ...] = get_args(Decision)
    return next((one for one in known if one == text), None)


def _called(chosen: list[Letter]) -> str:
    return chosen[0].called if len(chosen) == 1 else f"{len(chosen):,} dead letters"
