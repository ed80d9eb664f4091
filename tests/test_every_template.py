"""What holds of every template that ships, whatever it is for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.template import LOCKS, TEMPLATE, as_list, load, of_type, statements

PROJECT = TEMPLATE.parent
BIN = Path(sys.executable).parent
SAMS = (TEMPLATE, LOCKS)
PLAIN = tuple(TEMPLATE.with_name(f"{name}.yaml") for name in ("alarms", "records", "audit"))
EXAMPLES = tuple(sorted(PROJECT.glob("examples/gift_shop*/template.yaml")))

HOLDS_WHAT_CANNOT_BE_MADE_AGAIN = {
    "AWS::SQS::Queue",  # messages, often the only copies
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::Serverless::StateMachine",  # the names of its executions
}


def by_file(*files: Path) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=lambda file: str(file.relative_to(PROJECT)))


def said_by(*command: str | Path, folder: Path) -> str:
    """What a checker of this environment says, without AWS; empty: it finds nothing."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    answer = subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder,
        env=environment | {"SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout + answer.stderr if answer.returncode else ""


@pytest.mark.long
@by_file(*SAMS)
def test_sam_validate_finds_nothing(file: Path, tmp_path: Path) -> None:
    arguments = ("validate", "--lint", "--region", "us-east-1", "--template-file", file)
    assert said_by("sam", *arguments, folder=tmp_path) == ""


@by_file(*PLAIN)
def test_cfn_lint_finds_nothing(file: Path, tmp_path: Path) -> None:
    assert said_by("cfn-lint", "--regions", "us-east-1", "--", file, folder=tmp_path) == ""


@by_file(*SAMS, *PLAIN[1:], *EXAMPLES)
def test_what_holds_messages_or_memory_outlives_the_stack_and_what_replaces_it(file: Path) -> None:
    holding = {
        name: (one.get("DeletionPolicy"), one.get("UpdateReplacePolicy"))
        for name, one in load(file)["Resources"].items()
        if one["Type"] in HOLDS_WHAT_CANNOT_BE_MADE_AGAIN
    }

    assert holding
    assert holding == dict.fromkeys(holding, ("Retain", "Retain"))


@by_file(*PLAIN[1:])
def test_buckets_are_encrypted_private_and_versioned(file: Path) -> None:
    (bucket,) = of_type(load(file), "AWS::S3::Bucket").values()
    properties = bucket["Properties"]

    assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert list(properties["PublicAccessBlockConfiguration"].values()) == [True] * 4
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert properties["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]


@by_file(*SAMS, *PLAIN)
def test_nobody_may_do_everything_but_the_owner_of_a_key(file: Path) -> None:
    allowed = [
        (name, action)
        for name, resource in load(file)["Resources"].items()
        for statement in statements(resource)
        for action in as_list(statement["Action"])
        if statement["Effect"] == "Allow" and "*" in action
    ]

    assert allowed == ([("AlarmTopicKey", "kms:*")] if file.stem == "alarms" else [])


@by_file(*SAMS, *PLAIN)
def test_every_wildcard_says_why(file: Path) -> None:
    for line in file.read_text().splitlines():
        # Of the versions of a function the statement says it once, above.
        is_one = "*" in line.replace(':*"', "")
        if is_one and re.match(r"\s*(-|Action:|Resource:|Condition:)", line):
            assert re.search(r"\*.*\s# \w+", line), line
