"""Numbers, times and the design's words, as a person reads them."""

import math
from datetime import timedelta

VERDICTS = {
    "performed_once": ("good", "one effect, as it should be"),
    "resolved": ("good", "a person settled it by hand"),
    "rejected": ("waiting", "a person decided that it is not to be done"),
    "refused": ("waiting", "could not be started; it is in UnstartedQueue with its reason"),
    "awaiting_decision": ("waiting", "a dead letter that waits for a person"),
    "in_flight": ("waiting", "not finished yet"),
    "effect_check": (
        "waiting",
        "by their ids, what actonce effect check did; no other record has them",
    ),
    "conflict": ("alarm", "the same id came with another content"),
    "contradiction": ("alarm", "its records cannot all be true"),
    "performed_again": ("alarm", "more than one effect"),
    "lost": ("alarm", "it ended nowhere: look with actonce where before you send it again"),
}
"""Of each verdict its class in the style sheet and what it means; in the order of the page."""

MARKS = {"good": "✓", "waiting": "•", "alarm": "✗"}
"""Said beside every colour, for whoever does not see it."""


def number(value: int | None) -> str:
    """Thousands apart; a dash for what nobody recorded."""
    return "–" if value is None else f"{value:,}"


def share(value: float | None) -> str:
    """Per cent, never rounded up to all nor down to none."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < value < 0.001:
        return "< 0.1 %"
    return f"{math.floor(round(value * 1000, 6)) / 10:g} %"


def duration(milliseconds: float | None) -> str:
    """The two largest units that say it."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1000:
        return f"{int(milliseconds)} ms"
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{math.floor(seconds * 10) / 10:g} s"
    for size, unit, next_size, next_unit in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            whole, rest = int(seconds // size), int(seconds % size // next_size)
            return f"{whole} {unit} {rest} {next_unit}" if rest else f"{whole} {unit}"
    raise AssertionError(milliseconds)


def since(elapsed: timedelta) -> str:
    """How long after the first event of a timeline."""
    milliseconds = elapsed / timedelta(milliseconds=1)
    return f"{'−' if milliseconds < 0 else '+'}{duration(abs(milliseconds))}"


def shortened(text: str, length: int = 96) -> str:
    """The beginning and the end of a text too long for one line."""
    if len(text) <= length:
        return text
    return f"{text[: length - 17]}…{text[-16:]}"
