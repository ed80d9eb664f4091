"""A message's state, what happened and what to do, in words for the command line and the console.

It says no more than what was found. Whether the effect happened is told by the effects that a table
shows, or else by the word of whoever acted: where nobody names a table, "it did not happen" would
have an effect done again that is merely not seen. That a message is not in a queue is said only of
a queue that was read.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from botocore.exceptions import ClientError

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.filters import Entry
from actonce.messages.history import (
    BEFORE_LOOK_UP,
    FIND_EFFECT,
    HASHED,
    TELL_DEAD_LETTER,
    TELL_DECISION,
    Execution,
    Step,
    nothing_looks_up,
    short_cause,
)
from actonce.messages.own_effects import OwnEffects, effects_of_stack
from actonce.messages.story import Part, Record, Story, UnstartedScan
from actonce.messages.unstarted import RECEIVED_TOO_OFTEN, Unstarted
from actonce.queues.queue_state import depth_of, find_pause
from actonce.queues.scan import held_by_another
from actonce.stack.aws_errors import error_text
from actonce.stack.clients import Stack
from actonce.terminal.error_names import in_words
from actonce.terminal.output import counted
from actonce.terminal.visible import visible
from actonce_core.histories.stays import DECISIONS, Stay
from pipeline.audit.reading.effects import moment

DESCRIPTION_CHARACTERS = 200
"""Most characters of an effect's description in the sentence; `--json` has it whole."""

REDRIVEN_FOR: Final = timedelta(days=14)
"""How long Step Functions can continue an execution that has ended."""

StateName = Literal[
    "not_known",
    "not_seen",
    "not_started",
    "running",
    "at_work",
    "retrying",
    "waiting_for_decision",
    "performed",
    "found",
    "resolved",
    "rejected",
    "failed",
    "aborted",
    "timed_out",
    "ended",
]


@dataclass(frozen=True, slots=True)
class State:
    """A state of a message: a few words for it, and a sentence that explains them."""

    label: str
    means: str


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
    ),
    "at_work": State(
        "at work", "An attempt is under way; none has failed since it was started, or tried again."
    ),
    "retrying": State(
        "retrying",
        "An attempt failed. ActOnce looks up what became of it, or tries again, by itself.",
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
    "failed": State("failed", "Its execution failed before anybody had decided."),
    "aborted": State("aborted", "Somebody stopped its execution before it was finished."),
    "timed_out": State("timed out", "Its execution was open for longer than it may be."),
    "ended": State("ended", "It has ended, and what was read does not tell how."),
}
"""Every state that a message can be in, in the order in which it may pass through them."""

BROKEN_OFF: Final = ("failed", "aborted", "timed_out")
"""Undecided states, which Step Functions can continue for `REDRIVEN_FOR`."""

