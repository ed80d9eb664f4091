"""What happened to a message, its effect, duplicates and conflicts, in sentences.

They say no more than what was found. Whether the effect happened is told by the effects that a
table shows, or else by the word of whoever acted. That a message is not in a queue is said only of
a queue that was read.
"""

import json
from typing import Any, Final

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.facts import (
    description_of,
    failure_of,
    is_undecided,
    last_decision,
    name_decider,
)
from actonce.messages.history import (
    BEFORE_LOOK_UP,
    FIND_EFFECT,
    TELL_DEAD_LETTER,
    Execution,
    nothing_looks_up,
    short_cause,
)
from actonce.messages.states import (
    AFTER_DECISION,
    BROKEN_OFF,
    PERFORM,
    STATES,
    StateName,
    last_entered,
    latest_failures,
)
from actonce.messages.story import Part, Record, Story
from actonce.messages.unstarted import RECEIVED_TOO_OFTEN
from actonce.queues.scan import held_by_another
from actonce.terminal.error_names import in_words
from actonce.terminal.output import counted
from actonce.terminal.words import capitalize, in_utc, times, utc_of
from actonce_core.histories.stays import DECISIONS
from pipeline.audit.reading.effects import moment

DESCRIPTION_CHARACTERS = 200
"""Most characters of an effect's description in the sentence; `--json` has it whole."""


def tell_what_happened(story: Story, state: StateName, letter: DeadLetter | None) -> str:
    """What happened to it last, and who did it."""
    if state == "waiting_for_decision":
        return _posted(story, letter)
    if state in ("rejected", "resolved"):
        how = "rejected it" if state == "rejected" else "resolved it by hand"
        return f"{name_decider(story)} {how}{_note(story)}."
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
        at = f"; its last sign of life was at {utc_of(row['updated'])}" if "updated" in row else ""
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
        said = [
            s for s in latest_failures(story.steps) if s.detail.get("error") in _NOTHING_HAPPENED
        ]
        often = times(len(said)) if said else "each time"
        why = f"The function said {often} that nothing happened{error}; no retry is left."
    elif reason == "rounds_used_up":
        number = counted(int(rounds), "attempt", "attempts") if rounds else "The attempts"
        why = f"{number} ended without a clear answer{error}; each look-up found no effect."
    elif reason == "outcome_unknown":
        why = f"An attempt ended without a clear answer{error}, and {_look_up(failure)}."
    else:
        why = ""
    return f"{why} ActOnce posted a dead letter and waits for a decision.".lstrip()


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
    failures = latest_failures(story.steps)
    entered, state = last_entered(story.steps)
    here = latest_failures(story.steps[entered:])
    performing = [step for step in failures if step.state == PERFORM]
    last = _error_told((performing or failures)[-1].detail) if failures else ""
    if state == TELL_DEAD_LETTER:
        return f"An attempt failed{last}. ActOnce posts a dead letter."
    if (
        state == PERFORM
        and here
        and all(step.detail.get("error") in _NOTHING_HAPPENED for step in here)
    ):
        often = times(len(here))
        return f"The function said {often} that nothing happened{last}. ActOnce tries again."
    then = "ActOnce waits until no attempt can do anything more, then looks the effect up."
    if state == PERFORM and not here:
        then = "The look-up found no effect, and ActOnce tries again."
    elif state == FIND_EFFECT:
        then = "ActOnce looks the effect up."
        if here:
            failed = f"The look-up failed {times(len(here))}{_error_told(here[-1].detail)}"
            then = f"{failed}, and ActOnce looks again."
    return f"An attempt ended without a clear answer{last}. {then}" if failures else then


_NOTHING_HAPPENED = (
    "NotPerformed",
    "Lambda.TooManyRequestsException",
    "Lambda.ResourceNotFoundException",
)
"""Errors that prove it; PerformEffect is retried after these only."""


def _carried_out(story: Story) -> str:
    """The decision on it that ActOnce is carrying out, if there is one."""
    decision = last_decision(story).get("decision")
    if decision not in DECISIONS or last_entered(story.steps)[1] not in AFTER_DECISION:
        return STATES["running"].means
    return (
        f"{name_decider(story)} decided to {decision} it{_note(story)}. ActOnce carries that out."
    )


def _broken_off(story: Story, execution: Execution, state: StateName) -> str:
    at = f" at {in_utc(execution.stopped_at)}" if execution.stopped_at else ""
    error = _error_told({"error": execution.error, "cause": execution.cause})
    if state == "aborted":
        return f"Somebody stopped its execution{at}{error}."
    if is_undecided(story) and execution.error == "States.Timeout":
        return (
            f"ActOnce posted a dead letter, and nobody decided in time: its execution failed{at}."
        )
    verb = "timed out" if state == "timed_out" else "failed"
    return f"Its execution {verb}{at}{error}."


def _note(story: Story) -> str:
    decided = last_decision(story)
    at = moment(decided.get("decided_at"))  # what decided may have been any client
    when = f" at {in_utc(at)}" if at else ""
    output = {} if story.execution is None else story.execution.output
    note = decided.get("note") or output.get("note") or (story.row or {}).get("note")
    return f"{when}: {note!r}" if note else when


def tell_duplicates(story: Story) -> str:
    """How many deliveries after the first were suppressed."""
    if "log" in story.unread:
        return "Its deliveries could not be read."
    number = sum(line["end"] == "suppressed" for line in story.deliveries)
    if not number:
        return ""
    return f"{counted(number, 'duplicate of it was', 'duplicates of it were')} suppressed."


def tell_effect(story: Story, state: StateName) -> str:
    """What is known of the effect, and by whose word."""
    if story.effects:
        return f"{capitalize(shown_effects(story))}."
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
        return f"{capitalize(nothing)}{so_far}."
    return ""


_OPEN = ("running", "at_work", "retrying")


def shown_effects(story: Story) -> str:
    """The effects that were found, within a sentence; there is at least one."""
    effects, place = story.effects, story.effects_place
    described = [one["description"] for one in effects if one["description"]]
    more = _described(described[0] if len(described) == 1 else described or None)
    if len(effects) > 1:
        return f"{place} has {len(effects)} effects of it{more}"
    when = f" (of {utc_of(effects[0]['at'])})" if effects[0]["at"] else ""
    return f"{place} has its effect{when}{more}"


def _described(effect: Any) -> str:
    if effect is None:
        return ""
    text = json.dumps(effect, ensure_ascii=False)
    if len(text) > DESCRIPTION_CHARACTERS:
        text = text[: DESCRIPTION_CHARACTERS - 1] + "…"
    return f": {text}"


def tell_conflicts(story: Story) -> str | None:
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
        return f"{capitalize(cannot_be_told('it is', story.seen.held_elsewhere))}."
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
