"""The folder of the stack's files (templates, statemachine/, functions/, events/), and its version.

In the wheel they are in the package (`tool.hatch.build` in pyproject.toml), in a clone beside it.
Nothing else decides, neither the current folder nor a variable.
"""

import functools
import re
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_PACKED = _PACKAGE / "stack_files"

MANIFEST = Path("actonce", "actonce.json")
"""Lists what `actonce init` put into a folder; a folder with this file is a project."""

# pyproject.toml reads it there as well, so that the wheel and the stack are of one version.
_VERSION = re.compile(r'^  ActOnce: \{Release: \{Version: "([^"]+)"\}\}$', re.M)
_PARTS = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def sources(package: Path = _PACKAGE) -> Path:
    """The folder of the stack's files: the one that the wheel brought, or the clone."""
    packed = package / _PACKED.name
    return packed if packed.is_dir() else package.parent


def in_clone(package: Path = _PACKAGE) -> bool:
    """Whether this code runs from a clone, with its pages, tests and benchmarks."""
    return sources(package) == package.parent


@functools.cache
def version() -> str:
    """The version of the stack and of this package, which only template.yaml says."""
    return version_of((sources() / "template.yaml").read_text("utf-8"))


def version_of(template: str) -> str:
    """The version that the text of a template.yaml says.

    Raises:
        ValueError: it says none.
    """
    match = _VERSION.search(template)
    if match is None:
        raise ValueError("template.yaml: Mappings has no ActOnce with the Release's Version")
    return match[1]


def numbers(version: str) -> tuple[int, int, int] | None:
    """A version's three numbers; None if it does not begin with three.

    A pre-release's suffix is ignored.
    """
    match = _PARTS.match(version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def version_mismatch(stack_name: str, stack: str | None, mine: str) -> str | None:
    """Why two versions do not fit and what to do, in one sentence; None if they fit.

    They fit if their first two numbers are equal: a release that changes only the third changes
    neither what a stack records nor how commands ask it.

    Args:
        stack_name: as the person knows it.
        stack: the stack's output; None if the stack is older than that output.
        mine: this command line's.
    """
    its, own = numbers(stack or ""), numbers(mine)
    if stack == mine or (its and own and its[:2] == own[:2]):
        return None
    age = ", older than" if not stack or (its and own and its < own) else ", and"
    return (
        f"The stack {stack_name!r} is of version {stack or 'unknown'}{age} this actonce {mine}: "
        "deploy it anew, or install its version from a clone; until then not everything is found."
    )


def project_above(folder: Path) -> Path | None:
    """The nearest project that a folder lies in, or is; made by `actonce init`."""
    return next((one for one in (folder, *folder.parents) if (one / MANIFEST).is_file()), None)
