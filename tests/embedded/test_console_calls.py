"""What the console asks of AWS while its page is open and nothing happens, as CloudTrail counts."""

import json
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from actonce.console.context import COUNTS_SECONDS, STATUS_SECONDS
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from tests.web_console.asking import console_of

MOST_OF_AN_HOUR = 1_600
"""docs/console.md: some 1,400 calls an hour."""


class Recorded:
    """The calls that CloudTrail has recorded, but for its own."""

    def __init__(self, stack: Stack, state: State) -> None:
        self._cloudtrail = stack.aws.client("cloudtrail")
        request = urllib.request.Request(
            f"{state.endpoint_url}/_ministack/config",
            json.dumps({"cloudtrail._recording_enabled": "true"}).encode(),
            {"content-type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).close()
        self._seen = {event["EventId"] for event in self._events()}

    def new(self) -> Counter[str]:
        events = [event for event in self._events() if event["EventId"] not in self._seen]
        self._seen |= {event["EventId"] for event in events}
        return Counter(
            event["EventName"] for event in events if event["EventName"] != "LookupEvents"
        )

    def _events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._cloudtrail.lookup_events(MaxResults=50)["Events"]
        return found


def test_a_quiet_page_costs_little_and_hides_no_message(
    stack: Stack, state: State, tmp_path: Path
) -> None:
    client = console_of(stack, tmp_path)
    recorded = Recorded(stack, state)
    for _ in range(3):  # tabs
        client.get("/")
        client.get("/waiting")
    counts = recorded.new()
    for _ in range(3):
        client.get("/stack")
    rest = recorded.new()
    assert counts == {"GetQueueAttributes": 3}
    assert sum(rest.values()) <= 16
    asked = {*counts, *rest}
    assert not asked & {"ReceiveMessage", "Scan", "GetExecutionHistory", "ChangeMessageVisibility"}
    hour = sum(counts.values()) * 3600 / COUNTS_SECONDS + sum(rest.values()) * 3600 / STATUS_SECONDS
    assert hour <= MOST_OF_AN_HOUR, (counts, rest)