WAITING: Final[StateName] = "waiting_for_decision"

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
    "dead_letter": "waiting_for_decision",
}
_PERFORM = "PerformEffect"
_AFTER_DECISION = (TELL_DECISION, "Decision", "Done", "Failed")
"""States in which no attempt is at work, and none may come."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The state of a message, what happened to it and what to do.

    Attributes:
        state: one of `STATES`, with its `label` and `means`.
        status: of its execution or row, as AWS or the ledger calls it; None: it has neither.
        outcome: `performed`, `found`, `resolved`, `rejected`, or of a row `dead_letter`; None: it
            has not ended, or does not say.
        effects: how many effects were found; None: that is not known.
        sentence: what happened, and who did it.
        advice: what to do now, and why; None: nothing.
        advised: the decision that is advised; None: no decision is due, or a person has to find
            something out first.
        conflicts: what came with the same id and another content; None: nothing did.
        unread: for each part that could not be read, a sentence with the reason. Nothing is called
            absent because of it.
    """

    state: StateName
    label: str
    means: str
    status: str | None
    outcome: str | None
    effects: int | None
    sentence: str
    advice: str | None
    advised: str | None
    conflicts: str | None
    unread: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For machines; fields may be added."""
        return asdict(self)


def summarize(
    story: Story, letter: DeadLetter | None = None, *, differs_beside: bool = False
) -> Summary:
    """Summarize all that was read of a message.

    Args:
        story: the message's.
        letter: its dead letter, if that was read: a row does not keep why it waits.
        differs_beside: whether the page shows beside it what differs in a conflict, so that no
            command is named for that.
    """
    state = state_of(story)
    row = story.row or {}
    advice, conflicts = _advice(story, state, letter), _conflicts(story)
    if any(entry.is_conflict for entry in story.unstarted):
        remedy = _REMEDY
        if not differs_beside:
            remedy += f" What differs is shown by {_command(story, 'unstarted show')}"
        if advice.said is None:
            advice = Advice(remedy)
        else:
            conflicts = f"{conflicts} {remedy}"
    told = [_happened(story, state, letter), _effect(story, state), _duplicates(story)]
    return Summary(
        state=state,
        label=STATES[state].label,
        means=STATES[state].means,
        status=row.get("status") if story.execution is None else story.execution.status,
        outcome=outcome_of(story),
        effects=None if _effects_unknown(story) else len(story.effects),
        sentence=" ".join(filter(None, told)),
        advice=advice.said,
        advised=advice.action,
        conflicts=conflicts,
        unread=tuple(
            f"{_PARTS[part]} could not be read: {why}" for part, why in story.unread.items()
        ),
    )


class Advice(NamedTuple):
    """What to do now; and the decision that is advised, or `discard`, if there is one."""

    said: str | None
    action: str | None = None


def advice_on(
    stack: Stack, entry: Entry, own: OwnEffects | None = None, *, differs_beside: bool = False
) -> Advice:
    """What to do about an entry of DeadLetterQueue or UnstartedQueue, by the entry alone.

    Unlike `where`, it reads neither history nor effects.

    Args:
        stack: that has the queue.
        entry: of either queue.
        own: where the effects are; None: the stack's effects table, if it names one.
        differs_beside: see `summarize`.
    """
    letter = entry if isinstance(entry, DeadLetter) else None
    place = own or effects_of_stack(stack)
    is_unknown = letter is not None and not letter.nothing_happened
    unstarted = [entry] if isinstance(entry, Unstarted) else []
    story = Story(
        message_id=entry.ids["message_id"] or entry.called,
        execution_name=entry.called if letter is None else letter.execution_name,
        row=None if letter is None else {"status": "COMPLETE", "outcome": "dead_letter"},
        seen=UnstartedScan(unstarted),
        effects_place=None if place is None else place.place,
        looks_up=stack.find_function is not None,
        unread={"effects": ""} if place is not None and is_unknown else {},
        options=stack.options,
    )
    summary = summarize(story, letter, differs_beside=differs_beside)
    is_conflict = any(one.is_conflict for one in unstarted)
    return Advice(summary.advice, "discard" if is_conflict else summary.advised)


_REMEDY = (
    "Compare the two contents, and ask the producer which is right. Then discard the refused one, "
    "or have it sent under a new id; sent back, it would be refused again."
)

_PARTS: Final[Mapping[Part, str]] = {
    "execution": "Its execution",
    "history": "Its execution's history, which tells whether it waits for a decision,",
    "row": "What the Fingerprints table, or the ledger, has of it",
    "effects": "What its effect left",
    "unstarted": "UnstartedQueue",
    "log": "Its deliveries",
}


def _effects_unknown(story: Story) -> bool:
    return story.effects_place is None or "effects" in story.unread


def state_of(story: Story) -> StateName:
    """The state that a message is in."""
    execution, row = story.execution, story.row
    if execution is not None and execution.status == "RUNNING":
        return state_of_running(story.steps, story.dead_letters)
    if execution is not None:
        return state_of_execution(execution.status, execution.outcome)
    if row is not None:
        return state_of_row(row)
    if "execution" in story.unread or "row" in story.unread or _may_have_run(story):
        return "not_known"
    return "not_started" if story.is_known else "not_seen"


def _may_have_run(story: Story) -> bool:
    """Of a message without an execution: whether there may have been one."""
    began = any(line["end"] in ("started", "suppressed") for line in story.deliveries)
    return began or bool(story.effects) or story.may_be_forgotten


def state_of_running(steps: Sequence[Step], stays: Sequence[Stay]) -> StateName:
    """The state of a message whose execution runs, by its history; no steps: it is unreadable."""
    if stays and not stays[-1].over:
        return "waiting_for_decision"
    _, state = _entered(steps)
    if not steps or state in _AFTER_DECISION:
        return "running"
    return "at_work" if state == _PERFORM and not _failures(steps) else "retrying"


def state_of_row(row: Mapping[str, Any]) -> StateName:
    """The state of a message by its row of the ledger or the lease."""
    if row["status"] == "COMPLETE":
        return _OF_OUTCOME.get(str(row.get("outcome")), "ended")
    is_first = "attempt_id" in row and int(row.get("consumption_count", 1)) <= 1
    return "at_work" if is_first else "retrying"


def state_of_execution(status: str, outcome: str | None = None) -> StateName:
    """The state of a message by its execution's status and outcome, as far as they are known."""
    return _OF_OUTCOME.get(str(outcome)) or _OF_STATUS.get(status, "ended")


