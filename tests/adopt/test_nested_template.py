"""What `actonce init` makes of the templates: the clone's, for a team's function, and unbuilt."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from actonce.adopt.project.copied_files import stack_files
from actonce.adopt.project.nested_template import nested_template
from actonce.adopt.project.placing import place
from actonce.embedded.nesting import read
from actonce.stack.embedded_folder import PROJECT
from tests.support.commands import succeeds

_NOT = object()


def written(tmp_path: Path, name: str) -> dict[str, Any]:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(nested_template((PROJECT / name).read_text()))
    return dict(read(file).body)


def for_a_team(value: Any) -> Any:
    """A part of the clone's template where `IsExample` does not hold."""
    if isinstance(value, list):
        return [one for one in map(for_a_team, value) if one is not _NOT]
    if not isinstance(value, dict):
        return value
    if value.get("Condition") == "IsExample":
        return _NOT
    if value.get("Fn::If", [None])[0] == "IsExample":
        return for_a_team(value["Fn::If"][2])
    if value == {"Ref": "AWS::NoValue"}:
        return _NOT if value is _NOT else value
    parts = {key: for_a_team(one) for key, one in value.items()}
    parts = {key: one for key, one in parts.items() if one is not _NOT}
    for here, there in (("LooksUp", "HasFindFunction"), ("HasEffects", "NamesEffects")):
        if parts.get("Condition") == here:
            parts["Condition"] = there
    return parts


def test_it_deploys_what_the_clone_does_in_front_of_a_function(tmp_path: Path) -> None:
    nested, clone = written(tmp_path, "template.yaml"), read(PROJECT / "template.yaml").body

    assert nested["Resources"]["StarterFunction"].pop("Metadata") == {"SkipBuild": True}
    assert nested["Globals"]["Function"].pop("Layers")
    expected = for_a_team(clone["Resources"])
    expected["UseKey"]["Properties"]["Roles"] = nested["Resources"]["UseKey"]["Properties"]["Roles"]
    assert nested["Resources"] == expected
    assert nested["Outputs"] == for_a_team(clone["Outputs"])
    assert nested["Globals"] == clone["Globals"]
    assert nested["Mappings"] == clone["Mappings"]
    added = nested["Parameters"].keys() - clone["Parameters"].keys()
    assert added == {"PowertoolsLayerArn"}
    assert clone["Parameters"].keys() <= nested["Parameters"].keys()


@pytest.mark.parametrize(
    "name",
    ["template.yaml", "templates/alarms.yaml", "templates/records.yaml", "templates/audit.yaml"],
)
def test_nothing_of_the_example_and_no_mark_is_left(tmp_path: Path, name: str) -> None:
    text = yaml.safe_dump(written(tmp_path, name)) + (tmp_path / name).read_text()
    for word in ("IsExample", "LooksUp", "ppointment", "# example", "init:", "end of the"):
        assert word not in text


def test_a_team_must_name_its_function(tmp_path: Path) -> None:
    effect = written(tmp_path, "template.yaml")["Parameters"]["EffectFunctionArn"]
    assert "Default" not in effect
    assert effect["MinLength"] == 1


ONLY_ONCE = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  Once:
    Type: AWS::Serverless::Application
    Properties:
      Location: actonce/template.yaml
      Parameters: {EffectFunctionArn: "arn:aws:lambda:eu-west-1:123456789012:function:cards:1"}
"""


def test_sam_build_needs_no_python_for_it(tmp_path: Path) -> None:
    place(tmp_path, "1.0.0", stack_files(), {})
    (tmp_path / "template.yaml").write_text(ONLY_ONCE)
    environment = os.environ | {"PATH": "/nowhere", "SAM_CLI_TELEMETRY": "0"}
    succeeds([sys.executable, "-m", "samcli", "build"], tmp_path, environment)
    built = tmp_path / ".aws-sam" / "build" / "Once"
    starter = read(built / "template.yaml").body["Resources"]["StarterFunction"]
    code = (built / starter["Properties"]["CodeUri"]).resolve()
    assert code == tmp_path / "actonce" / "functions"
