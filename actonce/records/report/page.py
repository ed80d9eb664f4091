"""Puts the page together: the summary's numbers, and one template.

Everything that comes out of the summary is escaped by Jinja, and a content security policy forbids
the page every script and every request, should anything ever slip through.
"""

from pathlib import Path
from typing import Any

from jinja2 import UndefinedError
from markupsafe import Markup

from actonce.terminal.html import environment
from actonce_pipeline.audit.judging.verdict_names import ALARMS, VERDICTS
from actonce_pipeline.audit.reading.storage import place
from actonce_pipeline.audit.reading.streams import STREAMS

VERSION = 2
"""Of the summary's form."""

OPEN_ALARMS = 3
"""How many alarms show their timeline before anybody asks for it."""

HERE = Path(__file__).parent

CLASSES = {
    "good": ("performed_once", "resolved"),
    "waiting": ("rejected", "refused", "awaiting_decision", "in_flight"),
    "alarm": ("conflict", "contradiction", "performed_again", "lost"),
}
"""The verdicts of each class in the style sheet; in the order of the page."""

MARKS = {"good": "✓", "waiting": "•", "alarm": "✗", "unsure": "?", "bad": "✗"}
"""Said beside every colour, for whoever does not see it."""


def write(summary: dict[str, Any], path: Path) -> None:
    """Write the page; whoever reads the file meanwhile sees the old page or the new one.

    Args:
        summary: what the audit wrote as `summary.json`.
        path: the file, `report.html`.

    Raises:
        ValueError: the summary has another version.
        OSError: the file cannot be written.
    """
    place(None, str(path.parent)).write(path.name, html(summary))


_JUDGED = {0: "good", 3: "unsure", 4: "unsure"}
"""How the sentence is marked, by exit status; any other is bad."""


def html(summary: dict[str, Any]) -> str:
    """The page as text; the same summary gives the same page."""
    if summary.get("version") != VERSION:
        raise ValueError(
            f"The summary has version {summary.get('version')!r}, and this page is for version "
            f"{VERSION}: run the audit again with this version of actonce."
        )
    if "verdicts" not in summary:
        raise ValueError(summary.get("sentence") or "The summary has no verdicts.")
    try:
        return _drawn(summary)
    except (KeyError, TypeError, AttributeError, UndefinedError) as error:
        raise ValueError(f"the summary is not whole ({error}); run the audit again") from error


def _drawn(summary: dict[str, Any]) -> str:
    templates = environment(HERE, keep="\n\t")
    templates.filters |= {"number": _number, "shortened": _shortened, "bar": _bar}
    verdict = _JUDGED.get(summary["exit_status"], "bad")
    return templates.get_template("page.html.j2").render(
        s=summary,
        css=Markup((HERE / "page.css").read_text("utf-8")),  # noqa: S704 a file of ours
        judged=verdict,
        mark=MARKS[verdict],
        verdicts={
            name: (kind, VERDICTS[name]) for kind, names in CLASSES.items() for name in names
        },
        marks=MARKS,
        alarm_verdicts=ALARMS,
        streams=STREAMS,
        open_alarms=OPEN_ALARMS,
    )


def _bar(count: int, most: int) -> Markup:
    """A bar as long as the count's part of the most; one among a million is seen, too."""
    width = min(100.0, max(0.5, 100 * count / most)) if count > 0 else 0
    return Markup('<span class="bar" style="width: {:.1f}%"></span>').format(width)


def _number(value: int | None) -> str:
    """Thousands apart; a dash for what nobody recorded."""
    return "–" if value is None else f"{value:,}"


def _shortened(text: str, length: int = 96) -> str:
    """The beginning and the end of a text too long for one line."""
    if len(text) <= length:
        return text
    return f"{text[: length - 17]}…{text[-16:]}"
