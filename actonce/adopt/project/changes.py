"""What becomes of each managed file: decided from three hashes, and from nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePosixPath


class What(StrEnum):
    """What is done to a file."""

    NOTHING = "nothing"
    """It is as it should be."""
    ADD = "added"
    REPLACE = "replaced"
    REMOVE = "removed"
    KEEP = "kept"
    """The team changed it, and this version did not: it stays theirs."""
    BESIDE = "beside"
    """Both changed it: it stays theirs, and this version's is written beside it."""
    ORPHAN = "orphan"
    """The team changed it, and this version has none any more: it stays theirs."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to one file."""

    path: PurePosixPath
    what: What


def digest(content: bytes) -> str:
    """SHA-256 of a text file, whichever way its lines end: git may have rewritten them."""
    return sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def decide(was: str | None, now: str | None, new: str | None) -> What:
    """What to do to one file.

    Invariant: a file that is neither as the manifest has it nor as this version has it is never
    written over and never removed.

    Args:
        was: the manifest's digest of it; None: it is not in there.
        now: of the file in the folder; None: there is none.
        new: of this version's; None: this version has none.
    """
    if now == new:
        return What.NOTHING
    if now is None:
        # In the manifest it was taken away by the team, and that is a change like another.
        return What.ADD if was is None else What.KEEP if was == new else What.BESIDE
    if now == was:
        return What.REMOVE if new is None else What.REPLACE
    if new is None:
        return What.ORPHAN
    return What.KEEP if was == new else What.BESIDE


def decide_all(
    was: Mapping[PurePosixPath, str],
    now: Mapping[PurePosixPath, str],
    new: Mapping[PurePosixPath, str],
) -> list[Change]:
    """What to do to each file that the manifest or this version has, in order of their paths."""
    paths = sorted(was.keys() | new.keys())
    return [Change(path, decide(was.get(path), now.get(path), new.get(path))) for path in paths]
