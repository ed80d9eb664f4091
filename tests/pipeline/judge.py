"""A judge of one message's records, in plain Python: what the audit must agree with."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

Record = tuple[str, dict[str, Any]]  # stream, plain record


def judge(  # noqa: C901 - one verdict after the other
    history: Sequence[Record], now: datetime, grace: timedelta
) -> tuple[str, bool]:
    """The verdict over one message's records, all streams being there, and whether it is sure.

    Args:
        now: the end of the last day that is over.
    """

    history = [*history, *map(_of_first_attempt, filter(_is_performed, history))]

    def of(stream: str) -> list[dict[str, Any]]:
        return [record for name, record in history if name == stream]

    effects = {record["appointment_id"] for record in of("effects")}
    accepted = [
        one for one in of("deliveries") if one["end"] in {"started", "suppressed", "performed"}
    ]
    started = [one for one in accepted if one["end"] != "suppressed"]
    refused = [one["reason"] for one in of("deliveries") if one["end"] == "refused"]
    failed = [one for one in of("deliveries") if one["end"] == "failed"]
    runs = sorted(of("executions"), key=lambda one: (one["at"], closing(one)))
    letters = sorted(of("dead_letters"), key=lambda one: (one["at"], answering(one)))
    run = closing(runs[-1]) if runs else None
    letter = answering(letters[-1]) if letters else None

    last = max(moment(record) for _, record in history)
    is_over, quiet = last < now, now - last > grace
    waits = letter == 0 and run in {None, 0}
    rejected = not effects and (run == 2 or letter == 3)
    resolved = not effects and (run == 3 or letter == 2)
    given_up = bool(refused) or (bool(failed) and quiet)
    only_refused = given_up and not accepted and run is None and not effects
    ended = effects or waits or rejected or resolved or only_refused
    was_requested = bool(started) or (bool(of("sent")) and not accepted)
    by_hand = run == 1 and not of("deliveries") and not of("sent")
    gone = is_over and not ended and (run in {1, 4, 5} or (run is None and quiet and was_requested))
    if len(effects) > 1:
        return "performed_again", True
    # Of an execution that ended at midnight the effect may be the next day's, by another clock.
    may_be_there = run is not None and now - last <= timedelta(minutes=1)
    if gone and not by_hand and not may_be_there:
        return "lost", True
    if effects and _contradicts(run, letter, runs, letters, of):
        return "contradiction", True
    unasked = bool(effects) and not accepted and run is None and letter is None
    if unasked and is_over:
        return "contradiction", True
    if "conflict" in refused or len({one["fingerprint"] for one in accepted}) > 1:
        return "conflict", not gone
    if waits:
        return "awaiting_decision", True
    if effects and not unasked:
        return "performed_once", True
    if rejected:
        return "rejected", True
    if resolved:
        return "resolved", True
    return ("refused", True) if only_refused else ("in_flight", not gone)


def _is_performed(record: Record) -> bool:
    return record[0] == "deliveries" and record[1]["end"] == "performed"


def _of_first_attempt(record: Record) -> Record:
    """What an execution would have told."""
    return "executions", record[1] | {"status": "SUCCEEDED", "outcome": "performed"}


def _contradicts(
    run: int | None,
    letter: int | None,
    runs: list[dict[str, Any]],
    letters: list[dict[str, Any]],
    of: Callable[[str], list[dict[str, Any]]],
) -> bool:
    effect_at = min(moment(record) for record in of("effects"))
    if run == 2 or letter == 3:
        return True
    if letter == 2 and effect_at > moment(letters[-1]):
        return True
    if letter != 2 and run == 3 and effect_at > moment(runs[-1]):
        return True
    performed = {one["at"] for one in runs if closing(one) == 5}
    return run == 5 and len(performed) > 1


def closing(run: dict[str, Any]) -> int:
    """0 running, 1 failed, 2 rejected, 3 resolved, 4 found, 5 performed; a later one wins a tie."""
    if run["status"] == "SUCCEEDED":
        return {"resolved": 3, "performed": 5}.get(run["outcome"], 4)
    if run["status"] == "FAILED" and run["error"] == "RejectedByOperator":
        return 2
    return 0 if run["status"] == "RUNNING" else 1


def answering(letter: dict[str, Any]) -> int:
    """0 posted, 1 retry or perform, 2 resolve, 3 reject; a later one wins a tie."""
    return {None: 0, "retry": 1, "perform": 1, "resolve": 2, "reject": 3}[letter["decision"]]


def moment(record: dict[str, Any]) -> datetime:
    """A record's own time."""
    return datetime.fromisoformat(record["at"])