def waits_for_decision(story: Story) -> bool:
    """Whether nothing happens before a person decides."""
    return state_of(story) == "waiting_for_decision"


def outcome_of(story: Story) -> str | None:
    """`performed`, `found`, `resolved`, `rejected` or `dead_letter`; None while it is open."""
    if story.execution is not None:
        return story.execution.outcome
    outcome = (story.row or {}).get("outcome")
    return None if outcome is None else str(outcome)


# --------------------------------------------------------------------------- what happened


def _happened(story: Story, state: StateName, letter: DeadLetter | None) -> str:
    """What happened to it last, and who did it."""
    if state == "waiting_for_decision":
        return _posted(story, letter)
    if state in ("rejected", "resolved"):
        how = "rejected it" if state == "rejected" else "resolved it by hand"
        return f"{_decider(story)} {how}{_note(story)}."
    if state == "not_started" or (state == "not_known" and not _TELL_STATE & story.unread.keys()):
        return _not_started(story) if state == "not_started" else _forgotten(story)
    if state == "retrying" or (state == "at_work" and story.row is not None):
        return _retrying(story) if story.row is None else _row_goes_on(story, story.row)
    if story.execution is not None and state in BROKEN_OFF:
        return _broken_off(story, story.execution, state)
    return {
        "not_seen": f"No part of the stack has seen a message {story.message_id!r}.",
        "at_work": "An attempt is under way.",
        "running": _carried_out(story),
        "performed": "An attempt performed it.",
        "found": "An attempt ended without a clear answer, and the look-up found its effect.",
    }.get(state, STATES[state].means)


_TELL_STATE: Final[frozenset[Part]] = frozenset({"execution", "row"})
"""What tells the state; where both were read and it is not known, that is kept no more."""


def _row_goes_on(story: Story, row: Record) -> str:
    """Of a row that is not complete: a dead attempt leaves it just as a live one has it."""
    began = f"{counted(int(row.get('consumption_count', 1)), 'attempt', 'attempts')} began so far."
    if any(entry.reason == RECEIVED_TOO_OFTEN for entry in story.unstarted):
        then = "SQS gave it up: nobody takes it up again until it is sent back from UnstartedQueue."
    elif "attempt_id" not in row:
        then = "SQS brings the message back for another."
    else:
        at = f"; its last sign of life was at {_at(row['updated'])}" if "updated" in row else ""
        then = f"The last one has not said how it ended{at}."
        if "lock_seconds" in row:
            then += f" Another may take it over after {row['lock_seconds']} s without one."
    return f"{began} {then}"


