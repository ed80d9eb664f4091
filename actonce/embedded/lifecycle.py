"""Brings the embedded AWS up, with the stack deployed on it, and down again."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType

from botocore.exceptions import BotoCoreError, ClientError

from actonce.embedded import faults, lambda_runtime, local_stack, nesting, prepared
from actonce.embedded import parameters as declared
from actonce.embedded.latest import looks_up
from actonce.messages.history import short_cause
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.stack.embedded_running import State, answers, is_server, running
from actonce.terminal.errors import Failed, WrongUse

__all__ = [
    "LOCAL_PARAMETERS",
    "STACK_NAME",
    "WARM_EFFECTS",
    "State",
    "build",
    "check",
    "down",
    "kill_functions",
    "running",
    "up",
    "warm",
]

STACK_NAME = "actonce"
_ARTIFACTS_BUCKET = "actonce-artifacts"
_LAMBDA_RUNTIMES = range(11, 15)  # python3.11 to python3.14, as template.yaml allows

LOCAL_PARAMETERS = {
    # Paced for two cores: every concurrent invocation is a process of its own here.
    "MaximumConcurrency": "2",
    # Short, because a person waits.
    "EffectTimeoutSeconds": "4",
    "StragglerMarginSeconds": "1",
    "ClockSkewSeconds": "1",
}
_WARM_STARTERS = 3
WARM_EFFECTS = 7
_WARM_WAVE = 3  # one process, then three more with every wave
_WARM_TRIES = 3

_DYING_SECONDS = 5.0  # of what was killed
WARM_UP_ID = "warm-up"

Say = Callable[[str], None]


def up(  # noqa: PLR0913 - what a person may say
    paths: Paths,
    say: Say,
    *,
    port: int = 0,
    parameters: Mapping[str, str] | None = None,
    fresh: bool = False,
    faults: str | None = None,
) -> tuple[State, Stack]:
    """Bring the embedded AWS up, and the stack as the sources are now; harmless if it is.

    Where a stack runs and another cannot be deployed in its place, the one that ran runs on, with
    its data.

    Args:
        paths: where it keeps its things.
        say: told what is being done.
        port: to listen on; 0 for that of the last time, or a free one.
        parameters: values of the stack's parameters; None keeps those of the last time. In a
            project they are its template's, or those of the ActOnce nested in it.
        fresh: start from empty queues, tables and histories.
        faults: around a project's effect: `some`, `many`, or empty for none; None keeps what was.

    Returns:
        What runs, and the stack; where a project has several ActOnce nested in it, the first.

    Raises:
        Failed: something did not come up.
        WrongUse: something is missing, or the port is taken.
    """
    _check_python()
    _make_home(paths)
    with _locked(paths):
        state = running(paths)
        if state is not None and port not in (0, state.port):
            raise WrongUse(
                f"The embedded AWS runs on port {state.port} already; actonce down stops it."
            )
        project = str(paths.stack) if paths.is_project else ""
        if state is not None and state.project != project and not fresh:
            raise WrongUse(
                f"The embedded AWS of {paths.home} runs another stack, "
                f"{state.project or 'ActOnce alone'}; actonce down stops it."
            )
        wanted = dict(parameters) if parameters is not None else state.parameters if state else {}
        check(paths, wanted)  # before anything is stopped or thrown away
        level = faults if faults is not None else state.faults if state else ""
        digest = _digest(paths, {**wanted, "--faults": level} if level else wanted)
        if state is not None and (fresh or not state.deployed):
            build(paths, say, wanted)  # likewise
            say(
                "Starting afresh"
                if state.deployed
                else "The stack was deployed half; starting over"
            )
            _stop(paths, state.pid)
            port, state = port or state.port, None
        if state is not None and state.deployed == digest:
            return state, Stack.find_all(Aws(state.endpoint_url), STACK_NAME)[0]
        if state is not None:
            stack = _deploy_in_place(paths, replace(state, faults=level), wanted, say)
        else:
            _require_free(port)
            build(paths, say, wanted)  # before a server is started: much of what fails, fails here
            say("Starting MiniStack")
            state = replace(_start_server(paths, port, wanted), faults=level)
            try:
                stack = _deploy(paths, state, wanted, say)
            except BaseException:
                _stop(paths, state.pid)
                raise
        state = State(state.pid, state.port, wanted, digest, project, level)
        _write(paths, state)
    return state, stack


def check(paths: Paths, parameters: Mapping[str, str]) -> None:
    """Whether the stack may have these parameters; needs no server, and changes nothing.

    Raises:
        WrongUse: one is unknown, or its value is none that its template allows.
    """
    _values(paths, parameters)


def own_template(paths: Paths, parameters: Mapping[str, str]) -> Path:
    """The template that is deployed where no project nests one: its way's.

    `Strategy` is a parameter of locks.yaml alone, so who gives it means that one.
    """
    return paths.stack / ("locks.yaml" if parameters.get("Strategy") else "template.yaml")


def build(paths: Paths, say: Say, parameters: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run `sam build`, unless what was built is of these sources; needs no server.

    Args:
        paths: of the embedded AWS.
        say: told what is being done.
        parameters: that it will be deployed with; they may say which template that is.

    Raises:
        Failed: it did not succeed.
    """
    overrides = {"PythonRuntime": _python_runtime()}
    template = own_template(paths, parameters)
    digest = _digest(paths, {**overrides, "Strategy": parameters.get("Strategy", "")})
    if paths.built_of.exists() and paths.built_of.read_text() == digest:
        return
    if paths.is_project:
        ready = prepared.prepare(_project(paths), paths.prepared)
        template, overrides = ready.template, ready.overrides
        for sentence in ready.said:
            say(sentence)
    say("sam build")
    arguments = ["build", "--template-file", str(template)]
    arguments += ["--config-file", str(PROJECT / "samconfig.toml"), "--cached", "--parallel"]
    arguments += ["--build-dir", str(paths.build), "--cache-dir", str(paths.build_cache)]
    if not paths.is_project:  # whose copies say absolute paths
        arguments += ["--base-dir", str(paths.stack)]
    arguments += _overriding(overrides)
    _sam(arguments, paths, paths.deploy_log)
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
        _stop(paths, pid)
        return was_running


