"""A folder that `actonce init` writes to: what is there, and writing that leaves no half file.

Nothing is written through a symbolic link: what it leads to may be another project's.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from actonce.terminal.errors import Failed

_PART = ".actonce-part"
"""What a file is called until it is whole; left behind by a crash, it is written anew."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A team's folder.

    Attributes:
        root: its path.
    """

    root: Path

    def contents(self, paths: Iterable[PurePosixPath]) -> dict[PurePosixPath, bytes]:
        """What is there of these files.

        Raises:
            Failed: something stands in the way of one of them, a link, a folder or a right.
        """
        found = {}
        for path in paths:
            self._check(path)
            file = self.root / path
            try:
                found[path] = file.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _failed(file, "read", error) from error
        return found

    def others(self, known: Iterable[PurePosixPath], below: PurePosixPath) -> list[PurePosixPath]:
        """What this folder, or one below it, holds at its top that does not belong to known files.

        Raises:
            Failed: it cannot be read.
        """
        tops = {path.relative_to(below).parts[0] for path in known if path.is_relative_to(below)}
        tops.add(".git")
        try:
            names = [one.name for one in (self.root / below).iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _failed(self.root / below, "read", error) from error
        return sorted(below / one for one in names if one not in tops and not one.endswith(_PART))

    def write(self, path: PurePosixPath, content: bytes) -> None:
        """Write a file, whole or not at all.

        Raises:
            Failed: it cannot be written.
        """
        self._check(path)
        file = self.root / path
        part = file.with_name(file.name + _PART)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            with part.open("xb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            if file.exists():
                part.chmod(file.stat().st_mode & 0o777)
            part.replace(file)
        except OSError as error:
            raise _failed(file, "written", error) from error

    def remove(self, path: PurePosixPath) -> None:
        """Remove a file, and the folders that are empty then.

        Raises:
            Failed: it cannot be removed.
        """
        self._check(path)
        file = self.root / path
        try:
            file.unlink(missing_ok=True)
            for folder in path.parents[:-1]:
                if any((self.root / folder).iterdir()):
                    return
                (self.root / folder).rmdir()
        except OSError as error:
            raise _failed(file, "removed", error) from error

    def check_writable(self, paths: Iterable[PurePosixPath]) -> None:
        """Say now, and not half-way, that these files cannot be written.

        Raises:
            Failed: a folder of theirs does not let anybody write, or is none.
        """
        for path in paths:
            self._check(path)
            folder = next(one for one in (self.root / path).parents if one.exists())
            if not os.access(folder, os.W_OK | os.X_OK):
                raise Failed(f"{folder} is read-only: nothing was written.")

    def _check(self, path: PurePosixPath) -> None:
        for part in (*reversed(path.parents[:-1]), path):
            here = self.root / part
            if here.is_symlink():
                raise Failed(
                    f"{here} is a symbolic link, and nothing is written through one: put a folder "
                    "or a file in its place."
                )
            if part != path and here.exists() and not here.is_dir():
                raise Failed(f"{here} is no folder, and has to be one.")
        file = self.root / path
        if file.exists() and not file.is_file():
            raise Failed(f"{file} is no file, and has to be one.")


def _failed(file: Path, what: str, error: OSError) -> Failed:
    return Failed(f"{file} cannot be {what}: {error.strerror or error}.")
