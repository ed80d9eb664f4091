"""One embedded AWS for all tests of this folder.

They share it, so a test uses message ids (and practices) of its own, never purges a queue, and puts
back what it received and does not want.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.homes import home

_NEEDS_EMBEDDED = {"embedded_paths", "stack", "state"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and _NEEDS_EMBEDDED.intersection(item.fixturenames):
            item.add_marker(pytest.mark.embedded)


@pytest.fixture(scope="session")
def embedded_paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """Where the embedded AWS of the tests keeps its things."""
    return home(tmp_path_factory)


@pytest.fixture(scope="session")
def _up(embedded_paths: Paths) -> Iterator[tuple[State, Stack]]:
    try:
        yield lifecycle.up(embedded_paths, lambda _: None, parameters={})
    finally:
        lifecycle.down(embedded_paths)


@pytest.fixture(scope="session")
def state(_up: tuple[State, Stack]) -> State:
    """The running embedded AWS: process, port, parameters."""
    return _up[0]


@pytest.fixture(scope="session")
def stack(_up: tuple[State, Stack]) -> Stack:
    """The stack that is deployed on it, with `lifecycle.LOCAL_PARAMETERS`."""
    return _up[1]


@pytest.fixture
def message_id() -> str:
    """A message id that no other test uses; it is its execution's name, too."""
    return f"test-{uuid.uuid4()}"


@pytest.fixture(scope="session")
def send(stack: Stack) -> Callable[[Any], None]:
    """Sends a message to RequestsQueue: a string verbatim, anything else as JSON."""

    def send_body(body: Any) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=text)

    return send_body


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paths]:
    """A folder for an embedded AWS that a file's tests bring up by themselves; down at the end."""
    paths = home(tmp_path_factory)
    yield paths
    lifecycle.down(paths)
