"""What `up` looks at before anything is stopped, and what is known where it is killed or fails."""

import json
import os
import socket
import uuid
from pathlib import Path

import pytest
from samtranslator.yaml_helper import yaml_parse

from actonce.embedded import lifecycle, nesting, parameters, serving
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed, UsageError


def test_what_the_template_has_by_default_and_what_is_set_here_is_allowed() -> None:
    template = nesting.read(PROJECT / "template.yaml")
    usual = {n: str(one.get("Default", "")) for n, one in template.parameters.items()}
    parameters.check(usual | lifecycle.LOCAL_PARAMETERS, [template])


def test_the_pythons_that_run_the_stack_here_are_those_that_it_may_have() -> None:
    runtimes = nesting.read(PROJECT / "template.yaml").parameters["PythonRuntime"]["AllowedValues"]
    assert runtimes == [f"python3.{minor}" for minor in lifecycle.LAMBDA_RUNTIMES]


def test_a_wrong_parameter_is_told_with_the_template_that_it_is_meant_for() -> None:
    paths = Paths(Path("home"))
    lifecycle.check(paths, {"StragglerMarginSeconds": "60"})
    for given, message in (
        ({"StartExecutions": "never"}, r"template\.yaml: .* not in AllowedValues: .*on-trouble"),
        ({"StartExecution": "always"}, "no parameter 'StartExecution'; it has "),
        ({"EffectTimeoutSeconds": "abc"}, r"template\.yaml: .*not a valid Number"),
        ({"EffectTimeoutSeconds": "891"}, "not greater than 890"),
        ({"MaxRounds": "0"}, "not less than 1"),
        ({"MaxRounds": "4"}, "not greater than 3"),
    ):
        with pytest.raises(UsageError, match=message):
            lifecycle.check(paths, given)


STORED = """
Parameters:
  Price: {Type: "AWS::SSM::Parameter::Value<String>", Default: /shop/price, AllowedValues: ["5"]}
  Image: {Type: "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", Default: IMAGE}
  Plain: {Type: String, Default: /shop/plain}
  Bucket: {Type: String}
Resources: {}
Outputs: {Price: {Value: !Ref Price}}
""".replace("IMAGE", "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64")


def test_what_a_template_reads_from_parameter_store_is_wanted_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text(STORED)
    templates = [nesting.read(file)]
    for given, message in (
        ({}, r"Price is read from '/shop/price' .* --parameter ssm:/shop/price=VALUE"),
        ({"Price": "/shop/new", "ssm:/shop/price": "5"}, "ssm:/shop/new=VALUE"),
        ({"ssm:/shop/price": "5", "Image": "/shop/image"}, "Image is read from '/shop/image'"),
        ({"ssm:/shop/price": "5", "Bucket": "b", "Cost": "6"}, "no parameter 'Cost'"),
        ({"ssm:/shop/price": "5"}, "Bucket has no Default: add --parameter Bucket=VALUE"),
    ):
        with pytest.raises(UsageError, match=message):
            parameters.check(given, templates)
    parameters.check({"ssm:/shop/price": "5", "Bucket": "b"}, templates)
    parameters.check({"ssm:/shop/new": "5", "Price": "/shop/new", "Bucket": "b"}, templates)


def test_what_is_given_of_parameter_store_is_what_a_template_reads(stack: Stack) -> None:
    cloudformation = stack.aws.client("cloudformation")
    name, plain = f"stored-{uuid.uuid4()}", yaml_parse(STORED)
    del plain["Parameters"]["Bucket"]
    plain["Resources"] = {"Topic": {"Type": "AWS::SNS::Topic"}}
    parameters.store(stack.aws, {"ssm:/shop/price": "5", "Plain": "/shop/plain"})
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(plain))
    try:
        cloudformation.get_waiter("stack_create_complete").wait(
            StackName=name, WaiterConfig={"Delay": 1}
        )
        (made,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        assert [one["OutputValue"] for one in made["Outputs"]] == ["5"]
    finally:
        cloudformation.delete_stack(StackName=name)


def test_nothing_is_stopped_or_deployed_for_what_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something runs, and whoever touches it fails the test."""

    def touched(*_: object, **__: object) -> None:
        raise AssertionError

    def unbuildable(*_: object) -> None:
        raise Failed("sam build failed")

    monkeypatch.setattr(lifecycle, "running", lambda _: State(1, 1, {}, "deployed"))
    for module, name in (
        (serving, "stop"),
        (serving, "start"),
        (lifecycle, "_deploy"),
    ):
        monkeypatch.setattr(module, name, touched)
    monkeypatch.setattr(lifecycle, "build", unbuildable)
    for fresh in (True, False):
        with pytest.raises(UsageError):
            lifecycle.up(Paths(tmp_path), lambda _: None, parameters={"Bogus": "1"}, fresh=fresh)
    with pytest.raises(Failed, match="sam build failed"):
        lifecycle.up(Paths(tmp_path), lambda _: None, fresh=True)
    # A parameter of the last time that the template has no more was not given this time.
    monkeypatch.setattr(lifecycle, "running", lambda _: State(1, 1, {"Bogus": "1"}, "deployed"))
    with pytest.raises(UsageError, match="given to the last up"):
        lifecycle.up(Paths(tmp_path), lambda _: None)


def test_what_somebody_else_deployed_in_its_place_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DeployedError(Exception):
        pass

    def deployed(*_: object) -> None:
        raise DeployedError

    def none_there(*_: object) -> None:
        raise Failed("is not an ActOnce stack")

    monkeypatch.setattr(lifecycle, "running", lambda _: State(os.getpid(), 1, {}, "same"))
    monkeypatch.setattr(lifecycle, "_digest", lambda *_: "same")
    monkeypatch.setattr(lifecycle, "build", lambda *_: None)
    monkeypatch.setattr(Stack, "find_all", none_there)
    monkeypatch.setattr(lifecycle, "_deploy", deployed)
    with pytest.raises(DeployedError):
        lifecycle.up(Paths(tmp_path), lambda _: None)


def test_the_port_of_the_last_time_is_taken_again_unless_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(tmp_path)
    assert serving.port_of_last_time(paths) == 0
    paths.port.write_text("no number")
    assert serving.port_of_last_time(paths) == 0
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = int(other.getsockname()[1])
        paths.port.write_text(str(port))
        other.listen()
        assert serving.port_of_last_time(paths) == 0
        monkeypatch.setattr(lifecycle, "build", None)  # it is not come to
        with pytest.raises(UsageError, match=f"Port {port} is taken"):
            lifecycle.up(paths, lambda _: None, port=port)
    assert serving.port_of_last_time(paths) == port


def test_functions_inherit_nothing_of_a_persons_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_PROFILE", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "a person's")
    given = serving._server_environment(Paths(tmp_path), 4566)
    assert "a person's" not in given.values()
    assert given["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"


RAN = State(1, 4566, {"MaximumConcurrency": "2"}, "digest of what ran")


def test_one_that_did_not_end_well_is_never_taken_for_what_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deploy(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "running", lambda _: RAN)
    monkeypatch.setattr(lifecycle, "build", lambda *_: None)
    monkeypatch.setattr(lifecycle, "_deploy", deploy)
    paths = Paths(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lifecycle.up(paths, lambda _: None, parameters={"MaximumConcurrency": "3"})
    known = json.loads(paths.state.read_text())
    assert (known["deployed"], known["parameters"]) == (lifecycle.UNDER_WAY, RAN.parameters)