def kill_functions(state: State) -> int:
    """Kill every process of a function, as a crash of its host would; how many there were.

    It waits until they are dead, some seconds at most, so that a call that comes then goes to a new
    process.
    """
    killed = _of_functions(state)
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _DYING_SECONDS
    while killed & _of_functions(state) and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(killed)


def _of_functions(state: State) -> set[int]:
    """The living processes of the functions, by their number.

    Whoever entered ends with the fork that works for it, so one of the two is enough.
    """
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,pgid=,stat=,command="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = (line.split(maxsplit=3) for line in listing.splitlines())
    return {
        int(pid)
        for pid, group, status, command in lines
        if int(group) == state.pid
        and not status.startswith("Z")
        and "function_processes.py enter" in command
    }


def _check_python() -> None:
    if sys.version_info.minor not in _LAMBDA_RUNTIMES or sys.version_info.major != 3:
        raise WrongUse(
            f"Lambda has no runtime for Python {sys.version_info.major}.{sys.version_info.minor}; "
            "use 3.11 to 3.14."
        )


def _make_home(paths: Paths) -> None:
    try:
        paths.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(
            f"{paths.home} cannot be made ({error.strerror or error}): go to a folder that you may "
            "write to, or name one with the variable ACTONCE_DIR."
        ) from error


@contextlib.contextmanager
def _locked(paths: Paths) -> Iterator[None]:
    with paths.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _project(paths: Paths) -> nesting.Template:
    """The outermost template of a project, which has ActOnce nested in it."""
    template = nesting.read(nesting.outermost(paths.stack))
    if template.is_actonce:
        raise WrongUse(
            f"{template.file} is ActOnce's own template, not one that it is nested in: actonce up, "
            "without --project, brings it up."
        )
    prepared.actonce_in(template)
    return template


