"""The pictures of the page: duplicates by gap, latency, days."""

import math
from datetime import date, timedelta
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from actonce.records.report.inline_svg import Role
from actonce.records.report.wording import VERDICTS, duration, number, share

MINUTES_5, DAYS_14, DAYS_90 = 300, 14 * 86_400, 90 * 86_400
HORIZONS = (
    (MINUTES_5, "within_5_minutes", "5 min", "a FIFO queue's window"),
    (DAYS_14, "within_14_days", "14 d", "a queue's longest retention"),
    (DAYS_90, "within_90_days", "90 d", "names of executions"),
)
"""Seconds, the summary's key, the label, and what remembers messages for so long."""

LATENCIES = (
    ("sent_to_effect", "sent to effect"),
    ("first_delivery_to_effect", "first delivery to effect"),
)
PERCENTILES = ("p50", "p90", "p99", "max")
TICKS = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000)
"""Seconds that an axis may name, as far as there is room."""

ROOM = 48
"""Pixels from one name on an axis of time to the next."""


def _axes(width: int, height: int, margins: tuple[int, int, int, int]) -> tuple[Figure, Axes]:
    """Axes inside a figure of so many pixels; margins: left, top, right, bottom."""
    left, top, right, bottom = margins
    figure = Figure(figsize=(width / 72, height / 72))
    inner = (width - left - right, height - top - bottom)
    box = (left / width, bottom / height, inner[0] / width, inner[1] / height)
    return figure, figure.add_axes(box)


def edges(buckets: list[dict[str, Any]]) -> list[tuple[float, float, int]]:
    """Each bucket's lower and upper edge in seconds, for a logarithmic axis, and its count.

    The first begins at nought and the last may have no end; both get a width that can be drawn.
    """
    drawn = []
    lower = None
    for bucket in buckets:
        upper = bucket["up_to_seconds"]
        if lower is None:
            lower = upper / 6 if upper else 0.1
        if upper is None:
            upper = lower * 4
        drawn.append((lower, max(upper, lower * 1.01), bucket["duplicates"]))
        lower = upper
    return drawn


def draw_gaps(gaps: dict[str, Any], width: int) -> Figure:
    """How long after the first delivery duplicates came."""
    figure, axes = _axes(width, 250, (8, 66, 8, 26))
    bars = edges(gaps["buckets"])
    axes.set_xscale("log")
    highest = max(count for *_, count in bars)
    left = min(bars[0][0], MINUTES_5 / 10)
    right = max(bars[-1][1], DAYS_90 * 3)
    for lower, upper, count in bars:
        axes.bar(
            lower, count, upper - lower, align="edge", color=Role.REPEATED, edgecolor=Role.PAPER
        )
        label = _compact(count)
        pixels = (width - 16) * math.log(upper / lower) / math.log(right / left)
        if count and (pixels > 6.5 * len(label) or count == highest):
            axes.text(
                math.sqrt(lower * upper),
                count + highest * 0.03,
                label,
                ha="center",
                fontsize=10,
            )
    axes.set_xlim(left, right)
    axes.set_ylim(0, highest * 1.15)
    for step, (seconds, key, label, _) in enumerate(HORIZONS):
        above = 1.03 + 0.13 * step
        axes.plot(
            [seconds, seconds],
            [0, above + 0.1],
            transform=axes.get_xaxis_transform(),
            color=Role.INK,
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            clip_on=False,
        )
        axes.text(
            seconds,
            above + 0.05,
            f"{label}: {share(gaps[key])} ",
            transform=axes.get_xaxis_transform(),
            ha="right",
            va="center",
            weight="bold",
        )
    _time_axis(axes, left, right, width - 16)
    axes.yaxis.set_visible(False)
    return figure