def _forgotten(story: Story) -> str:
    return (
        "It may have been started, and Step Functions knows no execution of it now: it forgets "
        "them in time, and of another state machine nothing was read here. "
        f"{_not_started(story) if story.unstarted else _lies_nowhere(story)}"
    )


def _not_started(story: Story) -> str:
    if story.unstarted:
        newest = story.unstarted[-1]
        what = "not started" if newest.reason == RECEIVED_TOO_OFTEN else "refused"
        return (
            f"It was {what} ({newest.reason}): {newest.detail.rstrip('.')}. It has been in "
            f"UnstartedQueue since {in_utc(newest.since)}."
        )
    last = {str(line["end"]): line for line in story.deliveries}
    if "refused" in last:
        return f"The starter refused it ({last['refused'].get('reason')}). {_lies_nowhere(story)}"
    if "failed" in last:
        error = in_words(str(last["failed"].get("error") or "an error"))
        return f"The starter failed to start it ({error}); SQS brings it back."
    return f"No execution of it was started. {_lies_nowhere(story)}"


def _posted(story: Story, letter: DeadLetter | None) -> str:
    """Why it waits for a decision."""
    failure = failure_of(story, letter)
    reason, error = failure.get("reason"), _error_told(failure)
    rounds = failure.get("rounds")
    if reason == "rejected":
        why = f"The function refused it{error}."
    elif reason == "not_performed":
        said = [s for s in _failures(story.steps) if s.detail.get("error") in _NOTHING_HAPPENED]
        times = _times(len(said)) if said else "each time"
        why = f"The function said {times} that nothing happened{error}; no retry is left."
    elif reason == "rounds_used_up":
        number = counted(int(rounds), "attempt", "attempts") if rounds else "The attempts"
        why = f"{number} ended without a clear answer{error}; each look-up found no effect."
    elif reason == "outcome_unknown":
        why = f"An attempt ended without a clear answer{error}, and {_look_up(failure)}."
    else:
        why = ""
    return f"{why} ActOnce posted a dead letter and waits for a decision.".lstrip()


def failure_of(story: Story, letter: DeadLetter | None) -> Record:
    """Why it is a dead letter: `reason`, `error`, `cause`, `rounds`, as far as that is known.

    The history tells of the letter that waits; the letter at hand may be an earlier one.
    """
    if story.dead_letters:
        return dict(story.dead_letters[-1].failure)
    names = ("reason", "error", "cause", "rounds")
    return {} if letter is None else {name: getattr(letter, name) for name in names}


def _error_told(failure: Record) -> str:
    told = _quoted(str(failure.get("error") or ""), _attempts(failure))
    return f" ({told})" if told else ""


def _quoted(error: str, cause: str) -> str:
    """An error's name and message; others wrote the message, so quotes show where it ends."""
    said = short_cause(cause)
    return ": ".join(filter(None, [in_words(error), repr(said) if said else ""]))


def _attempts(failure: Record) -> str:
    """The part of a cause that tells what ended the attempt."""
    attempt, found, other = str(failure.get("cause") or "").rpartition(BEFORE_LOOK_UP)
    return attempt if found else other


def _look_up(failure: Record) -> str:
    """The result of the look-up, within a sentence."""
    whole = str(failure.get("cause") or "")
    _, found, said = whole.rpartition(BEFORE_LOOK_UP)
    if nothing_looks_up(whole):
        return "no function is named that could look it up (FindFunctionArn)"
    error, _, cause = said.partition(": ")
    told = _quoted(error, cause)
    return f"the look-up failed ({told})" if found and told else "the look-up gave no answer"