def _digest(paths: Paths, parameters: Mapping[str, str]) -> str:
    """Of everything that is deployed: a stack with the same digest is the same stack."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    if paths.is_project:
        templates = list(nesting.all_of(_project(paths)))
    else:
        templates = [nesting.read(own_template(paths, parameters))]
    deployed = sorted({file for one in templates for file in _deployed_by(one, paths.home)})
    here = Path(__file__).parent
    # By their way from the stack, wherever it lies.
    named = [(os.path.relpath(one, paths.stack), one) for one in deployed]
    named += [(one.name, one) for one in sorted(here.rglob("*.py"))]
    for name, file in named:
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


_NOT_DEPLOYED = frozenset({"__pycache__", ".actonce", ".aws-sam", ".git", "node_modules"})


def _deployed_by(template: nesting.Template, home: Path) -> Iterator[Path]:
    """What a template is deployed with, but for what is nested in it."""
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


def _write(paths: Paths, state: State) -> None:
    # Replaced whole, so that nobody reads half of it.
    temporary = paths.state.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(state), indent=2))
    temporary.replace(paths.state)


# --------------------------------------------------------------------------- the server


def _require_free(port: int) -> None:
    if port and not _is_free(port):
        raise WrongUse(f"Port {port} is taken by another program; choose another with --port.")


def _start_server(paths: Paths, port: int, parameters: dict[str, str]) -> State:
    _require_free(port)
    port = port or _port_of_last_time(paths)
    for folder in (paths.temporary, paths.faults):
        folder.mkdir(parents=True, exist_ok=True)
    lambda_runtime.provide_packages(paths.runtime)
    for _ in range(3):  # another program may take the free port before MiniStack does
        state = _start_once(paths, port or _free_port(), parameters)
        if state is not None:
            paths.port.write_text(str(state.port))
            return state
    raise Failed(f"MiniStack did not start; its last words are in {paths.server_log}.")


def _start_once(paths: Paths, port: int, parameters: dict[str, str]) -> State | None:
    terminal = _terminal()
    arguments = [str(paths.runtime), str(paths.bytecode)]
    arguments += ["--terminal-fd", str(terminal)] if terminal is not None else []
    with paths.server_log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "actonce.embedded.server", *arguments],
            env=_server_environment(paths, port),
            cwd=paths.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[terminal] if terminal is not None else [],
        )
    if terminal is not None:
        os.close(terminal)
    state = State(process.pid, port, parameters)
    _write(paths, state)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return None
            if answers(state):
                return state
            time.sleep(0.05)
    except BaseException:
        _stop(paths, process.pid)
        raise
    _stop(paths, process.pid)
    return None


def _server_environment(paths: Paths, port: int) -> dict[str, str]:
    """The functions inherit it: nothing of the user's, least of all credentials."""
    # CLOUDTRAIL_…: a benchmark wants to know which API calls were made.
    names = ("PATH", "HOME", "LANG", "CLOUDTRAIL_RECORDING", "CLOUDTRAIL_MAX_EVENTS")
    keep = {name: os.environ[name] for name in names if name in os.environ}
    return (
        keep
        | EMBEDDED_CREDENTIALS
        | {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_DEFAULT_REGION": EMBEDDED_REGION,
            "MINISTACK_REGION": EMBEDDED_REGION,
            "MINISTACK_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "TMPDIR": str(paths.temporary),
            "LOG_LEVEL": "WARNING",
            "LAMBDA_ACCOUNT_CONCURRENCY": "24",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            "DOCKER_HOST": f"unix://{paths.temporary}/no-docker-is-used",
            "TZ": "UTC",
        }
    )


