"""`actonce effect check` where the effect cannot be tried."""

import socket
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from actonce.adopt.effect_check.on_lambda import OnLambda
from actonce.cli import app, effect
from actonce.stack.embedded_folder import State
from actonce_core.invoked_effect import SECONDS_BEFORE_A_FUNCTION_BEGINS, client_config


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of what takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_function_that_does_not_answer_is_wrong_use(
    silent: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = boto3.client(
        "lambda",
        region_name="eu-central-1",
        endpoint_url=f"http://127.0.0.1:{silent}",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(**client_config(0.2 - SECONDS_BEFORE_A_FUNCTION_BEGINS)),
    )
    calls = OnLambda(client, State(0, silent, {}), tmp_path, "effect", "effect")
    monkeypatch.setattr(effect, "_deployed", lambda _stack_name: (calls, 4, ""))
    monkeypatch.setattr("sys.argv", ["actonce", "effect", "check", "--body", "{}", "--yes"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 2
    errors = " ".join(capsys.readouterr().err.split())
    assert "The effect cannot be tried" in errors
    assert "less busy machine" in errors
