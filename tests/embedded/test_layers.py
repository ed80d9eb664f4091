"""A Python function's layers on the embedded AWS, which MiniStack gives no custom runtime."""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml

from actonce.embedded import local_stack
from actonce.stack.clients import Stack
from tests.support.packages import packed

HERE = f"python{sys.version_info.major}.{sys.version_info.minor}"
POWERTOOLS = (
    "arn:aws:lambda:us-east-1:017000801446:layer:AWSLambdaPowertoolsPythonV3-python313-arm64:1"
)
HANDLER = """
import importlib


def handler(event, _context):
    def word(name):
        try:
            return importlib.import_module(name).__name__
        except ImportError:
            return None

    return [word(name) for name in event]
"""


@pytest.mark.parametrize("place", ["python", f"python/lib/{HERE}/site-packages"])
def test_a_function_in_python_has_what_its_layers_bring(place: str, stack: Stack) -> None:
    client: Any = stack.lambda_
    name = f"layered-{uuid.uuid4().hex}"

    def layer(number: int) -> str:
        content = {"ZipFile": packed({f"{place}/{name.replace('-', '_')}_{number}.py": ""})}
        made = client.publish_layer_version(LayerName=f"{name}-{number}", Content=content)
        return str(made["LayerVersionArn"])

    modules = [f"{name.replace('-', '_')}_{number}" for number in (1, 2)]
    for suffix, layers, expected in (
        ("none", [], [None, None, None]),
        ("own", [layer(1), layer(2)], [*modules, None]),
        ("powertools", [POWERTOOLS], [None, None, "aws_lambda_powertools"]),
    ):
        client.create_function(
            FunctionName=f"{name}-{suffix}",
            Runtime=HERE,
            Role="arn:aws:iam::000000000000:role/none",
            Handler="shop.handler",
            Timeout=20,
            Code={"ZipFile": packed({"shop.py": HANDLER, "of": suffix})},
            Layers=layers,
        )
        payload = json.dumps([*modules, "aws_lambda_powertools"])
        answer = client.invoke(FunctionName=f"{name}-{suffix}", Payload=payload)
        assert json.load(answer["Payload"]) == expected, suffix


def test_a_layer_is_named_that_cannot_be_had(tmp_path: Path) -> None:
    images = "arn:aws:lambda:${AWS::Region}:175033217214:layer:images:2"
    function = {"Runtime": HERE, "Layers": [{"Ref": "Built"}, {"Fn::Sub": images}]}
    some = {"Runtime": HERE, "Layers": {"Fn::If": ["Traced", [{"Ref": "Built"}], []]}}
    template = {
        "Globals": {"Function": {"Layers": [{"Ref": "Given"}, POWERTOOLS]}},
        "Parameters": {"Given": {"Type": "String"}},
        "Resources": {
            "Built": {"Type": "AWS::Serverless::LayerVersion", "Properties": {}},
            "Resize": {"Type": "AWS::Serverless::Function", "Properties": function},
            "Plain": {"Type": "AWS::Lambda::Function", "Properties": some},
        },
    }
    built = tmp_path / "template.yaml"
    built.write_text(yaml.safe_dump(template))
    lines: list[str] = []
    given = images.replace("images", "given")
    local_stack.rewrite(built, local_stack.Settings({"Given": given}, say=lines.append))
    assert lines == [
        f"Resize misses the layer {layer} on the embedded AWS, which has only those that a "
        "template makes: put what it imports of it into its own package."
        for layer in (given, images)
    ]
