"""A folder's JSON Lines as one file, as Spark writes them."""

import io
from pathlib import Path
from typing import IO

from actonce.terminal.errors import UsageError


def opened_folder(folder: Path) -> IO[bytes]:
    """The folder's `.jsonl` files by their names; a line ends where its file does.

    What can be done with the result is to read it, and to go back to its beginning.

    Raises:
        UsageError: there is none, or something else in it, which would not be sent.
    """
    inside = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    other = [path for path in inside if path.suffix != ".jsonl" or not path.is_file()]
    if other or not inside:
        why = f"holds {other[0].name}" if other else "holds no file"
        raise UsageError(
            f"{folder} {why}: name a folder of .jsonl files, such as messages/ of a plan."
        )
    return io.BufferedReader(_Joined(inside))  # type: ignore[type-var]


class _Joined(io.RawIOBase):
    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths
        self.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:  # noqa: ARG002 - to 0
        self._left = iter(self._paths)
        self._file: IO[bytes] = io.BytesIO()
        self._last = b"\n"
        return 0

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        while True:
            some = self._file.read(len(buffer))
            if not some and self._last != b"\n":
                some = b"\n"
            if some:
                self._last = some[-1:]
                buffer[: len(some)] = some
                return len(some)
            if (path := next(self._left, None)) is None:
                return 0
            self._file.close()
            self._file = path.open("rb")
