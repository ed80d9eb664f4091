"""What happened to a message, its effect, duplicates and conflicts, in sentences.

They say no more than what was found. Whether the effect happened is told by the effects that a
table shows, or else by the word of whoever acted. That a message is not in a queue is said only of
a queue that was read.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from actonce.messages.facts import Facts
from actonce.messages.history import (
    BEFORE_LOOK_UP,
    FIND_EFFECT,
    TELL_DEAD_LETTER,
    Step,
    has_no_find_function,
    short_cause,
)
from actonce.messages.states import (
    PERFORM_EFFECT,
    PROVE_NOTHING_HAPPENED,
    STATES,
    StateName,
    is_handed_on,
    is_held,
)
from actonce.messages.story import Record, Story
from actonce.messages.unstarted import RECEIVED_TOO_OFTEN
from actonce.queues.scan import held_by_another
from actonce.terminal.error_names import error_label
from actonce.terminal.words import capitalize, in_utc, pluralize, times
from actonce_core.histories.stays import DECISIONS
from actonce_core.reason import DeadLetterReason
from actonce_pipeline.audit.reading.effects import parse_time

DESCRIPTION_CHARACTERS = 200
"""Most characters of an effect's description in the sentence; `--json` has it whole."""


def describe(facts: Facts) -> str:
    """What happened to a message, what is known of its effect, and its duplicates."""
    parts = (SENTENCES[facts.state](facts), _effect(facts), _duplicates(facts.story))
    return " ".join(filter(None, parts))


def _not_known(facts: Facts) -> str:
    if {"execution", "row"} & facts.story.unread.keys():
        return STATES["not_known"].explanation
    return (
        "It may have been started, and Step Functions knows no execution of it now: it forgets "
        "them in time, and of another state machine nothing was read here. "
        f"{_not_started(facts) if facts.story.unstarted else _not_in_unstarted_queue(facts.story)}"
    )


def _not_started(facts: Facts) -> str:
    story = facts.story
    if story.unstarted:
        newest = story.unstarted[-1]
        how = "not started" if newest.reason == RECEIVED_TOO_OFTEN else "refused"
        return (
            f"It was {how} ({newest.reason}): {newest.detail.rstrip('.')}. It has been in "
            f"UnstartedQueue since {in_utc(newest.since)}."
        )
    ended = {str(line["end"]): line for line in story.deliveries}
    where = _not_in_unstarted_queue(story)
    if "refused" in ended:
        return f"The starter refused it ({ended['refused'].get('reason')}). {where}"
    if "failed" in ended:
        error = error_label(str(ended["failed"].get("error") or "an error"))
        return f"The starter failed to start it ({error}); SQS brings it back."
    return f"No execution of it was started. {where}"


def _running(facts: Facts) -> str:
    decision = facts.decision.get("decision")
    if decision not in DECISIONS or not facts.is_decided:
        return STATES["running"].explanation
    return f"{_decider(facts)} decided to {decision} it{_note(facts)}. ActOnce carries that out."


def _at_work(facts: Facts) -> str:
    row = facts.row
    return "An attempt is under way." if row is None else _last_attempt(facts, row)


def _retrying(facts: Facts) -> str:
    row, failures, here = facts.row, facts.failures, facts.failures_here
    if row is not None:
        return _last_attempt(facts, row)
    performing = [step for step in failures if step.state == PERFORM_EFFECT]
    last = _in_brackets((performing or failures)[-1].detail) if failures else ""
    if facts.entered == TELL_DEAD_LETTER:
        return f"An attempt failed{last}. ActOnce posts a dead letter."
    if facts.entered == PERFORM_EFFECT and here and all(map(_proves_nothing_happened, here)):
        often = times(len(here))
        return f"The function said {often} that nothing happened{last}. ActOnce tries again."
    then = "ActOnce waits until no attempt can do anything more, then looks the effect up."
    if facts.entered == PERFORM_EFFECT and not here:
        then = "The look-up found no effect, and ActOnce tries again."
    elif facts.entered == FIND_EFFECT:
        then = "ActOnce looks the effect up."
        if here:
            then = f"The look-up failed{_in_brackets(here[-1].detail)}, and ActOnce looks again."
    return f"An attempt ended without a clear answer{last}. {then}" if failures else then


