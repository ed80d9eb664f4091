"""Stands between a client and the embedded AWS, and fails as a service or a network does."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

_THROTTLED = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
LATE_SECONDS = 2.0
"""Less than the functions' SDK waits for an answer."""
_OF_ONE_CONNECTION = {"connection", "content-length", "transfer-encoding"}


@dataclass(slots=True)
class Disturbance:
    """What goes wrong with the requests that come from now on.

    Attributes:
        how: `refused`, nothing is done; `lost`, it is done, and the connection closes unanswered;
            `late`, it is done, and the answer comes `LATE_SECONDS` later.
        number: of the request, from 1, that it begins with.
        times: requests, one after the other, that it befalls; the SDK's repeats count.
        requests: how many there were.
    """

    how: Literal["refused", "lost", "late"]
    number: int
    times: int
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def befalls_next(self) -> bool:
        """Count a request, and say whether it is disturbed."""
        with self._lock:
            self.requests += 1
            return 0 <= self.requests - self.number < self.times


class LossyProxy:
    """Forwards requests; `disturbance` says which of them go wrong."""

    def __init__(self, target: str) -> None:
        self.target = urlsplit(target).netloc
        self.disturbance = Disturbance("refused", 0, 0)
        self.url = ""


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    """A proxy on loopback in front of an endpoint URL, while the context is open."""
    proxy = LossyProxy(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            disturbance = proxy.disturbance
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_disturbed = disturbance.befalls_next()
            if is_disturbed and disturbance.how == "refused":
                self._answer(400, {"Content-Type": "application/x-amz-json-1.0"}, _THROTTLED)
                return
            forwarded = http.client.HTTPConnection(proxy.target, timeout=30)
            forwarded.request("POST", self.path, body, dict(self.headers))
            answer = forwarded.getresponse()
            payload = answer.read()
            forwarded.close()
            if is_disturbed and disturbance.how == "lost":
                self.close_connection = True
                return
            if is_disturbed:
                time.sleep(LATE_SECONDS)
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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
