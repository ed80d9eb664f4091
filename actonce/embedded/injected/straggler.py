"""The effect of a caller that is gone by then: a process of its own, which Lambda does not end."""

import json
import sys
import time
from pathlib import Path
from typing import Any

GIVES_UP_AFTER_SECONDS = 2
"""So much later than it was due it does nothing: the way may have a bound for stragglers, and on a
machine that is very busy this one would break it."""


def main() -> None:
    """Perform the effect when it is due, and remove the file that says that it is under way."""
    due, effect, under_way = float(sys.argv[1]), json.loads(sys.argv[2]), Path(sys.argv[3])
    try:
        perform(due, effect)
    finally:
        under_way.unlink()


def perform(due: float, effect: dict[str, Any]) -> None:
    """Perform it, with the fence if there is one."""
    from appointments import book_from_environment  # noqa: PLC0415 - slow, and it is not due yet

    book = book_from_environment()
    time.sleep(max(0.0, due - time.monotonic()))
    if time.monotonic() > due + GIVES_UP_AFTER_SECONDS:
        return
    if effect["fence"] is None:
        book.perform(effect["request"])
    else:
        book.perform_fenced(effect["request"], effect["fence"])


if __name__ == "__main__":
    main()
