"""Reads the templates, with CloudFormation's short tags in their long form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from actonce.stack import embedded_folder as paths

TEMPLATE = paths.PROJECT / "template.yaml"

Resource = dict[str, Any]


class _Loader(yaml.SafeLoader):
    pass


def _intrinsic(loader: _Loader, name: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.SequenceNode):
        value: Any = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    else:
        value = node.value
        if name == "GetAtt":
            value = value.split(".", 1)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _intrinsic)


def load(file: Path = TEMPLATE) -> dict[str, Any]:
    """The whole template."""
    parsed: dict[str, Any] = yaml.load(file.read_text(), Loader=_Loader)
    return parsed


def as_list(value: Any) -> list[Any]:
    """A value that may stand for a list of one."""
    return value if isinstance(value, list) else [value]


def statements(node: Any) -> Iterator[dict[str, Any]]:
    """Every statement of every policy under a node."""
    if isinstance(node, dict):
        if "Effect" in node and "Action" in node:
            yield node
        for value in node.values():
            yield from statements(value)
    elif isinstance(node, list):
        for value in node:
            yield from statements(value)


def of_type(template: dict[str, Any], resource_type: str) -> dict[str, Resource]:
    """The resources of one type, by logical id."""
    return {
        name: resource
        for name, resource in template["Resources"].items()
        if resource["Type"] == resource_type
    }


_NO_VALUE = {"Ref": "AWS::NoValue"}


def resolved(template: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """The template with its conditions decided, as CloudFormation would by these parameters.

    What is not created is gone; `Fn::If` and references to parameters are their values; all else,
    such as references to resources, stays.
    """
    values = {
        name: parameters.get(name, str(parameter.get("Default", "")))
        for name, parameter in template["Parameters"].items()
    }
    conditions = template.get("Conditions", {})

    def holds(node: Any) -> bool:
        ((function, operands),) = node.items()
        if function == "Condition":
            return holds(conditions[operands])
        if function == "Fn::Equals":
            return bool(value(operands[0]) == value(operands[1]))
        if function == "Fn::Not":
            return not holds(operands[0])
        assert function in ("Fn::And", "Fn::Or")
        return (all if function == "Fn::And" else any)(holds(one) for one in operands)

    def value(node: Any) -> Any:
        if isinstance(node, dict):
            if "Fn::If" in node:
                name, then, otherwise = node["Fn::If"]
                return value(then if holds(conditions[name]) else otherwise)
            if node.keys() == {"Ref"} and node["Ref"] in values:
                return values[node["Ref"]]
            found = {name: value(inner) for name, inner in node.items()}
            return {name: inner for name, inner in found.items() if inner != _NO_VALUE}
        if isinstance(node, list):
            return [inner for inner in map(value, node) if inner != _NO_VALUE]
        return node

    created = {
        name: value(resource)
        for name, resource in template["Resources"].items()
        if "Condition" not in resource or holds({"Condition": resource["Condition"]})
    }
    return template | {"Resources": created}