def _last_attempt(facts: Facts, row: Record) -> str:
    """Of a row that is not complete: a dead attempt leaves it just as a live one has it."""
    began = (
        f"{pluralize(int(row.get('consumption_count', 1)), 'attempt', 'attempts')} began so far."
    )
    if any(entry.reason == RECEIVED_TOO_OFTEN for entry in facts.story.unstarted):
        then = "SQS gave it up: nobody takes it up again until it is sent back from UnstartedQueue."
    elif is_handed_on(row):
        then = "The message was left to an execution, and SQS brings it back to have that started."
    elif not is_held(row):
        then = "Nothing happened at the last one. SQS brings the message back for another."
    else:
        then = (
            "The last one has not said how it ended; its last sign of life was at "
            f"{_at(row['updated'])}. If it died, SQS brings the message back while the queue keeps "
            "it, and an execution waits until that attempt can act no more, then looks the effect "
            "up."
        )
    return f"{began} {then}"


def _performed(facts: Facts) -> str:
    row = facts.row
    if row is None:
        return "An attempt performed it."
    return f"Attempt {row.get('consumption_count', 1)} performed it at {_at(row['updated'])}."


def _waiting(facts: Facts) -> str:
    """Why it waits for a decision."""
    error, rounds = _in_brackets(facts.failure), facts.failure.get("rounds")
    reason, why = facts.failure.get("reason"), ""
    if reason == DeadLetterReason.REJECTED:
        why = f"The function refused it{error}. "
    elif reason == DeadLetterReason.NOT_PERFORMED:
        number = sum(map(_proves_nothing_happened, facts.failures))
        often = times(number) if number else "each time"
        why = f"The function said {often} that nothing happened{error}; no retry is left. "
    elif reason == DeadLetterReason.ROUNDS_USED_UP:
        attempts = pluralize(int(rounds), "attempt", "attempts") if rounds else "The attempts"
        why = f"{attempts} ended without a clear answer{error}; each look-up found no effect. "
    elif reason == DeadLetterReason.OUTCOME_UNKNOWN:
        look_up = _look_up(str(facts.failure.get("cause") or ""))
        why = f"An attempt ended without a clear answer{error}, and {look_up}. "
    return f"{why}ActOnce posted a dead letter and waits for a decision."


def _broken_off(facts: Facts) -> str:
    execution = facts.story.execution
    if execution is None:
        return STATES[facts.state].explanation
    at = f" at {in_utc(execution.stopped_at)}" if execution.stopped_at else ""
    error = _in_brackets({"error": execution.error, "cause": execution.cause})
    if facts.state == "aborted":
        return f"Somebody stopped its execution{at}{error}."
    if facts.is_undecided and execution.error == "States.Timeout":
        return (
            f"ActOnce posted a dead letter, and nobody decided in time: its execution failed{at}."
        )
    return f"Its execution {STATES[facts.state].label}{at}{error}."


SENTENCES: Final[Mapping[StateName, Callable[[Facts], str]]] = {
    "not_known": _not_known,
    "not_seen": lambda facts: (
        f"No part of the stack has seen a message {facts.story.message_id!r}."
    ),
    "not_started": _not_started,
    "running": _running,
    "at_work": _at_work,
    "retrying": _retrying,
    "waiting_for_decision": _waiting,
    "performed": _performed,
    "found": lambda _: "An attempt ended without a clear answer, and the look-up found its effect.",
    "resolved": lambda it: f"{_decider(it)} resolved it by hand{_note(it)}.",
    "rejected": lambda it: f"{_decider(it)} rejected it{_note(it)}.",
    "failed": _broken_off,
    "aborted": _broken_off,
    "timed_out": _broken_off,
    "ended": lambda _: STATES["ended"].explanation,
}
"""What happened to a message in each state, and who did it."""


def _proves_nothing_happened(step: Step) -> bool:
    return step.detail.get("error") in PROVE_NOTHING_HAPPENED


def _at(text: str) -> str:
    return in_utc(datetime.fromisoformat(text))


def _decider(facts: Facts) -> str:
    return str(facts.decision.get("decided_by") or "A person")


def _note(facts: Facts) -> str:
    """When it was decided and why, as far as whoever decided, with whatever client, says so."""
    at = parse_time(facts.decision.get("decided_at"))
    when = f" at {in_utc(at)}" if at else ""
    output = {} if facts.story.execution is None else facts.story.execution.output
    note = facts.decision.get("note") or output.get("note")
    return f"{when}: {note!r}" if note else when


