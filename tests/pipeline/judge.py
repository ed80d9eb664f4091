"""A judge of one message's records, in plain Python: what the audit must agree with."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

Record = tuple[str, dict[str, Any]]  # stream, plain record


def judge(history: Sequence[Record], now: datetime, grace: timedelta) -> str:
    """The verdict over one message's records, all streams being there."""

    def of(stream: str) -> list[dict[str, Any]]:
        return [record for name, record in history if name == stream]

    effects = {record["appointment_id"] for record in of("effects")}
    accepted = [one for one in of("deliveries") if one["end"] in {"started", "suppressed"}]
    refused = [one["reason"] for one in of("deliveries") if one["end"] == "refused"]
    runs = sorted(of("executions"), key=lambda one: (one["at"], closing(one)))
    letters = sorted(of("dead_letters"), key=lambda one: (one["at"], answering(one)))
    run = closing(runs[-1]) if runs else None
    letter = answering(letters[-1]) if letters else None

    waits = letter == 0 and run in {None, 0}
    rejected = not effects and (run == 2 or letter == 3)
    resolved = not effects and (run == 3 or letter == 2)
    only_refused = bool(refused) and not accepted and run is None and not effects
    ended = effects or waits or rejected or resolved or only_refused
    quiet = now - max(moment(record) for _, record in history) > grace
    if len(effects) > 1:
        return "performed_again"
    if not ended and (run in {1, 4} or (run is None and quiet)):
        return "lost"
    if "conflict" in refused or len({one["fingerprint"] for one in accepted}) > 1:
        return "conflict"
    if waits:
        return "awaiting_decision"
    if effects:
        return "performed_once"
    if rejected:
        return "rejected"
    if resolved:
        return "resolved"
    return "refused" if only_refused else "in_flight"


def closing(run: dict[str, Any]) -> int:
    """0 running, 1 failed, 2 rejected, 3 resolved, 4 performed; a later one wins a tie."""
    if run["status"] == "SUCCEEDED":
        return 3 if run["outcome"] == "resolved" else 4
    if run["status"] == "FAILED" and run["error"] == "RejectedByOperator":
        return 2
    return 0 if run["status"] == "RUNNING" else 1


def answering(letter: dict[str, Any]) -> int:
    """0 posted, 1 retry, 2 resolve, 3 reject; a later one wins a tie."""
    return (None, "retry", "resolve", "reject").index(letter["decision"])


def moment(record: dict[str, Any]) -> datetime:
    """A record's own time."""
    return datetime.fromisoformat(record["at"])
