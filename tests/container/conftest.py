"""A container engine, and an embedded AWS of this folder's own: events have fixed message ids."""

import os
from collections.abc import Iterator

import pytest

from actonce.embedded import lifecycle, sam_local
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.homes import home

ENGINE_REQUIRED = "ACTONCE_REQUIRE_CONTAINERS"
"""Set to 1 where a missing engine is a failure and not a reason to skip."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "engine" in item.fixturenames:
            item.add_marker(pytest.mark.container)


@pytest.fixture(scope="session")
def engine() -> None:
    """A container engine that answers; the test is skipped where there is none."""
    missing = sam_local.engine_missing()
    if missing and os.environ.get(ENGINE_REQUIRED) == "1":
        pytest.fail(f"{ENGINE_REQUIRED}=1, but: {missing}")
    if missing:
        pytest.skip(f"sam local invoke. {missing}")


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """Where the embedded AWS keeps its things."""
    return home(tmp_path_factory)


@pytest.fixture(scope="session")
def _up(engine: None, paths: Paths) -> Iterator[tuple[State, Stack]]:  # noqa: ARG001 - first
    try:
        yield lifecycle.up(paths, lambda _: None, parameters={})
    finally:
        lifecycle.down(paths)


@pytest.fixture(scope="session")
def state(_up: tuple[State, Stack]) -> State:
    """The running embedded AWS."""
    return _up[0]


@pytest.fixture(scope="session")
def stack(_up: tuple[State, Stack]) -> Stack:
    """The stack that is deployed on it."""
    return _up[1]
