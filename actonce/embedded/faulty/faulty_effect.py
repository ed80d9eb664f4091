"""Runs in the process of a team's effect that is brought up with faults; no part of the product.

Stands around their handler. Which message meets what is drawn from its id, so the same orders meet
the same faults; each meets its fault once, in its first `perform`, and then the effect is as it is.
"""

import functools
import hashlib
import importlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHARES = {"some": 0.1, "many": 0.5}
KINDS = (
    "before:killed",
    "after:killed",
    "before:timed-out",
    "after:timed-out",
    "before:not-performed",
    "after:answer-lost",
)
"""Before the effect or after it, and what happens then."""

Handler = Callable[[dict[str, Any], Any], Any]


class NotPerformed(Exception):
    """It did not happen, provably; ActOnce knows it by its name."""


def handler(event: Any, context: Any) -> Any:
    """The team's handler, interrupted or not; what ActOnce did not ask is handed on."""
    handle = _theirs(os.environ["FAULTY_HANDLER"])
    if not isinstance(event, dict) or event.get("operation") != "perform":
        return handle(event, context)
    moment, _, name = _taken(event["message"]["message_id"]).partition(":")
    if moment == "before":
        if name == "not-performed":
            raise NotPerformed("a fault of actonce up --faults")
        _interrupt(name, context)
    answer = handle(event, context)
    if moment == "after":
        _interrupt(name, context)
    return answer


@functools.cache
def _theirs(path: str) -> Handler:
    module, _, name = path.rpartition(".")
    handle: Handler = getattr(importlib.import_module(module.replace("/", ".")), name)
    return handle


def drawn(message_id: str, level: str) -> str:
    """The fault that a message meets at a level; empty: none."""
    digest = hashlib.sha256(message_id.encode(errors="surrogatepass")).digest()
    if int.from_bytes(digest[:4]) / 2**32 >= SHARES[level]:
        return ""
    return KINDS[digest[4] % len(KINDS)]


def _taken(message_id: str) -> str:
    """Its fault, the first time; making a folder is what only one process can do."""
    fault = drawn(message_id, os.environ["FAULTY_LEVEL"])
    if fault:
        used = Path(os.environ["FAULTY_DIR"])
        used.mkdir(parents=True, exist_ok=True)
        try:
            (used / hashlib.sha256(message_id.encode(errors="surrogatepass")).hexdigest()).mkdir()
        except FileExistsError:
            return ""
    return fault


def _interrupt(name: str, context: Any) -> None:
    if name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "timed-out":
        time.sleep(context.get_remaining_time_in_millis() / 1000 + 60)  # ended by Lambda before
    raise ConnectionResetError("a fault of actonce up --faults: the answer was lost")
