"""Which files `actonce init` puts into a folder: the stack's, and those of a new project.

Two kinds. *Managed* files are ActOnce's, of one version: the manifest has their hashes, and an
upgrade brings them to another version. *Seeds* are the team's from the first moment: written once,
never looked at again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from actonce.sources import TEMPLATES, sources, version

STACK = PurePosixPath("actonce")
"""Below the team's folder: where the stack lies."""

_SKELETON = Path(__file__).with_name("skeleton")
_RENAMED = {"gitignore": ".gitignore"}  # by its own name it would rule over the skeleton itself
_NAMED = ("README.md", "samconfig.toml")  # have the project's name in them

_CONTRACT = tuple(f"actonce_core/{name}.py" for name in ("__init__", "effect"))
"""What the team's effect imports, beside it as in `functions/`."""

_EXAMPLE = """\
      Description: The example effect, perform and find.
      CodeUri: functions/
      Handler: appointments.handler
"""
_YOURS = """\
      Description: Your effect, perform and find.
      CodeUri: ../functions/
      Handler: your_effect.handler
"""


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


def plan(kind: Kind, name: str) -> Plan:
    """What this version puts into a folder.

    Args:
        kind: the stack alone, or a project around it.
        name: of a project, as a person has typed it.
    """
    managed = {STACK / path: content for path, content in _stack_files()}
    if kind is Kind.STACK:
        return Plan(kind, version(), managed)
    template = STACK / "template.yaml"
    managed[template] = with_your_effect(managed[template].decode()).encode()
    for file in _CONTRACT:
        managed[PurePosixPath("functions", file)] = managed[STACK / "functions" / file]
    return Plan(kind, version(), managed, dict(_seeds(stack_name(name))))


def stack_name(name: str) -> str:
    """A name that CloudFormation takes for a stack, after a folder's.

    Source: CreateStack, "StackName": letters, digits and hyphens, a letter first, 128 at most.
    """
    cleaned = re.sub("[^A-Za-z0-9]+", "-", name).strip("-")
    if not cleaned[:1].isalpha():
        cleaned = f"actonce-{cleaned}".rstrip("-")
    return cleaned[:128].rstrip("-")


def with_your_effect(template: str) -> str:
    """The stack's template with the team's function in the place of the example.

    Raises:
        ValueError: the template does not have the example as it is known here.
    """
    if template.count(_EXAMPLE) != 1:
        raise ValueError("template.yaml: AppointmentsFunction is not as actonce init knows it")
    return template.replace(_EXAMPLE, _YOURS)


def _stack_files() -> Iterator[tuple[PurePosixPath, bytes]]:
    root = sources()
    for name in TEMPLATES:
        yield PurePosixPath(name), (root / name).read_bytes()
    for folder in ("statemachine", "functions"):
        yield from _files(root, root / folder)


def _seeds(name: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    for path, content in _files(_SKELETON, _SKELETON):
        named = content
        if path.name in _NAMED:
            named = content.replace(b"{name}", name.encode())
        yield path.with_name(_RENAMED.get(path.name, path.name)), named


def _files(root: Path, folder: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield PurePosixPath(file.relative_to(root).as_posix()), file.read_bytes()
