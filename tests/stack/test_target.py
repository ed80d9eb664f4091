"""Where a command works: the rule, the stack that is meant, the line that says it, the question."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from actonce.stack.clients import Aws, Stack
from actonce.stack.endpoint import Configured, Embedded, Place, TargetOptions, decide, line, options
from actonce.stack.stack_files import version
from actonce.stack.target import configured, find_aws, find_stack
from actonce.terminal.errors import Failed, UsageError
from tests.support import terminal
from tests.support.stacks import with_outputs

HERE = "http://127.0.0.1:4566"
OTHER = "http://localhost:4567"
UP = Embedded(Path("/clone/.actonce"), HERE)
CRASHED = Embedded(Path("/clone/.actonce"), None)
EMBEDDED = Place(HERE, is_embedded=True)
KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
PROD = {"AWS_PROFILE": "prod"}
FILE = Configured("[default] of f", {"stack_name": "shop", "region": "eu-west-1", "profile": "p"})

# --------------------------------------------------------------------------- the rule


NOT_AWS = UsageError, "leave --profile and --region out"


@pytest.mark.parametrize(
    ("chosen", "variables", "embedded", "place"),
    [
        # Nothing is said: the embedded AWS if it is up, whosever credentials lie about; if it
        # crashed, nothing is asked of them either.
        (TargetOptions(), KEYS | PROD | {"AWS_REGION": "eu-west-1"}, UP, EMBEDDED),
        (TargetOptions(), KEYS | PROD, CRASHED, (Failed, r"was up and does not answer.* --aws")),
        (TargetOptions(), {"AWS_REGION": "eu-west-1"}, None, Place(region="eu-west-1")),
        (TargetOptions(), PROD, None, Place(shown_profile="prod")),
        # An endpoint is a place, also beside an embedded AWS that is up, or crashed.
        (TargetOptions(), {"AWS_ENDPOINT_URL": OTHER}, UP, Place(OTHER)),
        (TargetOptions(), {"AWS_ENDPOINT_URL": OTHER}, CRASHED, Place(OTHER)),
        (TargetOptions(), {"AWS_ENDPOINT_URL": HERE}, UP, EMBEDDED),
        # What is said decides.
        (TargetOptions(embedded=True), {"AWS_ENDPOINT_URL": OTHER}, UP, EMBEDDED),
        (TargetOptions(embedded=True), KEYS, None, (Failed, "not up: actonce up brings it up")),
        (TargetOptions(embedded=False), KEYS, CRASHED, Place()),
        (TargetOptions(profile="prod"), {}, UP, Place(profile="prod", shown_profile="prod")),
        (
            TargetOptions(region="eu-west-1"),
            {"AWS_REGION": "us-west-2"},
            UP,
            Place(region="eu-west-1"),
        ),
        (
            TargetOptions(embedded=False),
            {"AWS_ENDPOINT_URL": "https://v.e"},
            UP,
            Place("https://v.e"),
        ),
        # What contradicts itself decides nothing.
        (
            TargetOptions(embedded=True, profile="p"),
            {},
            UP,
            (UsageError, "--embedded has no profiles"),
        ),
        (
            TargetOptions(embedded=False),
            {"AWS_ENDPOINT_URL": OTHER},
            UP,
            (UsageError, "is not AWS"),
        ),
        (TargetOptions(profile="p", region="r"), {"AWS_ENDPOINT_URL": HERE}, UP, NOT_AWS),
    ],
)
def test_the_first_that_says_something_decides(
    chosen: TargetOptions,
    variables: Mapping[str, str],
    embedded: Embedded | None,
    place: Place | tuple[type[Failed], str],
) -> None:
    if isinstance(place, Place):
        assert decide(chosen, variables, embedded, Configured) == place
        return
    error, expected = place
    with pytest.raises(Failed, match=expected) as raised:
        decide(chosen, variables, embedded, Configured)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("url", "is_aws"),
    [
        (None, True),
        ("http://127.0.0.1:4566", False),
        ("http://[::1]:4566", False),
        ("http://localhost:4566", False),
        ("http://127.0.0.1.example:4566", True),
    ],
)
def test_only_an_emulator_on_this_machine_may_be_changed_unasked(
    url: str | None, is_aws: bool
) -> None:
    assert Place(url).is_aws is is_aws
    assert not EMBEDDED.is_aws


@pytest.mark.parametrize(
    ("chosen", "variables", "stack", "region", "profile", "by_file"),
    [
        (TargetOptions(), {}, "shop", "eu-west-1", "p", "stack_name, region, profile"),
        (TargetOptions("said", region="r", profile="q"), {}, "said", "r", "q", ""),
        (TargetOptions(), {"AWS_DEFAULT_REGION": "r"} | PROD, "shop", "r", None, "stack_name"),
        (TargetOptions(), {"ACTONCE_STACK_NAME": "v"}, "v", "eu-west-1", "p", "region, profile"),
        (
            TargetOptions("said"),
            {"ACTONCE_STACK_NAME": "v"},
            "said",
            "eu-west-1",
            "p",
            "region, profile",
        ),
    ],
)
def test_samconfig_stands_below_what_is_said_and_the_variables(
    chosen: TargetOptions,
    variables: Mapping[str, str],
    stack: str,
    region: str,
    profile: str | None,
    by_file: str,
) -> None:
    place = decide(chosen, variables, UP if chosen.config_env else None, lambda: FILE)
    assert (place.stack, place.region, place.profile) == (stack, region, profile)
    assert place.by_file == (f"{by_file} by [default] of f" if by_file else "")
    assert place.by_file in line(place, place.stack, None, None)


def test_on_the_embedded_aws_there_is_one_stack() -> None:
    variables = {"ACTONCE_STACK_NAME": "v"}
    assert decide(TargetOptions(), variables, UP, lambda: FILE) == EMBEDDED
    assert (
        decide(TargetOptions("actonce/Once"), variables, UP, lambda: FILE).stack == "actonce/Once"
    )


def test_samconfig_is_read_as_sam_reads_it(tmp_path: Path) -> None:
    below = tmp_path / "functions" / "more"
    below.mkdir(parents=True)
    assert configured(below, None) == Configured()
    with pytest.raises(UsageError, match=r"--config-env prod: .*no samconfig\.toml"):
        configured(below, "prod")
    file = tmp_path / "samconfig.toml"
    file.write_text(
        '[default.global.parameters]\nstack_name = "all"\nregion = "r"\n'
        '[default.deploy.parameters]\nstack_name = "shop"\nprofile = ""\n'
        '[prod.deploy.parameters]\nprofile = "prod"\ncapabilities = ["X"]\n'
    )
    assert configured(below, None).said == {"stack_name": "shop", "region": "r"}
    prod = configured(below, "prod")
    assert prod == Configured("[prod] of ../../samconfig.toml", {"profile": "prod"})
    with pytest.raises(UsageError, match=r"--config-env test: .*has default, prod"):
        configured(below, "test")
    for text in (
        "= no toml",
        "default = 3",
        "[default]\ndeploy = 3",
        "[default.global]\nparameters = 3",
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=r"samconfig\.toml cannot be read"):
            configured(below, None)


@pytest.mark.parametrize(
    ("chosen", "name", "expected"),
    [
        (TargetOptions(), "actonce", ""),
        (TargetOptions(), "shop", " --stack-name shop"),  # as the variable, or samconfig.toml, says
        (
            TargetOptions("shop/Once", region="eu-west-1"),
            "shop/Once",
            " --stack-name shop/Once --region",
        ),
        (TargetOptions(profile="a b"), "actonce", " --profile 'a b'"),
        (TargetOptions(embedded=False), "actonce", " --aws"),
    ],
)
def test_what_a_command_needs_to_work_there_too_is_all_that_was_said(
    chosen: TargetOptions, name: str, expected: str
) -> None:
    assert options(chosen, name).removesuffix(" eu-west-1") == expected


# --------------------------------------------------------------------------- what is said, asked

ON_AWS = "On AWS: account 123456789012, Region us-east-1, stack actonce"


def test_one_line_says_account_region_stack_and_profile() -> None:
    for place, where, expected in (
        (
            Place(shown_profile="prod"),
            ("shop", "123456789012", "eu-west-1"),
            "On AWS: account 123456789012, Region eu-west-1, stack shop, profile prod",
        ),
        (Place(), (None, None, "eu-west-1"), "On AWS: account unknown, Region eu-west-1"),
        (EMBEDDED, ("actonce", None, None), f"On the embedded AWS at {HERE}, stack actonce"),
        (
            Place(OTHER, shown_profile="x"),
            ("shop", None, None),
            f"At {OTHER} (AWS_ENDPOINT_URL), stack shop",
        ),
    ):
        assert line(place, *where) == expected


def test_who_sits_at_the_terminal_is_asked_and_where_there_is_none_nobody(tmp_path: Path) -> None:
    ask = "from actonce.terminal.output import ask; print(ask('Go on?'))"
    arguments = [sys.executable, "-c", ask]
    for typed, answer in ((b"y\n", "True"), (b"\n", "False")):
        ended = terminal.run(arguments, os.environ, tmp_path, answers=typed, after=b"[y/N]")
        assert ended.output.split()[-1] == answer
    alone = subprocess.run(arguments, capture_output=True, start_new_session=True, check=True)
    assert alone.stdout == b"None\n"


def test_a_profile_is_named_and_one_that_is_not_there_said(
    moto_stack: Stack,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(
        Stack, "find", lambda *_: with_outputs(moto_stack, ActOnceVersion=version())
    )
    credentials = tmp_path / "credentials"
    credentials.write_text("[prod]\naws_access_key_id = a\naws_secret_access_key = b\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.chdir(tmp_path)
    find_stack(TargetOptions(profile="prod"))
    assert capfd.readouterr() == ("", f"{ON_AWS}, profile prod\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(Failed, match=r"\(nosuch\) could not be found: see aws configure"):
        find_aws(TargetOptions(profile="nosuch"))


def test_what_samconfig_says_is_told_also_where_it_is_wrong(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samconfig.toml").write_text('[prod.deploy.parameters]\nprofile = "gone"\n')
    with pytest.raises(Failed, match=r"\(gone\) could not be found"):
        find_stack(TargetOptions(config_env="prod"))
    assert "profile gone (profile by [prod] of samconfig.toml)" in capfd.readouterr().err


# --------------------------------------------------------------------------- nested stacks

TOPIC: dict[str, Any] = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
ONCE = TOPIC | {"Outputs": {"ProcessMessageArn": {"Value": "arn"}}}


def nesting(**nested: str) -> dict[str, Any]:
    """A template that has others nested in it, by logical id."""
    url = "https://templates.s3.amazonaws.com/"
    return {
        "Resources": {
            name: {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url + key}}
            for name, key in nested.items()
        }
    }


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    """An account with stacks of several shapes."""
    audited = {"AuditBucketName": {"Value": "bucket"}, "OrdersUrl": {"Value": "theirs"}}
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setattr(boto3, "DEFAULT_SESSION", None)
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket="templates")
        for name, template in (("once", ONCE), ("other", TOPIC), ("deep", nesting(In="once"))):
            s3.put_object(Bucket="templates", Key=name, Body=json.dumps(template))
        here = Aws(region="us-east-1")
        for name, template in (
            ("alone", ONCE),
            ("shop", nesting(Other="other", Once="once") | {"Outputs": audited}),
            ("deep", nesting(Deep="deep")),
            ("two", nesting(Cards="once", Mail="once")),
            ("plain", nesting(Other="other")),
            ("leased", TOPIC | {"Outputs": {"LedgerTableName": {"Value": "table"}}}),
        ):
            here.client("cloudformation").create_stack(
                StackName=name, TemplateBody=json.dumps(template)
            )
        yield here


def test_the_nested_stack_is_found_by_the_name_of_the_teams(aws: Aws) -> None:
    for name, called in (
        ("alone", "alone"),
        ("shop", "shop/Once"),
        ("shop/Once", "shop/Once"),
        ("deep", "deep/Deep/In"),
        ("deep/Deep/In", "deep/Deep/In"),
        ("two/Mail", "two/Mail"),
    ):
        found = Stack.find(aws, name)
        assert (found.display_name, found.state_machine) == (called, "arn")
        assert Stack.find(aws, found.name).name == found.name
    audits = {"ProcessMessageArn": "arn", "AuditBucketName": "bucket"}
    assert Stack.find(aws, "shop").outputs == Stack.find(aws, "shop/Once").outputs == audits
    assert [one.display_name for one in Stack.find_all(aws, "two")] == ["two/Cards", "two/Mail"]


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("two", UsageError, "one of two/Cards, two/Mail"),
        *((name, UsageError, "a stack's name has letters") for name in ("", "--x", "x" * 129)),
        ("nowhere", Failed, "There is no stack named 'nowhere' here"),
        ("plain", Failed, "is not an ActOnce stack"),
        ("leased", Failed, "'leased' has a lease of an earlier release"),
        ("plain/Once", Failed, "'Once' is not nested"),
    ],
)
def test_what_is_not_there_is_told(aws: Aws, name: str, error: type[Failed], expected: str) -> None:
    with pytest.raises(error, match=expected):
        Stack.find(aws, name)
