"""What an upgrade does to the managed files: decided from three digests of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Changes:
    """What a newer version does in a folder, in order of the paths.

    Attributes:
        added: files that only this version has.
        replaced: files that this version has in another form.
        removed: files that this version has no more.
        refused: files that the team has changed, made or removed. While there is one, nothing is
            done.
    """

    added: list[PurePosixPath]
    replaced: list[PurePosixPath]
    removed: list[PurePosixPath]
    refused: list[PurePosixPath]


def digest(content: bytes) -> str:
    """SHA-256 of a text file, whichever way its lines end: git may have rewritten them."""
    return sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def decide(
    was: Mapping[PurePosixPath, str],
    now: Mapping[PurePosixPath, str],
    new: Mapping[PurePosixPath, str],
) -> Changes:
    """What to do to each file that the manifest or this version has.

    Invariant: a file that is neither as the manifest has it nor as this version has it is refused.

    Args:
        was: the manifest's digests.
        now: those of the files in the folder.
        new: this version's.
    """
    paths = sorted(was.keys() | new.keys())
    # What is as this version has it was put there by an upgrade that was cut short.
    other = [path for path in paths if now.get(path) != new.get(path)]
    return Changes(
        added=[path for path in other if path not in was],
        replaced=[path for path in other if path in was and path in new],
        removed=[path for path in other if path not in new],
        refused=[path for path in other if now.get(path) != was.get(path)],
    )
