"""Writes plain records as the parts do, for tests that read them with Spark."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.pipeline.judge import Record

STREAMS = ("sent", "deliveries", "executions", "effects", "dead_letters")
DAY = "2026-01-31"
EFFECTS = "message_id,booked_at"
"""What names the attributes of effects in exports here, as EffectsAttributes does."""
FINGERPRINTS = ("0" * 64, "0" * 63 + "1")


def line_of(stream: str, record: dict[str, Any]) -> str:
    """A record's line; effects as a DynamoDB export has them."""
    if stream == "effects" and "own" not in record:
        item = {
            "message_id": {"S": record["message_id"]},
            "appointment_id": {"S": record["appointment_id"]},
            "practice": {"S": "main"},
            "slot": {"N": "7"},
            "booked_at": {"S": record["at"]},
            "request": {"S": "{}"},
        }
        keys = {name: item[name] for name in ("message_id", "appointment_id")}
        return json.dumps({"Keys": keys, "NewImage": item})
    return json.dumps({"stream": stream, "version": 1, **record})


def write(root: Path, records: Iterable[Record], streams: Sequence[str] = STREAMS) -> Path:
    """Write each record into its day's file; every stream of `streams` has one for DAY at least."""
    files: dict[tuple[str, str], list[str]] = {(stream, DAY): [] for stream in streams}
    for stream, record in records:
        files.setdefault((stream, record["at"][:10]), []).append(line_of(stream, record))
    for (stream, day), lines in files.items():
        put(root, stream, "records.jsonl", "".join(f"{line}\n" for line in lines).encode(), day)
    return root


def file_of(root: Path, stream: str, day: str = DAY) -> Path:
    """The file that `write` makes of a stream's day."""
    return root / stream / f"dt={day}" / "records.jsonl"


def put(root: Path, stream: str, name: str, content: bytes = b"", day: str = DAY) -> None:
    """One more file of a stream's day."""
    path = root / stream / f"dt={day}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def at(seconds: float, day: str = DAY) -> str:
    """A time on the day, by seconds after midnight."""
    whole, ms = divmod(round(seconds * 1000), 1000)
    return f"{day}T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{ms:03}Z"


def sent(message_id: str | None, time: str, sqs_id: str = "q-1") -> Record:
    return "sent", {"at": time, "message_id": message_id, "sqs_message_id": sqs_id}


def delivery(
    message_id: str | None,
    time: str,
    end: str = "started",
    reason: str | None = None,
    fingerprint: str | None = FINGERPRINTS[0],
) -> Record:
    return "deliveries", {
        "at": time,
        "message_id": message_id,
        "end": end,
        "reason": reason,
        "fingerprint": fingerprint,
        "sqs_message_id": "q-1",
    }


def execution(
    message_id: str, time: str, status: str, outcome: str | None = None, error: str | None = None
) -> Record:
    return "executions", {
        "at": time,
        "message_id": message_id,
        "execution_name": message_id,
        "status": status,
        "outcome": outcome,
        "error": error,
    }


def own_effect(message_id: str, time: str, effect_id: str | None = None) -> Record:
    """As a team brings it, and as `collect` writes that of a table of its own."""
    identity = {} if effect_id is None else {"effect_id": effect_id}
    return "effects", {"at": time, "message_id": message_id, "own": True, **identity}


def effect(message_id: str, time: str, appointment_id: str = "appointment-1") -> Record:
    return "effects", {"at": time, "message_id": message_id, "appointment_id": appointment_id}


def dead_letter(
    message_id: str,
    time: str,
    decision: str | None = None,
    reason: str = "rejected",
    error: str = "Rejected",
) -> Record:
    return "dead_letters", {
        "at": time,
        "message_id": message_id,
        "event": "decided" if decision else "posted",
        "decision": decision,
        "reason": reason,
        "error": error,
    }


def with_ids(histories: Mapping[str, Iterable[Record]]) -> list[Record]:
    """The records of histories, each under the id that it has in the table."""
    return [
        (stream, record | {"message_id": message_id})
        for message_id, history in histories.items()
        for stream, record in history
    ]


def performed(message_id: str, start: float = 0.0, day: str = DAY) -> list[Record]:
    """Everything that a message leaves that went well."""
    return [
        sent(message_id, at(start, day)),
        delivery(message_id, at(start + 0.1, day)),
        execution(message_id, at(start + 0.2, day), "RUNNING"),
        effect(message_id, at(start + 0.4, day), f"appointment-{message_id}"),
        execution(message_id, at(start + 0.5, day), "SUCCEEDED", "performed"),
    ]


ENDS = (
    ("RUNNING",), ("SUCCEEDED", "performed"), ("SUCCEEDED", "found"), ("SUCCEEDED", "resolved"),
    ("SUCCEEDED", None), ("FAILED", None, "RejectedByOperator"), ("FAILED", None, "States.Timeout"),
    ("TIMED_OUT",), ("ABORTED",),
)  # fmt: skip
"""What an execution's record can say."""

KINDS = (
    sent("", ""),
    *(delivery("", "", end, None, fingerprint)
      for end in ("started", "suppressed", "performed", "failed") for fingerprint in FINGERPRINTS),
    *(delivery("", "", "refused", one) for one in ("conflict", "too_large", "too_old_to_tell")),
    *(execution("", "", *end) for end in ENDS),
    *(effect("", "", one) for one in ("appointment-1", "appointment-2")),
    *(dead_letter("", "", one) for one in (None, "retry", "perform", "resolve", "reject")),
)  # fmt: skip
"""A record of each kind, still without a message and a time."""
