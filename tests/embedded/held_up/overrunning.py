"""The example's effect, which overruns: each attempt is held up right before its write."""

import os
import time
from pathlib import Path
from typing import Any

import appointments
from actonce_core.effect import answer

_FOLDER = Path(os.environ["OVERRUNNING"])


class Overrunning:
    """Says by a file with its process's number that it has begun, and goes on when there is one."""

    def __init__(self) -> None:
        self.book = appointments.book_from_environment()

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Held up, then performed."""
        (_FOLDER / f"begun-{os.getpid()}").touch()
        while not (_FOLDER / "go-on").exists():
            time.sleep(0.01)
        return self.book.perform(request)

    def find(self, message_id: str) -> dict[str, Any] | None:
        """At once."""
        return self.book.find(message_id)


_EFFECT = Overrunning()


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return answer(_EFFECT, event)
