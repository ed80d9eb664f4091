"""Which files `actonce init` puts into a folder: the stack's, and those of a new project.

Two kinds. *Managed* files are ActOnce's, of one version: the manifest has their hashes, and an
upgrade brings them to another version. *Seeds* are the team's from the first moment: written once,
never looked at again.

What is managed is what the stack runs in front of a function of the team's own, copied and never
edited: not the other ways, nor the example, nor what its functions' code has for these.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from actonce.stack.sources import sources, version

STACK = PurePosixPath("actonce")
"""Below the team's folder: where the stack lies."""

_SKELETON = Path(__file__).with_name("skeleton")
_RENAMED = {"gitignore": ".gitignore"}  # by its own name it would rule over the skeleton itself

_PYTHON = f"python3.{sys.version_info.minor}"  # sam build finds it on the PATH

_STACK = ("template.yaml", "alarms.yaml", "statemachine/process_message.asl.json", "functions/")
_OF_THE_AUDIT = (
    "records.yaml",
    "audit.yaml",
    "statemachine/audit.asl.json",
    "functions/dead_letters_of_day.py",
    "functions/actonce_core/histories/",
)
_OF_OTHERS = (
    # the example, and the contract that it is written with
    "functions/appointments.py",
    "functions/actonce_core/effect.py",
    # ledger and lease
    "functions/consumer.py",
    "functions/actonce_core/invoked_effect.py",
    "functions/actonce_core/locking/",
)


class Kind(StrEnum):
    """What was made, so that an upgrade knows what belongs to it."""

    STACK = "stack"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a folder is to hold, by the path below it.

    Attributes:
        version: of what is managed.
        managed: ActOnce's files.
        seeds: the team's.
    """

    kind: Kind
    version: str
    managed: dict[PurePosixPath, bytes]
    seeds: dict[PurePosixPath, bytes] = field(default_factory=dict)


def plan(kind: Kind, name: str, *, audit: bool = False) -> Plan:
    """What this version puts into a folder.

    Args:
        kind: the stack alone, or a project around it.
        name: of a project, as a person has typed it.
        audit: with what keeps its records, and audits them each night.
    """
    managed = {STACK / path: content for path, content in _stack_files(audit=audit)}
    seeds = dict(_seeds(stack_name(name))) if kind is Kind.PROJECT else {}
    return Plan(kind, version(), managed, seeds)


def has_audit(paths: Iterable[PurePosixPath]) -> bool:
    """Whether these managed files are of a plan with the audit."""
    return STACK / "audit.yaml" in set(paths)


def stack_name(name: str) -> str:
    """A name that CloudFormation takes for a stack, after a folder's.

    Source: CreateStack, "StackName": letters, digits and hyphens, a letter first, 128 at most.
    """
    cleaned = re.sub("[^A-Za-z0-9]+", "-", name).strip("-")
    if not cleaned[:1].isalpha():
        cleaned = f"actonce-{cleaned}".rstrip("-")
    return cleaned[:128].rstrip("-")


def _stack_files(*, audit: bool) -> Iterator[tuple[PurePosixPath, bytes]]:
    root = sources()
    wanted = _STACK + _OF_THE_AUDIT if audit else _STACK
    left_out = _OF_OTHERS if audit else _OF_OTHERS + _OF_THE_AUDIT
    for place in wanted:
        for path, content in _files(root, root / place):
            if not path.as_posix().startswith(left_out):
                yield path, content


def _seeds(name: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    for path, content in _files(_SKELETON, _SKELETON):
        filled = content.replace(b"{name}", name.encode()).replace(b"{python}", _PYTHON.encode())
        yield path.with_name(_RENAMED.get(path.name, path.name)), filled


def _files(root: Path, folder: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    for file in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        if file.is_file() and "__pycache__" not in file.parts:
            yield PurePosixPath(file.relative_to(root).as_posix()), file.read_bytes()