def _retrying(story: Story) -> str:
    failures = _failures(story.steps)
    entered, state = _entered(story.steps)
    here = _failures(story.steps[entered:])
    performing = [step for step in failures if step.state == _PERFORM]
    last = _error_told((performing or failures)[-1].detail) if failures else ""
    if state == TELL_DEAD_LETTER:
        return f"An attempt failed{last}. ActOnce posts a dead letter."
    if (
        state == _PERFORM
        and here
        and all(step.detail.get("error") in _NOTHING_HAPPENED for step in here)
    ):
        times = _times(len(here))
        return f"The function said {times} that nothing happened{last}. ActOnce tries again."
    then = "ActOnce waits until no attempt can do anything more, then looks the effect up."
    if state == _PERFORM and not here:
        then = "The look-up found no effect, and ActOnce tries again."
    elif state == FIND_EFFECT:
        then = "ActOnce looks the effect up."
        if here:
            failed = f"The look-up failed {_times(len(here))}{_error_told(here[-1].detail)}"
            then = f"{failed}, and ActOnce looks again."
    return f"An attempt ended without a clear answer{last}. {then}" if failures else then


_NOTHING_HAPPENED = (
    "NotPerformed",
    "Lambda.TooManyRequestsException",
    "Lambda.ResourceNotFoundException",
)
"""Errors that prove it; PerformEffect is retried after these only."""


def _entered(steps: Sequence[Step]) -> tuple[int, str]:
    """The last step that entered a state, by its number, and that state."""
    entered = [number for number, step in enumerate(steps) if step.what == "entered"]
    return (entered[-1], steps[entered[-1]].state) if entered else (0, _PERFORM)


def _carried_out(story: Story) -> str:
    """The decision on it that ActOnce is carrying out, if there is one."""
    decision = _decision(story).get("decision")
    if decision not in DECISIONS or _entered(story.steps)[1] not in _AFTER_DECISION:
        return STATES["running"].means
    return f"{_decider(story)} decided to {decision} it{_note(story)}. ActOnce carries that out."


def _failures(steps: Sequence[Step]) -> list[Step]:
    """What failed since the start, or since the last decision or redrive."""
    begun = [n for n, s in enumerate(steps) if s.what in ("started", "redriven", "decision")]
    since = steps[begun[-1] :] if begun else steps
    telling = (TELL_DEAD_LETTER, TELL_DECISION)
    return [step for step in since if step.what == "error" and step.state not in telling]


def _broken_off(story: Story, execution: Execution, state: StateName) -> str:
    at = f" at {in_utc(execution.stopped_at)}" if execution.stopped_at else ""
    error = _error_told({"error": execution.error, "cause": execution.cause})
    if state == "aborted":
        return f"Somebody stopped its execution{at}{error}."
    if _is_undecided(story) and execution.error == "States.Timeout":
        return (
            f"ActOnce posted a dead letter, and nobody decided in time: its execution failed{at}."
        )
    verb = "timed out" if state == "timed_out" else "failed"
    return f"Its execution {verb}{at}{error}."


def _is_undecided(story: Story) -> bool:
    """Whether it has a dead letter, and nobody decided on its last one."""
    return bool(story.dead_letters) and not story.dead_letters[-1].decision


def _decision(story: Story) -> Mapping[str, Any]:
    return next((s.decision for s in reversed(story.dead_letters) if s.decision), {})


def _decider(story: Story) -> str:
    return str(_decision(story).get("decided_by") or "A person")


def _note(story: Story) -> str:
    decided = _decision(story)
    at = moment(decided.get("decided_at"))  # what decided may have been any client
    when = f" at {in_utc(at)}" if at else ""
    output = {} if story.execution is None else story.execution.output
    note = decided.get("note") or output.get("note") or (story.row or {}).get("note")
    return f"{when}: {note!r}" if note else when


def _duplicates(story: Story) -> str:
    if "log" in story.unread:
        return "Its deliveries could not be read."
    number = sum(line["end"] == "suppressed" for line in story.deliveries)
    if not number:
        return ""
    return f"{counted(number, 'duplicate of it was', 'duplicates of it were')} suppressed."


