"""A team's project is prepared for sam build here: absolute paths, this Python's runtime."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from actonce.embedded import nesting, prepared
from actonce.terminal.errors import UsageError
from tests.support import template as cloudformation

HERE = f"python3.{sys.version_info.minor}"
ACTONCE = """\
Mappings:
  ActOnce: {Release: {Version: "1.2.3"}}
Parameters:
  PythonRuntime: {Type: String, Default: python3.13}
Resources: {}
"""
SHOP = """\
Parameters:
  Runs: {Type: String, Default: python3.9}
Globals:
  Function:
    Runtime: !Ref Runs
Resources:
  Old:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.8 # theirs
      CodeUri: src/
      Handler: app.handler
  Node:
    Type: AWS::Serverless::Function
    Properties: {Runtime: nodejs22.x, CodeUri: src/}
  Elsewhere:
    Type: AWS::Serverless::Function
    Properties: {Runtime: python3.8, CodeUri: s3://bucket/key}
  Once:
    Type: AWS::Serverless::Application
    Properties:
      Location: actonce/template.yaml
"""
NAMED = "      Parameters:\n        EffectFunctionArn: !GetAtt Old.Arn\n"

Write = Callable[..., nesting.Template]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    (tmp_path / "src").mkdir()
    (tmp_path / "actonce").mkdir()
    (tmp_path / "actonce" / "template.yaml").write_text(ACTONCE)

    def written(text: str = SHOP + NAMED) -> nesting.Template:
        (tmp_path / "template.yaml").write_text(text)
        return nesting.read(nesting.outermost(tmp_path))

    return written


def test_the_copy_says_this_pythons_runtime_and_absolute_paths(
    write: Write, tmp_path: Path
) -> None:
    made, message = prepared.prepare(write(), tmp_path / "copies")
    assert (tmp_path / "template.yaml").read_text() == SHOP + NAMED
    copy = cloudformation.load(made)
    resources = {name: one["Properties"] for name, one in copy["Resources"].items()}
    assert resources["Old"]["Runtime"] == HERE
    assert resources["Old"]["CodeUri"] == str(tmp_path / "src")
    assert resources["Node"] == {"Runtime": "nodejs22.x", "CodeUri": str(tmp_path / "src")}
    assert resources["Elsewhere"]["CodeUri"] == "s3://bucket/key"
    assert resources["Once"] == {
        "Location": str(tmp_path / "actonce" / "template.yaml"),
        "Parameters": {"PythonRuntime": HERE, "EffectFunctionArn": {"Fn::GetAtt": ["Old", "Arn"]}},
    }
    assert copy["Parameters"]["Runs"]["Default"] == HERE
    assert any("python3.9" in one for one in message)


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "      Parameters:\n        QueueType: fifo\n        PythonRuntime: !Ref Runs # ours\n",
    ],
    ids=["none", "referred to"],
)
def test_actonces_own_functions_have_it_however_it_is_nested(
    write: Write, tmp_path: Path, parameters: str
) -> None:
    made, _ = prepared.prepare(write(SHOP + parameters), tmp_path / "copies")
    given = cloudformation.load(made)["Resources"]["Once"]["Properties"]["Parameters"]
    assert given["PythonRuntime"] == HERE
    assert ("QueueType" in given) == ("QueueType" in parameters)


def test_actonce_may_be_nested_in_what_is_nested(write: Write, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "template.yaml").write_text(SHOP.replace("actonce/", "../actonce/"))
    outer = """\
Resources:
  Inner: {Type: "AWS::CloudFormation::Stack", Properties: {TemplateURL: inner/template.yaml}}
"""
    made, _ = prepared.prepare(write(outer), tmp_path / "copies")
    inner = cloudformation.load(made)["Resources"]["Inner"]["Properties"]["TemplateURL"]
    once = cloudformation.load(Path(inner))["Resources"]["Once"]["Properties"]
    assert once["Location"] == str(tmp_path / "actonce" / "template.yaml")
    assert [one.logical_id for one in prepared.actonce_in(write(outer))] == ["Once"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Resources: {}\n", "has no ActOnce nested in it"),
        ("Resources: [\n", "is not YAML"),
        (SHOP.replace("actonce/template.yaml", "nowhere.yaml"), "nowhere.yaml cannot be read"),
        (
            SHOP.replace("actonce/template.yaml", "gone/actonce/template.yaml"),
            "actonce init puts it there",
        ),
        (SHOP.replace("actonce/template.yaml", '!Sub "${Runs}/template.yaml"'), "written out"),
        (None, r"has no template\.yaml"),
    ],
)
def test_what_is_no_project_is_said_in_one_sentence(
    write: Write, tmp_path: Path, text: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        prepared.actonce_in(write(text) if text else nesting.read(nesting.outermost(tmp_path)))
