"""The effect of a caller that is gone by then: a process of its own, which Lambda does not end."""

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Perform the effect so many seconds after the start, and remove the file that says so."""
    due = time.monotonic() + float(sys.argv[1])
    from appointments import book_from_environment  # noqa: PLC0415 - takes a part of these seconds

    effect, under_way = json.loads(sys.argv[2]), Path(sys.argv[3])
    book = book_from_environment()
    time.sleep(max(0.0, due - time.monotonic()))
    try:
        if effect["fence"] is None:
            book.perform(effect["request"])
        else:
            book.perform_fenced(effect["request"], effect["fence"])
    finally:
        under_way.unlink()


if __name__ == "__main__":
    main()
