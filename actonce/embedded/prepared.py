"""A team's project, prepared for `sam build` on this machine; what is theirs is not touched.

Copies of their templates say absolute paths, and for every function in Python the runtime of the
Python that runs this: sam looks for the interpreter that the runtime is named after, and the
embedded AWS runs them with this one.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from actonce.embedded import nesting
from actonce.embedded.nesting import PLACES, Template, entries, entry, is_text
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
    list(_runtimes(template, prepared))
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
    text = template.file.read_text("utf-8")
    copies: dict[str, Path] = {}
    for one in nesting.nested(template):
        if not one.is_actonce:
            copies[one.logical_id] = target.parent / one.logical_id / "template.yaml"
            _copy(one, copies[one.logical_id], prepared)
    edits: list[tuple[int, int, str]] = []
    for name, kind, properties in template.resources():
        place = entry(properties, PLACES[kind]) if kind in PLACES else None
        if isinstance(place, yaml.ScalarNode) and "://" not in place.value:
            at = copies.get(name, (template.file.parent / place.value).resolve())
            edits.append(_replaced(place, str(at)))
            if name not in copies:
                edits.append(_with_runtime(properties))
    edited = {start for start, _, _ in edits}
    for node in _texts(template.root, lambda name: name in _PATHS):
        there = _beside(template.file.parent, node.value)
        if node.start_mark.index not in edited and there is not None:
            edits.append(_replaced(node, str(there)))
    edits += _runtimes(template, prepared)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def _beside(folder: Path, text: str) -> Path | None:
    """What a text names that lies beside the template; None if it names nothing there."""
    try:
        there = (folder / text).resolve()
        return there if text and there.exists() else None
    except (OSError, ValueError):  # no path at all
        return None


def _runtimes(template: Template, prepared: Prepared) -> Iterator[tuple[int, int, str]]:
    named = template.parameters
    if not template.logical_id:  # what it hands on to what is nested in it
        for node in _scalars(template.root, lambda name: name == "PythonRuntime"):
            if node.tag == "!Ref" and node.value in named:
                prepared.overrides[node.value] = _RUNTIME
    for node in _scalars(template.root, lambda name: name == "Runtime"):
        is_parameter = node.tag == "!Ref" and node.value in named
        wanted = named[node.value] if is_parameter else node.value
        if not wanted.startswith("python"):
            continue
        if is_parameter and not template.logical_id:
            prepared.overrides[node.value] = _RUNTIME
        elif not is_parameter and is_text(node):
            yield _replaced(node, _RUNTIME)
        if wanted != _RUNTIME:
            prepared.said.append(
                f"What {template.file.name} has run on {wanted} is run on {_RUNTIME}, the Python "
                "of this command."
            )


def _with_runtime(properties: yaml.MappingNode) -> tuple[int, int, str]:
    """ActOnce's own functions, too."""
    parameters = entry(properties, "Parameters")
    if not isinstance(parameters, yaml.MappingNode) or not parameters.value:
        if parameters is not None:
            raise WrongUse("Parameters of a nested stack have to be a mapping that is not empty.")
        return _inserted(properties, f'"Parameters": {{"PythonRuntime": "{_RUNTIME}"}}')
    runtime = entry(parameters, "PythonRuntime")
    if runtime is not None:
        return runtime.start_mark.index, runtime.end_mark.index, _RUNTIME
    return _inserted(parameters, f'"PythonRuntime": "{_RUNTIME}"')


def _inserted(mapping: yaml.MappingNode, text: str) -> tuple[int, int, str]:
    first = mapping.value[0][0].start_mark
    after = ", " if mapping.flow_style else "\n" + " " * first.column
    return first.index, first.index, text + after


def _replaced(node: yaml.ScalarNode, new: str) -> tuple[int, int, str]:
    return node.start_mark.index, node.end_mark.index, json.dumps(new)


def _texts(node: yaml.Node, wanted: Callable[[str], bool]) -> Iterator[yaml.ScalarNode]:
    return (one for one in _scalars(node, wanted) if is_text(one))


def _scalars(node: yaml.Node, wanted: Callable[[str], bool]) -> Iterator[yaml.ScalarNode]:
    """Every scalar under a name that is wanted."""
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value, wanted)
    for name, value in entries(node):
        if isinstance(value, yaml.ScalarNode):
            if wanted(name):
                yield value
        else:
            yield from _scalars(value, wanted)
