"""The examples of docs/terraform-and-cdk.md, as far as Terraform and CDK go without AWS."""

import ast
import importlib.util
import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from actonce.adopt.project.copied_files import STACK, seeds, stack_files
from actonce.adopt.project.placing import place
from actonce.embedded import nesting
from actonce.stack.embedded_folder import PROJECT
from tests.support.commands import succeeds

TERRAFORM = PROJECT / "examples" / "terraform" / "main.tf"
CDK = PROJECT / "examples" / "cdk" / "app.py"
PAGE = PROJECT / "docs" / "terraform-and-cdk.md"

TEMPLATE_BODY_BYTES = 51_200
"""As much as CreateStack takes in its request."""

MIRROR = Path("/opt/tf-plugins")
"""Where a machine that cannot reach Terraform's registry may have its providers."""


def named_by_terraform() -> tuple[set[str], set[str]]:
    text = TERRAFORM.read_text()
    (block,) = re.findall(r"^  parameters = \{\n(.*?)^  \}", text, re.M | re.S)
    return set(re.findall(r"^ +(\w+) +=", block, re.M)), set(
        re.findall(r'outputs\["(\w+)"\]', text)
    )


def named_by_cdk() -> tuple[set[str], set[str]]:
    (names,) = (
        [ast.literal_eval(key) for key in one.value.keys if key]
        for one in ast.walk(ast.parse(CDK.read_text()))
        if isinstance(one, ast.keyword)
        and one.arg == "parameters"
        and isinstance(one.value, ast.Dict)
    )
    outputs = set(re.findall(r'"Outputs\.(\w+)"', CDK.read_text()))
    return set(names), outputs


@pytest.mark.parametrize("example", [named_by_terraform, named_by_cdk])
def test_the_template_has_what_the_example_names(example: Any, tmp_path: Path) -> None:
    place(tmp_path, "1.0.0", stack_files(), {})
    file = tmp_path / STACK / "template.yaml"
    template = nesting.read(file).body
    parameters, outputs = example()

    needed = {name for name, one in template["Parameters"].items() if "Default" not in one}
    assert needed <= parameters <= template["Parameters"].keys()
    assert {"FindFunctionArn", "EffectTimeoutSeconds"} <= parameters
    assert outputs == {"RequestsQueueUrl"} <= template["Outputs"].keys()
    assert file.stat().st_size < TEMPLATE_BODY_BYTES


# --------------------------------------------------------------------------- with the tools


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A project whose stack is packaged by the page's command; and moto's AWS, to be asked."""
    folder = tmp_path_factory.mktemp("packaged") / "shop"
    place(folder, "1.0.0", stack_files(), seeds("shop"))
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    aws = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("AWS_", "TF_"))}
    try:
        boto3.Session("testing", "testing", region_name="us-east-1").client(
            "s3", endpoint_url=aws["AWS_ENDPOINT_URL"]
        ).create_bucket(Bucket="artifacts")
        (command,) = re.findall(r"^sam package .*$", PAGE.read_text(), re.M)
        packaged = command.replace("BUCKET", "artifacts").split()[1:]
        sam = [sys.executable, "-m", "samcli", *packaged]
        succeeds(sam, folder, kept | aws | {"SAM_CLI_TELEMETRY": "0"})
        yield folder, kept | aws
    finally:
        server.stop()


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("terraform") is None, reason="the example for Terraform needs terraform"
)
def test_terraform_plans_the_packaged_stack_with_the_version_of_its_function(
    shop: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = shop
    shutil.copy(TERRAFORM, folder)
    with zipfile.ZipFile(folder / "effect.zip", "w") as archive:
        archive.write(folder / "functions" / "your_effect.py", "your_effect.py")

    def terraform(*command: str) -> str:
        return succeeds(["terraform", *command], folder, environment)

    terraform("fmt", "-check")
    mirror = [f"-plugin-dir={MIRROR}"] if MIRROR.is_dir() else []
    try:
        terraform("init", "-input=false", *mirror)
    except AssertionError as error:
        if "Failed to query available provider packages" not in str(error):
            raise
        pytest.skip("Terraform's plan was not made: its provider for AWS could not be had here")
    role = "effect_role_arn=arn:aws:iam::123456789012:role/effect"
    terraform("plan", "-input=false", "-out=plan", "-var", role)
    plan = json.loads(terraform("show", "-json", "plan"))

    planned = {one["address"]: one["change"] for one in plan["resource_changes"]}
    stack = planned["aws_cloudformation_stack.once"]
    assert stack["after"]["template_body"] == (folder / "once.yaml").read_text()
    assert set(stack["after"]["capabilities"]) == {"CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}
    function = planned["aws_lambda_function.effect"]["after"]
    assert (function["publish"], function["skip_destroy"]) == (True, True)
    # Of parameters one of which is known after the deployment only, a plan says what they refer to.
    written = {
        one["name"]: one["expressions"] for one in plan["configuration"]["root_module"]["resources"]
    }
    given = {one for one in written["once"]["parameters"]["references"] if one.count(".") != 1}
    assert given == {"aws_lambda_function.effect.qualified_arn"}
    (seconds,) = written["effect"]["timeout"]["references"]
    assert seconds in written["once"]["parameters"]["references"]


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("aws_cdk") is None or shutil.which("node") is None,
    reason="the example for CDK was not synthesized: it needs aws-cdk-lib and node",
)
def test_cdk_nests_the_packaged_stack_unchanged_with_the_version_of_its_function(
    shop: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = shop
    succeeds([sys.executable, str(CDK)], folder, environment | {"CDK_OUTDIR": "cdk.out"})

    outer = json.loads((folder / "cdk.out" / "shop.template.json").read_text())
    (nested,) = (folder / "cdk.out").glob("*.nested.template.json")
    assert json.loads(nested.read_text()) == nesting.read(folder / "once.yaml").body
    resources = outer["Resources"]
    (stack,) = (r for r in resources.values() if r["Type"] == "AWS::CloudFormation::Stack")
    given = stack["Properties"]["Parameters"]
    version = resources[given["EffectFunctionArn"]["Ref"]]
    assert given["FindFunctionArn"] == given["EffectFunctionArn"]
    assert version["Type"] == "AWS::Lambda::Version"
    assert (version["DeletionPolicy"], version["UpdateReplacePolicy"]) == ("Retain", "Retain")
    function = resources[version["Properties"]["FunctionName"]["Ref"]]
    assert given["EffectTimeoutSeconds"] == str(function["Properties"]["Timeout"])
