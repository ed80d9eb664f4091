"""The `deliveries` stream, as the starter's log group has it."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from actonce.stack.clients import Stack

Line = dict[str, Any]


def delivery_lines(
    stack: Stack,
    word: str = "deliveries",
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Iterator[Line]:
    """Lines of the stream that hold a word, oldest first, with their texts as `log_event`.

    `since` and `until`: when the log got the first and the last line, UTC.
    """
    for text in _log_lines(stack, word, since, until):
        line = _parsed(text)
        if line.get("stream") == "deliveries":
            yield line | {"log_event": text}


def _log_lines(
    stack: Stack, word: str, since: datetime | None, until: datetime | None
) -> Iterator[str]:
    """All lines of the log that hold a word; Lambda's own and metrics stand between."""
    seen: set[tuple[str, int, str]] = set()
    start = _milliseconds(since) if since else 0
    end: dict[str, Any] = {"endTime": _milliseconds(until)} if until else {}
    while True:
        pages = stack.logs.get_paginator("filter_log_events").paginate(
            logGroupName=stack.starter_log_group,
            filterPattern=f'"{word}"',
            startTime=start,
            **end,
        )
        news = False
        for page in pages:
            for event in page["events"]:
                key = (event["logStreamName"], event["timestamp"], event["message"])
                if key in seen:
                    continue
                seen.add(key)
                news = True
                start = max(start, event["timestamp"])
                yield event["message"]
        # AWS gives a token for what did not fit; where there is none (MiniStack), only asking again
        # from the last time stamp tells that there is no more.
        if not news:
            return


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _parsed(message: str) -> Line:
    try:
        line = json.loads(message)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}
