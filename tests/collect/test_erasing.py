"""A message's content leaves the records, and what they are judged by stays."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from actonce.records.erasing import without_content
from actonce_core.execution import execution_name
from pipeline.audit.reading.records import rows_of

SECRET = "Zoë Example, 0171-555"
START = 1_769_850_000_000  # of 2026-01-31, in milliseconds
IDS = ("order-17", "order 17/ü")


def event(message_id: str, status: str, **detail: Any) -> dict[str, Any]:
    """As EventBridge tells a status change, with the whole input and output."""
    told = {
        "name": execution_name(message_id),
        "status": status,
        "startDate": START,
        "stopDate": None if status == "RUNNING" else START + 300,
        "input": json.dumps({"message_id": message_id, "body": json.dumps({"who": SECRET})}),
        "inputDetails": {"included": True},
        "output": None,
        "error": None,
        "cause": None,
    }
    return {"source": "aws.states", "detail-type": "x", "detail": told | detail}


def item(message_id: str, **more: Any) -> dict[str, Any]:
    """As a DynamoDB export has an effect."""
    return {
        "message_id": {"S": message_id},
        "appointment_id": {"S": "appointment-1"},
        "booked_at": {"S": "2026-01-31T09:00:00.000Z"},
        "request": {"S": SECRET},
    } | more


def dead_letter(message_id: str, note: str | None) -> dict[str, Any]:
    return {
        "stream": "dead_letters", "version": 1, "at": "2026-01-31T09:00:00.000Z",
        "message_id": message_id, "execution_name": execution_name(message_id),
        "event": "decided", "decision": "reject", "reason": "rejected", "error": "Rejected",
        "note": note, "decided_by": "arn:aws:iam::1:user/somebody",
    }  # fmt: skip


def streams(message_id: str) -> Iterator[tuple[str, list[Any]]]:
    """Each stream's records of a message."""
    output = json.dumps({"outcome": "found", "effect": {"for": SECRET}})
    yield (
        "executions",
        [
            event(message_id, "RUNNING"),
            event(message_id, "SUCCEEDED", output=output),
            event(message_id, "FAILED", error="Sandbox.Timedout", cause=f"of {SECRET}"),
            event(message_id, "SUCCEEDED", input=None, output=None),  # too large for an event
            event(message_id, "SUCCEEDED", output=json.dumps([SECRET])),
        ],
    )
    yield "dead_letters", [dead_letter(message_id, SECRET)]
    yield "effects", [{"Item": item(message_id)}, {"Keys": {}, "NewImage": item(message_id)}]


def erased(lines: bytes, message_id: str) -> tuple[bytes, int, int]:
    """The lines without its content; how many are other ones, and how many were not read."""
    told = list(without_content(lines.splitlines(keepends=True), message_id))
    what = [one for _, one in told]
    return b"".join(line for line, _ in told), what.count("erased"), what.count("unread")


def judged(stream: str, lines: bytes) -> list[Any]:
    """What the audit makes of a file."""
    return list(rows_of(f"file:///records/{stream}/dt=2026-01-31/one.jsonl", lines))


@pytest.mark.parametrize("message_id", IDS)
def test_what_is_left_is_judged_as_before_and_has_no_content(message_id: str) -> None:
    for stream, records in streams(message_id):
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()
        left, changed, unread = erased(lines, message_id)
        told = judged(stream, lines.replace(f'"note": "{SECRET}"'.encode(), b'"note": null'))
        assert judged(stream, left) == told
        assert all(row[2] is not None for row in told), "each is a record"
        assert SECRET.encode() not in left
        assert json.dumps(SECRET)[1:-1].encode() not in left
        assert (changed, unread) == (len(records) - (stream == "executions"), 0)
        assert erased(left, message_id) == (left, 0, 0)


def test_only_the_messages_own_records_change_also_two_on_a_line() -> None:
    own, other = IDS
    quoting = event(other, "RUNNING", input=json.dumps({"message_id": other, "body": own}))
    line = json.dumps(quoting) + json.dumps(event(own, "RUNNING"))
    lines = f"{json.dumps(quoting)}\n{line}\n".encode()
    left, changed, _ = erased(lines, own)
    first, second, end = left.split(b"\n")
    assert (first, end, changed) == (json.dumps(quoting).encode(), b"", 1)
    assert judged("executions", second + b"\n") == judged("executions", line.encode() + b"\n")
    assert second.startswith(json.dumps(quoting).encode())


@pytest.mark.parametrize(
    "broken",
    [
        b'{"detail": {"name": "order-17"',
        b"\xff order-17",
        # The audit reads none of it; written anew, it would be a record.
        b'{"detail": {"name": "order-17", "input": "{}", "status": 1, "status": "SUCCEEDED"}}',
    ],
)
def test_a_line_that_may_be_of_it_and_is_no_json_is_counted_and_left(broken: bytes) -> None:
    lines = broken + b"\n" + json.dumps(event("order-17", "RUNNING")).encode() + b"\n"
    left, changed, unread = erased(lines, "order-17")
    assert (left.split(b"\n")[0], changed, unread) == (broken, 1, 1)
    assert erased(broken.replace(b"17", b"18"), "order-17")[1:] == (0, 0)
