"""Handlers for a child process: what a message says, happens to the process that reads it."""

import json
import os
import signal
import time
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from deduplication.delivery import Delivery
from deduplication.executions import Start
from deduplication.message import Message
from deduplication.refusal import Reason, Refusal
from deduplication.start import End

STARTED = "STARTED_FILE"
"""Variable with the path of a file that each start adds a line to."""


class Reader:
    """A reader that some bodies end."""

    def read(self, delivery: Delivery) -> Message | Refusal:
        """Read it, if that can be outlived."""
        body = json.loads(delivery.body)
        happen(body.get("reading"))
        return Message(body["message_id"], "0" * 64, "{}")


def happen(what: str | None) -> None:
    """Let it happen."""
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exits":
        os._exit(3)
    if what == "memory":
        list(range(10**8))
    if what == "endless":
        while True:
            time.sleep(0.01)
    if what == "raises":
        raise ValueError("cannot be read")


@dataclass(frozen=True)
class Handler:
    """Starts by adding a line to a file."""

    reader: Any

    def handle(self, delivery: Delivery) -> End:
        """Bring a delivery to its end."""
        message = self.reader.read(delivery)
        body = json.loads(delivery.body)
        if body.get("then") == "throttled":
            raise ClientError({"Error": {"Code": "ThrottlingException"}}, "StartExecution")
        if body.get("then") == "later":
            error: Any = ValueError("later")
            error.comes_back_after = 7.0
            raise error
        if body.get("then") == "refused":
            return End(Refusal(Reason.CONFLICT, "another content", "m"), message)
        happen(body.get("then"))
        print("a line that is no answer")
        with open(os.environ[STARTED], "a", encoding="utf-8") as file:  # noqa: PTH123 - appends
            file.write(f"{body['message_id']} {os.getpid()}\n")
        return End(Start.STARTED, message)


def handler() -> Handler:
    """The child's factory."""
    return Handler(Reader())


def broken() -> Handler:
    """A factory that raises."""
    raise RuntimeError("not up")
