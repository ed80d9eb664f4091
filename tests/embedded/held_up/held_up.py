"""The example's effect, held up right before its write, in a function or in a worker."""

import os
import time
from pathlib import Path
from typing import Any

import appointments
from actonce_core.effect import answer

_FOLDER = Path(os.environ["HELD_UP"])
"""A file there says by its process's number that an attempt has begun; `go-on` lets them go on."""


def _hold_up() -> None:
    (_FOLDER / f"begun-{os.getpid()}").touch()
    while not (_FOLDER / "go-on").exists():
        time.sleep(0.01)


class HeldUp:
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


class HeldUpFenced(HeldUp):
    """Fenced: it is performed only while its attempt holds the message."""

    def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
        """Held up, then performed if the fence holds."""
        _hold_up()
        return self.book.perform_fenced(request, fence)


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return answer(HeldUp(), event)
