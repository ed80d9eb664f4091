"""Rewrites the built stack for MiniStack; the only place that knows where MiniStack is not AWS.

`sam build` runs as for AWS. What it built is copied, and in the copy
- every Python function becomes a custom runtime (see `lambda_runtime`);
- numbers of the event source mapping are written out, because MiniStack leaves parameters text,
  and a batch has two deliveries at most, for two cores;
- what waits for a provider gives up after 15 s, in both ways;
- `TimeoutSeconds` that are JSONata are evaluated, because MiniStack takes numbers only; for a
  version that a decision brought it is the definition's: one that runs longer is looked up;
- the queue's visibility timeout is short, so that a person does not wait minutes for a redelivery,
  and the starter's time-out with it; behind a lock a crash is waited out in the queue, so they are
  shorter still, and so is a lease;
- the margin for a straggler may be short, for a cold start takes no 10 s here;
- alarms of more than one metric are left out, because MiniStack refuses them;
- the audit's nested stack is rewritten by `local_audit`.

The stack may be nested in a team's own (`actonce up --project`). Of theirs, functions, mappings and
alarms are treated likewise, and nothing else is touched: a time-out of theirs stays.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from actonce.embedded import nesting
from actonce.embedded.lambda_runtime import provide_package
from actonce.embedded.local_audit import is_audit, rewrite_audit
from actonce.embedded.nesting import value_of
from actonce.embedded.parameters import HERE

_CONSTANT_TIMEOUT = re.compile(
    r"\{% (?:\$states\.input\.version \? [^:]+ : )?\$number\('\$\{(\w+)\}'\)(?: \+ (\d+))? %\}"
)

VISIBILITY_TIMEOUT_SECONDS = 18
STARTER_TIMEOUT_SECONDS = 16
"""The starter tries again for as long as it has; its deliveries must not come back before."""
CONSUMER_VISIBILITY_TIMEOUT_SECONDS = 5
CONSUMER_TIMEOUT_SECONDS = 8
LEASE_SECONDS = 4

LOCAL_RETRY = {"IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 4}
"""Quarter of a minute, for MiniStack knows no jitter."""
MAX_RETRIES = 3
"""The same, behind a lock: what comes back from the queue waits some 4, 8 and 16 s."""

BATCH_SIZE = 2

_FUNCTIONS = {"AWS::Serverless::Function": "CodeUri", "AWS::Lambda::Function": "Code"}
_RUN_HERE = ("python", "nodejs", "provided")

THEIRS = "EffectTimeoutSeconds"
"""What is not made shorter here where the effect is a team's: it ties their function's time-out."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a built stack is rewritten.

    Attributes:
        bootstrap: the text of each Python function's `bootstrap`.
        parameters: values of the parameters that are given to the outermost stack.
        nested: values for an ActOnce stack nested in it, over the team's own.
        say: told, a sentence each, what will not be here as on AWS.
    """

    bootstrap: str
    parameters: Mapping[str, str]
    nested: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None


def rewrite(built: Path, local: Path, settings: Settings) -> Path:
    """Copy a built stack and rewrite the copy.

    Args:
        built: the folder that `sam build` wrote.
        local: the folder to write.
        settings: how.

    Returns:
        The path of the rewritten template.
    """
    shutil.rmtree(local, ignore_errors=True)
    return _rewrite(built / "template.yaml", local, settings)


def _rewrite(built: Path, local: Path, settings: Settings) -> Path:
    local.mkdir(parents=True)
    template = yaml.safe_load(built.read_text())
    values = {
        name: str(settings.parameters.get(name, parameter.get("Default", "")))
        for name, parameter in template.get("Parameters", {}).items()
    }
    return _Rewriting(built.parent, local, settings, template, values).rewrite()


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """One template of a built stack, on its way to its copy."""

    built: Path
    local: Path
    settings: Settings
    template: dict[str, Any]
    values: Mapping[str, str]

    def rewrite(self) -> Path:
        resources: dict[str, Any] = self.template["Resources"]
        for name, resource in list(resources.items()):
            properties = resource.get("Properties", {})
            if _is_refused(resource):
                del resources[name]
            elif resource["Type"] in _FUNCTIONS:
                self._function(name, properties, _FUNCTIONS[resource["Type"]])
            elif resource["Type"] == "AWS::Lambda::EventSourceMapping":
                self._write_numbers_out(properties)
            elif resource["Type"] in nesting.PLACES:
                self._nested(name, properties, nesting.PLACES[resource["Type"]])
        if nesting.is_actonce(self.template):
            self._hurry(resources)
        target = self.local / "template.yaml"
        target.write_text(yaml.safe_dump(self.template, sort_keys=False))
        return target

    def _function(self, name: str, properties: dict[str, Any], key: str) -> None:
        for event in properties.get("Events", {}).values():
            if event["Type"] == "SQS":
                self._write_numbers_out(event["Properties"])
        everyones = self.template.get("Globals", {}).get("Function", {}).get("Runtime")
        runtime = value_of(properties.get("Runtime", everyones), self.values) or ""
        if properties.get("PackageType") == "Image" or not runtime.startswith(_RUN_HERE):
            self.settings.say(
                f"{name} cannot run on the embedded AWS, which has no containers: its calls fail."
            )
        elif runtime.startswith("nodejs"):
            self.settings.say(
                f"{name} runs on this machine's Node: what it throws has no name of its own here, "
                "and of @aws-sdk it has what its package brings, or a stand-in if it is required."
            )
        if properties.get("Layers"):
            self.settings.say(f"{name} may miss its layers on the embedded AWS.")
        code = properties.get(key)
        if not isinstance(code, str) or "://" in code:
            return
        is_there = (self.local / code).exists()
        if runtime.startswith("python"):
            properties["Runtime"] = "provided.al2023"
            if not is_there:
                provide_package(self.built / code, self.local / code, self.settings.bootstrap)
        elif not is_there:
            shutil.copytree(self.built / code, self.local / code, symlinks=True)

    def _write_numbers_out(self, mapping: dict[str, Any]) -> None:
        for place in (mapping, mapping.get("ScalingConfig", {})):
            for name in ("BatchSize", "MaximumConcurrency"):
                number = value_of(place.get(name), self.values)
                if number is not None:
                    place[name] = int(number)

    def _nested(self, name: str, properties: dict[str, Any], place: str) -> None:
        where = properties.get(place)
        if not isinstance(where, str) or "://" in where:
            return
        nested = (self.built / where).resolve()
        parsed = yaml.safe_load(nested.read_text())
        if is_audit(parsed):
            properties[place] = f"{name}.yaml"
            rewrite_audit(nested, self.local / properties[place], self.settings.bootstrap)
            return
        properties[place] = f"{name}/template.yaml"
        given = properties.setdefault("Parameters", {})
        if nesting.is_actonce(parsed):
            known_there = nesting.read(nested).parameters
            given.update({n: v for n, v in self.settings.nested.items() if n in known_there})
        known = {parameter: value_of(value, self.values) for parameter, value in given.items()}
        if given.get(THEIRS) is not None and known[THEIRS] is None:
            self.settings.say(
                f"{THEIRS} of {name} is worked out by CloudFormation, so the embedded AWS takes "
                "the template's default for the time-out of a call."
            )
        parameters = {parameter: value for parameter, value in known.items() if value is not None}
        _rewrite(nested, self.local / name, replace(self.settings, parameters=parameters))

    def _hurry(self, resources: dict[str, Any]) -> None:
        """What is ActOnce's alone: its definition's time-outs, and a person who wants to see it."""
        for name, allowed in HERE.items():
            self.template["Parameters"][name] |= allowed
        if "ConsumerFunction" in resources:
            self._hurry_consumer(resources)
        else:
            self._hurry_machine(resources)

    def _hurry_machine(self, resources: dict[str, Any]) -> None:
        machine = resources["ProcessMessage"]["Properties"]
        source = (self.built / machine["DefinitionUri"]).resolve()
        definition = json.loads(source.read_text())
        _evaluate_timeouts(definition, machine["DefinitionSubstitutions"], self.values)
        for name in ("PerformEffect", "FindEffect"):
            definition["States"][name]["Retry"][-1].update(LOCAL_RETRY)
        (self.local / source.name).write_text(json.dumps(definition, indent=2))
        machine["DefinitionUri"] = source.name
        resources["RequestsQueue"]["Properties"]["VisibilityTimeout"] = VISIBILITY_TIMEOUT_SECONDS
        starter = resources["StarterFunction"]["Properties"]
        starter["Timeout"] = STARTER_TIMEOUT_SECONDS
        starter["Events"]["Requests"]["Properties"]["BatchSize"] = BATCH_SIZE

    def _hurry_consumer(self, resources: dict[str, Any]) -> None:
        resources["RequestsQueue"]["Properties"]["VisibilityTimeout"] = (
            CONSUMER_VISIBILITY_TIMEOUT_SECONDS
        )
        consumer = resources["ConsumerFunction"]["Properties"]
        consumer["Events"]["Requests"]["Properties"]["BatchSize"] = BATCH_SIZE
        variables = consumer["Environment"]["Variables"]
        seconds = CONSUMER_TIMEOUT_SECONDS
        if value_of(variables["EFFECT_FUNCTION_ARN"], self.values) != "":
            # A takeover waits for the function that may have been called, too.
            seconds += int(self.values[THEIRS])
        consumer["Timeout"] = seconds
        variables["FUNCTION_TIMEOUT_SECONDS"] = str(seconds)
        variables["LEASE_SECONDS"] = str(LEASE_SECONDS)
        for rule in ("LeaseNeedsTime", "LeaseOfOwnEffectNeedsMoreTime"):
            del self.template["Rules"][rule]  # they count with AWS's times
        variables["MAX_RETRIES"] = str(MAX_RETRIES)


def _is_refused(resource: Mapping[str, Any]) -> bool:
    """Whether MiniStack would refuse it: an alarm of more than one metric."""
    of_alarm = resource["Type"] == "AWS::CloudWatch::Alarm"
    return of_alarm and "Metrics" in resource.get("Properties", {})


def parameter_names(template: Path) -> frozenset[str]:
    """The parameters that a template declares."""
    return frozenset(nesting.read(template).parameters)


def code_places(template: nesting.Template) -> frozenset[str]:
    """The folders and files of functions' code and of definitions, as a template names them."""
    return frozenset(
        properties[name]
        for _, _, properties in template.resources()
        for name in ("CodeUri", "Code", "DefinitionUri", "ContentUri")
        if isinstance(properties.get(name), str)
    )


def _evaluate_timeouts(
    definition: dict[str, Any], substitutions: Mapping[str, Any], values: Mapping[str, str]
) -> None:
    for state in definition["States"].values():
        timeout = state.get("TimeoutSeconds")
        match = _CONSTANT_TIMEOUT.fullmatch(timeout) if isinstance(timeout, str) else None
        if match:
            value = int(value_of(substitutions[match[1]], values) or 0)
            state["TimeoutSeconds"] = value + int(match[2] or 0)
