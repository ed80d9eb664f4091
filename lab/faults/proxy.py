"""Stands before the embedded AWS on loopback, and fails as a service or a network does."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_OF_ONE_CONNECTION = {"connection", "content-length", "transfer-encoding"}
_FORWARDING_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Request:
    """A request that came.

    Attributes:
        path: of its URL.
        target: the header `X-Amz-Target`, such as `AWSStepFunctions.StartExecution`; empty if none.
        body: its bytes.
    """

    path: str
    target: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Forwarded:
    """It is done; if its answer is lost, the connection closes instead."""

    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """It is answered here, and not done."""

    status: int
    body: bytes
    content_type: str = "application/x-amz-json-1.0"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """It is not done, and the connection stays open without an answer for so long."""

    seconds: float


Meet = Callable[[Request], Forwarded | Answered | Unanswered]


@contextmanager
def proxy_before(target: str, meet: Meet) -> Iterator[str]:
    """Listen on loopback in front of an endpoint URL, while the context is open.

    Args:
        target: the endpoint URL.
        meet: says what a request meets; called by many threads.

    Yields:
        The URL to give to clients.
    """
    address = urlsplit(target).netloc
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else the head of each answer waits for the acknowledgement of the one before.
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            met = meet(Request(self.path, self.headers.get("X-Amz-Target", ""), body))
            if isinstance(met, Answered):
                self._answer(met.status, {"Content-Type": met.content_type}, met.body)
                return
            if isinstance(met, Unanswered):
                over.wait(met.seconds)
                self.close_connection = True
                return
            # A connection of its own: on one that is kept, it might have to be sent twice.
            forwarded = http.client.HTTPConnection(address, timeout=_FORWARDING_SECONDS)
            forwarded.request("POST", self.path, body, dict(self.headers))
            answer = forwarded.getresponse()
            payload = answer.read()
            forwarded.close()
            if met.is_lost:
                self.close_connection = True
                return
            self._answer(answer.status, dict(answer.getheaders()), payload)

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OF_ONE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name there
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *_: object) -> None:
            """Say nothing: a client that was killed closes its connection."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
