"""A call of a team's function over a real connection: it is sent once, whatever becomes of it."""

import json
import socketserver
import struct
import threading
from collections.abc import Iterator
from socket import SO_LINGER, SOL_SOCKET

import boto3
import pytest
from botocore.config import Config

from actonce_core.effect import NotPerformed
from actonce_core.invoked_effect import InvokedEffect, client_config

YES = json.dumps({"performed": True, "effect": {"order": "o-7"}}).encode()
REQUEST = {"message_id": "m-1", "body": "{}", "attempt": 1}


class Lambda(socketserver.ThreadingTCPServer):
    """Lambda's endpoint: answers, and how each request ends, by default with a clear yes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.ends: list[str] = []
        self.requests = self.connections = 0
        self.is_over = threading.Event()


class _Connection(socketserver.StreamRequestHandler):
    server: Lambda

    def handle(self) -> None:
        self.server.connections += 1
        while self._read_request():
            self.server.requests += 1
            end = self.server.ends.pop(0) if self.server.ends else "yes"
            if end == "is silent":
                self.server.is_over.wait(60)
            if end == "resets":
                self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            if end in ("is silent", "closes", "resets"):
                return
            error = "" if end in ("yes", "breaks off") else end
            answer = b"{}" if error else YES
            head = f"HTTP/1.1 {error[:3] or 200} X\r\nContent-Length: {len(answer)}\r\n"
            head += f"x-amzn-ErrorType: {error[4:]}\r\n" if error else ""
            self.wfile.write(head.encode() + b"\r\n")
            self.wfile.write(answer[:10] if end == "breaks off" else answer)
            if end == "breaks off":
                return

    def _read_request(self) -> bool:
        size = 0
        while (line := self.rfile.readline().lower()) not in (b"", b"\r\n"):
            if line.startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        self.rfile.read(size)
        return line != b""


@pytest.fixture
def server() -> Iterator[Lambda]:
    with Lambda() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.is_over.set()
        made.shutdown()
        thread.join()


@pytest.fixture
def effect(server: Lambda, monkeypatch: pytest.MonkeyPatch) -> InvokedEffect:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")  # of whoever set it in the function's environment
    client = boto3.client(
        "lambda",
        endpoint_url=f"http://127.0.0.1:{server.server_address[1]}",
        config=Config(**client_config(1) | {"read_timeout": 1}),
    )
    return InvokedEffect(client, "arn:aws:lambda:us-east-1:123456789012:function:effect:3", "")


@pytest.mark.parametrize(
    "end", ["closes", "resets", "breaks off", "is silent", "500 ServiceException"]
)
def test_a_call_without_a_clear_answer_is_not_made_again(
    server: Lambda, effect: InvokedEffect, end: str
) -> None:
    effect.perform(REQUEST)  # and leaves its connection open
    before, server.ends = server.requests, [end]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is, the outcome is unknown
        effect.perform(REQUEST)
    assert not isinstance(caught.value, NotPerformed)
    assert server.requests == before + 1
    assert server.connections == 1


def test_a_throttled_call_is_not_made_again_and_proves_that_nothing_happened(
    server: Lambda, effect: InvokedEffect
) -> None:
    server.ends = ["429 TooManyRequestsException"]
    with pytest.raises(NotPerformed):
        effect.perform(REQUEST)
    assert server.requests == 1
