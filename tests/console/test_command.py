"""`actonce console` as a process: its address, its end, and what it says of wrong use."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from actonce.console.server import DEFAULT_PORT, LOOPBACK, listening, open_in_browser
from actonce.stack.clients import Aws
from actonce.terminal.errors import Failed
from tests.embedded.waiting import wait_until
from tests.support.stacks import TEMPLATE

DEADLINE = 30


@pytest.fixture
def process(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """The console of a stack on moto's server, as far as it wants that to begin."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    cloudformation = Aws(url, region="us-east-1").client("cloudformation")
    cloudformation.create_stack(StackName="actonce", TemplateBody=json.dumps(TEMPLATE))
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "ACTONCE_DIR": str(tmp_path / "none"),
        "AWS_ENDPOINT_URL": url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    console = subprocess.Popen(
        [sys.executable, "-m", "actonce.cli.app", "console", "--no-browser"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield console
    finally:
        console.kill()
        console.communicate()
        cloudformation.delete_stack(StackName="actonce")
        server.stop()


def is_free(port: int) -> bool:
    try:
        listening(port).close()
    except Failed:
        return False
    return True


def test_it_answers_until_it_is_ended(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", address)
    assert found is not None, address or process.communicate()[1]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address, timeout=DEADLINE) as answer:
        assert (answer.status, answer.url) == (200, f"http://127.0.0.1:{found[1]}/")
        assert "server" not in answer.headers
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(answer.url, timeout=DEADLINE)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "Traceback" not in output
    assert "token" not in output.replace("its token lets in", "")
    wait_until(lambda: is_free(int(found[1])))


NEVER_ANSWERED = """
import threading
from anyio.to_thread import run_sync
from actonce.console.server import serve

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            event = (await receive())["type"]
            await send({"type": f"{event}.complete"})
    print("asked", flush=True)
    await run_sync(threading.Event().wait, abandon_on_cancel=True)

serve(lambda token, port: app, 0, lambda address: print(address, flush=True))
"""


def test_what_aws_never_answers_does_not_keep_it_from_ending() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NEVER_ANSWERED], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as console:
        try:
            assert console.stdout is not None
            address = console.stdout.readline().decode()
            port = int(re.findall(r":(\d+)/", address)[0])
            with socket.create_connection((LOOPBACK, port), DEADLINE) as asking:
                asking.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert console.stdout.readline() == b"asked\n"
                console.send_signal(signal.SIGINT)
                assert console.wait(DEADLINE) == 130
        finally:
            console.kill()


def test_it_listens_on_the_loopback_and_tells_of_a_port_that_is_taken() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Failed, match=rf"Port {port} cannot be listened on .*--port"):
            listening(port)
    # The usual one has a substitute.
    with listening(None) as first, listening(None) as second:
        addresses = {one.getsockname() for one in (first, second)}
        assert len(addresses) == 2
        assert {host for host, _ in addresses} == {LOOPBACK} == {"127.0.0.1"}
        assert second.getsockname()[1] != DEFAULT_PORT


def test_the_browser_is_told_the_token_where_nobody_else_can_read_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    address = "http://127.0.0.1:8717/?token=a-secret"
    open_in_browser(address, tmp_path)
    (output,) = opened
    assert "a-secret" not in output
    file = Path(output.removeprefix("file://"))
    assert file.stat().st_mode & 0o077 == 0
    assert f'url={address}"' in file.read_text()
