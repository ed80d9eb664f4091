"""Puts the page together: the summary's numbers, the pictures, one template.

Everything that comes out of the summary is escaped by Jinja, and a content security policy forbids
the page every script and every request, should anything ever slip through.
"""

import os
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from actonce.records.report import wording
from actonce.records.report.flow import draw_flow, flow
from actonce.records.report.inline_svg import STYLE, Role, inline_svg
from actonce.records.report.pictures import (
    HORIZONS,
    LATENCIES,
    PERCENTILES,
    draw_days,
    draw_gaps,
    draw_latency,
)
from pipeline.audit.streams import OPTIONAL, STREAMS
from pipeline.visible import visible

VERSION = 1
"""Of the summary's form."""

WIDE, NARROW = 640, 344
"""Pixels. Every picture is drawn for both, so that its text has the page's size on a phone too."""

OPEN_ALARMS = 3
"""How many alarms show their timeline before anybody asks for it."""

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
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters |= {
        "number": wording.number,
        "share": wording.share,
        "duration": wording.duration,
        "shortened": wording.shortened,
    }
    judged = _JUDGED.get(summary["exit_status"], "bad")
    return environment.get_template("page.html.j2").render(
        s=summary,
        css=Markup((HERE / "page.css").read_text("utf-8")),  # noqa: S704 a file of ours
        judged=judged,
        mark=_MARKS[judged],
        verdicts=[
            {
                "name": name,
                "role": role.name.lower(),
                "mark": wording.MARKS[role],
                "meaning": wording.MEANINGS[verdict],
                "count": summary["verdicts"].get(verdict, 0),
            }
            for verdict, (name, role) in wording.VERDICTS.items()
        ],
        asked_for=_asked_for(summary),
        alarm_verdicts=[name for name, (_, role) in wording.VERDICTS.items() if role is Role.ALARM],
        verdict_names={verdict: name for verdict, (name, _) in wording.VERDICTS.items()},
        pictures=_pictures(summary),
        gap_rows=_gap_rows(summary["gaps"]["buckets"]),
        horizons=HORIZONS,
        latencies=LATENCIES,
        percentiles=PERCENTILES,
        streams=[one for one in STREAMS if one not in OPTIONAL],
        timeline=_timeline,
        open_alarms=OPEN_ALARMS,
    )


def _asked_for(summary: dict[str, Any]) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """What bad weather and bad messages there were: headings, each with its rows."""
    totals = summary["totals"]
    counts = summary.get("asked_for", {})

    def asked(reasons: dict[str, tuple[str, str]]) -> list[tuple[str, str, int]]:
        return [(*reasons[name], counts[name]) for name in reasons if name in counts]

    failed = "deliveries given back", "a service was out or throttled; SQS brought them again"
    weather = [(*failed, totals["failed"])] if totals["failed"] else []
    refused = [
        (f"refused: {reason}", "deliveries, in UnstartedQueue", count)
        for reason, count in (totals["refused"] or {}).items()
    ]
    parts = [
        ("Bad weather that passed by itself", weather),
        ("Bad weather that outlasted the patience", asked(wording.BAD_WEATHER)),
        ("Weather or the message", asked(wording.EITHER)),
        ("Bad messages", [*asked(wording.BAD_MESSAGES), *refused]),
    ]
    return [(heading, rows) for heading, rows in parts if rows]


def _visible(value: Any) -> Any:
    """Of every value that the template shows; markup is ours and stays as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value, keep="\n\t")
    return value


def _pictures(summary: dict[str, Any]) -> dict[str, Markup]:
    """Each picture that there is something to show in, drawn for both widths."""
    drawn = flow(summary)
    days, gaps, latency = summary["days"], summary["gaps"], summary["latency"]
    pictures: dict[str, Markup] = {}
    with mpl.rc_context(STYLE):
        for width, kind in ((WIDE, "wide"), (NARROW, "narrow")):
            figures = {}
            if drawn.messages:
                figures["flow"] = (draw_flow(drawn, width), _flow_alt(summary))
            if gaps["duplicates"]:
                figures["gaps"] = (draw_gaps(gaps, width), _gaps_alt(gaps))
            if any(latency[key]["count"] for key, _ in LATENCIES):
                figures["latency"] = (draw_latency(latency, width), _latency_alt(latency))
            if len(days) > 1:
                figures["days"] = (draw_days(days, width), _days_alt(summary))
            for name, (figure, alt) in figures.items():
                svg = inline_svg(figure, kind, visible(alt), f"{name}-{kind}-")
                pictures[name] = pictures.get(name, Markup("")) + svg
    return pictures


def _flow_alt(summary: dict[str, Any]) -> str:
    ends = ", ".join(
        f"{wording.number(summary['verdicts'][verdict])} {name}"
        for verdict, (name, _) in wording.VERDICTS.items()
        if summary["verdicts"].get(verdict)
    )
    return (
        f"Flow from sent to verdict: {wording.number(summary['messages'])} messages ended {ends}; "
        f"{wording.number(summary['totals']['suppressed'])} deliveries were suppressed."
    )


def _gaps_alt(gaps: dict[str, Any]) -> str:
    shares = ", ".join(
        f"{wording.share(gaps[key])} within {label}" for _, key, label, _ in HORIZONS
    )
    return f"Histogram of how long after the first delivery duplicates came: {shares}."


def _latency_alt(latency: dict[str, Any]) -> str:
    return "Latency on a logarithmic axis. " + " ".join(
        f"{name.capitalize()}: "
        + ", ".join(f"{p} {wording.duration(latency[key][p])}" for p in PERCENTILES)
        + "."
        for key, name in LATENCIES
        if latency[key]["count"]
    )


def _days_alt(summary: dict[str, Any]) -> str:
    unsure = sum(1 for day in summary["days"] if day["cannot_judge"])
    hatched = f" {unsure} of them, pale and hatched, cannot be judged wholly." if unsure else ""
    return (
        f"Messages and alarms on each of {len(summary['days'])} days from {summary['from']} to "
        f"{summary['to']}.{hatched}"
    )


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
        rows.append((name, bucket["duplicates"]))
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
