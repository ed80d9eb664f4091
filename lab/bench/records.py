"""Seeded records of many messages, with the verdict that each deserves.

Independent of the audit: what a verdict looks like in the streams is written here once more. A
message has about 6.5 events. Duplicates are skewed: most messages have none, a few have hundreds.
"""

import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY_MS = 86_400_000
QUIET_MS = 2 * 3_600_000  # no message begins at the end of a day, so that silence means lost

Fields = Callable[[str], dict[str, Any]]
"""The other fields of a record, by the message's id."""

Event = tuple[str, int, int, Fields]
"""A stream; least and most milliseconds after the message was first sent; and the fields."""


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _sent(after: int = 0) -> Event:
    return "sent", after, after, lambda m: {"sqs_message_id": _hash(f"{m} {after}", 32)}


def _delivered(
    low: int, high: int, end: str, reason: str | None = None, content: str | None = "its own"
) -> Event:
    def fields(message_id: str) -> dict[str, Any]:
        fingerprint = None if content is None else _hash(message_id + content, 64)
        sqs_message_id = _hash(f"{message_id} {low}", 32)
        record = {"sqs_message_id": sqs_message_id, "end": end, "reason": reason}
        return record | {"fingerprint": fingerprint}

    return "deliveries", low, high, fields


def _ran(
    low: int, high: int, status: str, outcome: str | None = None, error: str | None = None
) -> Event:
    record = {"status": status, "outcome": outcome, "error": error}
    return "executions", low, high, lambda _: record


def _effect(low: int, high: int) -> Event:
    return "effects", low, high, lambda m: {"appointment_id": f"appointment-{_hash(m, 26)}-{low}"}


def _letter(low: int, high: int, decision: str | None = None) -> Event:
    event = "decided" if decision else "posted"
    record = {"event": event, "decision": decision, "reason": "rejected"}
    return "dead_letters", low, high, lambda _: record


_BEGUN = (_sent(), _delivered(20, 80, "started"), _ran(80, 100, "RUNNING"))
_EFFECT = _effect(350, 350)
_SAID = (*_BEGUN, _ran(400, 9_000, "SUCCEEDED", "performed"))
_DONE = (*_SAID, _EFFECT)
_GIVEN_UP = (*_BEGUN, _letter(9_000, 10_000))
_OTHER = "another content"

# fmt: off
PLANS: dict[str, tuple[str, tuple[Event, ...]]] = {
    "performed": ("performed_once", _DONE),
    "performed_exported_twice": ("performed_once", (*_DONE, _EFFECT)),
    "performed_found": ("performed_once", (
        *_BEGUN, _effect(300, 900), _ran(30_000, 31_000, "SUCCEEDED", "found"))),
    "performed_again": ("performed_again", (*_DONE, _effect(500, 60_000))),
    "lost_effect": ("lost", _SAID),
    "lost_silent": ("lost", (_sent(),)),
    "lost_timed_out": ("lost", (*_BEGUN, _ran(60_000, 61_000, "TIMED_OUT"))),
    "conflict_refused": ("conflict", (
        *_DONE, _delivered(200, 90_000, "refused", "conflict", _OTHER))),
    "conflict_accepted": ("conflict", (
        *_DONE, _delivered(200, 90_000, "suppressed", None, _OTHER))),
    "refused": ("refused", (_sent(), _delivered(20, 80, "refused", "too_large", None))),
    "awaiting": ("awaiting_decision", _GIVEN_UP),
    "posted_again": ("awaiting_decision", (
        *_GIVEN_UP, _letter(60_000, 90_000, "retry"), _letter(99_000, 100_000))),
    "rejected": ("rejected", (
        *_GIVEN_UP, _letter(60_000, 90_000, "reject"),
        _ran(90_001, 90_100, "FAILED", None, "RejectedByOperator"))),
    "resolved": ("resolved", (
        *_GIVEN_UP, _letter(60_000, 90_000, "resolve"),
        _ran(90_001, 90_100, "SUCCEEDED", "resolved"))),
    "in_flight": ("in_flight", _BEGUN),
}
# fmt: on
"""Kinds of message: the verdict that each deserves, and its records."""

EFFECTS = "message_id,booked_at"
"""The attributes of effects, as `EffectsAttributes` names them."""
_PLAIN = 0.97  # share of messages that are simply performed


def write(root: Path, messages: int, days: int = 1, seed: int = 1) -> int:
    """Write the streams, a gzip file of lines for each day, and the verdicts to `truth_of(root)`.

    Args:
        root: a folder, which is created.
        messages: a day; every plan occurs if there are 15 or more.
        days: from `FIRST_DAY` on; a message may be sent again up to three days later.
        seed: of the random numbers.

    Returns:
        The number of events.
    """
    random, events, end = Random(seed), 0, days * DAY_MS - 1000
    lines: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    root.mkdir(parents=True, exist_ok=True)
    with truth_of(root).open("w") as truth:
        for day in range(days):
            for number, plan in enumerate(_plans(messages, random), day * messages):
                message_id, (verdict, history) = f"m-{number:010}", PLANS[plan]
                truth.write(json.dumps({"message_id": message_id, "verdict": verdict}) + "\n")
                born = day * DAY_MS + random.randrange(DAY_MS - QUIET_MS)
                again = () if plan in {"refused", "lost_silent"} else _sent_again(random)
                for stream, low, high, fields in (*history, *again):
                    at = timedelta(milliseconds=min(born + random.randint(low, high), end))
                    time = f"{(FIRST_DAY + at).isoformat(timespec='milliseconds')[:23]}Z"
                    record = {"message_id": message_id, **fields(message_id)}
                    lines[stream, time[:10]].append(_line(stream, time, record))
            ended = f"{FIRST_DAY + timedelta(days=day):%Y-%m-%d}"
            for key in [key for key in lines if key[1] <= ended]:
                events += _put(root, *key, lines.pop(key))
    return events


def _plans(messages: int, random: Random) -> list[str]:
    names = list(PLANS)
    planted = max(len(names), int(messages * (1 - _PLAIN)))
    plans = [names[n % len(names)] if n < planted else "performed" for n in range(messages)]
    random.shuffle(plans)
    return plans


def _sent_again(random: Random) -> Iterator[Event]:
    """About a quarter of the messages is sent again, a few of them very often."""
    for _ in range(min(int(random.paretovariate(1.9)) - 1, 500)):
        later = round(math.exp(random.uniform(math.log(500), math.log(3 * DAY_MS))))
        yield _sent(later)
        yield _delivered(later + 90, later + 90, "suppressed")


def _line(stream: str, time: str, record: dict[str, Any]) -> str:
    """A line as its writer writes it; an effect as in a DynamoDB export."""
    if stream != "effects":
        return json.dumps({"stream": stream, "version": 1, "at": time, **record})
    texts = {**record, "practice": "main", "booked_at": time, "request": "{}"}
    item = {"slot": {"N": "1"}, **{name: {"S": text} for name, text in texts.items()}}
    keys = {name: item[name] for name in ("message_id", "appointment_id")}
    return json.dumps({"Keys": keys, "NewImage": item})


def _put(root: Path, stream: str, day: str, lines: list[str]) -> int:
    folder = root / stream / f"dt={day}"
    folder.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(("\n".join(lines) + "\n").encode(), 1, mtime=0)
    (folder / "records.jsonl.gz").write_bytes(packed)
    return len(lines)


def truth_of(folder: Path) -> Path:
    """The file of the deserved verdicts, JSON Lines, beside the folder of the records."""
    return folder.with_name(f"{folder.name}-truth.jsonl")
