"""`actonce console` as a process: its address, its end, and what it says of wrong use."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from actonce.console.server import DEFAULT_PORT, LOOPBACK, listening, open_in_browser
from actonce.terminal.errors import Failed
from tests.support.stacks import TEMPLATE

DEADLINE = 60


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A stack on moto's server, as far as the console wants it to begin."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    boto3.client(
        "cloudformation",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    ).create_stack(StackName="actonce", TemplateBody=json.dumps(TEMPLATE))
    try:
        yield url
    finally:
        server.stop()


@contextmanager
def started(
    endpoint: str, folder: Path, *arguments: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The console's process and the address that it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "actonce.cli.app", "console", "--no-browser", *arguments],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "ACTONCE_DIR": str(folder / "none"),
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "NO_COLOR": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", told)
        assert found is not None, told or process.communicate()[1]
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_it_answers_until_it_is_ended(
    endpoint: str, tmp_path: Path, number: int, status: int
) -> None:
    with started(endpoint, tmp_path) as (process, address):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=DEADLINE) as answer:
            assert answer.status == 200
            assert "token" not in answer.url
            assert "server" not in answer.headers
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(answer.url, timeout=DEADLINE)
        port = int(re.findall(r":(\d+)/", address)[0])
        process.send_signal(number)
        process.wait(DEADLINE)
        assert process.returncode == status
        assert process.stderr is not None
        told = process.stderr.read()
        assert "Traceback" not in told
        assert "token" not in told.replace("its token lets in", "")
    deadline = time.monotonic() + DEADLINE
    while True:  # nobody listens there any more
        try:
            listening(port).close()
            break
        except Failed:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_it_is_heard_on_the_loopback_only() -> None:
    with listening(None) as listener:
        assert listener.getsockname()[0] == LOOPBACK == "127.0.0.1"


def test_a_port_that_is_taken_is_told_and_the_usual_one_has_a_substitute() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Failed, match=rf"Port {port} cannot be listened on .*--port"):
            listening(port)
    with listening(None) as first, listening(None) as second:
        ports = {first.getsockname()[1], second.getsockname()[1]}
        assert len(ports) == 2
        assert DEFAULT_PORT in ports or first.getsockname()[1] != DEFAULT_PORT


def test_the_browser_is_told_the_token_where_nobody_else_can_read_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    address = "http://127.0.0.1:8717/?token=a-secret"
    open_in_browser(address, tmp_path)
    (told,) = opened
    assert "a-secret" not in told
    file = Path(told.removeprefix("file://"))
    assert file.stat().st_mode & 0o077 == 0
    assert f'url={address}"' in file.read_text()
