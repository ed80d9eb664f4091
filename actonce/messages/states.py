"""The states that a message can be in, and how they follow from what was read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from actonce.messages.history import TELL_DEAD_LETTER, TELL_DECISION, Step
from actonce.messages.story import Story
from actonce_core.first_attempt import RELEASED, STARTED
from actonce_core.histories.stays import DecisionWait

StateName = Literal[
    "not_known", "not_seen", "not_started", "running", "at_work", "retrying",
    "waiting_for_decision", "performed", "found", "resolved", "rejected", "failed", "aborted",
    "timed_out", "ended",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class State:
    """A state of a message: a few words for it, and a sentence that explains them.

    Attributes:
        is_open: ActOnce goes on by itself.
        is_redrivable: it ended undecided, and Step Functions can continue it for `REDRIVEN_FOR`.
    """

    label: str
    explanation: str
    is_open: bool = False
    is_redrivable: bool = False


STATES: Final[Mapping[StateName, State]] = {
    "not_known": State("not known", "Its records have expired, or could not be read."),
    "not_seen": State("not seen yet", "No part of the stack that was read has a record of it."),
    "not_started": State(
        "not started",
        "It was refused, or could not be started. UnstartedQueue keeps what was refused until "
        "somebody sends it back or discards it.",
    ),
    "running": State(
        "running",
        "Its execution has not ended: an attempt is at work or is due, or it waits for a decision.",
        is_open=True,
    ),
    "at_work": State(
        "at work",
        "An attempt is under way; none has failed since it was started, or tried again.",
        is_open=True,
    ),
    "retrying": State(
        "retrying",
        "An attempt failed. ActOnce looks up what became of it, or tries again, by itself.",
        is_open=True,
    ),
    "waiting_for_decision": State(
        "waiting for decision",
        "ActOnce cannot finish it alone. It posted a dead letter, and a person has to decide.",
    ),
    "performed": State("performed", "An attempt performed the effect and said so."),
    "found": State(
        "found",
        "An attempt ended without a clear answer; the look-up found that the effect had happened.",
    ),
    "resolved": State(
        "resolved by hand", "A person said that the effect happened, or made it happen."
    ),
    "rejected": State("rejected by hand", "A person decided that it shall not happen."),
    "failed": State(
        "failed", "Its execution failed before anybody had decided.", is_redrivable=True
    ),
    "aborted": State(
        "aborted", "Somebody stopped its execution before it was finished.", is_redrivable=True
    ),
    "timed_out": State(
        "timed out", "Its execution was open for longer than it may be.", is_redrivable=True
    ),
    "ended": State("ended", "It has ended, and what was read does not tell how."),
}
"""Every state that a message can be in, in the order in which it may pass through them."""

REDRIVEN_FOR: Final = timedelta(days=14)
"""How long Step Functions can continue an execution that has ended."""

BROKEN_OFF: Final = tuple(name for name, state in STATES.items() if state.is_redrivable)

WAITING: Final[StateName] = "waiting_for_decision"

PERFORM_EFFECT = "PerformEffect"
"""The state machine's state in which attempts are made."""
PROVE_NOTHING_HAPPENED: Final = (
    "NotPerformed",
    "Lambda.TooManyRequestsException",
    "Lambda.ResourceNotFoundException",
)
"""Errors; PerformEffect is retried after these only."""

AFTER_DECISION = (TELL_DECISION, "Decision", "Done", "Failed")
"""The state machine's states in which no attempt is at work, and none may come."""

_OF_STATUS: Final[Mapping[str, StateName]] = {
    "RUNNING": "running",
    "FAILED": "failed",
    "ABORTED": "aborted",
    "TIMED_OUT": "timed_out",
}
_OF_OUTCOME: Final[Mapping[str, StateName]] = {
    "performed": "performed",
    "found": "found",
    "resolved": "resolved",
    "rejected": "rejected",
}


def state_of(story: Story) -> StateName:
    """The state that a message is in."""
    execution = story.execution
    if execution is not None and execution.status == "RUNNING":
        return state_of_running(story.steps, story.dead_letters)
    if execution is not None:
        return state_of_execution(execution.status, execution.outcome)
    if story.row is not None and not is_handed_on(story.row):
        return state_of_row(story.row)
    if "execution" in story.unread or "row" in story.unread or may_have_run(story):
        return "not_known"
    if story.row is not None:
        return "retrying"
    return "not_started" if story.is_known else "not_seen"


def may_have_run(story: Story) -> bool:
    """Of a message without an execution: whether there may have been one."""
    ends = ("started", "suppressed", "performed")
    began = any(line["end"] in ends for line in story.deliveries)
    return began or bool(story.effects) or story.may_be_forgotten


def state_of_running(steps: Sequence[Step], waits: Sequence[DecisionWait]) -> StateName:
    """The state of a message whose execution runs, by its history; no steps: it is unreadable."""
    if waits and not waits[-1].over:
        return WAITING
    _, state = last_entered(steps)
    if not steps or state in AFTER_DECISION:
        return "running"
    return "at_work" if state == PERFORM_EFFECT and not latest_failures(steps) else "retrying"


def state_of_row(row: Mapping[str, Any]) -> StateName:
    """The state of a message by the row of its first attempt."""
    if row["status"] == "COMPLETE":
        return _OF_OUTCOME.get(str(row.get("outcome")), "ended")
    is_first = is_held(row) and int(row.get("consumption_count", 1)) <= 1
    return "at_work" if is_first else "retrying"


def is_held(row: Mapping[str, Any]) -> bool:
    """Of a row in progress: whether an attempt may be under way."""
    return bool(row["stage"] != RELEASED)


def is_handed_on(row: Mapping[str, Any]) -> bool:
    """Whether the message of a row was left to an execution."""
    return bool(row["status"] != "COMPLETE" and row["stage"] == STARTED)


def state_of_execution(status: str, outcome: str | None = None) -> StateName:
    """The state of a message by its execution's status and outcome, as far as they are known."""
    return _OF_OUTCOME.get(str(outcome)) or _OF_STATUS.get(status, "ended")


def last_entered(steps: Sequence[Step]) -> tuple[int, str]:
    """The last step that entered a state, by its number, and that state."""
    entered = [number for number, step in enumerate(steps) if step.event_type == "entered"]
    return (entered[-1], steps[entered[-1]].state) if entered else (0, PERFORM_EFFECT)


def latest_failures(steps: Sequence[Step]) -> list[Step]:
    """What failed since the start, or since the last decision or redrive."""
    begun = [n for n, s in enumerate(steps) if s.event_type in ("started", "redriven", "decision")]
    since = steps[begun[-1] :] if begun else steps
    telling = (TELL_DEAD_LETTER, TELL_DECISION)
    return [step for step in since if step.event_type == "error" and step.state not in telling]
