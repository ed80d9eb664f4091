"""Brings the embedded AWS up, with the stack deployed on it, and down again."""

import contextlib
import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from botocore.exceptions import ClientError

from actonce.embedded import (
    functions,
    local_stack,
    nesting,
    prepared,
    sam,
    serving,
)
from actonce.embedded import parameters as declared
from actonce.embedded.sam import STACK_NAME
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths, State, is_server, running
from actonce.terminal.errors import Failed, UsageError

__all__ = [
    "LOCAL_PARAMETERS",
    "STACK_NAME",
    "State",
    "build",
    "check",
    "down",
    "running",
    "up",
]

LAMBDA_RUNTIMES = range(11, 15)  # python3.11 to python3.14, as template.yaml allows

LOCAL_PARAMETERS = {
    # Paced for two cores: every concurrent invocation is a process of its own here.
    "MaximumConcurrency": "2",
    # Short, because a person waits.
    "EffectTimeoutSeconds": "4",
    "StragglerMarginSeconds": "1",
}

Say = Callable[[str], None]


def up(
    paths: Paths,
    say: Say,
    *,
    port: int = 0,
    parameters: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> tuple[State, Stack]:
    """Bring the embedded AWS up with the stack as its sources are now; harmless if it is up.

    If a stack runs and cannot be replaced, CloudFormation goes back to it, with its data.

    Args:
        paths: of the embedded AWS.
        say: is called with each step.
        port: to listen on; 0 for the last port, or a free one.
        parameters: values of the stack's parameters; None keeps the last ones. In a project they
            are its template's, or those of the ActOnce nested in it.
        fresh: start from empty queues, tables and histories.

    Returns:
        What runs, and the stack; the first if a project has several ActOnce nested in it.

    Raises:
        Failed: something did not come up.
        UsageError: something is missing or wrong, or the port is taken.
    """
    _check_python()
    _make_home(paths)
    with _locked(paths):
        state = running(paths)
        if state is not None and port not in (0, state.port):
            raise UsageError(
                f"The embedded AWS runs on port {state.port} already; actonce down stops it."
            )
        project = str(paths.stack) if paths.is_project else ""
        if state is not None and state.project != project and not fresh:
            raise UsageError(
                f"The embedded AWS of {paths.home} runs another stack, "
                f"{state.project or 'ActOnce alone'}; actonce down stops it."
            )
        wanted = dict(parameters) if parameters is not None else state.parameters if state else {}
        values, nested = _values(paths, wanted, kept=parameters is None)
        digest = _digest(paths, wanted)
        if state is not None and state.deployed == digest and not fresh:
            with contextlib.suppress(Failed):  # somebody deployed something else in its place
                return state, Stack.find_all(Aws(state.endpoint_url), STACK_NAME)[0]
        if state is None:
            serving.require_free(port)
        paths.deploy_log.unlink(missing_ok=True)
        # Before anything is stopped or thrown away, for a build is what fails most often.
        build(paths, say)
        if state is not None and (fresh or not state.deployed):
            half = "The stack was deployed half; starting over"
            say("Starting afresh" if state.deployed else half)
            serving.stop(paths, state.pid)
            port, state = port or state.port, None
        is_new = state is None
        if state is None:
            say("Starting MiniStack")
            state = serving.start(paths, port, wanted)
        else:
            # If this is killed or fails, the next `up` deploys again, whatever it finds.
            serving.write(paths, replace(state, deployed=UNDER_WAY))
        try:
            declared.store(Aws(state.endpoint_url), wanted)
            stack = _deploy(paths, state, values, nested, say)
        except BaseException:
            if is_new:
                serving.stop(paths, state.pid)
            raise
        state = State(state.pid, state.port, wanted, digest, project)
        serving.write(paths, state)
    return state, stack


UNDER_WAY = "under way"
"""In place of the digest of what is deployed, while that is being replaced."""


def check(paths: Paths, parameters: Mapping[str, str]) -> None:
    """Check that the stack may have these parameters, without a server.

    Raises:
        UsageError: one is unknown, or its template does not allow its value.
    """
    _values(paths, parameters)


def build(paths: Paths, say: Say) -> None:
    """Run `sam build`, unless these sources are built already; needs no server.

    Args:
        paths: of the embedded AWS.
        say: is called with each step.

    Raises:
        Failed: the build failed.
    """
    overrides = {"PythonRuntime": _python_runtime()}
    template = paths.stack / "template.yaml"
    digest = _digest(paths, overrides)
    if paths.built_of.exists() and paths.built_of.read_text() == digest:
        return
    if paths.is_project:
        template, notes = prepared.prepare(_project(paths), paths.prepared)
        for sentence in notes:
            say(sentence)
        overrides = {}
    say("sam build")
    arguments = ["build", "--template-file", str(template)]
    arguments += ["--config-file", str(PROJECT / "samconfig.toml"), "--cached", "--parallel"]
    arguments += ["--build-dir", str(paths.build), "--cache-dir", str(paths.build_cache)]
    if not paths.is_project:  # the copies of a project's templates have absolute paths
        arguments += ["--base-dir", str(template.parent)]
    arguments += sam.overriding(overrides)
    sam.run(arguments, paths)
    paths.built_of.write_text(digest)


def down(paths: Paths) -> bool:
    """Stop the embedded AWS; False if it did not run. Its data are gone with it."""
    if not paths.home.exists():
        return False
    with _locked(paths):
        try:
            pid = int(json.loads(paths.state.read_text())["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return False
        was_running = is_server(pid)
        serving.stop(paths, pid)
        return was_running


def _check_python() -> None:
    if sys.version_info.minor not in LAMBDA_RUNTIMES or sys.version_info.major != 3:
        raise UsageError(
            f"Lambda has no runtime for Python {sys.version_info.major}.{sys.version_info.minor}; "
            f"use 3.{LAMBDA_RUNTIMES[0]} to 3.{LAMBDA_RUNTIMES[-1]}."
        )


def _make_home(paths: Paths) -> None:
    try:
        paths.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{paths.home} cannot be made ({error.strerror or error}): go to a folder that you may "
            "write to, or name one with the variable ACTONCE_DIR."
        ) from error


@contextlib.contextmanager
def _locked(paths: Paths) -> Iterator[None]:
    with paths.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _project(paths: Paths) -> nesting.Template:
    """A project's outermost template, in which ActOnce is nested."""
    template = nesting.read(nesting.outermost(paths.stack))
    if template.is_actonce:
        raise UsageError(
            f"{template.file} is ActOnce's own template, not one that it is nested in: actonce up, "
            "without --project, brings it up."
        )
    prepared.actonce_in(template)
    return template


def _digest(paths: Paths, parameters: Mapping[str, str]) -> str:
    """The digest of everything that is deployed: stacks with the same digest are the same."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    if paths.is_project:
        templates = list(nesting.all_of(_project(paths)))
    else:
        templates = [nesting.read(paths.stack / "template.yaml")]
    deployed = sorted({file for one in templates for file in _deployed_by(one, paths.home)})
    here = Path(__file__).parent
    # By their paths from the stack, so that it may lie anywhere.
    files = [(os.path.relpath(one, paths.stack), one) for one in deployed]
    files += [(one.name, one) for one in sorted(here.rglob("*.py"))]
    for name, file in files:
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


_NOT_DEPLOYED = frozenset({"__pycache__", ".actonce", ".aws-sam", ".git", "node_modules"})


def _deployed_by(template: nesting.Template, home: Path) -> Iterator[Path]:
    """The files that are deployed with a template, but not those of what is nested in it."""
    folder = template.file.parent
    yield template.file
    if template.is_actonce:
        yield from (one.file for one in nesting.nested(template))
        yield from (folder / "statemachine").glob("*.json")
    for code in local_stack.code_places(template):
        place = folder / code
        for one in [place] if place.is_file() else place.rglob("*"):
            inside = one.relative_to(folder) if one.is_relative_to(folder) else one
            if (
                one.is_file()
                and not _NOT_DEPLOYED.intersection(inside.parts)
                and not one.is_relative_to(home)
            ):
                yield one


def _deploy(
    paths: Paths, state: State, values: dict[str, str], nested: dict[str, str], say: Say
) -> Stack:
    """Deploy what was built; if that fails, CloudFormation goes back to the stack that ran."""
    settings = local_stack.Settings(values, nested, say)
    template = local_stack.rewrite(paths.build / "template.yaml", settings)
    aws = Aws(state.endpoint_url)
    with contextlib.suppress(ClientError):
        aws.client("s3").create_bucket(Bucket=sam.ARTIFACTS_BUCKET)
    say("sam deploy")
    sam.deploy(paths, state.endpoint_url, template, values)
    stacks = Stack.find_all(aws, STACK_NAME)
    say("Starting the functions")
    for stack in stacks:
        if complaint := functions.call_at_once(stack, 1):
            say(complaint)
    return stacks[0]


def _values(
    paths: Paths, given: Mapping[str, str], *, kept: bool = False
) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters of the outermost template, and those of the ActOnce nested in it.

    `EffectTimeoutSeconds` of a team's own effect is not shortened, because its function is deployed
    as it is. If `kept`, the parameters were given to the last `up`.

    Raises:
        UsageError: neither template has a parameter that is given, or allows its value.
    """
    if not paths.is_project:
        template = nesting.read(paths.stack / "template.yaml")
        _check(given, [template], kept=kept)
        local = {**LOCAL_PARAMETERS, "PythonRuntime": _python_runtime(), **given}
        return {name: local[name] for name in local.keys() & template.parameters.keys()}, {}
    project = _project(paths)
    inner = prepared.actonce_in(project)
    _check(given, [project, *inner], kept=kept)
    outer = {name: value for name, value in given.items() if name in project.parameters}
    nested = {name: value for name, value in given.items() if name not in project.parameters}
    hurried = {
        name: value for name, value in LOCAL_PARAMETERS.items() if name != local_stack.THEIRS
    }
    return outer, {**hurried, **nested}


def _check(given: Mapping[str, str], templates: Sequence[nesting.Template], *, kept: bool) -> None:
    try:
        declared.check(given, templates)
    except UsageError as error:
        if not (kept and given):
            raise
        raise UsageError(
            f"{error} It was given to the last up, which is remembered: name with --parameter all "
            "that you want now."
        ) from error


def _python_runtime() -> str:
    return f"python3.{sys.version_info.minor}"
