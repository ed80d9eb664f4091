"""The child process of `apart`: handles what it is given, and tells of each end.

    python -m deduplication.apart_process MODULE:FACTORY:METHOD

Reads JSON lines from standard input, `{"number", "seconds", "record"}`: a delivery, and how long
there is for it. Writes JSON lines: `{"ready"}`, then for each delivery `{"reading": number}`,
`{"read": number}`, and `{"number", ...}` with its end (`apart.told_of`) or with what was raised.

Invariants: it ends at the end of its input, whatever it is doing; it has its own memory, and no
more, so that what takes too much ends it and not the function.
"""

import contextlib
import dataclasses
import importlib
import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from deduplication.apart import OUT_OF_MEMORY, told_of
from deduplication.delivery import Delivery
from deduplication.delivery_record import error_name
from deduplication.message import Message, MessageReader
from deduplication.patience import THIS_INVOCATION
from deduplication.refusal import Refusal

FUNCTION_MB = 256
"""`MemorySize` where Lambda does not say it."""

_LESS_THAN_HALF_MB = 16
"""The starter stays within half of the function's memory (`bench/hostile.py`), and this process
within the other half, less so much."""

_AT_LEAST_MB = 16
"""That it may grow by, whatever it has taken already."""

LARGEST_BATCH = 10

Tell = Callable[[dict[str, Any]], None]


class _ToldReader:
    """Reads as `reader` does, one at a time, and tells which one it is reading."""

    def __init__(self, reader: MessageReader, tell: Tell) -> None:
        self._reader = reader
        self._tell = tell
        self._reading = threading.Lock()
        self._local = threading.local()

    def is_of(self, number: int) -> None:
        """What this thread reads from now on is of that delivery."""
        self._local.number = number

    def read(self, delivery: Delivery) -> Message | Refusal:
        with self._reading:
            self._tell({"reading": self._local.number})
            message = self._reader.read(delivery)
            self._tell({"read": self._local.number})
            return message


class _Handler:
    """The product's handler, with a reader that tells."""

    def __init__(self, name: str, tell: Tell) -> None:
        module, factory, method = name.split(":")
        made = getattr(importlib.import_module(module), factory)()
        self._tell = tell
        self._reader = _ToldReader(made.reader, tell)
        self._handle = getattr(dataclasses.replace(made, reader=self._reader), method)

    def __call__(self, number: int, record: dict[str, Any]) -> None:
        try:
            self._reader.is_of(number)
            told = told_of(self._handle(Delivery.from_record(record)))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except Exception as error:  # noqa: BLE001 - whatever it is, the delivery comes back
            told = {
                "failed": error_name(error),
                "comes_back_after": getattr(error, "comes_back_after", None),
            }
        except BaseException:  # noqa: BLE001 - a thread must not end unseen
            os._exit(1)
        self._tell({"number": number, **told})


def _limit_memory() -> None:
    """Let this process end before the starter does, where memory is short."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        sizes = {name: int(value.split()[0]) * 1024 for name, value in _sizes(status)}
        # What is mapped and not used (code, the threads' stacks) is no memory.
        mapped, used = sizes["VmSize"], sizes["VmRSS"]
        whole = int(os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", FUNCTION_MB)) * 1024**2
        allowed = whole // 2 - _LESS_THAN_HALF_MB * 1024**2
        most = mapped - used + max(allowed, used + _AT_LEAST_MB * 1024**2)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _sizes(status: list[str]) -> list[tuple[str, str]]:
    lines = [line.partition(":") for line in status]
    return [(name, value) for name, _, value in lines if name in ("VmSize", "VmRSS")]


def serve(handler: str, source: IO[bytes], target: IO[bytes]) -> None:
    """Handle every delivery of `source`, side by side; returns at its end, and waits for none."""
    writing = threading.Lock()

    def tell(told: dict[str, Any]) -> None:
        line = json.dumps(told).encode() + b"\n"
        with writing:
            target.write(line)
            target.flush()

    handle = _Handler(handler, tell)
    threads = ThreadPoolExecutor(LARGEST_BATCH, thread_name_prefix="delivery")
    # All of them, before their stacks are counted.
    everyone = threading.Barrier(LARGEST_BATCH)
    for _ in threads.map(lambda _: everyone.wait(), range(LARGEST_BATCH)):
        pass
    _limit_memory()
    tell({"ready": True})
    for line in source:
        asked = json.loads(line)
        THIS_INVOCATION.ends_in(asked["seconds"])
        threads.submit(handle, asked["number"], asked["record"])


def main() -> None:
    """Serve standard input; what is printed by others goes to standard error."""
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        serve(sys.argv[1], sys.stdin.buffer, target)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BaseException:  # noqa: BLE001 - threads must not hold it up
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
