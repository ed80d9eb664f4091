"""Templates, and the templates nested in them, read before sam builds them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import yaml_parse

from actonce.terminal.errors import UsageError

PLACES = {"AWS::Serverless::Application": "Location", "AWS::CloudFormation::Stack": "TemplateURL"}
"""The property of a nested stack that says where its template is."""

NAMES = ("template.yaml", "template.yml", "template.json")
"""As sam looks for a template."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template as it was written.

    Attributes:
        file: where it is.
        body: its sections; CloudFormation's functions are in their long form.
        logical_id: its name in the template that nests it; empty for the outermost.
    """

    file: Path
    body: Mapping[str, Any]
    logical_id: str = ""

    @property
    def is_actonce(self) -> bool:
        """Whether it is ActOnce's."""
        return is_actonce(self.body)

    @property
    def parameters(self) -> dict[str, Mapping[str, Any]]:
        """Its parameters' declarations, by their names."""
        return {str(name): _mapping(one) for name, one in _section(self.body, "Parameters")}

    def resources(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Each resource that has properties: logical id, type, properties."""
        return [
            (str(name), str(resource.get("Type")), resource["Properties"])
            for name, resource in _section(self.body, "Resources")
            if isinstance(_mapping(resource).get("Properties"), dict)
        ]


def read(file: Path, logical_id: str = "") -> Template:
    """Read a template.

    Raises:
        UsageError: it cannot be read, or is no template.
    """
    try:
        body = yaml_parse(file.read_text("utf-8"))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and file.parent.name == "actonce"
        advice = " actonce init puts it there." if missing else ""
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.{advice}") from error
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{file} is not YAML: {reason}") from error
    if not isinstance(body, dict):
        raise UsageError(f"{file} is no template of CloudFormation.")
    return Template(file, body, logical_id)


def outermost(folder: Path) -> Path:
    """The template of a project, where sam looks for it.

    Raises:
        UsageError: there is none.
    """
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"{folder} has no template.yaml, so it is no SAM project.")


def nested(template: Template) -> Iterator[Template]:
    """The templates that it nests itself, if they are files here.

    Raises:
        UsageError: one of them cannot be read, or its place is a function.
    """
    for name, kind, properties in template.resources():
        place = properties.get(PLACES.get(kind, ""))
        if isinstance(place, Mapping):
            # CloudFormation would take a function here, and sam build builds nothing of it.
            raise UsageError(
                f"{template.file}: {PLACES[kind]} of {name} has to be written out; sam build "
                "takes no function such as !Sub there."
            )
        if isinstance(place, str) and "://" not in place:
            yield read((template.file.parent / place).resolve(), name)


def all_of(template: Template) -> Iterator[Template]:
    """A template and all that is nested in it, but nothing that is nested in ActOnce's."""
    yield template
    if not template.is_actonce:
        for one in nested(template):
            yield from all_of(one)


def is_actonce(body: Mapping[str, Any]) -> bool:
    """Whether a template is ActOnce's, as it was written or as sam built it."""
    return "ActOnce" in _mapping(body.get("Mappings"))


def value_of(value: Any, values: Mapping[str, str]) -> str | None:
    """A property's value if it is a literal or a parameter; None if only CloudFormation knows it.

    Args:
        value: as the template has it.
        values: the parameters'.
    """
    if isinstance(value, Mapping) and value.keys() == {"Ref"}:
        return values.get(value["Ref"])
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _section(body: Mapping[str, Any], name: str) -> list[tuple[Any, Any]]:
    return list(_mapping(body.get(name)).items())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
