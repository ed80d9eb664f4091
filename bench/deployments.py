"""Embedded AWSs with the stack as it was at some commit, beside the stack as it is."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from actonce.embedded import lifecycle, local_stack, server
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed, WrongUse
from actonce.weather import kinds


def last_tag() -> str:
    """Name of the last tag.

    Raises:
        WrongUse: there is none.
    """
    try:
        return _git("describe", "--tags", "--abbrev=0")
    except Failed:
        raise WrongUse("There is no tag to compare with: name a commit, or none.") from None


@contextmanager
def sources_at(commit: str | None) -> Iterator[Path]:
    """The project's folder as it is; or as it was at a commit, in a worktree that goes again.

    What serves there is what serves now: two stacks are compared, and not two emulators.

    Raises:
        Failed: there is no such commit.
    """
    if commit is None:
        yield PROJECT
        return
    with tempfile.TemporaryDirectory(prefix="actonce-at-") as folder:
        worktree = str(Path(folder, "worktree"))
        _git("worktree", "add", "--detach", worktree, commit)
        try:
            shutil.copy(
                server.__file__, Path(worktree) / Path(server.__file__).relative_to(PROJECT)
            )
            yield Path(worktree)
        finally:
            _git("worktree", "remove", "--force", worktree)


@contextmanager
def deployed(sources: Path, given: Mapping[str, str]) -> Iterator[tuple[lifecycle.State, Stack]]:
    """An embedded AWS of its own with the stack of some sources; down at the end.

    The sources' own command brings it up, as they did then.

    Args:
        sources: the project's folder.
        given: values of the stack's parameters besides those for bad weather; what an older
            template does not know is left out.

    Raises:
        Failed: it did not come up.
    """
    known = local_stack.parameter_names(sources / "template.yaml")
    # Of a parameter that not even today's template knows, `up` says so.
    own = {k: v for k, v in given.items() if k in known or sources == PROJECT}
    values = kinds.parameters(known, own)
    with tempfile.TemporaryDirectory(
        prefix="actonce-weather-", ignore_cleanup_errors=True
    ) as folder:
        paths = Paths(Path(folder).resolve())
        options = [word for item in values.items() for word in ("-p", "=".join(item))]
        try:
            up = subprocess.run(
                [sys.executable, "-m", "actonce.cli.app", "up", *options],
                cwd=sources,  # so that its packages are found first
                env=os.environ | {"ACTONCE_DIR": str(paths.home)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if up.returncode != 0:
                raise Failed(f"The stack of {sources} did not come up: {_why(up.stderr, paths)}")
            told = json.loads(paths.state.read_text())
            state = lifecycle.State(told["pid"], told["port"], told["parameters"])
            yield state, Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
        finally:
            lifecycle.down(paths)


def _why(said: str, paths: Paths) -> str:
    """What the command said last, and what failed by sam's log, which is gone soon."""
    lines = paths.deploy_log.read_text().splitlines() if paths.deploy_log.exists() else []
    last = said.strip().splitlines()[-1:]
    return " ".join([*last, *(line.strip() for line in lines if "FAILED" in line)])


def _git(*arguments: str) -> str:
    run = subprocess.run(
        ["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise Failed(f"git {arguments[0]}: {run.stderr.strip()}")
    return run.stdout.strip()
