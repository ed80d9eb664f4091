"""Runs in the functions' processes while failures are injected; no part of the product.

Stands around whichever handler the function has, and between the example effect and its provider:
each call asks first what the failure has for it. The answers come from `lab.faults.stack`.
"""

import functools
import importlib
import json
import os
import urllib.request
from collections.abc import Callable
from typing import Any

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
_ASKING_SECONDS = 10


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The function's own handler, called or not."""
    handle = _original()
    if "operation" in event and _asked("invoke")["fate"] != "passes":
        # Lambda did not even call it: the class's name is what Step Functions would be told.
        raise type("Lambda.TooManyRequestsException", (Exception,), {})("Rate exceeded")
    return handle(event, context)


@functools.cache
def _original() -> Handler:
    """The original handler, after the example effect was made to fail."""
    module, _, name = os.environ["ORIGINAL_HANDLER"].rpartition(".")
    handle: Handler = getattr(importlib.import_module(module), name)
    book = importlib.import_module("appointments").AppointmentBook
    book.perform = _performing(book.perform)
    book.perform_fenced = _performing(book.perform_fenced)
    book.find = _finding(book.find)
    return handle


def _performing(perform: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(perform)
    def performing(book: Any, request: dict[str, Any], *fence: Any) -> dict[str, Any]:
        met = _asked("perform", message_id=request["message_id"])
        if met["fate"] != "passes":
            raise _not_performed(met)
        performed = perform(book, request, *fence)
        if met["loses_answer"]:
            raise ConnectionResetError("the provider's answer was lost")
        return performed

    return performing


def _finding(find: Callable[..., dict[str, Any] | None]) -> Callable[..., dict[str, Any] | None]:
    @functools.wraps(find)
    def finding(book: Any, message_id: str) -> dict[str, Any] | None:
        if _asked("find", message_id=message_id)["fate"] != "passes":
            raise ConnectionRefusedError("the provider's book cannot be looked at")
        return find(book, message_id)

    return finding


def _not_performed(met: dict[str, Any]) -> Exception:
    contract = importlib.import_module("actonce_core.effect")
    not_performed: Callable[..., Exception] = contract.NotPerformed
    said = f"the provider {'takes no more now' if met['fate'] == 'throttled' else 'is down'}"
    return not_performed(said)


def _asked(operation: str, **about: str) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - loopback
        f"{os.environ['FAILURES_URL']}/failures/{operation}", json.dumps(about).encode()
    )
    with urllib.request.urlopen(request, timeout=_ASKING_SECONDS) as answer:  # noqa: S310
        met: dict[str, Any] = json.load(answer)
    return met
