"""The folder that a backfill works in: what makes it go on where it was killed.

lock                              held by the run: only who holds it sends
queue.json                        the queue that earlier runs sent to
plan.json                         what was asked for, the archive's files, the counts; written
                                  last, so that it is there means: the plan is whole
plan/end=…/part=…/                the archive's rows by their end, Parquet
conflicts.jsonl quarantine.jsonl  rows that are not sent, with file and line
sent/dt=…/part-00000.jsonl        confirmations, which are the audit's `sent` stream
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.durable import sync_folder


@contextmanager
def the_only_run(work: Path) -> Iterator[None]:
    """Hold the folder; the operating system lets go of it when this process ends, however.

    Raises:
        WrongRequest: another run holds it, or it cannot be made or locked.
    """
    try:
        work.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(work / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WrongRequest(f"{work} cannot be worked in: {error.strerror or error}.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WrongRequest(
                f"Another backfill works in {work}: wait for its end, or name another folder "
                "with --work."
            ) from None
        except OSError as error:
            raise WrongRequest(f"{work} cannot be locked: {error.strerror or error}.") from error
        yield
    finally:
        os.close(descriptor)


class Confirmations:
    """A part's confirmed messages. One thread has a part.

    Invariant: when `append` has returned, its lines survive a crash of the machine; a line that
    was being written when the process was killed counts as not confirmed and is taken away.

    Args:
        messages: how many messages the part has.

    Raises:
        BackfillFailed: a line is no confirmation of the part.

    Attributes:
        confirmed: a byte per message of the part, 1 where SQS has confirmed it.
    """

    def __init__(self, work: Path, part: int, messages: int) -> None:
        self._sent = work / "sent"
        self._name = f"part-{part:05d}.jsonl"
        self.confirmed = bytearray(messages)
        for path in sorted(self._sent.glob(f"dt=*/{self._name}")):
            with path.open("r+b") as file:
                whole = 0
                for number, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        file.truncate(whole)
                        break
                    whole += len(line)
                    position = _position(line, part)
                    if position not in range(messages):
                        # To pass over it might send a message a second time, or none in its place.
                        raise BackfillFailed(
                            f"{path}, line {number} is damaged: mend it, or name another --work."
                        )
                    self.confirmed[position] = 1

    def append(self, at: datetime, lines: Sequence[dict[str, Any]]) -> None:
        """Confirm messages, at one moment (UTC).

        Raises:
            OSError: it could not be written; it may be written in part.
        """
        folder = self._sent / f"dt={at.date().isoformat()}"
        path = folder / self._name
        new = not path.exists()
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        with path.open("ab", buffering=0) as file:
            data = text.encode("utf-8")
            if file.write(data) != len(data):
                raise OSError(28, "No space left on device", str(path))
            os.fsync(file.fileno())
        if new:
            for parent in (folder, self._sent, self._sent.parent):
                sync_folder(parent)
        for line in lines:
            self.confirmed[line["position"]] = 1


def _position(line: bytes, part: int) -> int:
    """Which message of the part a line confirms; -1: none."""
    try:
        told = json.loads(line)
        position = told["position"] if told["part"] == part else -1
    except (ValueError, LookupError, TypeError):
        return -1
    return position if type(position) is int else -1


def confirmed_in(work: Path) -> int:
    """How many messages of all parts are confirmed; a line torn at its end is none."""
    count = 0
    for path in (work / "sent").glob("dt=*/part-*.jsonl"):
        with path.open("rb") as file:
            while some := file.read(1024 * 1024):
                count += some.count(b"\n")
    return count


def read_state(path: Path) -> dict[str, Any] | None:
    """Read a JSON object that `write_whole` wrote; None if there is none.

    Raises:
        BackfillFailed: it is not what was written.
    """
    try:
        state = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BackfillFailed(f"{path} cannot be read: {error}; name another --work.") from error
    if not isinstance(state, dict):
        raise BackfillFailed(f"{path} is not a backfill's; name another --work.")
    return state


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole, or as it was, whenever the machine stops."""
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)
