"""The functions' processes of the embedded AWS: who enters and who works for it end together."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from actonce.embedded import function_processes, lambda_runtime
from tests.embedded.waiting import wait_until

# In the place of Lambda's runtime client: no Lambda is asked for work here.
RUNTIME = """\
import os, pathlib, sys, time
import handler
from awslambdaric import lambda_runtime_client as client
told = pathlib.Path(os.environ["TOLD"])
new = told.with_suffix(".new")
open_files = str(len(os.listdir("/dev/fd")))
words = [str(os.getpid()), os.getcwd(), handler.NAME, *sys.argv[1:], open_files]
new.write_text("\\n".join(words))
print("said", flush=True)
new.rename(told)
if "answer" in os.environ:
    getattr(client.BaseLambdaRuntimeClient(), os.environ["answer"])()
if "exit" in os.environ:
    sys.exit(int(os.environ["exit"]))
if "fail" in os.environ:
    raise ValueError("no good")
time.sleep(600)
"""

CLIENT = """\
import fcntl, os, pathlib, termios
class BaseLambdaRuntimeClient:
    def post_invocation_result(self):
        unread = int.from_bytes(fcntl.ioctl(1, termios.FIONREAD, bytes(4)), "little")
        told = pathlib.Path(os.environ["TOLD"])
        told.with_suffix(".new").write_text(f"answered with {unread} bytes unread")
        told.with_suffix(".new").rename(told)
    post_invocation_error = post_invocation_result
"""

Enter = Callable[..., subprocess.Popen[str]]


@contextmanager
def host_in(runtime: Path) -> Iterator[subprocess.Popen[bytes]]:
    files = {
        file.replace(".", "/") + "/__init__.py": ""
        for file in (*function_processes.LOADED, "awslambdaric")
        if file.startswith(("boto3", "awslambdaric"))
    }
    files["awslambdaric/__main__.py"] = RUNTIME
    files["awslambdaric/lambda_runtime_client.py"] = CLIENT
    for name, text in files.items():
        (runtime / name).parent.mkdir(parents=True, exist_ok=True)
        (runtime / name).write_text(text)
    with lambda_runtime.start_host(runtime, runtime / "bytecode") as host:
        yield host
        assert host.stdin is not None
        host.stdin.close()
        assert host.wait(30) == 0


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    runtime = tmp_path_factory.mktemp("runtime")
    with host_in(runtime):
        yield runtime


def enter_host(runtime: Path, folder: Path, name: str, **environment: str) -> subprocess.Popen[str]:
    package = folder / name
    package.mkdir()
    (package / "handler.py").write_text(f"NAME = {name!r}\n")
    variables = {
        "PYTHONPATH": f"{package}{os.pathsep}{runtime}",
        "TOLD": str(folder / f"{name}.txt"),
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


def told(tmp_path: Path, name: str) -> list[str]:
    file = tmp_path / f"{name}.txt"
    wait_until(file.exists)
    return file.read_text().splitlines()


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_works_in_the_folder_environment_and_output_of_who_entered_and_inherits_no_others(
    enter: Enter, tmp_path: Path
) -> None:
    processes = {name: enter(name) for name in ("one", "two", "three")}
    pids, open_files = set(), set()
    for name in processes:
        pid, folder, loaded, handler, are_open = told(tmp_path, name)
        pids.add(int(pid))
        open_files.add(are_open)
        assert (folder, loaded, handler) == (str(tmp_path / name), name, "a.handler")
    assert (len(pids), len(open_files)) == (3, 1)
    for process in processes.values():
        process.kill()
        assert process.communicate()[0] == "said\n"
    wait_until(lambda: all(map(has_ended, pids)))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_who_entered_is_ended_and_what_works_for_it_too_even_if_it_is_stopped(
    enter: Enter, tmp_path: Path, number: signal.Signals
) -> None:
    process = enter("one")
    pid = int(told(tmp_path, "one")[0])
    os.kill(pid, signal.SIGSTOP)

    process.send_signal(number)

    wait_until(lambda: has_ended(pid))
    assert process.wait(30) == -number


def test_a_crash_is_that_of_who_entered(enter: Enter, tmp_path: Path) -> None:
    other, process = enter("other"), enter("one")
    told(tmp_path, "other")

    os.kill(int(told(tmp_path, "one")[0]), signal.SIGKILL)

    assert process.wait(30) == -signal.SIGKILL
    assert other.poll() is None
    other.kill()


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [({"exit": "0"}, 0, ""), ({"exit": "3"}, 3, ""), ({"fail": ""}, 1, "ValueError: no good\n")],
)
def test_an_exit_is_that_of_who_entered(
    enter: Enter, how: dict[str, str], status: int, said: str
) -> None:
    process = enter("one", **how)

    output, _ = process.communicate(timeout=30)

    assert process.returncode == status
    assert output.startswith("said\n")
    assert output.endswith(said or "said\n")


@pytest.mark.parametrize("answer", ["post_invocation_result", "post_invocation_error"])
def test_the_answer_comes_after_the_lines_are_read(
    enter: Enter, tmp_path: Path, answer: str
) -> None:
    process = enter("one", answer=answer)
    told(tmp_path, "one")
    assert process.stdout is not None
    assert process.stdout.readline() == "said\n"

    wait_until(lambda: told(tmp_path, "one") == ["answered with 0 bytes unread"])
    process.kill()


def test_all_end_with_the_host(tmp_path: Path) -> None:
    with host_in(tmp_path / "runtime") as host:
        early = enter_host(tmp_path / "runtime", tmp_path, "early")
        pid = int(told(tmp_path, "early")[0])
        assert host.stdin is not None
        host.stdin.close()

        early.wait(30)

        wait_until(lambda: has_ended(pid))
