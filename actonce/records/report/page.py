"""Puts the page together: the summary's numbers, and one template.

Everything that comes out of the summary is escaped by Jinja, and a content security policy forbids
the page every script and every request, should anything ever slip through.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError
from markupsafe import Markup

from actonce.records.report import wording
from actonce.terminal.html import environment
from pipeline.audit.judging.verdict_names import ALARMS
from pipeline.audit.reading.places import place
from pipeline.audit.reading.streams import OPTIONAL, STREAMS

VERSION = 1
"""Of the summary's form."""

OPEN_ALARMS = 3
"""How many alarms show their timeline before anybody asks for it."""

HORIZONS = (
    ("within_5_minutes", "5 min", "a FIFO queue's window"),
    ("within_14_days", "14 d", "a queue's longest retention"),
    ("within_90_days", "90 d", "names of executions"),
)
"""The summary's key, its label, and what remembers messages for so long."""

LATENCIES = ("sent_to_effect", "first_delivery_to_effect")
PERCENTILES = ("p50", "p90", "p99", "max")

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Event:
    """One event of an alarm's timeline, `since` the first."""

    at: str
    stream: str
    what: str
    since: str


def write(summary: dict[str, Any], path: Path) -> None:
    """Write the page; whoever reads the file meanwhile sees the old page or the new one.

    Args:
        summary: what the audit wrote as `summary.json`, version 1.
        path: the file, `report.html`; its folder exists.

    Raises:
        ValueError: the summary has another version.
        OSError: the file cannot be written.
    """
    text = html(summary)
    path.parent.stat()  # a folder that is not there is not made
    place(None, str(path.parent)).write(path.name, text)
    path.chmod(0o644)  # whatever the umask is: a page is for others, too


_JUDGED = {0: "good", 3: "unsure", 4: "unsure"}
"""How the sentence is marked, by exit status; any other is bad."""
_MARKS = {"good": "✓", "unsure": "?", "bad": "✗"}


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
    templates.filters |= {
        "number": wording.number,
        "share": wording.share,
        "duration": wording.duration,
        "shortened": wording.shortened,
        "bar": _bar,
    }
    judged = _JUDGED.get(summary["exit_status"], "bad")
    return templates.get_template("page.html.j2").render(
        s=summary,
        css=Markup((HERE / "page.css").read_text("utf-8")),  # noqa: S704 a file of ours
        judged=judged,
        mark=_MARKS[judged],
        verdicts=[
            {
                "name": verdict,
                "role": role,
                "mark": wording.MARKS[role],
                "meaning": meaning,
                "count": summary["verdicts"].get(verdict, 0),
            }
            for verdict, (role, meaning) in wording.VERDICTS.items()
        ],
        alarm_verdicts=ALARMS,
        gap_rows=_gap_rows(summary["gaps"]["buckets"]),
        horizons=HORIZONS,
        latencies=LATENCIES,
        percentiles=PERCENTILES,
        streams=[one for one in STREAMS if one not in OPTIONAL],
        timeline=_timeline,
        open_alarms=OPEN_ALARMS,
    )


def _bar(count: int, most: int) -> Markup:
    """A bar as long as the count's part of the most; one among a million is seen, too."""
    width = min(100.0, max(0.5, 100 * count / most)) if count > 0 else 0
    return Markup('<span class="bar" style="width: {:.1f}%"></span>').format(width)


def _gap_rows(buckets: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Each bucket in words, with its count."""
    rows = []
    before = None
    for bucket in buckets:
        up_to = bucket["up_to_seconds"]
        if up_to is None:
            name = "later" if before is None else f"later than {wording.duration(before * 1000)}"
        else:
            name = f"up to {wording.duration(up_to * 1000)}"
        rows.append((name, bucket["messages"]))
        before = up_to
    return rows


def _timeline(alarm: dict[str, Any]) -> list[Event]:
    """The events with the time since the first, where both times can be read."""
    times = [_time(event["at"]) for event in alarm["timeline"]]
    first = next((time for time in times if time is not None), None)
    return [
        Event(
            event["at"],
            event["stream"],
            event["what"],
            "" if time is None or first is None else wording.since(time - first),
        )
        for event, time in zip(alarm["timeline"], times, strict=True)
    ]


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else None
