"""Rewrites the built stack for MiniStack; the only place that knows where MiniStack is not AWS.

`sam build` runs as for AWS. What it built is copied, and in the copy
- every Python function becomes a custom runtime (see `lambda_runtime`);
- numbers of the event source mapping are written out, because MiniStack leaves parameters text;
- `TimeoutSeconds` that are JSONata are evaluated, because MiniStack takes numbers only;
- the queue's visibility timeout is short, so that a person does not wait minutes for a redelivery,
  and the starter's time-out with it; behind a lock a crash is waited out in the queue, so they are
  shorter still;
- the margin for a straggler may be short, for a cold start takes no 10 s here;
- alarms of more than one metric are left out, because MiniStack refuses them;
- the audit's nested stack is rewritten by `local_audit`.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from actonce.embedded.lambda_runtime import provide_package
from actonce.embedded.local_audit import rewrite_audit

_CONSTANT_TIMEOUT = re.compile(r"\{% \$number\('\$\{(\w+)\}'\)(?: \+ (\d+))? %\}")

VISIBILITY_TIMEOUT_SECONDS = 18
STARTER_TIMEOUT_SECONDS = 16
"""The starter tries again for as long as it has; its deliveries must not come back before."""
CONSUMER_VISIBILITY_TIMEOUT_SECONDS = 5
CONSUMER_TIMEOUT_SECONDS = 8


def rewrite(built: Path, local: Path, bootstrap: str, parameters: Mapping[str, str]) -> Path:
    """Copy a built stack and rewrite the copy.

    Args:
        built: the folder that `sam build` wrote.
        local: the folder to write.
        bootstrap: the text of each function's `bootstrap`.
        parameters: values of the stack's parameters that differ from their defaults.

    Returns:
        The path of the rewritten template.
    """
    shutil.rmtree(local, ignore_errors=True)
    local.mkdir(parents=True)
    template = yaml.safe_load((built / "template.yaml").read_text())
    values = {
        name: str(parameters.get(name, parameter.get("Default", "")))
        for name, parameter in template["Parameters"].items()
    }
    template["Parameters"]["StragglerMarginSeconds"]["MinValue"] = 1
    for name, resource in list(template["Resources"].items()):
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in properties:
            del template["Resources"][name]
        elif resource["Type"] == "AWS::Serverless::Function":
            code = Path(properties["CodeUri"])
            if not (local / code).exists():
                provide_package(built / code, local / code, bootstrap)
            properties["Runtime"] = "provided.al2023"
            for event in properties.get("Events", {}).values():
                mapping = event["Properties"]
                mapping["BatchSize"] = _number(mapping["BatchSize"], values)
                scaling = mapping["ScalingConfig"]
                scaling["MaximumConcurrency"] = _number(scaling["MaximumConcurrency"], values)
        elif resource["Type"] == "AWS::Serverless::StateMachine":
            source = (built / properties["DefinitionUri"]).resolve()
            definition = json.loads(source.read_text())
            _evaluate_timeouts(definition, properties["DefinitionSubstitutions"], values)
            (local / source.name).write_text(json.dumps(definition, indent=2))
            properties["DefinitionUri"] = source.name
        elif resource["Type"] == "AWS::CloudFormation::Stack":
            nested = (built / properties["TemplateURL"]).resolve()
            if name == "Audit":
                rewrite_audit(nested, local / f"{name}.yaml", bootstrap)
            else:
                shutil.copy(nested, local / f"{name}.yaml")
            properties["TemplateURL"] = f"{name}.yaml"
    resources = template["Resources"]
    resources["RequestsQueue"]["Properties"]["VisibilityTimeout"] = (
        VISIBILITY_TIMEOUT_SECONDS
        if values["Strategy"] == "step-functions"
        else CONSUMER_VISIBILITY_TIMEOUT_SECONDS
    )
    resources["StarterFunction"]["Properties"]["Timeout"] = STARTER_TIMEOUT_SECONDS
    consumer = resources["ConsumerFunction"]["Properties"]
    consumer["Timeout"] = CONSUMER_TIMEOUT_SECONDS
    consumer["Environment"]["Variables"]["FUNCTION_TIMEOUT_SECONDS"] = str(CONSUMER_TIMEOUT_SECONDS)
    target = local / "template.yaml"
    target.write_text(yaml.safe_dump(template, sort_keys=False))
    return target


def parameter_names(template: Path) -> frozenset[str]:
    """The parameters that the project's template declares."""
    # Only the top level's keys are wanted, so CloudFormation's own tags may stay unread.
    node = yaml.compose(template.read_text(), Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)  # noqa: S101 - narrows the type
    for key, value in node.value:
        if key.value == "Parameters":
            return frozenset(name.value for name, _ in value.value)
    return frozenset()


def code_folders(template: Path) -> frozenset[str]:
    """The folders of the functions' code, as the template names them."""
    root = yaml.compose(template.read_text(), Loader=yaml.SafeLoader)
    return frozenset(_scalars(root, "CodeUri"))


def _scalars(node: yaml.Node | None, key: str) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key and isinstance(value, yaml.ScalarNode):
                yield value.value
            yield from _scalars(value, key)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value, key)


def _evaluate_timeouts(
    definition: dict[str, Any], substitutions: Mapping[str, Any], values: Mapping[str, str]
) -> None:
    for state in definition["States"].values():
        timeout = state.get("TimeoutSeconds")
        match = _CONSTANT_TIMEOUT.fullmatch(timeout) if isinstance(timeout, str) else None
        if match:
            value = _number(substitutions[match[1]], values)
            state["TimeoutSeconds"] = value + int(match[2] or 0)


def _number(reference: Mapping[str, str], values: Mapping[str, str]) -> int:
    return int(values[reference["Ref"]])
