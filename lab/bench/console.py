"""The console on a stack with many executions and dead letters: seconds until a page is there.

    python -m lab.bench.console

moto serves the stack from this process. The queues are a stub in a process of its own, because moto
looks at every message for each receive. The console runs in a third.
"""

import http.cookiejar
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Annotated, Any
from unittest.mock import patch

import boto3
import typer
from moto.stepfunctions.models import StepFunctionBackend

from lab.bench.commands import ACCOUNT, REGION, stack_on_moto
from lab.bench.machine import machine

_COMMAND = "from actonce.cli.app import main; main()"
_LISTS = ("/", "/waiting", "/stack", "/dead-letters", "/unstarted", "/messages", "/message?id=m-9")


class Queues(BaseHTTPRequestHandler):
    """Answers as SQS does for queues of which nobody else takes anything."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    visible: dict[str, deque[str]] = {}  # noqa: RUF012 - one server a process
    bodies: dict[str, str] = {}  # noqa: RUF012 - likewise
    held: dict[str, tuple[str, float]] = {}  # noqa: RUF012 - likewise
    lock = threading.Lock()

    def do_POST(self) -> None:
        """Answer a request of the JSON protocol."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            act = getattr(self, self.headers["X-Amz-Target"].rpartition(".")[2])
            body = json.dumps(act(request["QueueUrl"].rpartition("/")[2], request)).encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def SendMessage(self, queue: str, request: Any) -> Any:  # noqa: N802 - SQS's names
        """Put it at the end."""
        handle = f"{len(self.bodies)}"
        self.bodies[handle] = request["MessageBody"]
        self.visible.setdefault(queue, deque()).append(handle)
        return {"MessageId": handle}

    def ReceiveMessage(self, queue: str, request: Any) -> Any:  # noqa: N802
        """The oldest ones, which are hidden from then on."""
        for handle, (place, until) in list(self.held.items())[:20]:
            if until < time.monotonic():
                self._show(place, handle)
        waiting = self.visible.setdefault(queue, deque())
        taken = [
            waiting.popleft() for _ in range(min(len(waiting), request["MaxNumberOfMessages"]))
        ]
        until = time.monotonic() + request["VisibilityTimeout"]
        self.held.update(dict.fromkeys(taken, (queue, until)))
        sent = {"SentTimestamp": "1790000000000", "ApproximateReceiveCount": "1"}
        messages = [
            {"MessageId": f"sqs-{one}", "ReceiptHandle": one, "Body": self.bodies[one]}
            for one in taken
        ]
        return {"Messages": [{**one, "Attributes": sent} for one in messages]}

    def ChangeMessageVisibilityBatch(self, queue: str, request: Any) -> Any:  # noqa: N802
        """Show them again."""
        for one in request["Entries"]:
            self._show(queue, one["ReceiptHandle"])
        return {"Successful": [{"Id": one["Id"]} for one in request["Entries"]], "Failed": []}

    def DeleteMessageBatch(self, _: str, request: Any) -> Any:  # noqa: N802
        """Forget them."""
        for one in request["Entries"]:
            self.held.pop(one["ReceiptHandle"], None)
        return {"Successful": [{"Id": one["Id"]} for one in request["Entries"]], "Failed": []}

    def GetQueueAttributes(self, queue: str, _: Any) -> Any:  # noqa: N802
        """Count them."""
        held = sum(place == queue for place, _ in self.held.values())
        counted = {"": len(self.visible.get(queue, ())), "NotVisible": held, "Delayed": 0}
        name = "ApproximateNumberOfMessages"
        return {"Attributes": {f"{name}{what}": str(number) for what, number in counted.items()}}

    def ListQueueTags(self, *_: Any) -> Any:  # noqa: N802
        """None: no pause."""
        return {}

    def _show(self, queue: str, handle: str) -> None:
        if self.held.pop(handle, None):
            self.visible[queue].append(handle)


def _serve(ready: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Queues)
    ready.send(server.server_port)
    server.serve_forever()


