"""An AWS that accepts and never answers: what does not ask it goes on, what does is given up."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from actonce.console import app as module
from actonce.console.views import messages
from actonce.stack.clients import Stack
from tests.console.client import Client
from tests.console.conftest import Open

WAITING: list[None] = []
"""A member for each view that waits."""


@pytest.fixture
def stalled(machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A console whose list of messages waits for AWS until the test ends."""
    go_on = threading.Event()

    def wait(*_: object, **__: object) -> None:
        WAITING.append(None)
        go_on.wait(60)

    monkeypatch.setattr(messages, "page_of", wait)
    yield console(machine, reads=False)
    go_on.set()
    WAITING.clear()


def test_what_aws_does_not_answer_is_an_error_page(
    stalled: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_SECONDS", 0.3)
    for headers in ({}, {"hx-request": "true"}):
        answer = stalled.get("/messages", headers)
        assert (answer.status, len(answer.problems)) == (504, 1)


def test_no_more_views_wait_than_may_however_many_pages_ask(
    stalled: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while nobody waits for them any longer."""
    monkeypatch.setattr(module, "LONGEST_SECONDS", 0.3)

    async def ask_often() -> set[int]:
        many = range(module.MOST_AT_ONCE + 20)
        answers = await asyncio.gather(*(stalled.ask_async("GET", "/messages") for _ in many))
        return {answer.status for answer in answers}

    for _ in range(2):
        assert asyncio.run(ask_often()) == {504}
    assert len(WAITING) == module.MOST_AT_ONCE
