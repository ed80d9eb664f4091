"""Rewrites the built stack for MiniStack; `server` changes MiniStack itself.

`sam build` runs as for AWS. Beside each template that it built, this writes another, in which
- a batch has two deliveries at most, for two cores;
- a provider that is down is retried for 15 s only;
- the queue's visibility timeout is short, so that a person does not wait minutes for a redelivery,
  and the starter's time-out with it;
- the margin for a straggler may be short, because a cold start does not take 10 s here;
- alarms on more than one metric are left out, because MiniStack refuses them;
- `local_audit` has rewritten the audit's nested stack.

The stack may be nested in a team's own (`actonce up --project`). Of the team's resources only
alarms change; its time-outs stay.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from actonce.embedded import nesting
from actonce.embedded.lambda_runtime import POWERTOOLS
from actonce.embedded.local_audit import is_audit, rewrite_audit
from actonce.embedded.nesting import value_of
from actonce.embedded.parameters import HERE

STARTER_TIMEOUT_SECONDS = 16
VISIBILITY_TIMEOUT_SECONDS = 10
"""Longer than the SDK retries a call that is refused. A starter that is slower, until its time-out,
has its deliveries beside another, which suppresses them."""

LOCAL_RETRY = {"IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 4}
"""15 s in all, because MiniStack ignores the jitter."""
MAX_RETRIES = 3
"""The same of first attempts: messages come back from the queue after some 4, 8 and 16 s."""

BATCH_SIZE = 2

_FUNCTIONS = ("AWS::Serverless::Function", "AWS::Lambda::Function")
_RUN_HERE = ("python", "nodejs", "provided")

THEIRS = "EffectTimeoutSeconds"
"""Not shortened if the effect is a team's own: its function has this time-out."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a built stack is rewritten.

    Attributes:
        parameters: values for the outermost stack's parameters.
        nested: values for an ActOnce stack nested in it, in place of the team's.
        say: is called with a sentence for each thing that will differ from AWS.
    """

    parameters: Mapping[str, str]
    nested: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None


def rewrite(built: Path, settings: Settings) -> Path:
    """Write the template that is deployed here beside the one that `sam build` wrote.

    Returns:
        Its path.
    """
    template = yaml.safe_load(built.read_text())
    values = {
        name: str(settings.parameters.get(name, parameter.get("Default", "")))
        for name, parameter in template.get("Parameters", {}).items()
    }
    resources: dict[str, Any] = template["Resources"]
    for name, resource in list(resources.items()):
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in properties:
            del resources[name]
        elif resource["Type"] in _FUNCTIONS and not nesting.is_actonce(template):
            is_sams = resource["Type"] == "AWS::Serverless::Function"
            everyones = template.get("Globals", {}).get("Function", {}) if is_sams else {}
            layer_lists = [owner.get("Layers") for owner in (everyones, properties)]
            layers = [
                one for several in layer_lists if isinstance(several, list) for one in several
            ]
            _say_what_differs(name, everyones | properties | {"Layers": layers}, values, settings)
        elif resource["Type"] in nesting.PLACES:
            place = nesting.PLACES[resource["Type"]]
            _rewrite_nested(built, properties, place, values, settings)
    if nesting.is_actonce(template):
        # `lambda_runtime` brings what is in the layer.
        template.get("Globals", {}).get("Function", {}).pop("Layers", None)
        for name, allowed in HERE.items():
            template["Parameters"][name] |= allowed
        _hurry_machine(built.parent, resources, values)
    target = _beside(built)
    target.write_text(yaml.safe_dump(template, sort_keys=False))
    return target


def _beside(file: Path) -> Path:
    return file.with_name(f"local-{file.name}")


def _say_what_differs(
    name: str, properties: Mapping[str, Any], values: Mapping[str, str], settings: Settings
) -> None:
    runtime = value_of(properties.get("Runtime"), values) or ""
    if properties.get("PackageType") == "Image" or not runtime.startswith(_RUN_HERE):
        settings.say(
            f"{name} cannot run on the embedded AWS, which has no containers: its calls fail."
        )
    elif runtime.startswith("nodejs"):
        settings.say(
            f"{name} runs on this machine's Node, and of @aws-sdk it has what its package brings, "
            "or a stand-in if it is required."
        )
    for layer in properties["Layers"]:
        arn = value_of(layer.get("Fn::Sub", layer) if isinstance(layer, Mapping) else layer, values)
        if arn and POWERTOOLS not in arn:
            settings.say(
                f"{name} misses the layer {arn} on the embedded AWS, which has only those that a "
                "template makes: put what it imports of it into its own package."
            )


def _rewrite_nested(
    built: Path, properties: dict[str, Any], place: str, values: Mapping[str, str], given: Settings
) -> None:
    where = properties.get(place)
    if not isinstance(where, str) or "://" in where:
        return
    nested = (built.parent / where).resolve()
    parsed = yaml.safe_load(nested.read_text())
    if is_audit(parsed):
        properties[place] = str(_beside(nested))
        rewrite_audit(nested, _beside(nested))
        return
    theirs = properties.setdefault("Parameters", {})
    if nesting.is_actonce(parsed):
        theirs |= {n: v for n, v in given.nested.items() if n in parsed["Parameters"]}
    known = {name: value_of(value, values) for name, value in theirs.items()}
    parameters = {name: value for name, value in known.items() if value is not None}
    properties[place] = str(rewrite(nested, replace(given, parameters=parameters)))


def _hurry_machine(folder: Path, resources: dict[str, Any], values: Mapping[str, str]) -> None:
    machine = resources["ProcessMessage"]["Properties"]
    source = folder / machine["DefinitionUri"]
    definition = json.loads(source.read_text())
    for name in ("PerformEffect", "FindEffect"):
        definition["States"][name]["Retry"][-1].update(LOCAL_RETRY)
    target = folder / f"local-{source.name}"
    target.write_text(json.dumps(definition, indent=2))
    machine["DefinitionUri"] = target.name
    queue, starter = (resources[one]["Properties"] for one in ("RequestsQueue", "StarterFunction"))
    queue["VisibilityTimeout"] = VISIBILITY_TIMEOUT_SECONDS
    starter["Timeout"] = STARTER_TIMEOUT_SECONDS
    if values.get("StartExecutions") == "on-trouble":
        # It also waits for the function that it calls.
        starter["Timeout"] += int(values[THEIRS])
        queue["VisibilityTimeout"] += int(values[THEIRS])
        variables = starter["Environment"]["Variables"]
        variables["STARTER_TIMEOUT_SECONDS"] = str(starter["Timeout"])
        variables["MAX_RETRIES"] = str(MAX_RETRIES)
    starter["Events"]["Requests"]["Properties"]["BatchSize"] = BATCH_SIZE


def code_places(template: nesting.Template) -> frozenset[str]:
    """The paths of functions' code and of definitions, as a template names them."""
    return frozenset(
        properties[name]
        for _, _, properties in template.resources()
        for name in ("CodeUri", "Code", "DefinitionUri", "ContentUri")
        if isinstance(properties.get(name), str)
    )
