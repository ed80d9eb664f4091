"""Where the stack's own files lie: its templates, statemachine/, functions/, events/.

The wheel carries them in the package (`tool.hatch.build` in pyproject.toml); in a clone they lie
beside it. Nothing else decides: not the folder that a command runs in, and no variable.
"""

import functools
import re
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_PACKED = _PACKAGE / "stack_files"

MANIFEST = Path("actonce", "actonce.json")
"""What `actonce init` has put into a folder, from there: this file makes it a project."""

# pyproject.toml reads it there as well, so that the wheel and the stack are of one version.
_VERSION = re.compile(r'^  ActOnce: \{Release: \{Version: "([^"]+)"\}\}$', re.M)


def sources(package: Path = _PACKAGE) -> Path:
    """The folder of the stack's files: the one that the wheel brought, or the clone."""
    packed = package / _PACKED.name
    return packed if packed.is_dir() else package.parent


def in_clone(package: Path = _PACKAGE) -> bool:
    """Whether this code runs from a clone, with its pages, tests and benchmarks."""
    return sources(package) == package.parent


@functools.cache
def version() -> str:
    """Of the stack and of this package: template.yaml says it, and nothing else does."""
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


def project_above(folder: Path) -> Path | None:
    """The nearest project that a folder lies in, or is; made by `actonce init`."""
    return next((one for one in (folder, *folder.parents) if (one / MANIFEST).is_file()), None)
