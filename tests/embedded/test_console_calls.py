"""What the console asks of AWS while its page is open and nothing happens."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient

from actonce.console.context import COUNTS_SECONDS, STATUS_SECONDS
from actonce.stack.clients import Stack
from tests.web_console.asking import console_of

MOST_OF_AN_HOUR = 1_600
"""docs/console.md: some 1,400 calls an hour."""


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
    asked.clear()
    for _ in range(3):  # tabs
        client.get("/")
        client.get("/waiting")
    counts = Counter(asked)
    asked.clear()
    for _ in range(3):
        client.get("/stack")
    assert counts == {"GetQueueAttributes": 3}
    assert len(asked) <= 16
    hides = {"ReceiveMessage", "Scan", "GetExecutionHistory", "ChangeMessageVisibility"}
    assert not hides & set(asked)
    hour = counts.total() * 3600 / COUNTS_SECONDS + len(asked) * 3600 / STATUS_SECONDS
    assert hour <= MOST_OF_AN_HOUR, (counts, asked)
