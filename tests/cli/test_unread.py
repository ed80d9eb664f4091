"""What is told of a message that no part of the stack has seen."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actonce.operate.pausing import Pause
from actonce.operate.status import Depth
from actonce.operate.unread import sentences
from actonce.queues.sent_record import sent_of

EMPTY = Depth(0, 0, 0, None)
SENT = {"at": "2026-01-31T09:30:00.000Z", "sqs_message_id": "sqs-1", "message_id": "m-1"}


SENT_AT = "It was sent at 2026-01-31T09:30:00.000Z"
FIRST = "the first of 2 times"
TAKEN = "So it was taken a moment ago, or deleted by somebody: ask again."
UNREAD = "wait unread in RequestsQueue"
TAKING = "are being taken from it, or come back to it"
MAY_BE = "It may be one of them."


@pytest.mark.parametrize(
    ("depth", "sent", "told"),
    [
        (EMPTY, [], "Nothing waits in RequestsQueue. actonce list shows recent messages."),
        (
            EMPTY,
            [SENT],
            f"{SENT_AT} (sqs-1). Nothing waits in RequestsQueue. {TAKEN}",
        ),
        (
            Depth(3, 0, 0, 90),
            [SENT, SENT],
            f"{SENT_AT}, {FIRST} (sqs-1). 3 {UNREAD}, the oldest for 0:01:30 or longer. {MAY_BE}",
        ),
        (
            Depth(0, 2, 0, None),
            [],
            f"2 {TAKING}. {MAY_BE}",
        ),
        (
            Depth(1, 2, 1, None),
            [],
            f"2 {UNREAD} and 2 {TAKING}. {MAY_BE}",
        ),
        (None, [], "RequestsQueue could not be looked at: it may wait there."),
    ],
    ids=["empty", "empty, sent", "waiting", "in flight", "both", "not looked at"],
)
def test_it_may_be_waiting_is_said_where_it_may(
    depth: Depth | None, sent: Sequence[dict[str, Any]], told: str
) -> None:
    assert " ".join(sentences("m-1", depth, None, sent)) == (
        f"No part of the stack has seen a message 'm-1'. {told}"
    )


def test_a_pause_is_told_with_what_ends_it() -> None:
    paused = Pause("2026-01-31T09:00:00.000Z", "ann", "")
    assert "actonce resume" in sentences("m-1", EMPTY, paused, [])[-1]


def test_the_sent_stream_tells_when_a_message_was_sent(tmp_path: Path) -> None:
    assert sent_of(tmp_path, "m-1") == []
    later = SENT | {"at": "2026-02-01T00:00:00.000Z"}
    for day, line in (("2026-02-01", later), ("2026-01-31", SENT)):
        folder = tmp_path / "sent" / f"dt={day}"
        folder.mkdir(parents=True)
        lines = [line, line | {"message_id": "m-2"}, line | {"message_id": None}]
        text = "".join(json.dumps(one) + "\n" for one in lines)
        (folder / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert sent_of(tmp_path, "m-1") == [SENT, later]
