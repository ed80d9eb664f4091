"""A team's project, prepared for `sam build` on this machine; what is theirs is not touched.

Copies of their templates say absolute paths, and for every function in Python the runtime of the
Python that runs this: sam looks for the interpreter that the runtime is named after, and the
embedded AWS runs them with this one.
"""

import shutil
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from actonce.embedded import nesting
from actonce.embedded.nesting import PLACES, Template
from actonce.terminal.errors import WrongUse

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
"""Where a template names what lies beside it."""

_RUNTIME = f"python3.{sys.version_info.minor}"


@dataclass(slots=True)
class Prepared:
    """What sam build is given.

    Attributes:
        template: the copy of the outermost template.
        overrides: of its parameters, for the runtime of its functions.
        said: sentences for the person.
    """

    template: Path
    overrides: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def actonce_in(template: Template) -> list[Template]:
    """The ActOnce templates that are nested in a project's.

    Raises:
        WrongUse: there is none.
    """
    found = [one for one in nesting.all_of(template) if one.is_actonce]
    if not found:
        raise WrongUse(
            f"{template.file} has no ActOnce nested in it: actonce init puts its stack there and "
            "prints the lines to add."
        )
    return found


def runtimes(template: Template) -> dict[str, str]:
    """The outermost template's parameters that name a runtime, with this Python's."""
    prepared = Prepared(template.file)
    _name_runtimes(replace(template, body=deepcopy(template.body)), prepared)
    return prepared.overrides


def prepare(template: Template, folder: Path) -> Prepared:
    """Write the copies.

    Args:
        template: the project's outermost.
        folder: for the copies; what it holds is thrown away.
    """
    shutil.rmtree(folder, ignore_errors=True)
    prepared = Prepared(folder / "template.yaml")
    _copy(template, prepared.template, prepared)
    prepared.said = list(dict.fromkeys(prepared.said))
    return prepared


def _copy(template: Template, target: Path, prepared: Prepared) -> None:
    copy = replace(template, body=deepcopy(template.body))
    nested = {one.logical_id: one for one in nesting.nested(template)}
    for holder, name in _entries(copy.body):
        if name in _PATHS and (there := _beside(template.file.parent, holder[name])):
            holder[name] = str(there)
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
            _copy(nested[name], place, prepared)
        properties[PLACES[kind]] = str(place)
    _name_runtimes(copy, prepared)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.safe_dump(dict(copy.body), sort_keys=False), "utf-8")


def _beside(folder: Path, value: Any) -> Path | None:
    """What a value names that lies beside the template; None if it names nothing there."""
    if not isinstance(value, str) or not value:
        return None
    try:
        there = (folder / value).resolve()
        return there if there.exists() else None
    except (OSError, ValueError):  # no path at all
        return None


def _name_runtimes(template: Template, prepared: Prepared) -> None:
    """Write this Python's runtime wherever a template names one of Python, or a parameter does."""
    is_outermost = not template.logical_id
    for holder, name in _entries(template.body):
        value = holder[name]
        parameter = value.get("Ref") if isinstance(value, dict) else None
        declared = template.parameters.get(parameter or "")
        # The outermost one's parameter that is handed on to what is nested in it.
        if name == "PythonRuntime" and declared is not None and is_outermost:
            prepared.overrides[str(parameter)] = _RUNTIME
        if name != "Runtime":
            continue
        wanted = value if declared is None else declared.get("Default")
        if not isinstance(wanted, str) or not wanted.startswith("python"):
            continue
        if declared is None:
            holder[name] = _RUNTIME
        elif is_outermost:
            prepared.overrides[str(parameter)] = _RUNTIME
        if wanted != _RUNTIME:
            prepared.said.append(
                f"What {template.file.name} has run on {wanted} is run on {_RUNTIME}, the Python "
                "of this command."
            )


def _entries(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every entry of every mapping in a value: the mapping, and the name in it."""
    if isinstance(value, dict):
        for name in list(value):
            yield value, name
            yield from _entries(value[name])
    elif isinstance(value, list):
        for one in value:
            yield from _entries(one)
