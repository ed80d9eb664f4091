"""`actonce init` as a person runs it."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from actonce.adopt.project.plan import stack_files
from actonce.cli import app as cli
from actonce.cli.init import NESTED
from actonce.stack.embedded_folder import PROJECT
from tests import template

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")

    def run_here(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["actonce", "init", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return run_here


def test_a_project_is_made_and_says_what_to_type_next(run: Run, tmp_path: Path) -> None:
    status, out, err = run("--new", "my shop")
    assert (status, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[2:5] == ["cd 'my shop'", "actonce up", "actonce send events/requests.jsonl"]
    assert "--stack-name my-shop" in out
    assert (tmp_path / "my shop" / "functions" / "your_effect.py").is_file()
    assert run("--new", "my shop")[0] == 1


def test_the_stack_is_put_there_and_the_lines_to_add_are_printed(run: Run, tmp_path: Path) -> None:
    status, out, _ = run()
    assert status == 0
    assert NESTED in out
    assert [one.name for one in tmp_path.iterdir()] == ["actonce"]


def test_readme_shows_the_lines_that_init_prints() -> None:
    readme = (PROJECT / "README.md").read_text()
    (shown,) = re.findall(r"^```yaml\n(  Once:.*?)^```", readme, re.M | re.S)
    shown, printed = (yaml.safe_load(text.replace("!Ref ", "")) for text in (shown, NESTED))
    assert shown == printed
    known = template.load()["Parameters"]
    assert printed["Once"]["Properties"]["Parameters"].keys() <= known.keys()


def test_an_upgrade_says_what_it_did_and_keeps_the_audit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run()[0] == 0
    assert not (tmp_path / "actonce" / "audit.yaml").exists()
    assert "actonce/audit.yaml: added" in run("--upgrade", "--audit")[1]
    newer = {path: b"# newer\n" + content for path, content in stack_files(audit=True).items()}
    monkeypatch.setattr("actonce.cli.init.version", lambda: "9.9.9")
    monkeypatch.setattr("actonce.cli.init.stack_files", lambda audit: newer if audit else {})
    status, out, _ = run("--upgrade")
    assert status == 0
    assert "actonce/audit.yaml: replaced\n" in out
    assert "9.9.9" in out
    (tmp_path / "actonce" / "audit.yaml").write_text("mine\n")
    assert run("--upgrade")[:2] == (1, "")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--new", "--upgrade"), 2),
        (("nowhere",), 2),
        (("file",), 2),
        (("--new", "file/below"), 1),
        (("--upgrade",), 1),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_sentence(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], status: int
) -> None:
    (tmp_path / "file").touch()
    ended, out, err = run(*arguments)
    assert (ended, out, len(err.splitlines())) == (status, "", 1)