# --------------------------------------------------------------------------- the effect


def _effect(story: Story, state: StateName) -> str:
    """What is known of the effect, and by whose word."""
    if story.effects:
        return f"{_capital(shown_effects(story))}."
    nothing = None
    if "effects" in story.unread:
        nothing = (
            f"whether {story.effects_place or 'a table'} has an effect of it could not be read"
        )
    elif story.effects_place is not None:
        nothing = f"{story.effects_place} has no effect of it"
    if state in ("performed", "found"):
        who = "row" if story.execution is None else "execution"
        but = "" if nothing is None else f", but {nothing}"
        return f"Its {who} says so{_described(description_of(story))}{but}."
    if nothing is not None:
        so_far = " so far" if state in _OPEN and "effects" not in story.unread else ""
        return f"{_capital(nothing)}{so_far}."
    return ""


_OPEN = ("running", "at_work", "retrying")


def shown_effects(story: Story) -> str:
    """The effects that were found, within a sentence; there is at least one."""
    effects, place = story.effects, story.effects_place
    described = [one["description"] for one in effects if one["description"]]
    more = _described(described[0] if len(described) == 1 else described or None)
    if len(effects) > 1:
        return f"{place} has {len(effects)} effects of it{more}"
    when = f" (of {_at(effects[0]['at'])})" if effects[0]["at"] else ""
    return f"{place} has its effect{when}{more}"


def description_of(story: Story) -> Any:
    """The effect's own description, by the execution's output or the row; or None."""
    if story.execution is not None:
        return story.execution.output.get("effect")
    text = (story.row or {}).get("effect")
    return None if text is None else json.loads(text)


def _described(effect: Any) -> str:
    if effect is None:
        return ""
    text = json.dumps(effect, ensure_ascii=False)
    if len(text) > DESCRIPTION_CHARACTERS:
        text = text[: DESCRIPTION_CHARACTERS - 1] + "…"
    return f": {text}"


# --------------------------------------------------------------------------- what to do


def _advice(story: Story, state: StateName, letter: DeadLetter | None) -> Advice:
    """Of all but a conflict."""
    if state == "waiting_for_decision" and "effects" in story.unread:
        return Advice(
            f"Look first whether {story.effects_place} has its effect, which was not read here. If "
            "it has, resolve it; decide otherwise only if it has none."
        )
    if state == "waiting_for_decision":
        return _what_to_decide(story, letter)
    if (doubt := _doubt(story, state)) is not None:
        return Advice(doubt)
    if story.execution is not None and state in BROKEN_OFF:
        return _how_to_continue(story, story.execution)
    said = None
    if any(not entry.is_conflict for entry in story.unstarted):
        what = "came" if state == "not_started" else "else came with this id"
        said = f"See what {what}, and why: {_command(story, 'unstarted show')}"
    if state == "not_known" and _may_have_run(story):
        first = "Find out by its effect whether it happened, before you send it again."
        if story.effects:
            first = "It has its effect: do not send it again."
        said = f"{first} {said}" if said else first
    return Advice(said)


def _how_to_continue(story: Story, execution: Execution) -> Advice:
    until = "" if execution.stopped_at is None else in_utc(execution.stopped_at + REDRIVEN_FOR)
    if execution.stopped_at and execution.stopped_at + REDRIVEN_FOR < story.read_at:
        over = f"Step Functions continued it until {until} only, and starts its id no more."
        if story.effects:
            return Advice(f"{over} {_capital(shown_effects(story))}: nothing is left to do.")
        return Advice(
            f"{over} Find out at the provider whether it happened; if it did not and still "
            "should, have it sent under a new id."
        )
    then = "ActOnce looks the effect up before it performs it"
    if _is_undecided(story):
        then = "ActOnce posts the dead letter again"
    elif story.dead_letters and _entered(story.steps)[1] in _AFTER_DECISION:
        then = f"ActOnce carries out what was decided ({_decision(story).get('decision')})"
    allowed = f" Step Functions allows it until {until}." if until else ""
    # Last, and without a full stop, which would be copied as a part of the id.
    said = f"Continue it: {then}.{allowed} {_command(story, 'dead-letters retry')}"
    return Advice(said, "retry")


