"""A provider of gift cards on loopback, for the effects of the documentation and the examples."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Provider:
    """A provider of gift cards, on loopback; `fault` is what it does to the next order."""

    port: int = 0
    fault: str = ""
    orders: list[dict[str, Any]] = field(default_factory=list)

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)


@contextmanager
def running() -> Iterator[Provider]:
    """One that listens."""
    provider = Provider()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault, provider.fault = provider.fault, ""
            if fault == "busy":
                self.reply(429, {})
                return
            provider.orders.append(order | {"id": len(provider.orders) + 1})
            if fault == "answer lost":
                self.close_connection = True
            elif fault == "error after the order":
                self.reply(500, {})
            else:
                self.reply(201, provider.orders[-1])

        def do_GET(self) -> None:
            if provider.fault == "cannot look":
                self.reply(503, {})
                return
            reference = parse_qs(urlsplit(self.path).query)["reference"][0]
            self.reply(200, [order for order in provider.orders if order["reference"] == reference])

        def reply(self, status: int, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield provider
        server.shutdown()
        thread.join()
