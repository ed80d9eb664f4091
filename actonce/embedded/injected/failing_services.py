"""Fails the calls of a function's clients, as services and networks do; no part of the product.

While the folder `FAULTS_DIR` holds `services.json`, each call of AWS meets the first of its rules
that means it; without one it passes:

    call: how `X-Amz-Target` begins, such as "AWSStepFunctions.StartExecution"
    body: a text that the request has; empty: any
    quota: null, or [bucket, refill]: calls that pass at once, and then a second
    meets: [status, error's code], not done; "silent", not done and not answered; "lost", done and
        not answered

A quota is that of all processes together. The calls that did not pass are told in `did-not-pass`.
"""

import fcntl
import functools
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from botocore.httpsession import URLLib3Session

RULES = "services.json"
FAILED_CALLS = "did-not-pass"

Send = Callable[[Any, Any], Any]


@functools.cache
def stand_before_services() -> None:
    """Once in a process; without rules it does nothing."""
    sessions: Any = URLLib3Session
    sessions.send = failing(sessions.send)


def failing(send: Send) -> Send:
    """A session's `send`, with the rules before it."""

    @functools.wraps(send)
    def sent(session: Any, request: Any) -> Any:
        meets = _met(request)
        if meets is None:
            return send(session, request)
        if meets == "silent":
            time.sleep(session._timeout.read_timeout)  # noqa: SLF001 - it has no name for others
            raise ReadTimeoutError(endpoint_url=request.url)
        if meets == "lost":
            send(session, request)
            raise ConnectionClosedError(endpoint_url=request.url)
        status, code = meets
        return answered(request, {"__type": code, "message": "It fails."}, status)

    return sent


def answered(request: Any, answer: Any, status: int = 200) -> AWSResponse:
    """A service's answer to a request that is not sent."""
    headers: Any = {}
    raw: Any = SimpleNamespace(stream=lambda: [json.dumps(answer).encode()])
    return AWSResponse(request.url, status, headers, raw)


def _met(request: Any) -> Any:
    """What a call meets; None: it passes."""
    folder = Path(os.environ["FAULTS_DIR"])
    try:
        rules = json.loads((folder / RULES).read_text())
    except FileNotFoundError:
        return None
    target, body = _text(request.headers.get("X-Amz-Target")), _text(request.body)
    for number, rule in enumerate(rules):
        if target.startswith(rule["call"]) and rule["body"] in body:
            if rule["quota"] and _takes_token(folder / f"bucket-{number}", *rule["quota"]):
                return None
            with (folder / FAILED_CALLS).open("a") as file:
                file.write(f"{target}\n")
            return rule["meets"]
    return None


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")


def _takes_token(bucket: Path, size: float, refill: float) -> bool:
    """Take a token; False if there is none. A bucket without a file is full."""
    with bucket.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        now = time.monotonic()
        tokens, at = json.loads(file.read() or json.dumps([size, now]))
        # The sum of many small refills must not be less than the one token that they make up.
        tokens = min(size, round(tokens + (now - at) * refill, 9))
        file.truncate(0)
        file.write(json.dumps([tokens - (tokens >= 1), now]))
    return bool(tokens >= 1)


def write_rules(folder: Path, rules: Sequence[Any]) -> None:
    """Have calls meet these rules from now on, their buckets full; (): none."""
    (folder / RULES).unlink(missing_ok=True)
    for bucket in folder.glob("bucket-*"):
        bucket.unlink()
    if rules:
        new = folder / f"{RULES}.new"
        new.write_text(json.dumps(rules))
        new.replace(folder / RULES)
