"""Which files `actonce init` puts into a folder: the stack's, and those of a new project.

There are two kinds. *Managed* files are ActOnce's, of one version: the manifest has their hashes,
and an upgrade brings them to another version. *Seeds* are the team's: `init` writes them once, and
never looks at them again.

The managed files are what the stack needs in front of a team's own function, without the example
and the lease. They are copied, and templates are changed as `nested_template` says.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from actonce.adopt.project.nested_template import nested_template
from actonce.stack.stack_files import sources

Files = dict[PurePosixPath, bytes]

STACK = PurePosixPath("actonce")
"""Below the team's folder: where the stack lies."""

_SKELETON = Path(__file__).with_name("skeleton")
_RENAMED = {"gitignore": ".gitignore"}  # by that name it would apply to the skeleton itself

_PYTHON = f"python3.{sys.version_info.minor}"  # sam build finds it on the PATH

_STACK = (
    "template.yaml",
    "templates/alarms.yaml",
    "statemachine/process_message.asl.json",
    "functions/",
)
_OF_THE_AUDIT = (
    "templates/records.yaml",
    "templates/audit.yaml",
    "statemachine/audit.asl.json",
    "functions/execution_records.py",
    "functions/actonce_core/histories/",
    "functions/actonce_core/transient.py",
)
_OF_OTHERS = (
    "functions/requirements.txt",  # what is nested is not built
    "functions/appointments.py",  # the example
    "functions/actonce_core/locking/",  # the lease
)


def stack_files(*, audit: bool = False) -> Files:
    """The managed files of this version, by their path below the team's folder.

    Args:
        audit: whether to add what keeps the records and audits them each night.
    """
    root = sources()
    wanted = _STACK + _OF_THE_AUDIT if audit else _STACK
    left_out = _OF_OTHERS if audit else _OF_OTHERS + _OF_THE_AUDIT
    return {
        STACK / path: _as_nested(path, content)
        for place in wanted
        for path, content in _files(root, root / place)
        if not path.as_posix().startswith(left_out)
    }


def _as_nested(path: PurePosixPath, content: bytes) -> bytes:
    return nested_template(content.decode()).encode() if path.suffix == ".yaml" else content


def has_audit(paths: Iterable[PurePosixPath]) -> bool:
    """Whether these managed files include the audit."""
    return STACK / "statemachine/audit.asl.json" in set(paths)


def seeds(name: str) -> Files:
    """The files of a new project, by their path below its folder.

    Args:
        name: the project's, as the person typed it.
    """
    own, python = stack_name(name).encode(), _PYTHON.encode()
    return {
        path.with_name(_RENAMED.get(path.name, path.name)): content.replace(b"{name}", own).replace(
            b"{python}", python
        )
        for path, content in _files(_SKELETON, _SKELETON)
    }


def stack_name(name: str) -> str:
    """A name that CloudFormation takes for a stack, after a folder's.

    Source: CreateStack, "StackName": letters, digits and hyphens, a letter first, 128 at most.
    """
    cleaned = re.sub("[^A-Za-z0-9]+", "-", name).strip("-")
    if not cleaned[:1].isalpha():
        cleaned = f"actonce-{cleaned}".rstrip("-")
    return cleaned[:128].rstrip("-")


def _files(root: Path, folder: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    for file in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        if file.is_file() and "__pycache__" not in file.parts:
            yield PurePosixPath(file.relative_to(root).as_posix()), file.read_bytes()
