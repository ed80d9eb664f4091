"""The console in this process, asked as a browser asks it."""

import asyncio
import dataclasses
import html
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.types import ASGIApp, Message

from actonce.console.app import app
from actonce.console.context import Context
from actonce.console.queue_cache import QueueCache
from actonce.console.server import config_of, listening
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.filters import Listing
from actonce.messages.unstarted import Unstarted
from actonce.stack.clients import Aws, Stack
from tests.embedded.waiting import DEADLINE, wait_until
from tests.support.pages import words

PORT = 8717
TOKEN = "a-token-of-this-test"
HOST = f"127.0.0.1:{PORT}"
COOKIE = f"actonce-console-{PORT}"
HANGS_UP = b"hangs up"
"""A body of which nothing comes, because whoever asks has gone."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def words(self) -> list[str]:
        """The main part as a person reads it, line by line."""
        return words(self.text)

    @property
    def rows(self) -> list[list[str]]:
        """What stands in the cells of each row that can be opened."""
        return [
            [_words(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
            for row in re.findall(r"<tr data-row>(.*?)</tr>", self.text, re.DOTALL)
        ]

    @property
    def links(self) -> list[str]:
        return [html.unescape(link) for link in re.findall(r'<a[^>]*href="([^"]*)"', self.text)]

    @property
    def fields(self) -> dict[str, Any]:
        """What the page's form would send, as it is."""
        found: dict[str, list[str]] = {}
        hidden = r'<input type="hidden" name="(\w+)" value="(.*?)">'
        for name, value in re.findall(hidden, self.text):
            found.setdefault(name, []).append(html.unescape(value))
        return found

    @property
    def actions(self) -> list[str]:
        """What the page offers to do."""
        return re.findall(r'name="action" value="([\w-]+)"', self.text)

    @property
    def commands(self) -> list[str]:
        """Command lines that do the same."""
        shown = re.findall(r'<pre class="command">(.*?)</pre>', self.text, re.DOTALL)
        return [line for text in shown for line in html.unescape(text).strip().split("\n")]

    @property
    def sure(self) -> int:
        """How often something is said to be empty for sure."""
        return self.text.count("quiet-good")

    @property
    def problems(self) -> list[str]:
        """What is told to have failed."""
        problem = r'<p class="bad" role="alert">(.*?)</p>'
        return [_words(one) for one in re.findall(problem, self.text, re.DOTALL)]


def _words(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


@dataclass
class Client:
    """Asks as a browser does that has the cookie, unless headers (a dictionary) say otherwise."""

    app: ASGIApp
    context: Context

    def get(self, path: str, headers: Any = None, **query: Any) -> Answer:
        return self.ask("GET", path, headers or {}, urlencode(query, doseq=True), b"")

    def open(self, path: str) -> Answer:
        """The page with all that it has read in the background."""
        for _ in range(2):
            answer = self.get(path)
            self.finish()
        return answer

    def send(self, path: str, page: Answer, **more: Any) -> Answer:
        """Send the form of a page, and wait for what that begins."""
        answer = self.post(path, **(page.fields | more))
        self.finish()
        return answer

    def post(self, path: str, headers: Any = None, **form: Any) -> Answer:
        body = urlencode(form, doseq=True).encode()
        more = {"origin": f"http://{HOST}", "content-length": str(len(body))}
        return self.ask("POST", path, more | (headers or {}), "", body)

    def ask(
        self, method: str, path: str, headers: dict[str, str], query: str, body: bytes
    ) -> Answer:
        return asyncio.run(self.ask_async(method, path, headers, query, body))

    async def ask_async(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        query: str = "",
        body: bytes = b"",
    ) -> Answer:
        usual = {"host": HOST, "cookie": f"{COOKIE}={TOKEN}"}
        sent_headers = {
            name: value for name, value in (usual | dict(headers or {})).items() if value
        }
        path, _, rest = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": "",
            "query_string": (query or rest).encode(),
            "headers": [
                (name.encode(), line.encode("latin-1"))
                for name, value in sent_headers.items()
                for line in value.split("\n")  # one that comes more than once
            ],
        }
        sent: list[Message] = []
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        if body == HANGS_UP:
            messages = [{"type": "http.disconnect"}]

        async def receive() -> Message:
            if messages:
                return messages.pop()
            await asyncio.Event().wait()  # whoever asks stays until it has its answer
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        try:
            await self.app(scope, receive, send)
        except Exception:
            if not sent:  # else Starlette has answered, and raises it for the server's log
                raise
        start = sent[0]
        content = b"".join(message.get("body", b"") for message in sent[1:])
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, content.decode())

    @property
    def letters(self) -> Listing[DeadLetter]:
        """The dead letters as they were read last."""
        return _read(self.context.letters)

    @property
    def unstarted(self) -> Listing[Unstarted]:
        """UnstartedQueue as it was read last."""
        return _read(self.context.unstarted)

    def read_queues(self) -> None:
        """Have both queues read, and wait for it."""
        for queue in (self.context.letters, self.context.unstarted):
            queue.scan()
            queue.wait(60)

    def expire(self, *, queues: bool = True) -> None:
        """Time goes by: what was asked of AWS is asked again, and the queues are read again."""
        shared = self.context
        for one in (shared.counts, shared.status, shared.is_replaced):
            one.expire()
        for queue in (shared.letters, shared.unstarted) if queues else ():
            queue._due = 0.0

    def finish(self) -> None:
        """Wait until nothing is under way, and what is read after it has been read."""
        self.context.jobs.wait(60)
        assert all(job.state == "ended" for job in self.context.jobs.all())
        queues = self.context.letters, self.context.unstarted
        wait_until(lambda: all(one.state.reading is None for one in queues))


def _read(queue: QueueCache[Any]) -> Listing[Any]:
    assert queue.state.at is not None
    return queue.state.listing


class Server:
    """An application that is served on the loopback, in a thread, until `end`."""

    def __init__(self, make: Callable[[int], ASGIApp]) -> None:
        self._listener = listening(0)
        self.address: tuple[str, int] = self._listener.getsockname()
        self.uvicorn = uvicorn.Server(config_of(make(self.address[1])))
        self._thread = threading.Thread(
            target=self.uvicorn.run, args=([self._listener],), daemon=True
        )
        self._thread.start()
        wait_until(lambda: self.uvicorn.started)

    def end(self) -> None:
        self.uvicorn.should_exit = True
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()
        self._listener.close()


def console_of(
    stack: Stack,
    folder: Path,
    *,
    reads: bool = True,
    options: str = " --stack-name actonce",
    **more: Any,
) -> Client:
    """A console of a stack.

    Args:
        stack: whose.
        folder: for what is discarded.
        reads: whether its queues have been read.
        options: what its commands need to find the stack.
        more: see `Context`.
    """
    # Clients of its own: what counts their calls is not taken off again.
    aws = Aws(stack.aws.endpoint_url)
    where = "At a test, stack actonce"
    own = dataclasses.replace(stack, aws=aws, where=where, options=options)
    context = Context(own, folder, scan_waits=0, job_waits=0, **more)
    client = Client(app(context, TOKEN, PORT), context)
    if reads:
        client.read_queues()
    return client
