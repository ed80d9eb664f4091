"""The `sent` stream: what SQS accepted, for the audit and for a run that resumes.

JSON Lines, gzip, under `<folder>/sent/dt=YYYY-MM-DD/`, by the UTC day of the acceptance.
"""

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import threading
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO, Any

from actonce.queues.sending import Accepted
from actonce.terminal.errors import UsageError
from actonce.terminal.files import sync_folder
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader
from actonce_core.records import timestamp

VERSION = 1
"""Of a line's form; a reader refuses versions it does not know."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """A file that is sent to a queue, in any number of runs.

    Attributes:
        place: where the file is and where it goes, 16 hex digits.
        content: what is in it and where it goes, 32 hex digits.
        lines: how many it has.
    """

    place: str
    content: str
    lines: int

    @classmethod
    def of(cls, file: Path, source: IO[bytes], queue_url: str) -> "Resumable":
        """Read all of the open file, and go back to its beginning."""
        source.seek(0)
        content, lines = hashlib.sha256(f"{queue_url}\n".encode()), 0
        while some := source.read(1024 * 1024):
            content.update(some)
            lines += some.count(b"\n")
        source.seek(0)
        place = hashlib.sha256(f"{queue_url}\n".encode() + os.fsencode(file.resolve()))
        return cls(place.hexdigest()[:16], content.hexdigest()[:32], lines + 1)


class SentRecord:
    """Writes the stream.

    Invariant: when `append` has returned, its lines survive a crash of the machine; whenever this
    process is killed, the files can be read to their end. Each batch is a gzip member of its own,
    written by one call; gzip files put one after another are a gzip file (RFC 1952, section 2.2).
    A member that a crash of the machine cut off is taken away by the next run of its `Resumable`,
    and counts as not confirmed.

    Args:
        folder: the root of the streams.
        file: what was sent, as it was named.
        reader: reads the message's id, as the starter will.
        resumed: the file that earlier runs may have begun to send; None: none has.

    Attributes:
        confirmed: how many lines of `resumed` are in the record of earlier runs.

    Raises:
        OSError: the folder cannot be written.
        UsageError: the record is of another content of that file, or damaged, or another run writes
            it.
    """

    def __init__(
        self, folder: Path, file: str, reader: MessageReader, resumed: Resumable | None = None
    ) -> None:
        self._folder = folder / "sent"
        self._folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self._folder, os.W_OK):
            raise PermissionError(13, "Permission denied", str(self._folder))
        self._file = file
        self._reader = reader
        self._lock = threading.Lock()
        self._held: dict[Path, int] = {}
        self._name = f"{uuid.uuid4()}.jsonl.gz"  # runs side by side do not meet
        self._confirmed = bytearray()
        if resumed is not None:
            self._go_on(resumed)
        self.confirmed = sum(self._confirmed)

    def has(self, line: int) -> bool:
        """Whether an earlier run has confirmed the line of that number."""
        return self._confirmed[line : line + 1] == b"\1"

    def append(self, accepted: Sequence[Accepted]) -> None:
        """Write a batch that SQS accepted.

        Raises:
            OSError: it could not be written; the file is as it was before.
            UsageError: another run writes the same record.
        """
        lines = [json.dumps(self.line(sent), ensure_ascii=False) + "\n" for sent in accepted]
        member = gzip.compress("".join(lines).encode("utf-8"))
        with self._lock:
            _append(self._of(accepted[0].at.date()), member)

    def close(self) -> None:
        """Let another run write the record."""
        while self._held:
            os.close(self._held.popitem()[1])

    def line(self, accepted: Accepted) -> dict[str, Any]:
        """One line of the stream; `message_id` as in the `deliveries` stream, or null."""
        fifo = {name: str(value) for name, value in accepted.line.fifo.items()}
        delivery = Delivery(accepted.sqs_message_id, accepted.line.body, fifo, {})
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

    def _go_on(self, resumed: Resumable) -> None:
        self._name = f"{resumed.place}-{resumed.content}.jsonl.gz"
        self._confirmed = bytearray(resumed.lines + 1)
        mine = sorted(self._folder.glob(f"dt=*/*-{resumed.content}.jsonl.gz"))
        others = set(self._folder.glob(f"dt=*/{resumed.place}-*.jsonl.gz")).difference(mine)
        if others:
            raise UsageError(
                f"{self._file} is not what it was when {min(others)} was written: bring back what "
                "it was, or name another folder with --record."
            )
        for path in mine:
            try:
                for number in _lines_in(self._hold(path), resumed.lines):
                    self._confirmed[number] = 1
            except (zlib.error, ValueError, LookupError, TypeError):
                # To pass over it might send a message a second time, or none in its place.
                raise UsageError(
                    f"{path} is damaged: mend it, or name another folder with --record."
                ) from None

    def _of(self, day: date) -> int:
        folder = self._folder / f"dt={day.isoformat()}"
        path = folder / self._name
        if path not in self._held:
            folder.mkdir(exist_ok=True)
            self._hold(path)
            for parent in (folder, self._folder, self._folder.parent):
                sync_folder(parent)
        return self._held[path]

    def _hold(self, path: Path) -> int:
        """Open a file; of what is resumed for this run alone, until the process ends, however."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._held[path] = descriptor
        if self._confirmed:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.close()
                raise UsageError(f"Another actonce send writes {path}: wait for its end.") from None
        return descriptor


def _lines_in(descriptor: int, most: int) -> Iterator[int]:
    """The numbers of the lines that a record confirms; removes a member that is cut off.

    Raises:
        ValueError, LookupError, TypeError, zlib.error: it is damaged before its end.
    """
    whole, rest = 0, b""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        while True:
            member, text = zlib.decompressobj(wbits=31), b""
            while not member.eof and (some := rest or file.read(16 * 1024)):
                text += member.decompress(some)
                rest = member.unused_data
            if not member.eof:
                os.ftruncate(descriptor, whole)
                return
            whole = file.tell() - len(rest)
            for line in text.splitlines():
                number = json.loads(line)["line"]
                if type(number) is not int or not 0 < number <= most:
                    raise ValueError(number)
                yield number


def _append(descriptor: int, data: bytes) -> None:
    size = os.fstat(descriptor).st_size
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(28, "No space left on device")
        os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise
