"""Brings the embedded AWS up, with the stack deployed on it, and down again."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from actonce.aws import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Aws, Stack
from actonce.embedded import lambda_runtime, local_stack
from actonce.embedded.paths import PROJECT, Paths
from actonce.embedded.running import State, answers, is_server, running
from actonce.errors import Failed, WrongUse
from actonce.history import short_cause
from actonce.sources import TEMPLATES

__all__ = [
    "LOCAL_PARAMETERS",
    "STACK_NAME",
    "WARM_EFFECTS",
    "State",
    "build",
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
    "BatchSize": "2",
    "MaximumConcurrency": "2",
    # Short, because a person waits.
    "StarterTimeoutSeconds": "20",
    "EffectTimeoutSeconds": "4",
    "StragglerMarginSeconds": "1",
    "ClockSkewSeconds": "1",
    "LeaseSeconds": "4",
    "PatienceSeconds": "15",
}
_WARM_STARTERS = 3
WARM_EFFECTS = 7
_WARM_WAVE = 3  # one process, then three more with every wave
_WARM_TRIES = 3
WARM_UP_ID = "warm-up"

Say = Callable[[str], None]


def up(
    paths: Paths,
    say: Say,
    *,
    port: int = 0,
    parameters: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> tuple[State, Stack]:
    """Bring the embedded AWS up, and the stack as the sources are now; harmless if it is.

    Args:
        paths: where it keeps its things.
        say: told what is being done.
        port: to listen on; 0 for a free one.
        parameters: values of the stack's parameters; None keeps those of the last time.
        fresh: start from empty queues, tables and histories.

    Raises:
        Failed: something did not come up; nothing is left running.
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
        wanted = dict(parameters) if parameters is not None else state.parameters if state else {}
        digest = _digest(paths.stack, wanted)
        if state is not None and (fresh or not state.deployed):
            say(
                "Starting afresh"
                if state.deployed
                else "The stack was deployed half; starting over"
            )
            _stop(paths, state.pid)
            port, state = port or state.port, None
        if state is not None and state.deployed == digest:
            return state, Stack.find(Aws(state.endpoint_url), STACK_NAME)
        try:
            if state is None:
                say("Starting MiniStack")
                state = _start_server(paths, port, wanted)
            stack = _deploy(paths, state, wanted, say)
            state = State(state.pid, state.port, wanted, digest)
            _write(paths, state)
        except BaseException:
            if state is not None:
                _stop(paths, state.pid)
            raise
    return state, stack


def build(paths: Paths, say: Say) -> None:
    """Run `sam build`, unless what was built is of these sources; needs no server.

    Raises:
        Failed: it did not succeed.
    """
    overrides = {"PythonRuntime": _python_runtime()}
    digest = _digest(paths.stack, overrides)
    if paths.built_of.exists() and paths.built_of.read_text() == digest:
        return
    say("sam build")
    arguments = ["build", "--template-file", str(paths.stack / "template.yaml")]
    arguments += ["--config-file", str(PROJECT / "samconfig.toml"), "--cached", "--parallel"]
    arguments += ["--build-dir", str(paths.build), "--cache-dir", str(paths.build_cache)]
    arguments += ["--base-dir", str(paths.stack), *_overriding(overrides)]
    _sam(arguments, paths)
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
    """Kill every process of a function, as a crash of its host would; how many there were."""
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,pgid=,command="], capture_output=True, text=True, check=True
    ).stdout
    killed = 0
    for line in listing.splitlines():
        pid, group, command = line.split(maxsplit=2)
        # Whoever entered ends with the fork that works for it, so one of the two is enough.
        if int(group) == state.pid and "function_processes.py enter" in command:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
    return killed


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