def _terminal() -> int | None:
    """A descriptor of the controlling terminal, if there is one."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


def _port_of_last_time(paths: Paths) -> int:
    """What others may still be told to use; 0 where there is none, or it is taken by now."""
    try:
        port = int(paths.port.read_text())
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 65536 and _is_free(port) else 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(paths: Paths, pid: int) -> None:
    """End the server and every process of its group."""
    if is_server(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while is_server(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    paths.state.unlink(missing_ok=True)


# --------------------------------------------------------------------------- the stack


def _deploy_in_place(paths: Paths, state: State, parameters: Mapping[str, str], say: Say) -> Stack:
    """Deploy over what runs. Where that fails, what ran is deployed again: it keeps its data.

    While it is under way, and after a kill, the state says so: no digest is that of what runs.
    """
    build(paths, say, parameters)
    # Of one that was killed, it is what ran before that; what lies beside it is half a deployment.
    if not (state.deployed == UNDER_WAY and paths.local_before.exists()):
        shutil.rmtree(paths.local_before, ignore_errors=True)
        if paths.local.exists():
            paths.local.rename(paths.local_before)
    shutil.rmtree(paths.local, ignore_errors=True)
    _write(paths, replace(state, deployed=UNDER_WAY))
    try:
        return _deploy(paths, state, parameters, say)
    except (Exception, KeyboardInterrupt):
        if not paths.local_before.exists():
            raise
        say("It failed; going back to the stack that ran")
        shutil.rmtree(paths.local, ignore_errors=True)
        paths.local_before.rename(paths.local)
        # What failed is what a person looks for, at the end of the log.
        log = paths.deploy_log.with_suffix(".back.log")
        _sam_deploy(paths, state, json.loads((paths.local / _VALUES).read_text()), log)
        _write(paths, state)
        raise


UNDER_WAY = "under way"
"""Instead of the digest of what is deployed, while that is being replaced."""

_VALUES = "values.json"
"""Beside the rewritten template: what its parameters were."""


def _deploy(paths: Paths, state: State, parameters: Mapping[str, str], say: Say) -> Stack:
    values, nested = _values(paths, parameters)
    paths.deploy_log.unlink(missing_ok=True)
    build(paths, say, parameters)
    local_stack.rewrite(
        paths.build,
        paths.local,
        local_stack.Settings(
            lambda_runtime.bootstrap(paths.runtime, paths.bytecode),
            values,
            nested,
            _faults(paths, state.faults),
            say,
        ),
    )
    (paths.local / _VALUES).write_text(json.dumps(values))
    aws = Aws(state.endpoint_url)
    with contextlib.suppress(ClientError):
        aws.client("s3").create_bucket(Bucket=_ARTIFACTS_BUCKET)
    say("sam deploy")
    _sam_deploy(paths, state, values, paths.deploy_log)
    stacks = Stack.find_all(aws, STACK_NAME)
    say("Starting the functions")
    for stack in stacks:
        if complaint := _call_at_once(stack, 1):
            say(complaint)
    return stacks[0]


def _faults(paths: Paths, level: str) -> Path | None:
    """The folder with the plan of the faults around a project's effect; None: there are none."""
    if not level:
        return None
    folder = paths.faults.with_name("faults-drawn")  # a demo throws its own away
    folder.mkdir(exist_ok=True)
    faults.write_plan(folder, faults.drawn(faults.Level(level)))
    return folder


