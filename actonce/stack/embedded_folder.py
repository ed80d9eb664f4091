"""Where the embedded AWS keeps its things, which stack it deploys, and whether it runs."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from actonce.stack.sources import in_clone, project_above, sources

PROJECT = sources()
"""Where template.yaml is: the clone this code runs from, or what the wheel brought."""

_HOME = ".actonce"
_PREPARED = "prepared"


class _Below:
    """What lies below the home."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, paths: "Paths", _: type) -> Path:
        return paths.home.joinpath(*self._parts)


@dataclass(frozen=True, slots=True)
class Paths:
    """Everything lies under one folder.

    Attributes:
        home: the folder.
        stack: where the template.yaml is that is built and deployed.
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
    """The port of the last time."""
    lock = _Below("lock")
    """Held while the embedded AWS is brought up or down."""
    server_log = _Below("ministack.log")
    """What MiniStack prints."""
    deploy_log = _Below("sam.log")
    """What sam build and sam deploy print."""
    build = _Below("build")
    """The output of sam build, and beside its templates those for the embedded AWS."""
    built_of = _Below("build", "sources.sha256")
    """The digest of the sources that were built; sam removes it when it begins to build."""
    build_cache = _Below("build-cache")
    """The cache of sam build."""
    runtime = _Below("runtime")
    """What AWS's Python runtime brings to a function: its client and boto3, nothing else."""
    temporary = _Below("tmp")
    """MiniStack's own temporary files, the functions' unpacked code among them."""
    bytecode = _Below("tmp", "bytecode")
    """What the functions' processes compile."""
    faults = _Below("faults")
    """The demo's fault injection: its wrapper, its plan, what of it was used."""
    sent = _Below("sent")
    """The `sent` stream that the demo writes."""
    demo = _Below("demo.json")
    """What the demo did on the embedded AWS that runs, if it did (JSON)."""
    records = _Below("records")
    """The streams of the demo's run, and their audit."""

    @classmethod
    def default(cls) -> "Paths":
        """Of the project that this is run in, else of this package.

        A folder is a project in which `actonce init` or `actonce up --project` was run.

        `.actonce/` lies in the project, or in the clone. What a wheel brought has no folder to
        write to: there it is the nearest that is above the current folder, or a new one in it. The
        variable `ACTONCE_DIR` names another.
        """
        here = _here()
        project = project_above(here) or next(
            (one for one in (here, *here.parents) if cls.of_project(one).was_up), None
        )
        if project is not None:
            return cls.of_project(project)
        if named := os.environ.get("ACTONCE_DIR"):
            return cls(Path(named).resolve())
        return cls((PROJECT if in_clone() else _nearest(here)) / _HOME)

    @classmethod
    def of_project(cls, folder: Path) -> "Paths":
        """Of a team's own SAM project; `.actonce/` lies in it, or where `ACTONCE_DIR` says."""
        named = os.environ.get("ACTONCE_DIR")
        project = folder.resolve()
        return cls(Path(named).resolve() if named else project / _HOME, project, is_project=True)

    @property
    def was_up(self) -> bool:
        """Whether it is a project's folder, in which it was brought up."""
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

    `project` is whose template is deployed: a team's folder, or empty for the stack alone.
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
    """The embedded AWS that was brought up in this folder and not stopped, running or not."""
    try:
        return State(**json.loads(paths.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def running(paths: Paths) -> State | None:
    """The embedded AWS of this folder, if its server runs."""
    state = read_state(paths)
    return state if state is not None and is_server(state.pid) and answers(state) else None


def answers(state: State) -> bool:
    """Whether the server does."""
    try:
        with urllib.request.urlopen(  # noqa: S310 - loopback
            f"{state.endpoint_url}/_ministack/health", timeout=5
        ) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def is_server(pid: int) -> bool:
    """Whether the process is our server, and not another that got its number."""
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