def _digest(stack: Path, parameters: Mapping[str, str]) -> str:
    """Of everything that is deployed: a stack with the same digest is the same stack."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    deployed = [stack / name for name in TEMPLATES]
    deployed += sorted((stack / "statemachine").glob("*.json"))
    for code in sorted(local_stack.code_folders(stack / "template.yaml")):
        files = (one for one in (stack / code).rglob("*") if one.is_file())
        deployed += sorted(one for one in files if "__pycache__" not in one.parts)
    here = Path(__file__).parent
    # By their way from the stack, wherever it lies.
    named = [(os.path.relpath(one, stack), one) for one in deployed]
    named += [(one.name, one) for one in sorted(here.rglob("*.py"))]
    for name, file in named:
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _write(paths: Paths, state: State) -> None:
    # Replaced whole, so that nobody reads half of it.
    temporary = paths.state.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(state), indent=2))
    temporary.replace(paths.state)


# --------------------------------------------------------------------------- the server


def _start_server(paths: Paths, port: int, parameters: dict[str, str]) -> State:
    if port and not _is_free(port):
        raise WrongUse(f"Port {port} is taken by another program; choose another with --port.")
    for folder in (paths.temporary, paths.faults):
        folder.mkdir(parents=True, exist_ok=True)
    lambda_runtime.provide_packages(paths.runtime)
    for _ in range(3):  # another program may take the free port before MiniStack does
        state = _start_once(paths, port or _free_port(), parameters)
        if state is not None:
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


def _deploy(paths: Paths, state: State, parameters: Mapping[str, str], say: Say) -> Stack:
    values = {**LOCAL_PARAMETERS, "PythonRuntime": _python_runtime(), **parameters}
    _check_parameters(paths.stack, values)
    paths.deploy_log.unlink(missing_ok=True)
    build(paths, say)
    template = local_stack.rewrite(
        paths.build,
        paths.local,
        lambda_runtime.bootstrap(paths.runtime, paths.bytecode),
        values,
    )
    aws = Aws(state.endpoint_url)
    with contextlib.suppress(ClientError):
        aws.client("s3").create_bucket(Bucket=_ARTIFACTS_BUCKET)
    say("sam deploy")
    deploy = ["deploy", "--template-file", str(template), "--stack-name", STACK_NAME]
    deploy += ["--config-file", str(PROJECT / "samconfig.toml")]
    deploy += ["--s3-bucket", _ARTIFACTS_BUCKET, "--no-resolve-s3", "--region", EMBEDDED_REGION]
    deploy += ["--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset"]
    deploy += ["--no-fail-on-empty-changeset", "--no-progressbar", *_overriding(values)]
    _sam(deploy, paths, AWS_ENDPOINT_URL=state.endpoint_url)
    stack = Stack.find(aws, STACK_NAME)
    say("Starting the functions")
    if complaint := _call_at_once(stack, 1):
        say(complaint)
    return stack


def _check_parameters(stack: Path, values: Mapping[str, str]) -> None:
    known = local_stack.parameter_names(stack / "template.yaml")
    for name in values:
        if name not in known:
            raise WrongUse(
                f"template.yaml has no parameter {name!r}; it has {', '.join(sorted(known))}."
            )


def _python_runtime() -> str:
    return f"python3.{sys.version_info.minor}"


def _overriding(values: Mapping[str, str]) -> list[str]:
    return ["--parameter-overrides", *(f"{name}={_quoted(v)}" for name, v in values.items())]


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sam(arguments: list[str], paths: Paths, **variables: str) -> None:
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
    with paths.deploy_log.open("a") as log:
        log.write(f"\n$ sam {' '.join(arguments)}\n")
        log.flush()
        answer = subprocess.run(
            [sys.executable, "-m", "samcli", *arguments],
            env=environment,
            # sam keeps dependencies below the folder that it runs in, and there removes those of
            # every other build.
            cwd=paths.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if answer.returncode != 0:
        last = paths.deploy_log.read_text().strip().splitlines()[-1]
        raise Failed(f"sam {arguments[0]} failed ({last}); all it said is in {paths.deploy_log}.")


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
    finds = (stack.find_function or "") if stack.ledger_table is None else ""
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
