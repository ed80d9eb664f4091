"""Reads the templates, with CloudFormation's short tags in their long form."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from actonce.embedded import nesting
from actonce.stack import embedded_folder as paths

TEMPLATE = paths.PROJECT / "template.yaml"

Resource = dict[str, Any]


def load(file: Path = TEMPLATE) -> dict[str, Any]:
    """The whole template."""
    return dict(nesting.read(file).body)


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


def properties(resources: dict[str, Any], name: str) -> dict[str, Any]:
    """Of the resource of that logical id."""
    found: dict[str, Any] = resources[name]["Properties"]
    return found


def references(node: Any) -> Iterator[str]:
    """Every name that is referred to under a node, by Ref, GetAtt, Sub or If."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("Ref", "Condition") and isinstance(value, str):
                yield value
            elif key == "Fn::GetAtt":
                yield value[0]
            elif key == "Fn::Sub":
                yield from re.findall(r"\$\{([\w:]+)", str(value))
            elif key == "Fn::If":
                yield value[0]
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


_NO_VALUE = {"Ref": "AWS::NoValue"}


def resolved(template: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """The template with its conditions decided, as CloudFormation would by these parameters.

    What is not created is gone; `Fn::If` and references to parameters are their values; all else,
    such as references to resources, stays.
    """
    values = _values(template, parameters)
    conditions = template.get("Conditions", {})

    def value(node: Any) -> Any:
        if isinstance(node, dict):
            if "Fn::If" in node:
                name, then, otherwise = node["Fn::If"]
                chosen = then if _holds(conditions[name], values, conditions) else otherwise
                return value(chosen)
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
        if "Condition" not in resource
        or _holds(conditions[resource["Condition"]], values, conditions)
    }
    return template | {"Resources": created}


def refusals(template: dict[str, Any], **parameters: str) -> list[str]:
    """Names of the rules by which CloudFormation would refuse these parameters."""
    values = _values(template, parameters)
    return [
        name
        for name, rule in template["Rules"].items()
        if ("RuleCondition" not in rule or _holds(rule["RuleCondition"], values))
        and not all(_holds(one["Assert"], values) for one in rule["Assertions"])
    ]


def _values(template: dict[str, Any], parameters: Mapping[str, str]) -> dict[str, str]:
    return {
        name: parameters.get(name, str(parameter.get("Default", "")))
        for name, parameter in template.get("Parameters", {}).items()
    }


def _holds(node: Any, values: Mapping[str, str], conditions: Mapping[str, Any] = {}) -> bool:
    """Whether a condition holds, or an assertion: AWS compares parameters as texts."""

    def text(operand: Any) -> Any:
        return values[operand["Ref"]] if isinstance(operand, dict) else operand

    ((function, operands),) = node.items()
    if function == "Condition":
        return _holds(conditions[operands], values, conditions)
    if function == "Fn::Equals":
        return bool(text(operands[0]) == text(operands[1]))
    if function == "Fn::Contains":
        return text(operands[1]) in operands[0]
    if function == "Fn::Not":
        return not _holds(operands[0], values, conditions)
    assert function in ("Fn::And", "Fn::Or")
    assert 2 <= len(operands) <= 10  # as many as CloudFormation takes
    return (all if function == "Fn::And" else any)(
        _holds(one, values, conditions) for one in operands
    )
