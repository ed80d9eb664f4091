"""Puts a plan into a folder, and a newer one in the place of an older.

Invariant: at whatever point this ends, the same command begun again goes on, and no file that the
team has changed is written over or removed. For the files are decided on by what is there, each is
written whole or not at all, and the manifest, which says what the team has changed, comes last.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from actonce.adopt.project import manifest
from actonce.adopt.project.changes import Change, What, decide_all, digest
from actonce.adopt.project.folder import Folder
from actonce.adopt.project.manifest import Manifest
from actonce.adopt.project.plan import STACK, Kind, Plan
from actonce.stack.sources import MANIFEST
from actonce.stack.versions import numbers
from actonce.terminal.errors import Failed, WrongUse

_BESIDE = ".new"
_MANIFEST = PurePosixPath(MANIFEST)


def place(folder: Folder, wanted: Plan) -> list[PurePosixPath]:
    """Put a plan into a folder that has none.

    What is there already and is the same is left alone: an earlier try may have been cut short.

    Returns:
        What was written.

    Raises:
        Failed: something else is there, or it cannot be written. Nothing of it is changed.
    """
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
    _write_manifest(folder, wanted, {})
    return missing


def _in_the_way(folder: Folder, others: list[PurePosixPath], kind: Kind) -> str:
    named = ", ".join(map(str, others[:3])) + (", …" if len(others) > 3 else "")
    instead = (
        "name a folder that is new, or put the stack alone into this one, by actonce init"
        if kind is Kind.PROJECT
        else "move it away first"
    )
    return f"{folder.root} holds something else already ({named}): {instead}."


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What a newer version changes in a folder; nothing is written yet.

    Attributes:
        there: the folder's manifest.
        wanted: the newer version.
        changes: one for each file.
        found: what the files hold now.
    """

    folder: Folder
    there: Manifest
    wanted: Plan
    changes: list[Change]
    found: Mapping[PurePosixPath, bytes]

    def of(self, *whats: What) -> list[PurePosixPath]:
        """The files to which this is done."""
        return [change.path for change in self.changes if change.what in whats]

    def lines(self, path: PurePosixPath) -> tuple[int, int]:
        """How many lines this version adds to what is there, and how many it takes away."""
        diff = self.diff(path).splitlines()[2:]
        return sum(one.startswith("+") for one in diff), sum(one.startswith("-") for one in diff)

    def diff(self, path: PurePosixPath) -> str:
        """What this version changes in a file, as `diff -u` tells it."""
        old = self.found.get(path, b"").decode("utf-8", "replace").splitlines()
        new = self.wanted.managed.get(path, b"").decode("utf-8", "replace").splitlines()
        return "\n".join(difflib.unified_diff(old, new, f"{path}", f"{path}", lineterm=""))

    def apply(self) -> None:
        """Do it.

        Raises:
            Failed: something cannot be written; the same command goes on from there.
        """
        new = self.wanted.managed
        beside = {beside_of(path): new[path] for path in self.of(What.BESIDE)}
        self._check_beside(beside)
        written = {path: new[path] for path in self.of(What.ADD, What.REPLACE)} | beside
        self.folder.check_writable([*written, *self.of(What.REMOVE), _MANIFEST])
        for path, content in written.items():
            self.folder.write(path, content)
        for path in self.of(What.REMOVE):
            self.folder.remove(path)
        remembered = {path: digest(content) for path, content in beside.items()}
        # Files beside that the team has not dealt with yet are still this program's.
        earlier = {p: d for p, d in self.there.beside.items() if (self.folder.root / p).exists()}
        _write_manifest(self.folder, self.wanted, earlier | remembered)

    def _check_beside(self, beside: Mapping[PurePosixPath, bytes]) -> None:
        for path, content in self.folder.contents(beside).items():
            if digest(content) not in (digest(beside[path]), self.there.beside.get(path)):
                raise Failed(
                    f"{self.folder.root / path} has been changed, and this version's would be "
                    "written there: move it away first. Nothing was written."
                )


def beside_of(path: PurePosixPath) -> PurePosixPath:
    """Where this version's is written if the team has changed theirs."""
    return path.with_name(path.name + _BESIDE)


def upgrade_of(folder: Folder, there: Manifest, wanted: Plan) -> Upgrade:
    """What a version would change in a folder.

    Raises:
        WrongUse: the folder's is newer.
        Failed: something stands in the way.
    """
    its, mine = numbers(there.version), numbers(wanted.version)
    if its is not None and mine is not None and its > mine:
        raise WrongUse(
            f"{folder.root} has ActOnce {there.version}, and this is the older {wanted.version}: "
            f"install ActOnce {there.version} from a clone of it."
        )
    found = folder.contents(sorted(there.files.keys() | wanted.managed.keys()))
    changes = decide_all(
        there.files,
        {path: digest(content) for path, content in found.items()},
        {path: digest(content) for path, content in wanted.managed.items()},
    )
    return Upgrade(folder, there, wanted, changes, found)


def _write_manifest(folder: Folder, wanted: Plan, beside: Mapping[PurePosixPath, str]) -> None:
    files = {path: digest(content) for path, content in wanted.managed.items()}
    written = Manifest(wanted.kind, wanted.version, files, beside)
    folder.write(_MANIFEST, written.as_json().encode())