def _in_brackets(failure: Record) -> str:
    """A failure's error, and of its cause the part that tells what ended the attempt."""
    attempt, found, other = str(failure.get("cause") or "").rpartition(BEFORE_LOOK_UP)
    error = _quoted(str(failure.get("error") or ""), attempt if found else other)
    return f" ({error})" if error else ""


def _quoted(error: str, cause: str) -> str:
    """An error's name and message; others wrote the message, so quotes show where it ends."""
    message = short_cause(cause)
    return ": ".join(filter(None, [error_label(error), repr(message) if message else ""]))


def _look_up(cause: str) -> str:
    """The result of the look-up, within a sentence, by the failure's whole cause."""
    if has_no_find_function(cause):
        return "no function is named that could look it up (FindFunctionArn)"
    _, found, look_up = cause.rpartition(BEFORE_LOOK_UP)
    name, _, message = look_up.partition(": ")
    error = _quoted(name, message)
    return f"the look-up failed ({error})" if found and error else "the look-up gave no answer"


def _duplicates(story: Story) -> str:
    if "log" in story.unread:
        return "Its deliveries could not be read."
    number = sum(line["end"] == "suppressed" for line in story.deliveries)
    if not number:
        return ""
    return f"{pluralize(number, 'duplicate of it was', 'duplicates of it were')} suppressed."


def _effect(facts: Facts) -> str:
    """What is known of the effect, and by whose word."""
    story, nothing = facts.story, ""
    if story.effects:
        return f"{capitalize(found_effects(story))}."
    if facts.effects_unread:
        location = story.effects_location or "a table"
        nothing = f"whether {location} has an effect of it could not be read"
    elif story.effects_location is not None:
        nothing = f"{story.effects_location} has no effect of it"
    if facts.state in ("performed", "found"):
        if story.execution is not None:
            who, effect = "execution", story.execution.output.get("effect")
        else:
            who, effect = "row", json.loads((story.row or {}).get("effect") or "null")
        but = nothing and f", but {nothing}"
        return f"Its {who} says so{_described(effect)}{but}."
    so_far = " so far" if STATES[facts.state].is_open and not facts.effects_unread else ""
    return nothing and f"{capitalize(nothing)}{so_far}."


def found_effects(story: Story) -> str:
    """The effects that were found, within a sentence; there is at least one."""
    effects, location = story.effects, story.effects_location
    descriptions = [effect["description"] for effect in effects if effect["description"]]
    shown = _described(descriptions[0] if len(descriptions) == 1 else descriptions or None)
    if len(effects) > 1:
        return f"{location} has {len(effects)} effects of it{shown}"
    when = f" (of {_at(effects[0]['at'])})" if effects[0]["at"] else ""
    return f"{location} has its effect{when}{shown}"


def _described(effect: Any) -> str:
    if effect is None:
        return ""
    text = json.dumps(effect, ensure_ascii=False)
    if len(text) > DESCRIPTION_CHARACTERS:
        text = text[: DESCRIPTION_CHARACTERS - 1] + "…"
    return f": {text}"


def describe_conflicts(story: Story) -> str | None:
    """What came with the same id and another content, and where it is; None: nothing did."""
    in_queue = sum(entry.is_conflict for entry in story.unstarted)
    number = max(len(story.conflicts), in_queue)
    if not number:
        return None
    what = "delivery with this id brought other content and was refused."
    several = "deliveries with this id brought other content and were refused."
    where = "UnstartedQueue has it." if in_queue else _not_in_unstarted_queue(story)
    return f"{pluralize(number, what, several)} {where}"


def _not_in_unstarted_queue(story: Story) -> str:
    """A sentence that UnstartedQueue has nothing of it, as far as that was read."""
    if "unstarted" in story.unread:
        return "Whether it is in UnstartedQueue could not be read."
    scan = story.unstarted_scan
    if scan.in_flight_elsewhere:
        return f"{capitalize(unknown_because_in_flight('it is', scan.in_flight_elsewhere))}."
    if scan.at is None:
        return "Whether it is in UnstartedQueue was not looked at."
    return f"UnstartedQueue had nothing of it at {in_utc(scan.at)}."


def unknown_because_in_flight(they_are: str, in_flight_elsewhere: int) -> str:
    """That not all of UnstartedQueue could be read, where `it is`, within a sentence."""
    held = held_by_another(in_flight_elsewhere)
    return f"whether {they_are} in UnstartedQueue cannot be told: {held}"
