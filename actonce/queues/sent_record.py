"""The `sent` stream: what SQS accepted, for the audit.

JSON Lines, gzip, under `<folder>/sent/dt=YYYY-MM-DD/`, by the UTC day of the acceptance.
"""

import contextlib
import gzip
import json
import os
import threading
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from actonce.queues.sending import Accepted
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader
from actonce_core.records import timestamp

VERSION = 1
"""Of the line's form; a reader refuses versions it does not know."""


class SentRecord:
    """Writes the stream.

    Invariant: whenever this process is killed, the files can be read to their end and hold every
    batch that `append` returned for. Each batch is a gzip member of its own, written by one call;
    gzip files put one after another are a gzip file (RFC 1952, section 2.2).

    Args:
        folder: the root of the streams.
        file: what was sent, as it was named.
        reader: tells the message's id, as the starter will.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path, file: str, reader: MessageReader) -> None:
        self._folder = folder / "sent"
        self._folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self._folder, os.W_OK):
            raise PermissionError(13, "Permission denied", str(self._folder))
        self._name = f"{uuid.uuid4()}.jsonl.gz"  # runs side by side do not meet
        self._file = file
        self._reader = reader
        self._lock = threading.Lock()

    def append(self, accepted: Sequence[Accepted]) -> None:
        """Write a batch that was accepted, at one moment.

        Raises:
            OSError: it could not be written; the file is as it was before.
        """
        lines = [json.dumps(self.line(one), ensure_ascii=False) + "\n" for one in accepted]
        member = gzip.compress("".join(lines).encode("utf-8"))
        with self._lock:
            _append(self._path(accepted[0].at), member)

    def line(self, accepted: Accepted) -> dict[str, Any]:
        """One line of the stream; `message_id` as in the `deliveries` stream, or null."""
        delivery = Delivery(accepted.sqs_message_id, accepted.line.body, {}, {})
        message = self._reader.read(delivery)
        return {
            "stream": "sent",
            "version": VERSION,
            "at": timestamp(accepted.at),
            "message_id": message.message_id,
            "sqs_message_id": accepted.sqs_message_id,
            "line": accepted.line.number,
            "file": self._file,
        }

    def _path(self, at: datetime) -> Path:
        folder = self._folder / f"dt={at.date().isoformat()}"
        folder.mkdir(exist_ok=True)
        return folder / self._name


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, data) < len(data):
                raise OSError(28, "No space left on device", str(path))
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