def _sam_deploy(paths: Paths, state: State, values: Mapping[str, str], log: Path) -> None:
    template = paths.local / "template.yaml"
    deploy = ["deploy", "--template-file", str(template), "--stack-name", STACK_NAME]
    deploy += ["--config-file", str(PROJECT / "samconfig.toml")]
    deploy += ["--s3-bucket", _ARTIFACTS_BUCKET, "--no-resolve-s3", "--region", EMBEDDED_REGION]
    deploy += ["--capabilities", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
    deploy += ["--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"]
    deploy += _overriding(values)
    try:
        _sam(deploy, paths, log, AWS_ENDPOINT_URL=state.endpoint_url)
    except Failed as error:
        why = _why(Aws(state.endpoint_url))
        raise Failed(f"{why} {error}" if why else str(error)) from error


def _why(aws: Aws) -> str:
    """What CloudFormation says of the first thing that failed in the last deployment."""
    cloudformation = aws.client("cloudformation")
    try:
        events = cloudformation.describe_stack_events(StackName=STACK_NAME)["StackEvents"]
    except (ClientError, BotoCoreError):
        return ""
    failed = ""
    for one in events:  # the last one first
        if one["ResourceType"] == "AWS::CloudFormation::Stack" and one["ResourceStatus"] in (
            "CREATE_IN_PROGRESS",
            "UPDATE_IN_PROGRESS",
        ):
            if one["LogicalResourceId"] == STACK_NAME:
                break
        elif one["ResourceStatus"].endswith("_FAILED") and one.get("ResourceStatusReason"):
            failed = f"{one['LogicalResourceId']}: {one['ResourceStatusReason']}."
    return failed


def _values(paths: Paths, given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters of the outermost template, and those of the ActOnce nested in it.

    A team's time-out of its effect stays what it is, for its function's is deployed as it is.

    Raises:
        WrongUse: one that is given is a parameter of neither, or may not have its value.
    """
    if not paths.is_project:
        template = nesting.read(own_template(paths, given))
        declared.check(given, [template])
        local = {**LOCAL_PARAMETERS, "PythonRuntime": _python_runtime(), **given}
        return {name: local[name] for name in local.keys() & template.parameters.keys()}, {}
    project = _project(paths)
    inner = prepared.actonce_in(project)
    declared.check(given, [project, *inner])
    outer = {name: value for name, value in given.items() if name in project.parameters}
    nested = {name: value for name, value in given.items() if name not in project.parameters}
    hurried = {
        name: value for name, value in LOCAL_PARAMETERS.items() if name != local_stack.THEIRS
    }
    return {**prepared.runtimes(project), **outer}, {**hurried, **nested}


def _python_runtime() -> str:
    return f"python3.{sys.version_info.minor}"


def _overriding(values: Mapping[str, str]) -> list[str]:
    if not values:
        return []
    return ["--parameter-overrides", *(f"{name}={_quoted(v)}" for name, v in values.items())]


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sam(arguments: list[str], paths: Paths, log: Path, **variables: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("AWS_")
    } | EMBEDDED_CREDENTIALS
    environment |= {
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.2",  # seconds; 5 are for an AWS that many people ask
        # sam looks for the interpreter that the runtime is named after.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        **variables,
    }
    with log.open("a") as opened:
        opened.write(f"\n$ sam {' '.join(arguments)}\n")
        opened.flush()
        answer = subprocess.run(
            [sys.executable, "-m", "samcli", *arguments],
            env=environment,
            # sam keeps dependencies below the folder that it runs in, and there removes those of
            # every other build.
            cwd=paths.home,
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if answer.returncode != 0:
        last = log.read_text().strip().splitlines()[-1]
        raise Failed(f"sam {arguments[0]} failed ({last}); all it said is in {log}.")


def warm(stack: Stack, effects: int = WARM_EFFECTS, say: Say = lambda _: None) -> None:
    """Start as many processes of the functions as a load keeps busy, by calls that change nothing.

    Args:
        stack: on the embedded AWS.
        effects: processes of the effect's function.
    """
    # In growing waves: all at once they would overrun Lambda's 10 s init limit and the effect's
    # time-out on a machine that is busy.
    for wave in range(1, effects + 1, _WARM_WAVE):
        if complaint := _call_at_once(stack, wave):
            say(complaint)
            return


def _call_at_once(stack: Stack, times: int) -> str | None:
    """Call each function; the first call of all writes the bytecode that the others then read.

    Returns:
        What is wrong with looking up, if something is: `find` of an id that never was must say so,
        but a provider may be away, and that is no reason to take a stack down.

    Raises:
        Failed: what the queue feeds does not start.
    """
    find = json.dumps({"operation": "find", "message": {"message_id": WARM_UP_ID}})

    def error_of(function: str, event: str) -> str | None:
        for _ in range(_WARM_TRIES):
            answer = stack.lambda_.invoke(FunctionName=function, Payload=event.encode())
            if "FunctionError" not in answer:
                return None
        return answer["Payload"].read().decode(errors="replace")

    # Behind a lock the effect is in the consumer, and its own function has nothing to do.
    finds = looks_up(stack)
    starts = min(times, _WARM_STARTERS)
    try:
        with ThreadPoolExecutor(starts + times) as threads:
            begun = [
                threads.submit(error_of, stack.starter_function, json.dumps({"Records": []}))
                for _ in range(starts)
            ]
            looked = [threads.submit(error_of, finds, find) for _ in range(times if finds else 0)]
        error = next(filter(None, (one.result() for one in begun)), None)
        if error is not None:
            raise Failed(f"{stack.starter_function} does not start: {error}")
        error = next(filter(None, (one.result() for one in looked)), None)
    except (ClientError, BotoCoreError) as error:
        raise Failed(f"The functions could not be called: {error}") from error
    if error is None:
        return None
    return (
        f"{finds} cannot look up whether {WARM_UP_ID!r} was performed, so an unknown outcome "
        f"would wait for a person: {short_cause(error)}"
    )
