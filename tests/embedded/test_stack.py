"""What only a deployed stack shows, or the embedded AWS of it."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient

from actonce.console.context import COUNTS_SECONDS, STATUS_SECONDS
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.console.client import console_of

MOST_BYTES = 5_000_000
"""Unpacked, as sam build leaves it; Lambda takes up to 250 MB."""


@pytest.mark.parametrize("function", ["StarterFunction", "AppointmentsFunction"])
def test_a_functions_package_is_small(
    state: State,  # noqa: ARG001 - it is built for it
    embedded_paths: Paths,
    function: str,
) -> None:
    package = embedded_paths.build / function

    sizes = [
        one.stat().st_size
        for one in package.rglob("*")
        if one.is_file() and "__pycache__" not in one.parts
    ]

    assert len(sizes) > 50  # it is there
    assert sum(sizes) <= MOST_BYTES


MOST_OF_AN_HOUR = 3_300
"""docs/console.md."""


def test_a_quiet_page_costs_little_and_hides_no_message(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    call: Any = BaseClient._make_api_call  # type: ignore[attr-defined]

    def counted(client: Any, operation: str, parameters: Any) -> Any:
        asked.append(operation)
        return call(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", counted)
    client = console_of(stack, tmp_path)
    client.get("/stack")  # what has ended is looked up once
    client.context.status.expire()
    asked.clear()
    for _ in range(3):  # tabs
        client.get("/")
        client.get("/waiting")
    counts = Counter(asked)  # and whether it is still there
    asked.clear()
    for _ in range(3):
        client.get("/stack")
    assert counts == {"GetQueueAttributes": 2, "DescribeStacks": 1}
    assert len(asked) <= 15
    hides = {"ReceiveMessage", "Scan", "GetExecutionHistory", "ChangeMessageVisibility"}
    assert not hides & set(asked)
    hour = counts.total() * 3600 / COUNTS_SECONDS + len(asked) * 3600 / STATUS_SECONDS
    assert hour <= MOST_OF_AN_HOUR, (counts, asked)
