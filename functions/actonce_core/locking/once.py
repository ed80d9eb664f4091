"""Acting once, with a ledger or a lease around any step: for consumers and for `@idempotent`."""

from collections.abc import Callable

from actonce_core.effect import NotPerformed, OutcomeUnknown
from actonce_core.locking.attempt import Attempt, JsonObject, LockLost, Outcome, ProcessingLocks

Perform = Callable[[Attempt], JsonObject]
Find = Callable[[], JsonObject | None]

RETRY_AFTER_SECONDS = (0.2, 1.0)
"""Waits before `perform` is tried again within one attempt, after proof that nothing happened."""


def act_once(
    locks: ProcessingLocks,
    attempt: Attempt,
    perform: Perform,
    find: Find | None,
) -> tuple[Outcome, JsonObject]:
    """Perform the step in this attempt, unless an earlier one did, and write that down.

    Invariant: `perform` is called only while the attempt holds the message, and after an attempt
    that ended without a word only if `find` said that nothing happened. Whatever this raises
    leaves the message with the attempt until its time is over, or until the caller releases it,
    which is right after `NotPerformed` only.

    Args:
        locks: that the attempt was acquired from.
        attempt: this one.
        perform: the step. It may raise `NotPerformed`; anything else means that nobody knows.
        find: looks up what was done for the message; None if there is no way to.

    Returns:
        PERFORMED or FOUND, and the description of the effect.

    Raises:
        NotPerformed: provably nothing happened, several times.
        OutcomeUnknown: an earlier attempt may have performed the step, and there is no `find`.
        LockLost: others may have taken over; if the step was performed, they find it.
        Exception: what `perform` or `find` raised; the outcome is unknown.
    """
    with locks.at_work(attempt):
        outcome, effect = _found_or_performed(attempt, perform, find, locks.host.sleep)
    locks.mark_message_processed(attempt, outcome, effect)
    return outcome, effect


def _found_or_performed(
    attempt: Attempt, perform: Perform, find: Find | None, sleep: Callable[[float], None]
) -> tuple[Outcome, JsonObject]:
    if attempt.outcome_unknown:
        if find is None:
            raise OutcomeUnknown("an earlier attempt ended without a word, and there is no find")
        if attempt.straggler_seconds:
            sleep(attempt.straggler_seconds)
        found = find()
        if found is not None:
            return Outcome.FOUND, found
    for wait in (*RETRY_AFTER_SECONDS, None):
        if attempt.is_lost():
            raise LockLost("the attempt's time was over before the step began")
        try:
            return Outcome.PERFORMED, perform(attempt)
        except NotPerformed:
            if wait is None:
                raise
            sleep(wait)
    raise AssertionError  # the last wait is None
