"""The functions' processes of the embedded AWS: who enters and who works for it end together."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from actonce.embedded import function_processes, functions, lambda_runtime
from actonce.stack.embedded_folder import State
from tests.embedded.waiting import wait_until

# In the place of Lambda's runtime client: no Lambda is asked for work here.
RUNTIME = {
    "__init__.py": "",
    "__main__.py": """\
import json, os, sys, time
from awslambdaric import bootstrap, lambda_runtime_client as client
told = {
    "pid": os.getpid(),
    "folder": os.getcwd(),
    "arguments": sys.argv[1:],
    "open_files": len(os.listdir("/dev/fd")),
    "handled": bootstrap._get_handler("handler.handler")({}, None),
}
print("said", flush=True)
bootstrap.tell(json.dumps(told))
if "answer" in os.environ:
    getattr(client.BaseLambdaRuntimeClient(), os.environ["answer"])()
if "exit" in os.environ:
    sys.exit(int(os.environ["exit"]))
time.sleep(600)
""",
    "bootstrap.py": """\
import importlib, os, pathlib
def _get_handler(name):
    return importlib.import_module("handler").handler
def tell(text):
    told = pathlib.Path(os.environ["TOLD"])
    told.with_suffix(".new").write_text(text)
    told.with_suffix(".new").rename(told)
""",
    "lambda_runtime_client.py": """\
import fcntl, termios
from awslambdaric import bootstrap
class BaseLambdaRuntimeClient:
    def post_invocation_result(self):
        unread = int.from_bytes(fcntl.ioctl(1, termios.FIONREAD, bytes(4)), "little")
        bootstrap.tell(f'{{"unread": {unread}}}')
    post_invocation_error = post_invocation_result
""",
}

Enter = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    runtime = tmp_path_factory.mktemp("runtime")
    for module in (name for name in function_processes.LOADED if name.startswith("boto3")):
        file = runtime.joinpath(*module.split("."), "__init__.py")
        file.parent.mkdir(parents=True)
        file.touch()
    (runtime / "awslambdaric").mkdir()
    for name, text in RUNTIME.items():
        (runtime / "awslambdaric" / name).write_text(text)
    with lambda_runtime.start_host(runtime, runtime / "bytecode") as host:
        yield runtime
        assert host.stdin is not None
        host.stdin.close()
        assert host.wait(30) == 0


def enter_host(runtime: Path, folder: Path, name: str, **environment: str) -> subprocess.Popen[str]:
    package = folder / name
    package.mkdir()
    (package / "handler.py").write_text(f"def handler(event, context): return {name!r}\n")
    variables = {
        "PYTHONPATH": f"{package}{os.pathsep}{runtime}",
        "TOLD": str(folder / f"{name}.json"),
        "FAULTS_DIR": str(folder),
    }
    return subprocess.Popen(
        [sys.executable, "-I", "-S", function_processes.__file__, "enter", runtime, "a.handler"],
        cwd=package,
        env=variables | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def enter(runtime: Path, tmp_path: Path) -> Enter:
    return partial(enter_host, runtime, tmp_path)


def announcement(tmp_path: Path, name: str) -> dict[str, object]:
    file = tmp_path / f"{name}.json"
    wait_until(file.exists)
    found: dict[str, object] = json.loads(file.read_text())
    return found


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_each_works_in_the_folder_environment_and_output_of_who_entered(
    enter: Enter, tmp_path: Path
) -> None:
    processes = {name: enter(name) for name in ("one", "two", "three")}
    announcements = {name: announcement(tmp_path, name) for name in processes}
    for name, one in announcements.items():
        assert (one["folder"], one["handled"]) == (str(tmp_path / name), name)
        assert one["arguments"] == ["a.handler"]
    # None inherits what is open for others.
    assert len({one["open_files"] for one in announcements.values()}) == 1
    pids = {int(str(one["pid"])) for one in announcements.values()}
    assert len(pids) == 3
    # One crashes, alone.
    os.kill(int(str(announcements["one"]["pid"])), signal.SIGKILL)
    assert processes.pop("one").wait(30) == -signal.SIGKILL
    for process in processes.values():
        assert process.poll() is None
        process.kill()
        assert process.communicate(timeout=30)[0] == "said\n"
    wait_until(lambda: all(map(has_ended, pids)))


def test_who_entered_is_ended_and_what_works_for_it_too_even_if_it_is_stopped(
    enter: Enter, tmp_path: Path
) -> None:
    process = enter("one")
    pid = int(str(announcement(tmp_path, "one")["pid"]))
    os.kill(pid, signal.SIGSTOP)

    process.kill()

    wait_until(lambda: has_ended(pid))
    assert process.wait(30) == -signal.SIGKILL


@pytest.mark.parametrize(("how", "status", "said"), [("3", 3, "said\n"), ("x", 1, "ValueError")])
def test_an_exit_is_that_of_who_entered(enter: Enter, how: str, status: int, said: str) -> None:
    process = enter("one", exit=how)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == status
    assert said in output


def test_the_answer_comes_after_the_lines_are_read(enter: Enter, tmp_path: Path) -> None:
    process = enter("one", answer="post_invocation_result")
    announcement(tmp_path, "one")
    assert process.stdout is not None
    assert process.stdout.readline() == "said\n"

    wait_until(lambda: announcement(tmp_path, "one") == {"unread": 0})
    process.kill()


def test_whoever_kills_waits_for_the_last_thread_of_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until then its parent takes it for alive, and would hand it the next call."""
    listings = [
        "11 7 Sl node /tmp/a/_worker.js\n12 8 Sl node /tmp/b/_worker.js\n13 7 S python server\n",
        "11 7 Zl [node] <defunct>\n",
        "11 7 Z [node] <defunct>\n",
        "",
    ]
    killed: list[int] = []

    def listed(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout=listings.pop(0))

    monkeypatch.setattr(subprocess, "run", listed)
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    assert functions.kill(State(pid=7, port=1, parameters={})) == 1
    assert (killed, listings) == ([11], [""])
