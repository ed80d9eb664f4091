"""Puts ActOnce's files into a team's folder, and replaces them by those of a newer version.

The manifest beside them says what was put there. It is written last, so that an upgrade which was
interrupted can be run again: what it wrote does not count as a change of the team's.

Invariant: an upgrade overwrites and removes only files that are as in the manifest or in the newer
version, and writes nothing through a symbolic link, which may lead into another project.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from actonce.adopt.project.copied_files import STACK, Files
from actonce.stack.stack_files import MANIFEST, numbers
from actonce.terminal.errors import Failed, UsageError


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was put into a folder.

    Attributes:
        version: of ActOnce.
        files: digests of that version's files.
    """

    version: str
    files: Mapping[PurePosixPath, str]


def manifest_of(root: Path) -> Manifest | None:
    """A folder's manifest; None if it has none.

    Raises:
        Failed: the file cannot be read, or is no manifest.
    """
    file = root / MANIFEST
    try:
        value = json.loads(file.read_bytes())
        files = {PurePosixPath(path): str(digest) for path, digest in value["files"].items()}
        return Manifest(str(value["version"]), files)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failed(
            f"{file} is not as actonce init wrote it ({error}): take it from the repository's "
            "history."
        ) from error


def place(root: Path, version: str, managed: Files, seeds: Files) -> None:
    """Put files into a folder that has none of ActOnce's.

    Args:
        root: the team's folder.
        version: of the managed files.
        managed: ActOnce's files, which an upgrade may replace.
        seeds: files that are the team's from now on; they need a folder with nothing but `.git`.

    Raises:
        Failed: something is there already, or cannot be written.
    """
    there = manifest_of(root)
    if there is not None:
        raise Failed(
            f"{root} has ActOnce {there.version} already"
            + (
                ", which is this version."
                if there.version == version
                else f"; --upgrade brings it to {version}."
            )
        )
    with _failing():
        found = sorted(one.name for one in root.iterdir()) if root.is_dir() else []
        if seeds and (others := [name for name in found if name != ".git"]):
            raise Failed(
                f"{root} holds something already ({', '.join(others[:3])}): name a folder that is "
                "new, or put the stack alone into this one, by actonce init."
            )
        if str(STACK) in found:
            raise Failed(f"{root / STACK} is there already: move it away first.")
        for path, content in (managed | seeds).items():
            _write(root, path, content)
        _write_manifest(root, version, managed)


def upgrade(root: Path, version: str, managed: Files) -> dict[PurePosixPath, str]:
    """Bring a folder's managed files to another version.

    Returns:
        What happened to each file that differs: added, replaced or removed.

    Raises:
        UsageError: the folder's version is newer.
        Failed: nothing was put there, or somebody changed, added or removed a file since, so
            nothing is written; or a file cannot be written, and the same command continues there.
    """
    there = manifest_of(root)
    if there is None:
        raise Failed(
            f"{root} has no {MANIFEST}, so actonce init has put nothing there; without --upgrade "
            "it does."
        )
    its, mine = numbers(there.version), numbers(version)
    if its is not None and mine is not None and its > mine:
        raise UsageError(
            f"{root} has ActOnce {there.version}, and this is the older {version}: install ActOnce "
            f"{there.version} from a clone of it."
        )
    was, new = there.files, _digests(managed)
    with _failing():
        files = {path: _file(root, path) for path in sorted(was.keys() | new.keys())}
        now = {path: digest(file.read_bytes()) for path, file in files.items() if file.exists()}
        other = [path for path in files if now.get(path) != new.get(path)]
        changed = [str(path) for path in other if now.get(path) != was.get(path)]
        if changed:
            raise Failed(
                f"Nothing was written, for these were changed since actonce init: "
                f"{', '.join(changed)}. Put them back as they were, upgrade, and make your changes "
                "again."
            )
        for path in other:
            if path in new:
                _write(root, path, managed[path])
            else:
                files[path].unlink()
        _write_manifest(root, version, managed)
    return {
        path: "removed" if path not in new else "replaced" if path in was else "added"
        for path in other
    }


def digest(content: bytes) -> str:
    """SHA-256 of a text file whatever its line ends, which git may have rewritten."""
    return sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def _digests(files: Files) -> dict[PurePosixPath, str]:
    return {path: digest(content) for path, content in files.items()}


def _write_manifest(root: Path, version: str, managed: Files) -> None:
    files = {str(path): digest for path, digest in sorted(_digests(managed).items())}
    text = json.dumps({"version": version, "files": files}, indent=2) + "\n"
    _write(root, PurePosixPath(MANIFEST), text.encode())


def _write(root: Path, path: PurePosixPath, content: bytes) -> None:
    file = _file(root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    # A half-written file would count as a change of the team's.
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _file(root: Path, path: PurePosixPath) -> Path:
    """The file of a path from this version, or from the manifest, which anybody may have edited."""
    file = root.resolve() / path
    if file.resolve() != file or not file.is_relative_to(root.resolve()):
        raise Failed(f"{file} leads elsewhere, perhaps by a symbolic link: nothing is done there.")
    return file


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Failed(
            f"{error.filename} cannot be read or written: {error.strerror}. Build nothing, and run "
            "the same command again when it can."
        ) from error
