"""Clients that threads share."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

import pytest

from actonce.stack.clients import Aws


def test_threads_that_ask_at_once_share_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 makes clients in one thread at a time (its guide, "Clients", Multithreading)."""
    aws, begin, making, made = Aws(), Barrier(4), Barrier(2), list[str]()

    def make(service: str) -> str:
        made.append(service)
        with contextlib.suppress(BrokenBarrierError):
            making.wait(0.2)  # as long as another thread may need to come so far
        return service

    def client(_: int) -> str:
        begin.wait(5)
        return str(aws.client("sqs"))

    monkeypatch.setattr(aws, "fresh", make)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(client, range(4))) == ["sqs"] * 4
    assert made == ["sqs"]
