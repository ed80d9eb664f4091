"""Why a mutant is not noticed, by its name."""

# ruff: noqa: E501 - names are what they are

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of a survivor.

    Attributes:
        why: it does what the original does, or what hazard would notice it.
        is_equivalent: nothing promised depends on the decision.
    """

    why: str
    is_equivalent: bool = True


EXPLAINED: Mapping[str, Explanation] = {
    (
        "functions/deduplication/executions.py Executions._start: `answer['startDate'] < "
        "asked_at` left out"
    ): Explanation(
        "Started or suppressed is a label, no decision ([decision "
        "8](decisions/0008-started-or-suppressed-is-a-label.md)).",
    ),
    (
        "functions/deduplication/executions.py Executions._start: `not first_seen_now` left out"
    ): Explanation(
        "Started or suppressed is a label, no decision ([decision "
        "8](decisions/0008-started-or-suppressed-is-a-label.md)).",
    ),
    (
        "functions/deduplication/executions.py Executions._start: `return "
        "Refusal(Reason.NOT_STARTABLE, f'Step Functions ref…` left out"
    ): Explanation(
        "It would need a name or an input that Step Functions refuses; the reader lets none "
        "through.",
        is_equivalent=False,
    ),
    (
        "functions/deduplication/executions.py Executions._start: the boundary of "
        "`answer['startDate'] < asked_at`"
    ): Explanation(
        "Started or suppressed is a label, no decision ([decision "
        "8](decisions/0008-started-or-suppressed-is-a-label.md)).",
    ),
    "functions/deduplication/fingerprints.py refusal_of: `return None` left out": Explanation(
        "What follows refuses it as another memory's, so that a duplicate of what a lock "
        "completed is parked; the cell is parked anyway, for the other messages in it.",
        is_equivalent=False,
    ),
    (
        "functions/deduplication/start.py Starter._start: `asked != "
        "self.memories.own.state_machine` left out"
    ): Explanation(
        "The own state machine is asked as another one would be: the same answer.",
    ),
    "functions/deduplication/start.py Starter._start: `asked is not None` left out": Explanation(
        "Where nobody can be asked it was refused before.",
    ),
    (
        "functions/deduplication/unstarted.py _source_attributes: "
        "`delivery.message_attributes.keys() >= _OF_A_REFUSAL` negated"
    ): Explanation(
        "A walk's messages carry no attributes; unit tests have such.",
        is_equivalent=False,
    ),
    "functions/deduplication/unstarted.py _source_attributes: `own` negated": Explanation(
        "A walk's messages carry no attributes; unit tests have such.",
        is_equivalent=False,
    ),
    (
        "functions/deduplication/unstarted.py _source_attributes: `return "
        "delivery.text_attribute(SOURCE_ATTRIBUTES)` left out"
    ): Explanation(
        "A walk's messages carry no attributes; unit tests have such.",
        is_equivalent=False,
    ),
    "functions/deduplication/unstarted.py unstarted_attributes: `value` negated": Explanation(
        "A walk's messages carry no attributes; unit tests have such.",
        is_equivalent=False,
    ),
    (
        "functions/effect.py answer: `not isinstance(message.get('message_id'), str)` left out"
    ): Explanation(
        "It would need a request that is not of the form; a unit test has one.",
        is_equivalent=False,
    ),
    (
        "functions/effect.py answer: `raise NotPerformed('the time that its execution allows "
        "wa…` left out"
    ): Explanation(
        "It would need a cold start that takes longer than the execution allows and a process"
        " that stands still, further than these walks went.",
        is_equivalent=False,
    ),
    "functions/effect.py answer: not within `ends_in(left, end_in)`": Explanation(
        "It would need a raised time-out and an invocation that stands still, further than "
        "these walks went.",
        is_equivalent=False,
    ),
    (
        "functions/locking/consumer.py Consumer._act: `self._give_up(delivery, message, "
        "attempt, Failure('outcom…` left out"
    ): Explanation(
        "The effect that cannot be looked up has happened in each walk; it would need one "
        "that has not.",
        is_equivalent=False,
    ),
    (
        "functions/locking/consumer.py Consumer._act: "
        "`self.locks.release_processing_lock(attempt)` left out"
    ): Explanation(
        "The next attempt waits until the lock's time is over, and looks first: later, and "
        "once. No walk asks how long a message takes once something went wrong.",
        is_equivalent=False,
    ),
    "functions/locking/consumer.py _refusal_of: `is_lock` negated": Explanation(
        "Words for a person.",
    ),
    (
        "functions/locking/consumer.py _refusal_of: `return Refusal(Reason.OTHER_MEMORY, "
        "f'The message was tak…` left out"
    ): Explanation(
        "The delivery comes back until SQS parks it in the same queue: without a reason; "
        "parked is in the table.",
        is_equivalent=False,
    ),
    "functions/locking/lease.py HEARTBEATS_PER_LEASE: doubled": Explanation(
        "How often, and not what.",
    ),
    (
        "functions/locking/lease.py Lease.__init__: `f'{socket.gethostname()}:{os.getpid()}'`"
        " left out"
    ): Explanation(
        "The owner's name is for people.",
    ),
    "functions/locking/lease.py Lease._beat: `return True` left out": Explanation(
        "After one heartbeat that failed there are none; it would need a second thing to go "
        "wrong in a longer effect.",
        is_equivalent=False,
    ),
    (
        "functions/locking/lease.py Lease._is_lost: the boundary of `unconfirmed_for >= "
        "holding.lease_seconds * WORKING_SHARE`"
    ): Explanation(
        "One moment: a holder that is exactly half a lease old.",
    ),
    "functions/locking/lease.py WORKING_SHARE: doubled": Explanation(
        "A holder that works until its lease's end, and an effect that takes longer than the "
        "rest; further than these walks went.",
        is_equivalent=False,
    ),
    "functions/locking/row_locks.py RowLocks.__init__: `Host()` left out": Explanation(
        "A walk brings a host of its own.",
        is_equivalent=False,
    ),
    (
        "functions/locking/row_locks.py RowLocks.acquire_processing_lock: `began = "
        "self.host.monotonic()` after `taken = self._table.take_over(bid, over, taken, "
        "self.UNCH…`"
    ): Explanation(
        "The look-up comes after it and finds what others did; it would need another pause "
        "between the look-up and the effect.",
        is_equivalent=False,
    ),
    (
        "functions/locking/rows.py ProcessingTable._write_as_holder: `raise "
        "LockLost(f'attempt {attempt.attempt_id} of message …` left out"
    ): Explanation(
        "The attempt that lost acknowledges what another one is at work on; it would need "
        "that one to crash, too.",
        is_equivalent=False,
    ),
    "functions/locking/rows.py ProcessingTable._write_as_holder: `return` left out": Explanation(
        "The delivery comes back once, and is suppressed: only noise.",
    ),
    "functions/locking/rows.py ProcessingTable.decide: `IS_COMPLETE` always holds": Explanation(
        "Only a row that is complete has the outcome of a dead letter.",
    ),
    "functions/locking/rows.py ProcessingTable.decide: `IS_DEAD_LETTER` always holds": Explanation(
        "An operator who decides a message that is complete and no dead letter: it would need"
        " a decision twice, the first of them to try again and done by then.",
        is_equivalent=False,
    ),
    "functions/locking/rows.py _held_by: `IS_HELD_BY_ATTEMPT` always holds": Explanation(
        "A zombie that wakes while the next attempt's effect is under way: only `any-two` "
        "brings the two together, and no mutant is walked that far.",
        is_equivalent=False,
    ),
    (
        "functions/locking/rows.py told: `return OtherMemory(row.get('memory', {}).get('S', "
        "''))` left out"
    ): Explanation(
        "A row of another memory is then read as its own; not looked for longer than a few "
        "hundred schedules.",
        is_equivalent=False,
    ),
    "functions/locking/rows.py told: `return OtherMemory(written_by)` left out": Explanation(
        "A row of another memory is then read as its own; not looked for longer than a few "
        "hundred schedules.",
        is_equivalent=False,
    ),
    "functions/time_allowed.py _STANDARD_ERROR: doubled": Explanation(
        "Where the watchdog writes; a walk has its own timer.",
        is_equivalent=False,
    ),
    (
        "functions/time_allowed.py seconds_left: `allowed - max(configured - remaining, 0)` "
        "is `allowed`"
    ): Explanation(
        "In a walk Lambda always says how long is left, and a look-up waits longer than what "
        "is at stake.",
        is_equivalent=False,
    ),
    (
        "functions/time_allowed.py seconds_left: `configured is not None and configured <= "
        "allowed` negated"
    ): Explanation(
        "In a walk Lambda always says how long is left, and a look-up waits longer than what "
        "is at stake.",
        is_equivalent=False,
    ),
    "functions/time_allowed.py seconds_left: `remaining is not None` left out": Explanation(
        "In a walk Lambda always says how long is left, and a look-up waits longer than what "
        "is at stake.",
        is_equivalent=False,
    ),
    "functions/time_allowed.py seconds_left: `return None` left out": Explanation(
        "In a walk Lambda always says how long is left, and a look-up waits longer than what "
        "is at stake.",
        is_equivalent=False,
    ),
    (
        'functions/time_allowed.py seconds_left_of: `raise ValueError(f"event: '
        "'allowed_seconds' is {allowed!r…` left out"
    ): Explanation(
        "It would need a request that is not of the form; a unit test has one.",
        is_equivalent=False,
    ),
    (
        "statemachine/process_message.asl.json DeadLetter, Output: "
        "`$exists($states.result.decision) ? $states.result.decision : 'none'` is "
        "`$states.result.decision`"
    ): Explanation(
        "An answer without a decision then fails the state, whose Retry posts the dead letter"
        " again.",
    ),
    "statemachine/process_message.asl.json DeadLetter, Retry 1: attempts": Explanation(
        "It is posted again by itself, instead of failing and being redriven.",
    ),
    "statemachine/process_message.asl.json DeadLetter, Retry 1: left out": Explanation(
        "`States.TaskFailed` matches no time-out; it says so for the reader.",
    ),
    "statemachine/process_message.asl.json DeadLetter, Retry: 1 after 2": Explanation(
        "`States.TaskFailed` matches no time-out, so their order does not matter.",
    ),
    (
        "statemachine/process_message.asl.json FindEffect, Output: "
        "`$exists($states.context.Execution.RedriveCount) ? "
        "$states.context.Execution.RedriveCount : 0` is "
        "`$states.context.Execution.RedriveCount`"
    ): Explanation(
        "On AWS the field is always there; the embedded AWS has none, and its tests notice.",
    ),
    "statemachine/process_message.asl.json FindEffect, TimeoutSeconds: 1 s": Explanation(
        "A look-up takes no time in a walk; it would need one that is slow.",
        is_equivalent=False,
    ),
    "statemachine/process_message.asl.json FindEffect, TimeoutSeconds: `+ 5` left out": Explanation(
        "5 s more or less: when a look-up is given up, not what follows.",
    ),
    (
        "statemachine/process_message.asl.json PerformEffect, Catch 2: without "
        "Lambda.TooManyRequestsException"
    ): Explanation(
        "Throttled six times in a row, it is looked up before it becomes a dead letter.",
    ),
    "statemachine/process_message.asl.json PerformEffect, Catch: 2 after 3": Explanation(
        "What provably did not happen is looked up, and then becomes a dead letter, rounds later.",
    ),
    "statemachine/process_message.asl.json PerformEffect, TimeoutSeconds: `+ 5` left out": Explanation(
        "Lambda's own time-out is as long, so the outcome is unknown either way.",
    ),
    "statemachine/process_message.asl.json Performed?, choice 2: one round fewer": Explanation(
        "Two crashes in one run are only in `deployed-between`, where parked is in the table;"
        " it would need them where it is not.",
        is_equivalent=False,
    ),
    "statemachine/process_message.asl.json Performed?, choice 3: its Output left out": Explanation(
        "It names the reason, and either is looked up first.",
    ),
    "statemachine/process_message.asl.json Performed?, choice 3: left out": Explanation(
        "It names the reason; without it the default leads to the same dead letter, and "
        "either reason is looked up first.",
    ),
    "statemachine/process_message.asl.json Performed?, choice 3: negated": Explanation(
        "It names the reason; the default leads to the same dead letter, and either reason is"
        " looked up first.",
    ),
}
