"""The line that says where a command works, and the question before something changes on AWS."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from actonce.cli.options import of_a_stack
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_aws, find_stack
from actonce.terminal.errors import Failed
from tests.cli import on_moto

ON_AWS = "On AWS: account 123456789012, Region us-east-1, stack actonce"
SEND = ("send", "requests.jsonl", "--region", "us-east-1")


def test_at_a_terminal_it_is_asked_each_time(tmp_path: Path) -> None:
    ends, told = on_moto.run([SEND, SEND, (*SEND, "--yes")], tmp_path, answers=b"y\nn\n")

    assert ends == [{"status": 0, "sent": 1}, {"status": 1, "sent": 1}, {"status": 0, "sent": 2}]
    assert told.count("Go on?") == 2
    assert told.count(ON_AWS) == 3  # each command says where it works, asked or not


def test_where_nobody_can_be_asked_nothing_is_sent_unless_told_not_to_ask(tmp_path: Path) -> None:
    commands = [SEND, (*SEND, "--yes"), (*SEND, "--yes", "--json")]

    ends, told = on_moto.run(commands, tmp_path, answers=None)

    assert ends == [
        {"status": 2, "sent": 0},
        {"status": 0, "sent": 1},
        {"status": 0, "sent": 2},
    ]
    assert f"actonce: {ON_AWS}: this changes something there, and nobody can be asked" in told
    assert "Say --yes" in told
    assert told.count(ON_AWS) == 4


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "300")
    with mock_aws():
        boto3.client("cloudformation", region_name="us-east-1").create_stack(
            StackName="actonce", TemplateBody=json.dumps(on_moto.TEMPLATE)
        )
        yield


@pytest.mark.usefixtures("deployed")
def test_the_line_is_on_standard_error_and_names_the_profile(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text("[prod]\naws_access_key_id = a\naws_secret_access_key = b\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))

    stack = find_stack(Chosen(embedded=False, profile="prod"), warn=False)

    assert stack.name == "actonce"
    assert capfd.readouterr() == ("", f"{ON_AWS}, profile prod\n")


@pytest.mark.usefixtures("deployed")
def test_where_sts_cannot_be_asked_the_command_goes_on(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")

    find_stack(Chosen(embedded=False), warn=False)

    told = capfd.readouterr().err
    assert told == "On AWS: account unknown, Region us-east-1, stack actonce\n"


def test_a_profile_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(Failed, match=r"\(nosuch\) could not be found: see aws configure"):
        find_aws(Chosen(profile="nosuch"))


def test_a_command_called_from_python_has_chosen_nothing() -> None:
    found = []

    @of_a_stack(asks=True)
    def command(*, at: Chosen) -> None:
        found.append(at)

    command()
    command(profile="prod", yes=True)
    assert found == [Chosen(), Chosen(profile="prod", yes=True)]
