"""What to do about a message, and why.

Where nobody names a table, "it did not happen" would have an effect done again that is merely not
seen.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from actonce.messages.arguments import command
from actonce.messages.facts import Facts
from actonce.messages.history import has_no_find_function
from actonce.messages.sentences import found_effects
from actonce.messages.states import STATES, WAITING, may_have_run
from actonce.terminal.words import capitalize, in_utc
from actonce_core.reason import NOTHING_HAPPENED, DeadLetterReason


class Advice(NamedTuple):
    """What to do now; and the decision that is advised, or `discard`, if there is one."""

    text: str | None
    action: str | None = None


def advise(facts: Facts) -> Advice:
    """What to do about a message, apart from its conflicts."""
    return next(filter(None, (rule(facts) for rule in RULES)), Advice(None))


def _look_for_effect(facts: Facts) -> Advice | None:
    if facts.state != WAITING or not facts.effects_unread:
        return None
    return Advice(
        f"Look first whether {facts.story.effects_location} has its effect, which was not read "
        "here. If it has, resolve it; decide otherwise only if it has none."
    )


def _resolve(facts: Facts) -> Advice | None:
    if facts.state != WAITING or not facts.story.effects:
        return None
    did_not_happen = facts.failure.get("reason") in NOTHING_HAPPENED
    again = "A retry, like perform," if did_not_happen else "To perform it"
    shown = found_effects(facts.story)
    if (surplus := _undo_surplus(facts)) is not None:
        text = f"{surplus.text} Then resolve it. {again} could do it once more."
        return Advice(text, "resolve")
    return Advice(f"Resolve it: {shown}. {again} could do it twice.", "resolve")


def _decide_by_reason(facts: Facts) -> Advice | None:
    """No effect is known, and the reason says what happened."""
    return _BY_REASON.get(facts.failure.get("reason")) if facts.state == WAITING else None


_BY_REASON: Final[Mapping[Any, Advice]] = {
    DeadLetterReason.REJECTED: Advice(
        "It did not happen: the function says that it never will. Reject it; or, where the "
        "function is wrong, mend it and retry.",
        "reject",
    ),
    DeadLetterReason.NOT_PERFORMED: Advice(
        "It did not happen. Mend the cause and retry; or reject it.", "retry"
    ),
    DeadLetterReason.ROUNDS_USED_UP: Advice(
        "Mend the cause and retry: ActOnce looks it up again before it performs it.", "retry"
    ),
}


def _check_with_provider(facts: Facts) -> Advice | None:
    if facts.state != WAITING:
        return None
    check = (
        "It may have happened. Check with the provider: if it did, resolve; if you have seen that "
        "it did not, perform."
    )
    if (
        has_no_find_function(str(facts.failure.get("cause") or ""))
        and not facts.story.has_find_function
    ):
        return Advice(check)
    return Advice(f"{check} Once the look-up works again, retry looks first.")


def _undo_surplus(facts: Facts) -> Advice | None:
    if (number := len(facts.story.effects)) < 2:
        return None
    return Advice(
        f"It was acted on {number} times: see in the timeline which attempts did, and undo what is "
        "too much."
    )


def _undo_rejected(facts: Facts) -> Advice | None:
    if facts.state != "rejected" or not facts.story.effects:
        return None
    return Advice("It has an effect although it was rejected: undo it, if it shall not be.")


def _find_missing_effect(facts: Facts) -> Advice | None:
    is_missing = facts.are_effects_known and not facts.story.effects
    if facts.state not in ("performed", "found") or not is_missing:
        return None
    location = facts.story.effects_location
    return Advice(f"Find out at the provider why {location} has no effect of it.")


def _send_under_new_id(facts: Facts) -> Advice | None:
    """Step Functions continues it no more."""
    until = facts.redrivable_until
    if until is None or until >= facts.story.read_at:
        return None
    over = f"Step Functions continued it until {in_utc(until)} only, and starts its id no more."
    if facts.story.effects:
        return Advice(f"{over} {capitalize(found_effects(facts.story))}: nothing is left to do.")
    return Advice(
        f"{over} Find out at the provider whether it happened; if it did not and still should, "
        "have it sent under a new id."
    )


def _continue_execution(facts: Facts) -> Advice | None:
    if not STATES[facts.state].is_redrivable:
        return None
    then = "ActOnce looks the effect up before it performs it"
    if facts.is_undecided:
        then = "ActOnce posts the dead letter again"
    elif facts.story.dead_letters and facts.is_decided:
        then = f"ActOnce carries out what was decided ({facts.decision.get('decision')})"
    until = facts.redrivable_until
    allowed = f" Step Functions allows it until {in_utc(until)}." if until else ""
    # Last, and without a full stop, which would be copied as a part of the id.
    retry = command(facts.story, "dead-letters retry")
    return Advice(f"Continue it: {then}.{allowed} {retry}", "retry")


def _find_out_before_sending(facts: Facts) -> Advice | None:
    if facts.state != "not_known" or not may_have_run(facts.story):
        return None
    first = "Find out by its effect whether it happened, before you send it again."
    if facts.story.effects:
        first = "It has its effect: do not send it again."
    unstarted = _see_unstarted(facts)
    return Advice(f"{first} {unstarted.text}" if unstarted else first)


def _see_unstarted(facts: Facts) -> Advice | None:
    if all(entry.is_conflict for entry in facts.story.unstarted):
        return None
    what = "came" if facts.state == "not_started" else "else came with this id"
    return Advice(f"See what {what}, and why: {command(facts.story, 'unstarted show')}")


RULES: Final[tuple[Callable[[Facts], Advice | None], ...]] = (
    _look_for_effect,
    _resolve,
    _decide_by_reason,
    _check_with_provider,  # the last of those that wait for a decision
    _undo_surplus,
    _undo_rejected,
    _find_missing_effect,
    _send_under_new_id,
    _continue_execution,
    _find_out_before_sending,
    _see_unstarted,
)
"""The first that answers gives the advice."""
