"""Puts a plan into a folder, and a newer one in the place of an older.

Invariant: at whatever point this ends, the same command begun again goes on, and no file that the
team has changed is written over or removed. For the files are decided on by what is there, each is
written whole or not at all, and the manifest, which says what was put there, comes last.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import actonce
from actonce.adopt.project import manifest
from actonce.adopt.project.changes import Changes, decide, digest
from actonce.adopt.project.folder import Folder
from actonce.adopt.project.manifest import Manifest
from actonce.adopt.project.plan import STACK, Kind, Plan
from actonce.stack.sources import MANIFEST, numbers
from actonce.terminal.errors import Failed, WrongUse

_MANIFEST = PurePosixPath(MANIFEST)
_PACKAGE = Path(actonce.__file__).parent


def place(folder: Folder, wanted: Plan) -> list[PurePosixPath]:
    """Put a plan into a folder that has none.

    What is there already and is the same is left alone: an earlier try may have been cut short.

    Returns:
        What was written.

    Raises:
        Failed: something else is there, or it cannot be written. Nothing of it is changed.
    """
    if folder.root.is_relative_to(_PACKAGE):
        raise Failed(f"{folder.root} is of ActOnce itself: name a folder of your own.")
    there = manifest.read(folder.root)
    if there is not None:
        raise Failed(
            f"{folder.root} has ActOnce {there.version} already; actonce init --upgrade brings it "
            f"to {wanted.version}."
        )
    everything = wanted.managed | wanted.seeds
    found = folder.contents(everything)
    others = [
        path for path, content in found.items() if digest(content) != digest(everything[path])
    ]
    ours = [*everything, _MANIFEST]
    for below in sorted({parent for path in ours for parent in path.parents}):
        if wanted.kind is Kind.PROJECT or below.is_relative_to(STACK):
            others += folder.others(ours, below)
    if others:
        raise Failed(_in_the_way(folder, others, wanted.kind))
    missing = [path for path in everything if path not in found]
    folder.check_writable([*missing, _MANIFEST])
    for path in missing:
        folder.write(path, everything[path])
    _write_manifest(folder, wanted)
    return missing


def _in_the_way(folder: Folder, others: list[PurePosixPath], kind: Kind) -> str:
    named = ", ".join(map(str, others[:3])) + (", …" if len(others) > 3 else "")
    instead = (
        "name a folder that is new, or put the stack alone into this one, by actonce init"
        if kind is Kind.PROJECT
        else "move it away first"
    )
    return f"{folder.root} holds something else already ({named}): {instead}."


def upgrade(folder: Folder, there: Manifest, wanted: Plan) -> Changes:
    """Bring what a folder holds to a newer version, whole or not at all.

    Args:
        folder: the team's.
        there: its manifest.
        wanted: the newer version.

    Raises:
        WrongUse: the folder's version is newer.
        Failed: the team has changed a file, or something stands in the way, and nothing is written;
            or a file cannot be written, and the same command goes on from there.
    """
    its, mine = numbers(there.version), numbers(wanted.version)
    if its is not None and mine is not None and its > mine:
        raise WrongUse(
            f"{folder.root} has ActOnce {there.version}, and this is the older {wanted.version}: "
            f"install ActOnce {there.version} from a clone of it."
        )
    new = wanted.managed
    found = folder.contents(sorted(there.files.keys() | new.keys()))
    changes = decide(there.files, _digests(found), _digests(new))
    if changes.refused:
        raise Failed(
            f"Nothing was written, for these were changed since actonce init: "
            f"{', '.join(map(str, changes.refused))}. What was changed is shown by git diff "
            f"$(git log -1 --format=%h -- {MANIFEST}) -- {STACK}. Put them back as they were in "
            "that commit, upgrade, and make your changes again."
        )
    written = [*changes.added, *changes.replaced]
    folder.check_writable([*written, *changes.removed, _MANIFEST])
    try:
        for path in written:
            folder.write(path, new[path])
        for path in changes.removed:
            folder.remove(path)
        _write_manifest(folder, wanted)
    except Failed as error:
        raise Failed(
            f"{error} Some files are of {wanted.version} by now: build nothing, and run the same "
            "command again."
        ) from error
    return changes


def _digests(files: Mapping[PurePosixPath, bytes]) -> dict[PurePosixPath, str]:
    return {path: digest(content) for path, content in files.items()}


def _write_manifest(folder: Folder, wanted: Plan) -> None:
    written = Manifest(wanted.kind, wanted.version, _digests(wanted.managed))
    folder.write(_MANIFEST, written.as_json().encode())
