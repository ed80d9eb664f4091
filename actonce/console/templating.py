"""How the console's templates are drawn.

What is put into a page is text, and is seen: Jinja escapes it for HTML, and before that `visible`
shows as codes what a browser would obey, reorder or hide. Only what is `Markup` already goes in as
it is.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from actonce.messages.dead_letters import MEANINGS
from actonce.messages.filters import age
from actonce.messages.history import short_cause
from actonce.messages.message_summary import STATES
from actonce.terminal.error_names import in_words
from actonce_core.records import timestamp
from pipeline.visible import json_text, visible

_FOLDER = Path(__file__).parent / "templates"


def renderer(shared: Mapping[str, Any]) -> Callable[[str, Mapping[str, Any]], str]:
    """Draws a template by its name, with values.

    Args:
        shared: values that every template has.
    """
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "action": action_name,
        "age": _age,
        "cause": short_cause,
        "error_name": in_words,
        "json_lines": _json_lines,
        "lines": _lines,
        "number": lambda number: f"{number:,}",
        "time": _time,
    }
    environment.globals |= {"address": address, "meanings": MEANINGS, "states": STATES, **shared}

    def render(name: str, values: Mapping[str, Any]) -> str:
        return environment.get_template(name).render(values)

    return render


def address(path: str, **query: Any) -> str:
    """An address of this console; what is None is left out, a list is said often.

    An empty text is said: a kind without a name is a kind, and not all of them.
    """
    said = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


def action_name(action: str) -> str:
    """What a button for it is called."""
    return "Send back" if action == "redrive" else action.capitalize()


def _seen(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _lines(text: str) -> Markup:
    """A text of several lines; each is shown as one."""
    return Markup("\n").join(escape(visible(line)) for line in text.split("\n"))


def _json_lines(value: Any) -> Markup:
    return _lines(json_text(value, indent=2))


def _time(at: datetime | str | None, shown: str = "") -> Markup:
    """A time; the page's script says it in the reader's zone, and without it stays UTC."""
    if at is None or at == "":
        return Markup("")
    text = timestamp(at) if isinstance(at, datetime) else visible(at)
    told = shown or text.replace("T", " ").removesuffix("Z") + " UTC"
    kind = " class=age" if shown else ""  # the script leaves an age as it is
    return Markup(f'<time{kind} datetime="{{}}" title="{{}} (UTC)">{{}}</time>').format(  # noqa: S704 - one of two words
        text, text, told
    )


def _age(since: datetime) -> Markup:
    return _time(since, age(since, datetime.now(UTC)))
