"""`actonce effect check` as a person runs it; on the embedded AWS, tests/embedded has it."""

import sys
from pathlib import Path

import pytest

from actonce.cli import app as cli
from actonce.terminal import output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--body {", "is no JSON"),
        ("--body @none", "cannot be read"),
        ("", "The embedded AWS is not up"),
        (None, "say --yes"),
    ],
)
def test_wrong_use_is_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: str | None,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path / "home"))
    yes = [] if arguments is None else [*arguments.split(), "--yes"]
    monkeypatch.setattr(output, "ask", lambda _: None)  # nobody sits there
    monkeypatch.setattr(sys, "argv", ["actonce", "effect", "check", *yes])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    err = capfd.readouterr().err
    assert ended.value.code == 2, err
    assert said in " ".join(err.split())
    assert "Traceback" not in err
