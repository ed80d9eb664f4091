"""An AWS that accepts and never answers: what does not ask it goes on, what does is given up."""

import threading
from collections.abc import Iterator

import pytest

from actonce.console import app as module
from actonce.console.views import messages
from actonce.stack.clients import Stack
from tests.web_console.asking import Client
from tests.web_console.conftest import Open


@pytest.fixture
def stalled(ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A console whose list of messages waits for AWS until the test ends."""
    monkeypatch.setattr(module, "LONGEST_SECONDS", 0.3)
    go_on = threading.Event()
    monkeypatch.setattr(messages, "page_of", lambda *_, **__: go_on.wait(60))
    yield console(ledger, reads=False)
    go_on.set()


def test_what_aws_does_not_answer_is_an_error_page(stalled: Client) -> None:
    for headers in ({}, {"hx-request": "true"}):
        answer = stalled.get("/messages", headers)
        assert (answer.status, len(answer.problems)) == (504, 1)


def test_many_pages_that_wait_keep_nothing_else_from_being_served(stalled: Client) -> None:
    waiting = ["/messages"] * (module.MOST_AT_ONCE + 20)
    others = ["/static/console.css", "/static/console.js", "/jobs", "/find?q=m-1"]
    answers = stalled.get_all([*waiting, *others])
    assert {answer.status for answer in answers[: len(waiting)]} == {504}
    assert [answer.status for answer in answers[len(waiting) :]] == [200, 200, 200, 303]
