"""What was judged already, kept in a file, so that a run that was broken off goes on."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from actonce.conformance.mutants.judging import Judged
from actonce.embedded.paths import PROJECT
from actonce.sources import sources

_NOT_JUDGED = frozenset({"explained.py", "page.py", "kept.py", "__main__.py"})
"""Of the mutants' own code: what changes no judgement."""


def code_judged() -> str:
    """SHA-256 of what a judgement depends on: what ships, and the suite."""
    ships = sources()
    files = [
        *sorted((ships / "functions").rglob("*.py")),
        ships / "statemachine" / "process_message.asl.json",
        *sorted((PROJECT / "actonce" / "conformance").rglob("*.py")),
    ]
    digest = hashlib.sha256()
    for file in files:
        if file.parent.name == "mutants" and file.name in _NOT_JUDGED:
            continue
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


class Kept:
    """A file of JSON Lines: first what code was judged, then each mutant as it was judged.

    Invariant: what it tells was judged on this very code; of other code it tells nothing, and is
    begun anew.
    """

    def __init__(self, path: Path, code: str) -> None:
        self._path = path
        self.judged: dict[str, Judged] = {}
        head = json.dumps({"code": code})
        lines = path.read_text().splitlines() if path.exists() else []
        known = [_read(line) for line in lines[1:]] if lines[:1] == [head] else []
        # Written again, so that a line that was broken off is no part of the next one.
        path.write_text(head + "\n")
        for one in known:
            if one is not None:
                self.keep(one)

    def keep(self, one: Judged) -> None:
        """Add one."""
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")
        self.judged[one.name] = one


def _read(line: str) -> Judged | None:
    """None: the line was being written when the run was broken off."""
    try:
        known = json.loads(line)
    except ValueError:
        return None
    cell = known.pop("cell")
    return Judged(**known, cell=tuple(cell) if cell else None)
