"""What the console's templates have, beside what `terminal.html` does for them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment
from markupsafe import Markup, escape

from actonce.messages import dead_letters, unstarted
from actonce.messages.filters import age, lasted, reason_label
from actonce.messages.history import short_cause
from actonce.messages.states import STATES
from actonce.terminal import html
from actonce.terminal.error_names import error_label
from actonce.terminal.visible import json_text, visible
from actonce.terminal.words import in_utc
from actonce_core import strict_json
from actonce_core.records import timestamp

TERMS: Final[Mapping[str, str]] = {
    "attempt": "One invocation of your function with the message.",
    "conflict": "A message came with the id of an earlier one and another content. It is never "
    "acted on by itself.",
    "dead letter": "ActOnce could not finish this message alone, and waits 14 days at most for "
    "somebody to decide.",
    "decision": "Retry, perform, resolve or reject: what a person answers to a dead letter.",
    "delivery": "One copy of a message, as SQS handed it to the starter.",
    "duplicate": "Another delivery of a message that has its execution; it is suppressed.",
    "effect": "What your function does for a message, once.",
    "look-up": "Asking your function what became of a message whose attempt ended unclear.",
    "round": "An attempt that ended unclear, and a look-up that found no effect.",
    "unstarted": "A delivery that was refused, or could not be started. It stays in "
    "UnstartedQueue, 14 days at most, until somebody sends it back or discards it.",
}
"""The words of this domain, for readers who do not know them yet."""

EXPLANATIONS: Final[Mapping[str, str]] = {
    str(name): f"{text[0].upper()}{text[1:]}."
    for name, text in {**dead_letters.EXPLANATIONS, **unstarted.EXPLANATIONS}.items()
}
"""What each reason means, in a sentence."""

_FOLDER = Path(__file__).parent / "templates"


def environment(shared: Mapping[str, Any]) -> Environment:
    """The templates, with values that each of them has."""
    made = html.environment(_FOLDER)
    made.filters |= {
        "action": action_name,
        "age": _age,
        "body": _body,
        "cause": short_cause,
        "error_name": error_label,
        "id": _id,
        "json_lines": _json_lines,
        "lasted": lasted,
        "lines": _lines,
        "number": lambda number: f"{number:,}",
        "precise": lambda at: _time(at, precise=True),
        "reason": _reason,
        "time": _time,
    }
    made.globals |= {"address": address, "explanations": EXPLANATIONS, "states": STATES}
    made.globals |= {"term": term, "terms": TERMS, **shared}
    return made


def address(path: str, **query: Any) -> str:
    """An address of this console; None is left out, and a list's name repeated.

    An empty text stays: an empty kind is one of the kinds, and not all of them.
    """
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def action_name(action: str) -> str:
    """What a button for it is called."""
    return action.replace("-", " ").capitalize()


def _lines(text: str) -> Markup:
    """A text whose line breaks are kept."""
    return Markup("\n").join(escape(visible(line)) for line in text.split("\n"))


def _json_lines(value: Any) -> Markup:
    return _lines(json_text(value, indent=2))


def _id(text: str, length: int = 60) -> Markup:
    """An id; a long one is cut in its middle, blanks around it are shown and can be copied."""
    shown = visible(text)
    if len(shown) > length:
        end = length // 3
        shown = f"{shown[: length - end - 1]}…{shown[-end:]}"
    inner = shown.strip(" ")
    before = len(shown) - len(shown.lstrip(" "))
    after = len(shown) - before - len(inner)
    return Markup("{}{}{}").format(_blanks(before), inner, _blanks(after))


def _blanks(number: int) -> Markup:
    markup = Markup('<span class="blank" title="{}">{}</span>')
    title = "a blank" if number == 1 else f"{number} blanks"
    return markup.format(title, " " * number) if number else Markup("")


def _body(text: str) -> Markup:
    """A message's body: JSON laid out where only blanks change, anything else as it was sent."""
    try:
        laid_out = json_text(strict_json.parse(text), indent=2)
    except strict_json.NotJson:
        return _lines(text)
    return _lines(laid_out if "".join(laid_out.split()) == "".join(text.split()) else text)


def term(name: str, shown: str = "") -> Markup:
    """A word of this domain, explained on hover; `shown` in its place."""
    return Markup('<abbr title="{}">{}</abbr>').format(TERMS[name], shown or name)


def _reason(name: str) -> Markup:
    """Why a message waits for a decision, or was not started, explained on hover."""
    if name not in EXPLANATIONS:
        return escape(visible(name) or "(none)")
    return Markup('<abbr title="{}">{}</abbr>').format(EXPLANATIONS[name], reason_label(name))


def _time(at: datetime | str | None, *, precise: bool = False) -> Markup:
    """A time in UTC; the page's script adds the reader's own on hover."""
    if at is None or at == "":
        return Markup("")
    try:
        read = datetime.fromisoformat(at) if isinstance(at, str) else at
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except ValueError:
        return escape(visible(str(at)))
    text = in_utc(read)
    if precise:
        text = text.replace(" UTC", f".{read.microsecond // 1000:03} UTC")
    return Markup('<time datetime="{}">{}</time>').format(timestamp(read), text)


def _age(since: datetime) -> Markup:
    markup = Markup('<time class="age" datetime="{}" title="{}">{}</time>')
    return markup.format(timestamp(since), in_utc(since), age(since, datetime.now(UTC)))
