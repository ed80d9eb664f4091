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

    @property
    def prepared(self) -> Path:
        """Copies of a project's templates, for sam build."""
        return self.home / _PREPARED

    @property
    def state(self) -> Path:
        """What runs, where, with which parameters (JSON)."""
        return self.home / "embedded.json"

    @property
    def port(self) -> Path:
        """The port of the last time."""
        return self.home / "port"

    @property
    def lock(self) -> Path:
        """Held while the embedded AWS is brought up or down."""
        return self.home / "lock"

    @property
    def server_log(self) -> Path:
        """What MiniStack prints."""
        return self.home / "ministack.log"

    @property
    def deploy_log(self) -> Path:
        """What sam build and sam deploy print."""
        return self.home / "sam.log"

    @property
    def build(self) -> Path:
        """The output of sam build, untouched."""
        return self.home / "build"

    @property
    def built_of(self) -> Path:
        """The digest of the sources that were built; sam removes it when it begins to build."""
        return self.build / "sources.sha256"

    @property
    def build_cache(self) -> Path:
        """The cache of sam build."""
        return self.home / "build-cache"

    @property
    def local(self) -> Path:
        """The built stack, rewritten for the embedded AWS."""
        return self.home / "local"

    @property
    def runtime(self) -> Path:
        """What AWS's Python runtime brings to a function: its client and boto3, nothing else."""
        return self.home / "runtime"

    @property
    def temporary(self) -> Path:
        """MiniStack's own temporary files, the functions' unpacked code among them."""
        return self.home / "tmp"

    @property
    def bytecode(self) -> Path:
        """What the functions' processes compile."""
        return self.temporary / "bytecode"

    @property
    def faults(self) -> Path:
        """The demo's fault injection: its wrapper, its plan, what of it was used."""
        return self.home / "faults"

    @property
    def sent(self) -> Path:
        """The `sent` stream that the demo writes."""
        return self.home / "sent"

    @property
    def demo(self) -> Path:
        """What the demo did on the embedded AWS that runs, if it did (JSON)."""
        return self.home / "demo.json"

    @property
    def records(self) -> Path:
        """The streams of the demo's run, and their audit."""
        return self.home / "records"


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

    `project` is whose template is deployed: a team's folder, or empty for the stack alone; `faults`
    is the level of faults around its effect, or empty.
    """

    pid: int
    port: int
    parameters: dict[str, str]
    deployed: str = ""
    project: str = ""
    faults: str = ""

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
