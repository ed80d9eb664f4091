"""The embedded AWS's folder, the stack that it deploys, and whether it runs."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from actonce.stack.stack_files import in_clone, project_above, sources

PROJECT = sources()
"""Where template.yaml is: the clone this code runs from, or what the wheel brought."""

_HOME = ".actonce"
_PREPARED = "prepared"


class _Below:
    """A path below the home."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, paths: "Paths", _: type) -> Path:
        return paths.home.joinpath(*self._parts)


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of an embedded AWS, all below one folder.

    Attributes:
        home: the folder.
        stack: the folder of the template.yaml that is built and deployed.
        is_project: whether that is a team's own, with ActOnce nested in it.
    """

    home: Path
    stack: Path = PROJECT
    is_project: bool = False

    prepared = _Below(_PREPARED)
    """Copies of a project's templates, for sam build."""
    state = _Below("embedded.json")
    """What runs, where, with which parameters (JSON)."""
    port = _Below("port")
    """The last port."""
    lock = _Below("lock")
    """Held while the embedded AWS is brought up or down."""
    server_log = _Below("ministack.log")
    """What MiniStack prints."""
    deploy_log = _Below("sam.log")
    """What sam build and sam deploy print."""
    build = _Below("build")
    """The output of sam build, and beside its templates those for the embedded AWS."""
    built_of = _Below("build", "sources.sha256")
    """The digest of the sources that were built; sam removes it when a build begins."""
    build_cache = _Below("build-cache")
    """The cache of sam build."""
    runtime = _Below("runtime")
    """What AWS's Python runtime brings: its client and boto3."""
    temporary = _Below("tmp")
    """MiniStack's own temporary files, the functions' unpacked code among them."""
    bytecode = _Below("tmp", "bytecode")
    """The bytecode of the functions."""
    faults = _Below("faults")
    """The plan of faults, and which of them were met."""
    demo = _Below("demo.json")
    """Which server a demo started (JSON)."""
    records = _Below("records")
    """The streams of the demo's run, and their audit."""

    @classmethod
    def default(cls) -> "Paths":
        """Those of the project around the current folder, else of this package.

        A folder is a project if `actonce init` or `actonce up --project` ran in it.

        `.actonce/` is in the project, or in the clone. A wheel has no folder to write to, so there
        it is the nearest one above the current folder, or a new one in it. The variable
        `ACTONCE_DIR` names another.
        """
        here = _here()
        project = project_above(here) or next(
            (one for one in (here, *here.parents) if cls.of_project(one).was_up), None
        )
        if project is not None:
            return cls.of_project(project)
        if folder := os.environ.get("ACTONCE_DIR"):
            return cls(Path(folder).resolve())
        return cls((PROJECT if in_clone() else _nearest(here)) / _HOME)

    @classmethod
    def of_project(cls, folder: Path) -> "Paths":
        """Those of a team's SAM project; `.actonce/` is in it, or where `ACTONCE_DIR` says."""
        named = os.environ.get("ACTONCE_DIR")
        project = Path(os.path.realpath(folder))  # which raises nothing for a loop of links
        return cls(Path(named).resolve() if named else project / _HOME, project, is_project=True)

    @property
    def was_up(self) -> bool:
        """Whether this is a project's folder, and `actonce up --project` ran in it."""
        return self.is_project and (self.stack / _HOME / _PREPARED).is_dir()


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed under the shell
        return PROJECT


def _nearest(here: Path) -> Path:
    folders = (here, *here.parents)
    return next((folder for folder in folders if (folder / _HOME).is_dir()), here)


@dataclass(frozen=True, slots=True)
class State:
    """What `embedded.json` says; written when the server runs, `deployed` when the stack does.

    `project` is the folder of the team whose template is deployed; empty for the stack alone.
    """

    pid: int
    port: int
    parameters: dict[str, str]
    deployed: str = ""
    project: str = ""

    @property
    def endpoint_url(self) -> str:
        """Where the embedded AWS listens, on loopback only."""
        return f"http://127.0.0.1:{self.port}"


def read_state(paths: Paths) -> State | None:
    """The embedded AWS that was started in this folder and not stopped; it may have crashed."""
    try:
        return State(**json.loads(paths.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def running(paths: Paths) -> State | None:
    """The embedded AWS of this folder, if its server runs."""
    state = read_state(paths)
    return state if state is not None and is_server(state.pid) and answers(state) else None


def answers(state: State) -> bool:
    """Whether the server answers."""
    try:
        with urllib.request.urlopen(  # noqa: S310 - loopback
            f"{state.endpoint_url}/_ministack/health", timeout=5
        ) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def is_server(pid: int) -> bool:
    """Whether the process is our server, and not another with the same number."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    answer = subprocess.run(
        ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    status, _, command = answer.stdout.strip().partition(" ")
    return not status.startswith("Z") and "actonce.embedded.server" in command
