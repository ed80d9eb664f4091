"""Rewrites the audit's nested stack for MiniStack, which has no EMR Serverless.

- The application becomes a function that runs jobs on this machine (`integrations/`).
- The tasks whose integration MiniStack lacks call that function, with the same arguments.
- An error that MiniStack names differently from AWS gets MiniStack's name.
"""

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from actonce_pipeline.spark.java import find_java

_APPLICATION: Final = "AWS::EMRServerless::Application"
_MISSING: Final = (
    "states:::emr-serverless:startJobRun.sync",
    "states:::aws-sdk:s3:getObject",
)
_NAMED_OTHERWISE: Final = {
    "StepFunctions.ExecutionAlreadyExistsException": "ExecutionAlreadyExists"
}
_STAND_IN: Final = Path(__file__).with_name("integrations")
_LONGEST_SECONDS: Final = 900


def is_audit(parsed: Mapping[str, Any]) -> bool:
    """Whether a built template is the audit's."""
    return any(one["Type"] == _APPLICATION for one in parsed["Resources"].values())


def rewrite_audit(built: Path, local: Path) -> None:
    """Rewrite a built template.

    Args:
        built: the template that `sam build` wrote.
        local: the template to write, beside it.
    """
    template = yaml.safe_load(built.read_text())
    for name, resource in template["Resources"].items():
        # `lambda_runtime` brings what is in the layer.
        resource.get("Properties", {}).pop("Layers", None)
        if resource["Type"] == _APPLICATION:
            template["Resources"][name] = _function()
        elif resource["Type"] == "AWS::StepFunctions::StateMachine":
            properties = resource["Properties"]
            source = (built.parent / properties["DefinitionS3Location"]).resolve()
            definition = json.loads(source.read_text())
            for state in definition["States"].values():
                _rewrite_state(state)
            target = local.with_name(f"local-{source.name}")
            target.write_text(json.dumps(definition, indent=2))
            properties["DefinitionS3Location"] = target.name
    local.write_text(yaml.safe_dump(template, sort_keys=False))


def _function() -> dict[str, Any]:
    spark = importlib.util.find_spec("pyspark")
    home = next(iter(spark.submodule_search_locations or []), "") if spark else ""
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": f"python3.{sys.version_info.minor}",
            "Handler": "handler.handler",
            "Code": str(_STAND_IN),
            "Timeout": _LONGEST_SECONDS,
            "Role": {"Fn::GetAtt": ["AuditJobRole", "Arn"]},
            "Environment": {
                "Variables": {
                    "SPARK_HOME": home,
                    "SPARK_PYTHON": sys.executable,
                    **(find_java() or {}),
                }
            },
        },
    }


def _rewrite_state(state: dict[str, Any]) -> None:
    for rule in [*state.get("Retry", []), *state.get("Catch", [])]:
        rule["ErrorEquals"] = [_NAMED_OTHERWISE.get(name, name) for name in rule["ErrorEquals"]]
    if state.get("Resource", "").endswith(_MISSING):
        state["Arguments"] = {
            "FunctionName": "${ApplicationId}",
            "Payload": {"resource": state["Resource"], "arguments": state["Arguments"]},
        }
        state["Resource"] = "arn:${Partition}:states:::lambda:invoke"
        for name in state.keys() & {"Output", "Assign"}:
            text = json.dumps(state[name])
            state[name] = json.loads(text.replace("$states.result.", "$states.result.Payload."))
