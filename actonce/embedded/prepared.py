"""Prepares copies of a project's templates for `sam build` on this machine.

The copies have absolute paths, and this Python's runtime in place of any other of Python: sam looks
for the interpreter that a runtime is named after, and the embedded AWS runs functions by this one.
The project itself does not change.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from actonce.embedded import nesting
from actonce.embedded.nesting import PLACES, Template
from actonce.terminal.errors import UsageError

_PATHS = frozenset(
    {
        "BodyS3Location",
        "Code",
        "CodeUri",
        "Content",
        "ContentUri",
        "DefinitionS3Location",
        "DefinitionUri",
        "Location",
        "SchemaUri",
        "TemplateURL",
    }
)
"""Properties that name a file or folder beside the template."""

_PYTHON = re.compile(r"python3\.[0-9]+")
_RUNTIME = f"python3.{sys.version_info.minor}"


def actonce_in(template: Template) -> list[Template]:
    """The ActOnce templates that are nested in a project's.

    Raises:
        UsageError: there is none.
    """
    found = [one for one in nesting.all_of(template) if one.is_actonce]
    if not found:
        raise UsageError(
            f"{template.file} has no ActOnce nested in it: actonce init puts its stack there and "
            "prints the lines to add."
        )
    return found


def prepare(template: Template, folder: Path) -> tuple[Path, list[str]]:
    """Write the copies.

    Args:
        template: the project's outermost.
        folder: for the copies; it is emptied first.

    Returns:
        The copy of the outermost, and sentences for the person about what differs.
    """
    shutil.rmtree(folder, ignore_errors=True)
    target = folder / "template.yaml"
    return target, list(dict.fromkeys(_copy(template, target)))


def _copy(template: Template, target: Path) -> Iterator[str]:
    copy = replace(template, body=deepcopy(template.body))
    nested = {one.logical_id: one for one in nesting.nested(template)}
    for holder, name in _entries(copy.body):
        value = holder[name]
        if name in _PATHS and (there := _beside(template.file.parent, value)):
            holder[name] = str(there)
        if isinstance(value, str) and _PYTHON.fullmatch(value):
            holder[name] = _RUNTIME
            if name == "Default":
                holder.pop("AllowedValues", None)
            if value != _RUNTIME:
                yield (
                    f"{template.file.name}: {value} is {_RUNTIME} here, the Python of this command."
                )
    for name, kind, properties in copy.resources():
        if name not in nested:
            continue
        place = nested[name].file
        if nested[name].is_actonce:
            given = properties.get("Parameters")
            given = given if isinstance(given, dict) else {}
            properties["Parameters"] = {**given, "PythonRuntime": _RUNTIME}
        else:
            place = target.parent / name / "template.yaml"
            yield from _copy(nested[name], place)
        properties[PLACES[kind]] = str(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.safe_dump(dict(copy.body), sort_keys=False), "utf-8")


def _beside(folder: Path, value: Any) -> Path | None:
    """The path beside the template that a value names; None if there is none."""
    if not isinstance(value, str) or not value:
        return None
    try:
        there = (folder / value).resolve()
        return there if there.exists() else None
    except (OSError, ValueError):  # it is no path
        return None


def _entries(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every entry of every mapping in a value, as the mapping and the entry's name."""
    if isinstance(value, dict):
        for name in list(value):
            if name in value:
                yield value, name
                yield from _entries(value.get(name))
    elif isinstance(value, list):
        for one in value:
            yield from _entries(one)
