"""The line that says where a command works, and the question before something changes on AWS."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from actonce.cli.options import of_a_stack
from actonce.stack.consent import MOST, Consents, consent
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_aws, find_stack
from actonce.terminal.errors import Failed
from tests.cli import on_moto

ON_AWS = "On AWS: account 123456789012, Region us-east-1, stack actonce"
SEND = ("send", "requests.jsonl", "--region", "us-east-1")


def test_at_a_terminal_it_is_asked_once_and_again_for_another_region(tmp_path: Path) -> None:
    other = (*SEND[:-1], "eu-west-1")

    ends, told = on_moto.run([SEND, SEND, other, other], tmp_path, answers=b"y\nn\ny\n")

    assert ends == [
        {"status": 0, "sent": 1},
        {"status": 0, "sent": 2},
        {"status": 1, "sent": 2},
        {"status": 0, "sent": 2},
    ]
    assert told.count("Go on?") == 3
    assert told.count("Nothing was done.") == 1
    assert told.count(ON_AWS) == 2  # each command says where it works, asked or not
    (kept,) = tmp_path.glob(".local/state/actonce/*")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    ends, told = on_moto.run([SEND], tmp_path, answers=b"n\n")

    assert ends == [{"status": 1, "sent": 0}], "another terminal is asked for itself"
    assert told.count("Go on?") == 1


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
    assert not (tmp_path / ".local").exists()


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


def test_consents_are_few_and_a_file_that_is_spoiled_has_none(tmp_path: Path) -> None:
    consents = Consents.of_user({"XDG_STATE_HOME": str(tmp_path)})
    assert consents.file.is_relative_to(tmp_path)
    for number in range(MOST + 1):
        consents.remember(str(number))
    assert not consents.has("0")
    assert consents.has("1")
    assert consents.has(str(MOST))
    for spoiled in ("{", "3", '[["1"]]'):
        consents.file.write_text(spoiled)
        assert not consents.has("1")
    consents.remember("1")
    assert consents.has("1")


def test_a_consent_that_cannot_be_kept_is_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "actonce").write_text("no folder")
    consents = Consents.of_user({"XDG_STATE_HOME": str(tmp_path)})
    consents.remember("1")
    assert not consents.has("1")


def test_a_consent_is_of_a_terminal_an_account_a_region_and_a_stack() -> None:
    one = consent("123456789012", "us-east-1", "actonce")
    assert one == consent("123456789012", "us-east-1", "actonce")
    assert one.startswith(f"{os.getsid(0)}\t")
    others = {
        consent("210987654321", "us-east-1", "actonce"),
        consent("123456789012", "eu-west-1", "actonce"),
        consent("123456789012", "us-east-1", "shop"),
    }
    assert len(others | {one}) == 4


def test_a_command_called_from_python_has_chosen_nothing() -> None:
    found = []

    @of_a_stack(asks=True)
    def command(*, at: Chosen) -> None:
        found.append(at)

    command()
    command(profile="prod", yes=True)
    assert found == [Chosen(), Chosen(profile="prod", yes=True)]
