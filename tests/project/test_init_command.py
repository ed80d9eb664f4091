"""`actonce init` as a person runs it."""

import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from actonce.adopt.project.plan import Kind, Plan
from actonce.adopt.project.plan import plan as plan_of
from actonce.cli import app as cli

Run = Callable[..., tuple[int, str, str]]
TEMPLATE = PurePosixPath("actonce/template.yaml")


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


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this command line is of version 9.9.9, whose template has another line."""

    def plan(kind: Kind, name: str, *, audit: bool) -> Plan:
        made = plan_of(kind, name, audit=audit)
        made.managed[TEMPLATE] = b"# of 9.9.9\n" + made.managed[TEMPLATE]
        return Plan(made.kind, "9.9.9", made.managed, made.seeds)

    monkeypatch.setattr("actonce.cli.init.plan", plan)


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
    assert "\n\nInto .gitignore:\n\n    .actonce/\n" in f"\n{out}".replace("written.", "written.\n")
    assert "\n    sam build --template-file actonce/template.yaml \\\n" in out
    # Where people meet it: what nesting needs, and what it refuses.
    assert "\n      Type: AWS::Serverless::Application\n" in out
    for said in ("RequestsQueueUrl", "CAPABILITY_AUTO_EXPAND", "without !Sub", "up --project ."):
        assert said in out
    assert [one.name for one in tmp_path.iterdir()] == ["actonce"]
    status, _, err = run(".")
    assert status == 1
    assert "has ActOnce" in err


def test_an_upgrade_says_what_it_did_and_refuses_what_was_changed(
    run: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run("--new", "shop")
    same = run("--upgrade", "shop")[1]
    assert len(same.splitlines()) == 1
    request.getfixturevalue("newer")
    status, out, _ = run("--upgrade", "shop")
    assert (status, out.splitlines()[0]) == (0, f"{TEMPLATE}: replaced")
    assert "9.9.9" in out
    (tmp_path / "shop" / TEMPLATE).write_text("mine\n")
    status, out, err = run("--upgrade", "shop")
    assert (status, out) == (1, "")
    assert str(TEMPLATE) in err


def test_the_audit_comes_when_it_is_asked_for_and_stays(
    run: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    audit = tmp_path / "actonce" / "audit.yaml"
    run()
    assert not audit.exists()
    assert "actonce/audit.yaml: added" in run("--upgrade", "--audit")[1]
    request.getfixturevalue("newer")
    assert "audit" not in run("--upgrade")[1]
    assert audit.is_file()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--new", "--upgrade"), 2, "say one of them"),
        (("nowhere",), 2, "actonce init --new makes one"),
        (("file",), 2, "file is no folder"),
        (("--new", "file/below"), 1, "cannot be"),
        (("--upgrade",), 1, "actonce init has put nothing there"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_sentence(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "file").touch()
    ended, out, err = run(*arguments)
    assert (ended, out) == (status, "")
    assert said in err
    assert len(err.splitlines()) == 1
