"""What to do about a message, and why.

Where nobody names a table, "it did not happen" would have an effect done again that is merely not
seen.
"""

from typing import Final, NamedTuple

from actonce.messages.arguments import command
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.facts import (
    are_effects_unknown,
    failure_of,
    is_from_before,
    is_undecided,
    last_decision,
)
from actonce.messages.history import (
    Execution,
    nothing_looks_up,
)
from actonce.messages.sentences import shown_effects
from actonce.messages.states import (
    AFTER_DECISION,
    BROKEN_OFF,
    REDRIVEN_FOR,
    WAITING,
    StateName,
    last_entered,
    may_have_run,
)
from actonce.messages.story import Story
from actonce.terminal.words import capitalize, in_utc


class Advice(NamedTuple):
    """What to do now; and the decision that is advised, or `discard`, if there is one."""

    said: str | None
    action: str | None = None


REMEDY = (
    "Compare the two contents, and ask the producer which is right. Then discard the refused one, "
    "or have it sent under a new id; sent back, it would be refused again."
)


def advise(story: Story, state: StateName, letter: DeadLetter | None) -> Advice:
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
        said = f"See what {what}, and why: {command(story, 'unstarted show')}"
    if state == "not_known" and may_have_run(story):
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
            return Advice(f"{over} {capitalize(shown_effects(story))}: nothing is left to do.")
        return Advice(
            f"{over} Find out at the provider whether it happened; if it did not and still "
            "should, have it sent under a new id."
        )
    then = "ActOnce looks the effect up before it performs it"
    if is_undecided(story):
        then = "ActOnce posts the dead letter again"
    elif story.dead_letters and last_entered(story.steps)[1] in AFTER_DECISION:
        then = f"ActOnce carries out what was decided ({last_decision(story).get('decision')})"
    allowed = f" Step Functions allows it until {until}." if until else ""
    # Last, and without a full stop, which would be copied as a part of the id.
    said = f"Continue it: {then}.{allowed} {command(story, 'dead-letters retry')}"
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
    if not number and not are_effects_unknown(story) and state in ("performed", "found"):
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
        if is_of_before := is_from_before(story):
            said = (
                f"{shown_effects(story)}, from before its execution began. Compare the two: if it "
                f"is this message's, resolve it. {again} could do it twice."
            )
        return Advice(said, None if is_of_before else "resolve")
    if reason in _TO_DECIDE:
        return _TO_DECIDE[reason]
    if reason is None:
        return Advice(f"See why it waits: {command(story, 'dead-letters show')}")
    check = (
        "It may have happened. Check with the provider: if it did, resolve; if you have seen that "
        "it did not, perform."
    )
    if nothing_looks_up(str(failure.get("cause") or "")) and not story.looks_up:
        return Advice(check)
    return Advice(f"{check} Once the look-up works again, retry looks first.")