def _doubt(story: Story, state: StateName) -> str | None:
    """What to do where the effects contradict the records; None: they do not."""
    number, place = len(story.effects), story.effects_place
    if number > 1:
        return (
            f"It was acted on {number} times: see in the timeline which attempts did, and undo "
            "what is too much."
        )
    if number and state == "rejected":
        return "It has an effect although it was rejected: undo it, if it shall not be."
    if not number and not _effects_unknown(story) and state in ("performed", "found"):
        return f"Find out at the provider why {place} has no effect of it."
    return None


_TO_DECIDE: Final = {
    "rejected": Advice(
        "It did not happen: the function says that it never will. Reject it; or, where the "
        "function is wrong, mend it and retry.",
        "reject",
    ),
    "not_performed": Advice("It did not happen. Mend the cause and retry; or reject it.", "retry"),
    "rounds_used_up": Advice(
        "Mend the cause and retry: ActOnce looks it up again before it performs it.", "retry"
    ),
}
"""Advice where no effect is known, by the reason of the dead letter."""


def _what_to_decide(story: Story, letter: DeadLetter | None) -> Advice:
    failure = failure_of(story, letter)
    reason = failure.get("reason")
    did_not_happen = reason in ("rejected", "not_performed")
    if story.effects:
        again = "A retry, like perform," if did_not_happen else "To perform it"
        said = f"Resolve it: {shown_effects(story)}. {again} could do it twice."
        if (doubt := _doubt(story, WAITING)) is not None:
            said = f"{doubt} Then resolve it. {again} could do it once more."
        if is_of_before := _is_of_before(story):
            said = (
                f"{shown_effects(story)}, from before its execution began. Compare the two: if it "
                f"is this message's, resolve it. {again} could do it twice."
            )
        return Advice(said, None if is_of_before else "resolve")
    if reason in _TO_DECIDE:
        return _TO_DECIDE[reason]
    if reason is None:
        return Advice(f"See why it waits: {_command(story, 'dead-letters show')}")
    check = (
        "It may have happened. Check with the provider: if it did, resolve; if you have seen that "
        "it did not, perform."
    )
    if nothing_looks_up(str(failure.get("cause") or "")) and not story.looks_up:
        return Advice(check)
    return Advice(f"{check} Once the look-up works again, retry looks first.")


_CLOCKS_DIFFER_BY: Final = timedelta(days=1)
"""More than any two clocks do."""


def _is_of_before(story: Story) -> bool:
    """Whether its effects are older than its execution, and so perhaps another message's."""
    if story.execution is None:
        return False
    began = story.execution.started_at - _CLOCKS_DIFFER_BY
    times = [one["at"] for one in story.effects]
    return all(at is not None and datetime.fromisoformat(at) < began for at in times)


# --------------------------------------------------------------------------- UnstartedQueue


def _conflicts(story: Story) -> str | None:
    """What came with the same id and another content, and where it is."""
    lying = sum(entry.is_conflict for entry in story.unstarted)
    number = max(len(story.conflicts), lying)
    if not number:
        return None
    deliveries = counted(number, "delivery", "deliveries")
    were = "was" if number == 1 else "were"
    refused = f"{deliveries} with this id brought other content and {were} refused."
    return f"{refused} {'UnstartedQueue has it.' if lying else _lies_nowhere(story)}"


def _lies_nowhere(story: Story) -> str:
    """A sentence that UnstartedQueue has nothing of it, as far as that was read."""
    if "unstarted" in story.unread:
        return "Whether it is in UnstartedQueue could not be read."
    if story.seen.held_elsewhere:
        return f"{_capital(cannot_be_told('it is', story.seen.held_elsewhere))}."
    if story.seen.at is None:
        return "Whether it is in UnstartedQueue was not looked at."
    return f"UnstartedQueue had nothing of it at {in_utc(story.seen.at)}."


