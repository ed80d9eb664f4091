"""The console in this process, asked as a browser asks it."""

import asyncio
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

from actonce.console.app import app
from actonce.console.context import Context, Place, context_of
from actonce.stack.clients import Aws, Stack

PORT = 8717
TOKEN = "a-token-of-this-test"
HOST = f"127.0.0.1:{PORT}"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Client:
    """Asks as a browser does that has the cookie, unless headers (a dictionary) say otherwise."""

    app: ASGIApp
    headers: dict[str, str] = field(
        default_factory=lambda: {"host": HOST, "cookie": f"actonce-console-{PORT}={TOKEN}"}
    )

    def get(self, path: str, headers: Any = None, **query: Any) -> Answer:
        return self.ask("GET", path, headers or {}, urlencode(query, doseq=True), b"")

    def post(self, path: str, headers: Any = None, **form: Any) -> Answer:
        body = urlencode(form, doseq=True).encode()
        more = {"origin": f"http://{HOST}", "content-length": str(len(body))}
        return self.ask("POST", path, more | (headers or {}), "", body)

    def ask(
        self, method: str, path: str, headers: dict[str, str], query: str, body: bytes
    ) -> Answer:
        told = {name: value for name, value in (self.headers | headers).items() if value}
        path, _, rest = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": (query or rest).encode(),
            "headers": [(n.encode(), v.encode("latin-1")) for n, v in told.items()],
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 40_000),
        }
        sent: list[Message] = []
        asked: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if asked:
                return asked.pop()
            await asyncio.Event().wait()  # whoever asks stays until it has its answer
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        async def whole() -> None:
            await self.app(scope, receive, send)

        asyncio.run(whole())
        start = sent[0]
        content = b"".join(message.get("body", b"") for message in sent[1:])
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, content.decode())


def console_of(stack: Stack, folder: Path, **more: Any) -> tuple[Client, Context]:
    """A console of a stack: a client of it, and its context, which has read nothing yet.

    Args:
        stack: whose.
        folder: for what is discarded.
        more: see `context_of`.
    """
    # Clients of its own: what counts their calls is not taken off again.
    own = dataclasses.replace(stack, aws=Aws(stack.aws.endpoint_url))
    place = Place("At a test, stack actonce", " --stack-name actonce", folder)
    context = context_of(own, place, **more)
    return Client(app(context, TOKEN, PORT)), context


def read_queues(context: Context) -> None:
    """Have both queues read, and wait for it."""
    for scans in (context.letters, context.unstarted):
        scans.scan()
        scans.wait(60)


def finish(context: Context) -> None:
    """Wait until nothing is under way, and what is read after it has been read."""
    context.jobs.wait(60)
    assert all(job.is_over for job in context.jobs.all())
    for scans in (context.letters, context.unstarted):
        scans.wait(60)
        assert scans.state().reading is None
