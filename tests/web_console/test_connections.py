"""Who opens connections to the console, and asks for nothing, keeps nobody else out."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from actonce.console import connections
from tests.embedded.waiting import DEADLINE, wait_until
from tests.web_console.asking import Server

LARGE = ["x" * 1_000_000] * 20


class Served(Server):
    """It answers / at once, and /late once it may."""

    def __init__(self) -> None:
        self.asked_late, self.go_on = threading.Event(), threading.Event()
        app = Starlette(
            routes=[
                Route("/", lambda _: PlainTextResponse("here")),
                Route("/body", self.body, methods=["POST"]),
                Route("/large", lambda _: StreamingResponse(iter(LARGE))),
                Route("/late", self.late),
            ]
        )
        super().__init__(lambda _: app)

    async def body(self, request: Request) -> Response:
        return Response(await request.body())

    async def late(self, _: Request) -> Response:
        self.asked_late.set()
        await asyncio.get_running_loop().run_in_executor(None, self.go_on.wait, DEADLINE)
        return PlainTextResponse("late")

    def connect(self, sent: str = "") -> socket.socket:
        connected = socket.create_connection(self.address, DEADLINE)
        connected.sendall(sent.encode())
        return connected

    @property
    def open(self) -> int:
        return len(self.uvicorn.server_state.connections)

    @property
    def answered(self) -> int:
        """How many requests were."""
        return self.uvicorn.server_state.total_requests

    @property
    def at_work(self) -> int:
        """On how many connections it is not the client's turn."""
        every = list(self.uvicorn.server_state.connections)
        return sum(isinstance(one, connections.Connection) and not one.waits for one in every)


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.go_on.set()
    served.end()


def get(path: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"


def is_closed(connected: socket.socket) -> bool:
    """Whether it comes to its end, after whatever was answered."""
    try:
        while connected.recv(10_000):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET / HT",
        "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
        get("/"),
        get("/large"),
    ],
    ids=["nothing", "half a line", "half a body", "no more", "not reading"],
)
def test_connections_on_which_nobody_asks_make_room_for_who_asks(served: Served, sent: str) -> None:
    with contextlib.ExitStack() as every:
        asked = every.enter_context(served.connect(get("/late")))
        assert served.asked_late.wait(DEADLINE)
        idle = []
        for _ in range(connections.MOST + 10):
            idle.append(every.enter_context(served.connect(sent)))
            answered = len(idle) if sent == get("/") else 0
            wait_until(lambda: served.at_work == 1 and served.answered >= answered)  # noqa: B023
        new = every.enter_context(served.connect(get("/")))
        assert new.recv(15) == b"HTTP/1.1 200 OK"
        assert is_closed(idle[0]), "the oldest went first"
        assert served.open <= connections.MOST
        served.go_on.set()
        assert asked.recv(15) == b"HTTP/1.1 200 OK", "what is under way is not among them"