def draw_latency(latency: dict[str, Any], width: int) -> Figure:
    """Percentiles of both latencies, as dots on one axis."""
    shown = [(name, latency[key]) for key, name in LATENCIES if latency[key]["count"]]
    rows: list[tuple[str, float]] = []
    for _, values in shown:
        rows += [(percentile, values[percentile]) for percentile in PERCENTILES]
    height = 34 + 24 * len(rows) + 26 * len(shown)
    figure, axes = _axes(width, height, (44, 4, 74, 26))
    axes.set_xscale("log")
    # A latency of no measurable length still needs a place on a logarithmic axis.
    places = [max(1.0, value) / 1000 for _, value in rows]
    left = max((tick for tick in TICKS if tick <= min(places) / 1.2), default=min(places) / 2)
    right = max(places) * 1.6
    y = 0.0
    index = 0
    for name, _ in shown:
        _left_of(axes, y, name, -40, weight="bold")
        y += 24
        for _ in PERCENTILES:
            percentile, value = rows[index]
            axes.plot([left, places[index]], [y, y], color=Role.LINE, linewidth=1)
            axes.plot([places[index]], [y], "o", color=Role.SENT, markersize=8)
            axes.annotate(
                duration(value),
                (places[index], y),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )
            _left_of(axes, y, percentile, -8, ha="right")
            y += 24
            index += 1
        y += 2
    axes.set_ylim(y - 8, -14)
    axes.set_xlim(left, right)
    _time_axis(axes, left, right, width - 118)
    axes.yaxis.set_visible(False)
    return figure


def _left_of(axes: Axes, y: float, text: str, pixels: int, **style: Any) -> None:
    """Write so many pixels from the left edge of the axes, whatever their scale."""
    axes.annotate(
        text,
        (0, y),
        xycoords=("axes fraction", "data"),
        xytext=(pixels, 0),
        textcoords="offset points",
        va="center",
        annotation_clip=False,
        **style,
    )


def draw_days(days: list[dict[str, Any]], width: int) -> Figure:
    """Messages and alarms by day; days that cannot be judged wholly are pale and hatched."""
    figure = Figure(figsize=(width / 72, 230 / 72))
    left, inner = 52, width - 60
    messages = figure.add_axes((left / width, 110 / 230, inner / width, 96 / 230))
    alarms = figure.add_axes((left / width, 26 / 230, inner / width, 46 / 230), sharex=messages)
    dates = [date.fromisoformat(day["day"]) for day in days]
    numbers = [one.toordinal() for one in dates]
    for at, day in zip(numbers, days, strict=True):
        unsure = bool(day["cannot_judge"])
        messages.bar(
            at,
            day["messages"],
            0.8,
            facecolor=(Role.GOOD, 0.3) if unsure else Role.GOOD,
            edgecolor=Role.GOOD,
            hatch="////" if unsure else None,
            linewidth=0.8 if unsure else 0,
        )
    counts = [
        sum(day["verdicts"].get(v, 0) for v, (_, role) in VERDICTS.items() if role is Role.ALARM)
        for day in days
    ]
    alarms.bar(numbers, counts, 0.8, color=Role.ALARM)
    for axes, title in ((messages, "messages"), (alarms, "alarms")):
        axes.yaxis.set_major_locator(MaxNLocator(3 if axes is messages else 1, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _compact(int(value))))
        axes.tick_params(length=0)
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=8)
        axes.set_ylim(0, None)
    alarms.set_ylim(0, max(1, *counts) * 1.1)
    messages.set_ylim(0, max(1, *(day["messages"] for day in days)) * 1.1)
    messages.set_xlim(min(numbers) - 0.6, max(numbers) + 0.6)
    messages.tick_params(labelbottom=False)
    span = (max(dates) - min(dates)).days + 1
    step = math.ceil(span / (inner // 62))
    ticks = [min(dates) + timedelta(days=after) for after in range(0, span, step)]
    alarms.set_xticks(
        [tick.toordinal() for tick in ticks],
        [f"{tick:%d %b}" for tick in ticks],
        ha="center" if step == 1 else "left",
    )
    return figure


def _time_axis(axes: Axes, left: float, right: float, pixels: int) -> None:
    """Name times on a logarithmic axis of seconds, so many pixels long, where there is room."""
    named: list[float] = []
    for tick in TICKS:
        room = not named or pixels * math.log(tick / named[-1]) / math.log(right / left) >= ROOM
        if left <= tick <= right and room:
            named.append(tick)
    axes.set_xticks(named, [duration(tick * 1000) for tick in named])
    axes.xaxis.set_minor_locator(NullLocator())


def _compact(count: int) -> str:
    """Short enough to stand above a bar; the table has every digit."""
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if count >= size:
            return f"{count / (size if unit == 'M' else 1000):.3g}{unit}"
    return number(count)
