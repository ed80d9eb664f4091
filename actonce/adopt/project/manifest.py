"""The manifest: what `actonce init` has put into a folder, kept beside it as JSON.

It is written last. Where it is missing or old after a crash, the files say by themselves which of
them are there already, and the same command goes on from there.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from actonce.adopt.project.plan import Kind
from actonce.stack.sources import MANIFEST
from actonce.terminal.errors import Failed


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was put there.

    Attributes:
        version: of ActOnce, of every file.
        files: digests of the managed files as that version has them.
    """

    kind: Kind
    version: str
    files: Mapping[PurePosixPath, str]

    def as_json(self) -> str:
        """Sorted and in lines, for a repository's sake."""
        value = {
            "version": self.version,
            "kind": self.kind.value,
            "files": {str(path): self.files[path] for path in sorted(self.files)},
        }
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read(folder: Path) -> Manifest | None:
    """A folder's manifest; None if it has none.

    Raises:
        Failed: it cannot be read, or names what lies elsewhere.
    """
    file = folder / MANIFEST
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failed(f"{file} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise _broken(file, "it is no text") from error
    try:
        value = json.loads(text)
        files = {_inside(path): _text(digest) for path, digest in value["files"].items()}
        return Manifest(Kind(value["kind"]), _text(value["version"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _broken(file, str(error)) from error


def _inside(text: str) -> PurePosixPath:
    path = PurePosixPath(text)
    # Files that it names are removed when a version has them no more.
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in text:
        raise ValueError(f"{text!r} is not below the folder")
    return path


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _broken(file: Path, why: str) -> Failed:
    return Failed(
        f"{file} is not as actonce init wrote it ({why}): take it from the repository's history."
    )
