"""Words of sentences: times, numbers, and how a sentence begins."""

from datetime import datetime


def in_utc(at: datetime) -> str:
    """A time, in a sentence: UTC, to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def pluralize(number: int, one: str, several: str) -> str:
    """A number and what it is of: `1 message`, `1,204 messages`."""
    return f"{number:,} {one if number == 1 else several}"


def times(number: int) -> str:
    """How often, in a sentence."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def capitalize(text: str) -> str:
    """The beginning of a sentence; a file's name stays as it is."""
    return f"{text[0].upper()}{text[1:]}" if text.startswith(("the ", "whether ")) else text