def cannot_be_told(they_are: str, held_elsewhere: int) -> str:
    """What to say, within a sentence, where not all of UnstartedQueue could be read.

    Args:
        they_are: what may be there, such as `it is`.
        held_elsewhere: how many messages another reader held.
    """
    return f"whether {they_are} in UnstartedQueue cannot be told: {held_by_another(held_elsewhere)}"


def seen_nowhere(stack: Stack, story: Story) -> list[str]:
    """Sentences on a message that no part of the stack has seen: where it may still wait.

    They name what cannot be read, with the reason.
    """
    who, held = "No part of the stack", story.seen.held_elsewhere
    if held:
        who = "No part of the stack that could be read"
    told = [f"{who} has seen a message {story.message_id!r}."]
    if held:
        told.append(f"{_capital(cannot_be_told('it is', held))}; look again.")
    try:
        depth = depth_of(stack, stack.requests_queue, datetime.now(UTC))
        number = depth.waiting + depth.in_flight + depth.delayed
        waits = f"Nothing waits in RequestsQueue. Recent messages: actonce list{stack.options}"
        if number:
            waits = f"It may be one of about {number:,} in RequestsQueue."
        told.append(waits)
    except ClientError as error:
        told.append(f"It may wait in RequestsQueue, which could not be read: {error_text(error)}")
    try:
        if find_pause(stack.sqs, stack.requests_queue) is not None:
            resume = f"actonce resume{stack.options}"
            told.append(f"The stack is paused. To have it take messages again: {resume}")
    except ClientError as error:
        told.append(f"Whether the stack is paused could not be read: {error_text(error)}")
    return told


# --------------------------------------------------------------------------- words


def in_utc(at: datetime) -> str:
    """A time, in a sentence: UTC, to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _at(text: str) -> str:
    return in_utc(datetime.fromisoformat(text))


def _capital(text: str) -> str:
    """The beginning of a sentence; a file's name stays as it is."""
    return f"{text[0].upper()}{text[1:]}" if text.startswith(("the ", "whether ")) else text


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _command(story: Story, words: str) -> str:
    """A command on the message, to be pasted."""
    return f"actonce {words}{story.options} {message_argument(story)}"


def message_argument(story: Story) -> str:
    """The message as an argument that can be copied into a shell."""
    # Of a row nothing is found by the name of an execution.
    return as_argument(story.message_id, story.execution_name, may_be_name=story.row is None)


def command_to_decide(options: str, letter: DeadLetter, decision: str, note: str = "") -> str:
    """The command line that decides on this very letter, to be pasted.

    Args:
        options: see `Stack.options`.
        letter: that was shown.
        decision: one of the decisions; or a word in its place.
        note: why; empty: it is not known yet.
    """
    note = note or ("" if decision == "retry" else "WHY")
    told = f" --note {shlex.quote(note)}" if note else ""
    argument = as_argument(letter.message_id, letter.execution_name)
    return f"actonce dead-letters {decision} --letter {letter.letter}{told}{options} {argument}"


_LONGEST_ARGUMENT: Final = 80
"""Characters; an execution's name has no more."""


def as_argument(message_id: str, execution_name: str, *, may_be_name: bool = True) -> str:
    """A message as an argument that can be copied into a shell.

    Its id; but the name of its execution where the id has invisible characters, is long, or looks
    like the name of another message's execution.
    """
    is_long = len(message_id) > _LONGEST_ARGUMENT
    is_name = may_be_name and message_id.startswith(HASHED)
    if visible(message_id) != message_id or is_long or is_name:
        return execution_name
    return f"{'-- ' if message_id.startswith('-') else ''}{shlex.quote(message_id)}"