@contextmanager
def queues() -> Iterator[str]:
    """The stub's address."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    yield f"http://127.0.0.1:{here.recv()}"
    process.terminate()


def send_letters(url: str, names: list[str]) -> None:
    """Dead letters of the executions of these names."""
    sqs = boto3.client("sqs", endpoint_url=url)
    arn = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:process"
    for name in names:
        letter = {
            "version": 1,
            "message_id": name,
            "reason": "rejected",
            "error": "Rejected",
            "cause": "there is no such practice",
            "rounds": 1,
            "task_token": f"token-{name}",
            "execution_name": name,
            "execution_arn": f"{arn}:{name}",
            "posted_at": "2026-11-27T09:30:00.000Z",
            "message": {"message_id": name, "body": "{}"},
        }
        sqs.send_message(
            QueueUrl=f"{url}/{ACCOUNT}/DeadLetterQueue", MessageBody=json.dumps(letter)
        )


class Browser:
    """Opens a console's pages, and prints how long each took."""

    def __init__(self, console: "subprocess.Popen[str]", address: str) -> None:
        self._console = console
        self._base, _, self.first = address.partition("/?")
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def open(self, path: str, label: str = "", **form: str) -> str:
        """A page, or the answer to a form."""
        data = urllib.parse.urlencode(form).encode() if form else None
        own = {"Origin": self._base}
        request = urllib.request.Request(self._base + path, data, own)  # noqa: S310 - loopback
        cpu, began = self._cpu(), time.perf_counter()
        text: str = self._opener.open(request, timeout=60).read().decode()
        if label:
            took, used = time.perf_counter() - began, self._cpu() - cpu
            print(json.dumps({label: path, "s": round(took, 2), "cpu": round(used, 2)}))
        return text

    def wait(self, path: str, is_there: Callable[[str], bool], label: str) -> None:
        """Look at a page each half second until it shows something."""
        began, looks = time.perf_counter(), 0
        while not is_there(self.open(path)):
            looks += 1
            if time.perf_counter() - began > 300:
                raise SystemExit(f"{path} never showed it: {label}")
            time.sleep(0.5)
        print(json.dumps({label: path, "s": round(time.perf_counter() - began, 2)}))

    def _cpu(self) -> float:
        with open(f"/proc/{self._console.pid}/stat") as stat:  # noqa: PTH123
            fields = stat.read().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def opened(variables: dict[str, str]) -> Iterator[Browser]:
    """A console that has just begun."""
    words = [sys.executable, "-c", _COMMAND, "console", "--no-browser", "--yes"]
    with subprocess.Popen(
        words, env=variables, cwd=variables["HOME"], stdout=subprocess.PIPE, text=True
    ) as console:
        try:
            for line in console.stdout or ():
                if address := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line):
                    browser = Browser(console, address[0])
                    browser.open(f"/?{browser.first}", "first view")
                    yield browser
                    break
        finally:
            console.terminate()


def main(
    executions: Annotated[int, typer.Option(min=10)] = 5_000,
    dead_letters: Annotated[int, typer.Option(min=1)] = 2_000,
    decided: Annotated[int, typer.Option(min=1)] = 1_000,
) -> None:
    """Make the stack, open the console's pages, decide, and print."""
    with (
        tempfile.TemporaryDirectory(prefix="actonce-console-") as folder,
        stack_on_moto(executions, 0),
        queues() as sqs,
        patch.object(StepFunctionBackend, "send_task_success", lambda *_: None),
    ):
        names = [f"m-{number}" for number in range(dead_letters)]
        send_letters(sqs, names)
        own = {"HOME": folder, "ACTONCE_DIR": folder, "AWS_ENDPOINT_URL_SQS": sqs}
        own |= {"PYTHONPATH": os.pathsep.join(sys.path)}
        print(json.dumps(machine("boto3", "starlette", "uvicorn", "moto")))
        with opened(dict(os.environ) | own) as browser:
            shown = f"{dead_letters:,}, as read at"
            browser.wait("/dead-letters", lambda text: shown in text, "all letters are listed")
            for kept in ("for the first time", "again"):
                for path in _LISTS:
                    browser.open(path, kept)
            asks = browser.open("/dead-letters/decide?scope=all&action=reject", "asks about all")
            (key,) = re.findall(r'name="key" value="(.*?)"', asks)
            browser.open("/dead-letters/decide", "begins", key=key, action="reject", note="why")
            number = re.compile(rf"([\d,]+) of {dead_letters:,}")

            def done(text: str) -> int:
                return int(number.findall(text)[0].replace(",", ""))

            browser.wait("/jobs/1", lambda text: done(text) > 0, "the first are decided")
            send_letters(sqs, ["m-new"])
            browser.wait("/jobs/1", lambda text: done(text) >= decided, f"{decided:,} are decided")
            browser.wait("/dead-letters", lambda text: "m-new" in text, "a new letter is listed")
            browser.wait("/jobs/1", lambda text: done(text) == dead_letters, "all are decided")
        print(json.dumps(machine()))


if __name__ == "__main__":
    typer.run(main)
