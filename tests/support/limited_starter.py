"""The real starter in a process that gets no more memory than its function has, for tests.

Its clients are real up to the bytes that they would send: every call is answered there.
"""

import contextlib
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

from botocore.httpsession import URLLib3Session

from actonce.embedded.injected.failing_services import answered
from actonce.stack.embedded_folder import PROJECT

MEMORY_SIZE = 256 * 1024 * 1024
"""`MemorySize` of the functions, in bytes."""

MALLOC = {"MALLOC_ARENA_MAX": "1"}
"""What template.yaml tells the functions' malloc: with a heap for each thread, each would keep what
the largest body took in it."""

LARGEST_EVENT = 6_000_000
"""Bytes that Lambda hands to a function at once, nearly."""

SECONDS = 300
"""A batch takes some seconds at most, on a machine that has others to do."""

_VARIABLES = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:bench",
    "FINGERPRINTS_TABLE": "fingerprints",
    "MESSAGE_ID_FROM": "body:message_id",
    "CONTENT_FROM": "",
    "NAMES_REMEMBERED_DAYS": "25",
    "STACK_NAME": "actonce",
    "REQUESTS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/requests",
    "UNSTARTED_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/unstarted",
    "POWERTOOLS_METRICS_NAMESPACE": "ActOnce",
    "POWERTOOLS_SERVICE_NAME": "bench",
}


@dataclass(frozen=True, slots=True)
class Handled:
    """What one batch did.

    Attributes:
        answer: of the function.
        cpu_ms: what the whole process used, all threads together.
        peak_mb: the most memory that the process has had so far (`VmHWM`).
    """

    answer: dict[str, Any]
    cpu_ms: float
    peak_mb: float


class LimitedStarter:
    """A starter process; ended by what it is given, it raises `EOFError` here."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.peak_at_rest_mb: float = connection.recv()

    def handle(self, bodies: list[str]) -> Handled:
        """Hand it one batch."""
        self._connection.send(bodies)
        assert self._connection.poll(SECONDS), "the starter does not answer"
        handled: Handled = self._connection.recv()
        return handled


@contextlib.contextmanager
def limited_starter(limit: int = MEMORY_SIZE) -> Iterator[LimitedStarter]:
    """Run it.

    Args:
        limit: bytes of address space beyond what the process has mapped when it is ready: code,
            stacks that threads never use, and the arenas that malloc reserves are no memory.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(theirs, limit), daemon=True)
    with mock.patch.dict(os.environ, MALLOC):  # read when a process starts
        process.start()
    theirs.close()
    try:
        yield LimitedStarter(ours)
    finally:
        ours.close()
        process.join(5)
        process.terminate()
        process.join()


def _serve(connection: Connection, limit: int) -> None:
    sys.path.insert(0, str(PROJECT / "functions"))
    os.environ |= _VARIABLES
    sessions: Any = URLLib3Session
    sessions.send = _answer
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        from starter import handler  # noqa: PLC0415 - only now: clients take their endpoint there

        handler(_event_of(["{}"] * 10), None)
        mapped, resident = _status("VmSize"), _status("VmRSS")
        most = mapped - resident + limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        connection.send(_peak_mb())
        with contextlib.suppress(EOFError):
            while True:
                event = _event_of(connection.recv())
                begin = time.process_time()
                answer = handler(event, None)
                cpu_ms = (time.process_time() - begin) * 1000
                connection.send(Handled(answer, cpu_ms, _peak_mb()))


def _answer(_session: object, request: Any) -> Any:
    body, target = json.loads(request.body), str(request.headers["X-Amz-Target"])
    answer: dict[str, Any] = {}
    if "StartExecution" in target:
        answer = {"executionArn": body["name"], "startDate": time.time()}
    elif "SendMessage" in target:
        digest = hashlib.md5(body["MessageBody"].encode()).hexdigest()
        answer = {"MessageId": "1", "MD5OfMessageBody": digest}
    return answered(request, answer)


def _event_of(bodies: Iterable[str]) -> dict[str, Any]:
    """What Lambda hands over of a batch."""
    return {
        "Records": [
            {
                "messageId": f"sqs-{number}",
                "receiptHandle": "bench",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1767225600000"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for number, body in enumerate(bodies)
        ]
    }


def _peak_mb() -> float:
    return _status("VmHWM") / 1024**2


def _status(name: str) -> int:
    """Bytes of a memory figure of this process; `ru_maxrss` may be that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
