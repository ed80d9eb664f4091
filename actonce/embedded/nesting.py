"""Templates, and the templates nested in them, read before sam builds them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from actonce.terminal.errors import WrongUse

PLACES = {"AWS::Serverless::Application": "Location", "AWS::CloudFormation::Stack": "TemplateURL"}
"""Where a resource that is a nested stack says where its template lies."""

NAMES = ("template.yaml", "template.yml", "template.json")
"""As sam looks for a template."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template as it was written, short tags and all.

    Attributes:
        file: where it lies.
        root: its nodes, which know their places in the text.
        logical_id: what it is called in the template that it is nested in; empty for the outermost.
    """

    file: Path
    root: yaml.MappingNode
    logical_id: str = ""

    @property
    def is_actonce(self) -> bool:
        """Whether it is ActOnce's."""
        release = entry(entry(entry(self.root, "Mappings"), "ActOnce"), "Release")
        return entry(release, "Version") is not None

    @property
    def parameters(self) -> dict[str, str]:
        """Its parameters, with their defaults; empty where there is none."""
        found = {}
        for name, value in entries(entry(self.root, "Parameters")):
            default = entry(value, "Default")
            found[name] = default.value if isinstance(default, yaml.ScalarNode) else ""
        return found

    def resources(self) -> Iterator[tuple[str, str, yaml.MappingNode]]:
        """Each resource that has properties: logical id, type, properties."""
        for name, resource in entries(entry(self.root, "Resources")):
            kind, properties = entry(resource, "Type"), entry(resource, "Properties")
            if isinstance(kind, yaml.ScalarNode) and isinstance(properties, yaml.MappingNode):
                yield name, kind.value, properties


def read(file: Path, logical_id: str = "") -> Template:
    """Read a template.

    Raises:
        WrongUse: it cannot be read, or is no template.
    """
    try:
        root = yaml.compose(file.read_text("utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror or error}.") from error
    except (yaml.YAMLError, ValueError) as error:
        told = " ".join(str(error).split())
        raise WrongUse(f"{file} is not YAML: {told}") from error
    if not isinstance(root, yaml.MappingNode):
        raise WrongUse(f"{file} is no template of CloudFormation.")
    return Template(file, root, logical_id)


def outermost(folder: Path) -> Path:
    """The template of a project, where sam looks for it.

    Raises:
        WrongUse: there is none.
    """
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    raise WrongUse(f"{folder} has no template.yaml, so it is no SAM project.")


def nested(template: Template) -> Iterator[Template]:
    """The templates that lie beside it and are nested in it, not deeper."""
    for name, kind, properties in template.resources():
        place = entry(properties, PLACES[kind]) if kind in PLACES else None
        if place is not None and not is_text(place):
            # CloudFormation would take a function here, and sam build builds nothing of it.
            raise WrongUse(
                f"{template.file}: {PLACES[kind]} of {name} has to be written out; sam build "
                "takes no function such as !Sub there."
            )
        if isinstance(place, yaml.ScalarNode) and "://" not in place.value:
            yield read((template.file.parent / place.value).resolve(), name)


def all_of(template: Template) -> Iterator[Template]:
    """A template and whatever is nested in it, but for what is nested in ActOnce's."""
    yield template
    if not template.is_actonce:
        for one in nested(template):
            yield from all_of(one)


def entries(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    """What a mapping has; nothing for another node."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield str(name.value), value


def entry(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """One value of a mapping."""
    return next((value for found, value in entries(node) if found == name), None)


def is_text(node: yaml.Node) -> bool:
    """Whether a text is written there, and not one of CloudFormation's functions (`!Sub`)."""
    return isinstance(node, yaml.ScalarNode) and node.tag.startswith("tag:yaml.org,2002:")


def is_actonce(parsed: Mapping[str, Any]) -> bool:
    """As `Template.is_actonce`, of what sam has built."""
    return "ActOnce" in parsed.get("Mappings", {})


def value_of(value: Any, values: Mapping[str, str]) -> str | None:
    """A property's value where it is written out, or a parameter's; None: CloudFormation knows it.

    Args:
        value: as the built template has it.
        values: the parameters'.
    """
    if isinstance(value, Mapping) and value.keys() == {"Ref"}:
        return values.get(value["Ref"])
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None
