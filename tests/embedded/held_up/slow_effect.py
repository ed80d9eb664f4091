"""The example's effect, held up right before its write until a file appears."""

import os
import time
from pathlib import Path
from typing import Any

import appointments

_BEGUN, _GO_ON = Path(os.environ["BEGUN"]), Path(os.environ["GO_ON"])


def _hold_up() -> None:
    _BEGUN.touch()
    while not _GO_ON.exists():
        time.sleep(0.01)


class Slow:
    """Not fenced: what it does, it does whoever holds the message by then."""

    def __init__(self) -> None:
        self.book = appointments.book_from_environment()

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Held up, then performed."""
        _hold_up()
        return self.book.perform(request)

    def find(self, message_id: str) -> dict[str, Any] | None:
        """At once."""
        return self.book.find(message_id)


class SlowFenced(Slow):
    """Fenced: it is performed only while its attempt holds the message."""

    def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
        """Held up, then performed if the fence holds."""
        _hold_up()
        return self.book.perform_fenced(request, fence)
