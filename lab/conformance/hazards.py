"""The hazards: what is sent, what may go wrong, and how often."""

from collections.abc import Callable
from dataclasses import dataclass

from lab.conformance.deployments import deploy_another_memory
from lab.conformance.effects import BROKEN, CLOSED, POISON, SLOW, UNSEEN, UNTOLD
from lab.conformance.operators import decide_behind_locks
from lab.conformance.process import Hazard
from lab.conformance.stage import (
    CLOCK_SKEW,
    CLOSING,
    CONSUMER_TIMEOUT,
    INIT,
    LEASE,
    LEASE_VISIBILITY,
    STRAGGLER_MARGIN,
    VISIBILITY,
    Stage,
)
from lab.conformance.stepfunctions import SHORTEST_HISTORY, TRUTHFULLY
from lab.conformance.texts import cases

MINUTE = 60_000
DAY = 24 * 60 * MINUTE

LONG_PAUSE = 10 * MINUTE
"""Longer than any lease, time-out or visibility timeout."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A hazard, as it is played.

    Attributes:
        name: on the command line.
        title: in the table.
        about: one sentence for those who read the table.
        set_up: sends, and sets clocks.
        hazards: what may go wrong at a step.
        budget: how often, in one run; `--deep` adds one.
        pauses: milliseconds that a paused process stands still.
        asks_for_order: whether the order of effects is judged.
        is_of_effect: it needs an effect that fails, or is rejected, when asked to.
        is_of_strategy: it is of a change of the stack, and rivals have none.
        ways: that the published table has it for; None: all.
    """

    name: str
    title: str
    about: str
    set_up: Callable[[Stage], None]
    hazards: tuple[Hazard, ...] = ()
    budget: int = 0
    pauses: tuple[int, ...] = ()
    asks_for_order: bool = False
    is_of_effect: bool = False
    is_of_strategy: bool = False
    ways: frozenset[str] | None = None


def _twice_at_once(stage: Stage) -> None:
    stage.send("a", deliveries_at_once=2)


def _once_or_twice(stage: Stage) -> None:
    stage.send("a", deliveries_at_once=stage.world.pick((1, 2)))


def _sent_again(*after: int) -> Callable[[Stage], None]:
    def set_up(stage: Stage) -> None:
        stage.send("a")
        stage.send("a", after=stage.world.pick(after))

    return set_up


def _short_history(stage: Stage) -> None:
    stage.executions.names_free_after = SHORTEST_HISTORY
    # Before the row is too old, after that, when the name is free, and just before 90 days.
    _sent_again(24 * DAY, 26 * DAY, 31 * DAY, 79 * DAY)(stage)


def _clocks_apart(offset: int) -> Callable[[Stage], None]:
    def set_up(stage: Stage) -> None:
        # A second apart, so that what goes wrong is for the clocks, and no race.
        stage.wall_offsets = (0, offset)
        stage.lateness = {Hazard.EFFECT_LATE: (2_000,)}
        stage.send("a", again_after=1000)

    return set_up


def _conflict(stage: Stage) -> None:
    # Whichever was first, also where its effect has not happened yet.
    is_closed = stage.way.is_ours and stage.world.pick((False, True))
    stage.send("a", "one", more={CLOSED: True} if is_closed else None)
    stage.send("a", "other", after=stage.world.pick((0, MINUTE)))


_NO_MESSAGES = ("no message {", "[" * 200, f"[{'0,' * 150_000}")
"""No JSON for anybody; the second is deep, the third large."""


def _poison(stage: Stage) -> None:
    text = stage.world.pick((None, *_NO_MESSAGES))
    if text is None:
        stage.send("a", more={POISON: True})
    else:
        stage.send_text(text)


_GIVEN_UP = (POISON, CLOSED, BROKEN, UNSEEN)


_ANSWERED_AFTER = (*_GIVEN_UP, UNTOLD)


def _given_up(stage: Stage) -> None:
    stage.send("a", more={stage.world.pick(_GIVEN_UP): True})


def _given_up_and_answered(stage: Stage) -> None:
    stage.send("a", more={stage.world.pick(_ANSWERED_AFTER): True})


_RETRIED = (("retry",), ("perhaps", "retry"), ("", "retry"), (None, "retry"))
_CLOSED = (("resolve",), ("reject",), ("perhaps",), ("", "reject"), ("retry ",))
_NOT_LOOKED_UP = (("retry",), ("resolve",), ("reject",), ("retry", "resolve"))
"""What is answered to dead letters; "retry " is no decision either."""


def _tried_again(stage: Stage) -> None:
    stage.executions.answers = stage.world.pick(_RETRIED)
    stage.executions.answered_after = stage.world.pick((0, 13 * DAY))
    _given_up_and_answered(stage)
    decide_behind_locks(stage, None)


def _mended_by_a_deployment(stage: Stage) -> None:
    stage.executions.answers = ("retry", "retry")
    stage.executions.answered_after = DAY
    stage.world.at(DAY // 2, "deployment", stage.deploy_function)
    stage.send("a", more={POISON: True})


def _closed(stage: Stage) -> None:
    stage.executions.answers = answers = stage.world.pick(_CLOSED)
    _given_up_and_answered(stage)
    decide_behind_locks(stage, CLOSING.get(answers[-1], "resolved"))
    ((_, body),) = stage.sent
    stage.send("a", after=DAY, more={name: True for name in body if name in _ANSWERED_AFTER})


def _cold_start(stage: Stage) -> None:
    stage.cold_start = stage.world.pick((5_000, INIT, 60_000))
    _deployed_before(stage)


def _no_clear_yes(stage: Stage) -> None:
    stage.answers_unclearly = True
    # Behind a lock the consumer reads the answer, and waits as after any other.
    is_started = stage.way.strategy == "step-functions"
    wrong = stage.world.pick(("", POISON, CLOSED) if is_started else ("", POISON))
    if not wrong:
        stage.performed.down_until = 90_000
    stage.send("a", more={wrong: True} if wrong else None)


def _not_looked_up(stage: Stage) -> None:
    """Nothing is named to look the effect up, and an operator answers, or does not."""
    stage.look_nothing_up()
    stage.executions.answers = stage.world.pick(((), *_NOT_LOOKED_UP))
    stage.send("a")


def _told_by_a_person(stage: Stage) -> None:
    stage.look_nothing_up()
    stage.executions.answers = (TRUTHFULLY, TRUTHFULLY)
    stage.send("a", more={stage.world.pick((BROKEN, UNSEEN)): True})
    decide_behind_locks(stage, TRUTHFULLY)


def _changed_by_hand(stage: Stage) -> None:
    stage.change_function_by_hand(stage.world.pick((5_000, 120_000)))
    stage.cold_start = stage.world.pick((0, 4_000, INIT))
    stage.send("a")


def _provider_down(stage: Stage) -> None:
    stage.performed.down_until = stage.world.pick((90_000, 50 * MINUTE))
    stage.send("a")


def _provider_gone(stage: Stage) -> None:
    stage.performed.down_until = 12 * 60 * MINUTE
    stage.send("a")


def _blind_for(milliseconds: int) -> Callable[[Stage], None]:
    def set_up(stage: Stage) -> None:
        stage.performed.blind_until = milliseconds
        stage.send("a")

    return set_up


def _unheard(stage: Stage) -> None:
    # Two at once: one crashes, the other takes over after a lease, and waits for the margin. A
    # second later a third one comes, and sees no sign of life of it.
    stage.lateness = {Hazard.EFFECT_OUTLIVES: (STRAGGLER_MARGIN - 1_000,)}
    stage.unheard_until = LEASE + STRAGGLER_MARGIN + 2_000
    stage.send("a", deliveries_at_once=2)
    stage.send("a", after=LEASE + 1_000)


def _late_straggler(stage: Stage) -> None:
    # The second one comes as soon as a ledger may be taken over.
    stage.wall_offsets = (0, CLOCK_SKEW)
    stage.lateness = {Hazard.EFFECT_OUTLIVES: (STRAGGLER_MARGIN - 1_000,)}
    stage.send("a")
    stage.send("a", after=CONSUMER_TIMEOUT + STRAGGLER_MARGIN + 1_000)


def _texts(stage: Stage) -> None:
    is_started = stage.way.strategy == "step-functions"
    case = stage.world.pick(cases(is_fifo=stage.way.is_fifo, is_started=is_started))
    stage.message_id_from, stage.content_from = case.message_id_from, case.content_from
    stage.executions.refuses_names = case.is_refused_start
    for minutes, written in enumerate(case.messages):
        stage.send_written(written, minutes * MINUTE)


def _slow_look_up(stage: Stage) -> None:
    stage.send("a", more={SLOW: True})


_MESSAGE = {"message_id": "a", "body": "{}"}
_NO_REQUESTS: tuple[dict[str, object], ...] = (
    {},
    {"operation": "perform"},
    {"operation": "perform", "message": "a"},
    {"operation": "perform", "message": {"body": "{}"}},
    {"operation": "perform", "message": {"message_id": 1, "body": "{}"}},
    {"operation": "find", "message": {"message_id": 1}},
    {"operation": "delete", "message": _MESSAGE},
)


def _by_hand(stage: Stage) -> None:
    request = stage.world.pick((*_NO_REQUESTS, None))
    if request is None:
        # As a consumer asks, which counts no attempts.
        stage.sent.append(("a", {}))
        stage.ask_by_hand({"operation": "perform", "message": _MESSAGE}, is_refused=False)
    else:
        stage.ask_by_hand(request, is_refused=True)


def _another_memory_meanwhile(stage: Stage) -> None:
    stage.wall_offsets = (0, 5 * MINUTE, -5 * MINUTE)
    stage.send("a")
    stage.send("a", after=10 * MINUTE)
    deploy_another_memory(stage, stage.world.pick((0, MINUTE)))


def _group(stage: Stage) -> None:
    stage.send("a")
    stage.send("b")


def _margin(stage: Stage) -> None:
    stage.wall_offsets = (0, 5 * MINUTE)
    stage.lateness = {
        Hazard.EFFECT_OUTLIVES: (STRAGGLER_MARGIN - 1_000,),
        Hazard.EFFECT_HANGS: (STRAGGLER_MARGIN - 1_000,),
    }
    _once_or_twice(stage)


def _another_memory(stage: Stage) -> None:
    stage.send("a")
    stage.send("a", after=stage.world.pick((0, 10 * MINUTE)))
    deploy_another_memory(stage, stage.world.pick((0, MINUTE)))


def _anything(stage: Stage) -> None:
    stage.wall_offsets = (0, 5 * MINUTE, -5 * MINUTE)
    stage.send("a", deliveries_at_once=2)


def _deployed_before(stage: Stage) -> None:
    """A deployment is complete, or has come as far as the function and no further; or is none."""
    stage.world.pick((lambda: None, stage.deploy_function, stage.deploy_all))()
    stage.send("a")


_SERVICE = (Hazard.THROTTLED, Hazard.ANSWER_LOST, Hazard.REPEATED)

_EXECUTIONS = frozenset({"step-functions", "step-functions-booking"})
"""What a deployment parts and an operator aborts is an execution."""

_INVOKES = frozenset({"step-functions", "ledger-invoking", "lease-invoking"})
"""What has a function of its own perform the effect."""

_AS_IT_SHIPS = frozenset(
    {
        "step-functions",
        "ledger-fenced",
        "ledger-worker-fenced",
        "lease-fenced",
        "lease-worker-fenced",
    }
)
"""The example's effect checks the fence."""

_FENCED_WORKERS = frozenset({"ledger-worker-fenced", "lease-worker-fenced"})

_ANY = (
    Hazard.CRASH,
    Hazard.PAUSE,
    *_SERVICE,
    Hazard.NOT_ACKNOWLEDGED,
    Hazard.EFFECT_ANSWER_LOST,
    Hazard.NOT_PERFORMED,
    Hazard.EFFECT_LATE,
    Hazard.EFFECT_OUTLIVES,
    Hazard.EFFECT_HANGS,
    Hazard.DEPLOYED,
    Hazard.ABORTED,
)

_ANSWERED = frozenset({"step-functions", "ledger", "lease"})

_OURS = frozenset(
    {"step-functions", "step-functions-fifo"}
    | {
        f"{way}{where}"
        for way in ("ledger", "lease")
        for where in ("", "-fenced", "-worker", "-worker-fenced", "-fenced-fifo")
    }
)
"""This project's, with the effect that only counts."""

SCENARIOS = (
    Scenario(
        "twice-at-once",
        "delivered twice at once",
        "SQS delivers one message to two consumers at the same time.",
        _twice_at_once,
    ),
    Scenario(
        "again-later",
        "delivered again later",
        "The message was handled, its deletion is lost, and SQS delivers it again.",
        lambda stage: stage.send("a"),
        (Hazard.NOT_ACKNOWLEDGED,),
        1,
    ),
    Scenario(
        "resend-5-minutes",
        "sent again within 5 minutes",
        "The producer sends it again, at once or a minute later, under a new SQS id.",
        _sent_again(0, MINUTE),
    ),
    Scenario(
        "resend-later",
        "sent again after 5 minutes",
        "The producer sends it again ten minutes or two hours later, under a new SQS id.",
        _sent_again(10 * MINUTE, 120 * MINUTE),
    ),
    Scenario(
        "resend-91-days",
        "sent again after 91 days",
        "The producer sends it again when Step Functions has forgotten the execution's name.",
        _sent_again(91 * DAY),
    ),
    Scenario(
        "short-history",
        "history forgotten after 30 days",
        "The account keeps execution histories for 30 days only, and the producer sends it again "
        "after 24, 26, 31 or 79.",
        _short_history,
    ),
    Scenario(
        "crash",
        "crash at any step",
        "A process dies before any one of its steps; delivered once, or twice at once.",
        _once_or_twice,
        (Hazard.CRASH,),
        1,
    ),
    Scenario(
        "crash-after-effect",
        "crash after the effect",
        "The process dies after the effect, before anything is written down.",
        lambda stage: stage.send("a"),
        (Hazard.CRASH_AFTER_EFFECT,),
        1,
        is_of_effect=True,
    ),
    Scenario(
        "effect-unheard",
        "the effect's answer is lost",
        "The effect happens and its caller gets an error; or it says that it did not happen.",
        _once_or_twice,
        (Hazard.EFFECT_ANSWER_LOST, Hazard.NOT_PERFORMED),
        1,
        is_of_effect=True,
    ),
    Scenario(
        "effect-late",
        "time-out while the effect runs",
        "The effect happens seconds after it was asked for, as many as the way allows for; its "
        "caller waits for it, or its time is over before.",
        _once_or_twice,
        (Hazard.EFFECT_LATE, Hazard.EFFECT_OUTLIVES),
        1,
        is_of_effect=True,
    ),
    Scenario(
        "margin",
        "effect within the margin",
        "What the effect calls acts for as long as the margin allows after its caller's end, which "
        "comes at once or with the caller's time-out; the second consumer's clock is 5 minutes "
        "ahead.",
        _margin,
        (Hazard.EFFECT_OUTLIVES, Hazard.EFFECT_HANGS),
        1,
        is_of_effect=True,
    ),
    Scenario(
        "zombie",
        "a consumer that stood still",
        "A process stands still before any step, for 20 s, 40 s, 50 s or 10 minutes, and then goes "
        "on.",
        _once_or_twice,
        (Hazard.PAUSE,),
        1,
        (20_000, 40_000, 50_000, LONG_PAUSE),
    ),
    Scenario(
        "clock-ahead",
        "clock 5 minutes ahead",
        "Of two consumers, a second apart, the second one's clock is ahead; an effect may be late.",
        _clocks_apart(5 * MINUTE),
        (Hazard.EFFECT_LATE,),
        1,
        is_of_effect=True,
    ),
    Scenario(
        "clock-behind",
        "clock 5 minutes behind",
        "Of two consumers, a second apart, the second one's clock is behind; one may crash before "
        "its effect.",
        _clocks_apart(-5 * MINUTE),
        (Hazard.CRASH_BEFORE_EFFECT,),
        1,
    ),
    Scenario(
        "conflict",
        "same id, other content",
        "Two messages with one id and two contents: one may be acted on, the other must be kept.",
        _conflict,
    ),
    Scenario(
        "services-fail",
        "a service fails",
        "Any call of DynamoDB, Step Functions, Lambda or SQS is throttled, or its answer is lost.",
        _once_or_twice,
        (*_SERVICE, Hazard.NOT_ACKNOWLEDGED),
        1,
    ),
    Scenario(
        "poison",
        "poison messages",
        "What is no message, be it small, deep or large, and a message that the effect rejects.",
        _poison,
        is_of_effect=True,
    ),
    Scenario(
        "given-up",
        "given up",
        "The effect rejects a message, or never happens, provably or not, or can never be looked "
        "up; while it is given up a process crashes, a service fails, or a deletion is lost.",
        _given_up,
        (Hazard.CRASH, *_SERVICE, Hazard.NOT_ACKNOWLEDGED),
        1,
        is_of_effect=True,
        ways=_OURS,
    ),
    Scenario(
        "tried-again",
        "given up and tried again",
        "The same, with nothing else; what was wrong is mended, and an operator has it tried "
        "again, at once or after 13 days; before that the answer was none, or came too late.",
        _tried_again,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "mended-by-deploying",
        "mended by a deployment, and tried again",
        "The effect rejects a message; a version that is mended, with a time-out of 2 "
        "minutes in the place of 15 s, is deployed, and an operator's answers bring it; an answer "
        "is lost, an effect hangs, a process crashes, or the execution is aborted; or two of them.",
        _mended_by_a_deployment,
        (Hazard.ANSWER_LOST, Hazard.EFFECT_HANGS, Hazard.CRASH, Hazard.ABORTED),
        2,
        is_of_effect=True,
        ways=frozenset({"step-functions"}),
    ),
    Scenario(
        "closed",
        "given up and closed",
        "The same, and the operator's answer is that it is done, or is not to be done, or is none; "
        "then it is sent again.",
        _closed,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "unclear",
        "an unclear answer",
        "The effect's function answers what is neither yes nor no, whatever it has done; it may "
        "crash after its effect.",
        lambda stage: stage.send("a"),
        (Hazard.UNCLEAR, Hazard.CRASH_AFTER_EFFECT),
        2,
        is_of_effect=True,
        ways=frozenset({"step-functions"}),
    ),
    Scenario(
        "cold-start",
        "a slow cold start",
        "The effect's function takes 5 s, 10 s or a minute to begin, a version with a longer "
        "time-out having been published meanwhile or not; a process stands still for 10 s or 40 s, "
        "or crashes.",
        _cold_start,
        (Hazard.PAUSE, Hazard.CRASH),
        1,
        (10_000, 40_000),
        is_of_effect=True,
        ways=frozenset({"step-functions"}),
    ),
    Scenario(
        "changed-by-hand",
        "a time-out changed by hand",
        "Somebody sets the time-out of the effect's function to 5 s or 2 minutes, past the stack; "
        "a process stands still for 10 s or 70 s, or crashes, or the effect is late.",
        _changed_by_hand,
        (Hazard.PAUSE, Hazard.CRASH, Hazard.EFFECT_LATE),
        1,
        (10_000, 70_000),
        is_of_effect=True,
        ways=_INVOKES,
    ),
    Scenario(
        "no-clear-yes",
        "an answer that is no clear yes",
        "Where it did not perform, the effect's function raises no error and does not answer "
        "`performed: true`, of one message, or of all for 90 s; besides, its answer is lost, a "
        "process crashes, or the execution is aborted.",
        _no_clear_yes,
        (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH, Hazard.ABORTED),
        1,
        is_of_effect=True,
        ways=_INVOKES,
    ),
    Scenario(
        "not-looked-up",
        "nothing looks it up",
        "No function is named to look the effect up; its answer is lost, a process or a call "
        "fails, the execution is aborted, and an operator answers, or nobody does.",
        _not_looked_up,
        (
            Hazard.EFFECT_ANSWER_LOST,
            Hazard.EFFECT_OUTLIVES,
            Hazard.CRASH,
            Hazard.ANSWER_LOST,
            Hazard.ABORTED,
        ),
        1,
        is_of_effect=True,
        ways=_INVOKES,
    ),
    Scenario(
        "told-by-a-person",
        "nothing looks it up, and a person does",
        "No function is named to look the effect up, and nobody heard whether it happened; an "
        "operator looks, and answers truthfully: it is to be performed, or is done. A deployment, "
        "an abort with or without a redrive, or a lost answer comes in between; or two of them.",
        _told_by_a_person,
        (Hazard.DEPLOYED, Hazard.ABORTED, Hazard.EFFECT_ANSWER_LOST, Hazard.EFFECT_OUTLIVES),
        2,
        is_of_effect=True,
        ways=_INVOKES,
    ),
    Scenario(
        "long-effect",
        "a service fails when the effect did",
        "The effect takes as long as the way allows for, or its answer is lost; and a call is "
        "refused, or its answer lost, too; delivered once, or twice at once.",
        _once_or_twice,
        (Hazard.EFFECT_LATE, Hazard.EFFECT_ANSWER_LOST, Hazard.THROTTLED, Hazard.ANSWER_LOST),
        2,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "long-zombie",
        "stood still, and a long effect",
        "A process stands still for 20 s or 10 minutes, or crashes, and an effect takes as long as "
        "the way allows for; both, or either of them twice.",
        lambda stage: stage.send("a"),
        (Hazard.PAUSE, Hazard.EFFECT_LATE, Hazard.CRASH),
        2,
        (20_000, LONG_PAUSE),
        ways=_FENCED_WORKERS,
    ),
    Scenario(
        "slow-look-up",
        "a slow look-up",
        "It takes 10 s to look the effect up; its answer was lost, or a process crashes.",
        _slow_look_up,
        (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH),
        1,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "texts",
        "what a message says",
        "Bodies, ids and attributes of every form: what says the same and what does not, numbers "
        "of every size, what is no message, and what is just small enough, or is not.",
        _texts,
        ways=frozenset({"step-functions", "step-functions-fifo", "ledger"}),
    ),
    Scenario(
        "by-hand",
        "invoked by hand",
        "Somebody invokes the effect's function with a request that is not of the form.",
        _by_hand,
        ways=frozenset({"step-functions"}),
    ),
    Scenario(
        "late-takeover",
        "a takeover's answer comes late",
        "A consumer crashes before its effect; what the next one asks for is done at once, and it "
        "stands still for 10 minutes before it hears that.",
        lambda stage: stage.send("a"),
        (Hazard.CRASH_BEFORE_EFFECT, Hazard.ANSWER_LATE),
        2,
        (LONG_PAUSE,),
        ways=frozenset({"ledger", "ledger-worker", "lease", "lease-worker-fenced"}),
    ),
    Scenario(
        "late-answer",
        "an answer comes late",
        "What a process asks for is done at once, and it stands still for 20 s, 40 s, 50 s or 10 "
        "minutes before it hears that.",
        _once_or_twice,
        (Hazard.ANSWER_LATE,),
        1,
        (20_000, 40_000, 50_000, LONG_PAUSE),
        ways=_OURS,
    ),
    Scenario(
        "unheard",
        "heartbeats are not heard",
        "A consumer crashes before its effect, and of the one that takes over no heartbeat is "
        "heard before it begins its own, which is as late as the margin allows; sent again.",
        _unheard,
        (Hazard.CRASH_BEFORE_EFFECT, Hazard.EFFECT_OUTLIVES),
        2,
        is_of_effect=True,
        ways=frozenset({"lease", "lease-worker"}),
    ),
    Scenario(
        "late-straggler",
        "a late answer, and a late effect",
        "The answer of a call comes 40 s or 50 s late, and the effect as late as the margin "
        "allows; sent again a minute later, to a consumer whose clock is 5 minutes ahead.",
        _late_straggler,
        (Hazard.ANSWER_LATE, Hazard.EFFECT_OUTLIVES),
        2,
        (40_000, 50_000),
        is_of_effect=True,
        ways=frozenset({"ledger", "ledger-worker"}),
    ),
    Scenario(
        "provider-down",
        "the provider is down",
        "The effect proves for 90 s, or for 50 minutes, that it did not happen, and says when to "
        "come back, or does not.",
        _provider_down,
        is_of_effect=True,
    ),
    Scenario(
        "provider-gone",
        "the provider is down for hours",
        "The same for twelve hours; one more thing goes wrong, or an execution is aborted in any "
        "state, and redriven or not.",
        _provider_gone,
        (Hazard.CRASH, Hazard.THROTTLED, Hazard.ANSWER_LOST, Hazard.ABORTED),
        1,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "find-down",
        "the effect cannot be looked up",
        "The effect's answer is lost, or a process crashes, and for twelve hours nothing can be "
        "looked up; the execution may be aborted meanwhile.",
        _blind_for(12 * 60 * MINUTE),
        (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH, Hazard.ABORTED),
        2,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "find-away",
        "the effect cannot be looked up for a while",
        "The effect's answer is lost, or a process crashes, and for 50 minutes nothing can be "
        "looked up.",
        _blind_for(50 * MINUTE),
        (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH),
        1,
        is_of_effect=True,
        ways=_ANSWERED,
    ),
    Scenario(
        "group-order",
        "order in a group",
        "Two messages of one group; the effect of one may not happen at first.",
        _group,
        (Hazard.NOT_PERFORMED,),
        1,
        asks_for_order=True,
    ),
    Scenario(
        "deployed-between",
        "deployed between",
        "A version of the effect's function with a time-out of 2 minutes in the place of 15 s is "
        "published, or one with 15 s again, before any invocation, while executions are open; a "
        "process crashes, or stands still for 40, 70 or 110 s.",
        _deployed_before,
        (Hazard.DEPLOYED, Hazard.PAUSE, Hazard.CRASH),
        2,
        (40_000, 70_000, 110_000),
        ways=_EXECUTIONS,
    ),
    Scenario(
        "aborted-redriven",
        "aborted and redriven",
        "An operator aborts the execution in any state, and redrives it at once, after a minute or "
        "never; one thing more goes wrong, or it is aborted again.",
        lambda stage: stage.send("a"),
        (
            Hazard.ABORTED,
            Hazard.CRASH,
            Hazard.EFFECT_LATE,
            Hazard.EFFECT_OUTLIVES,
            Hazard.EFFECT_ANSWER_LOST,
            Hazard.NOT_PERFORMED,
            Hazard.THROTTLED,
        ),
        2,
        ways=_EXECUTIONS,
    ),
    Scenario(
        "another-memory",
        "state machine or strategy replaced",
        "Between any two steps a deployment puts another state machine, or another strategy, in "
        "the place of the one that was there; sent twice, and one process may crash.",
        _another_memory,
        (Hazard.CRASH,),
        1,
        is_of_strategy=True,
    ),
    Scenario(
        "any-two",
        "any two at once",
        "Any two of all things that may go wrong at a step, in one run; one consumer's clock is "
        "right, the next one's 5 minutes ahead, the next one's 5 minutes behind, and so on.",
        _anything,
        _ANY,
        2,
        (40_000, 70_000, LONG_PAUSE),
        # It takes longest. By hand it can be tried on every way.
        ways=_AS_IT_SHIPS,
    ),
    Scenario(
        "any-and-memory",
        "replaced, and any other",
        "Between any two steps another state machine, or another strategy, takes the place of the "
        "one that was there, and any one of all things goes wrong besides; sent again ten minutes "
        "later.",
        _another_memory_meanwhile,
        _ANY,
        1,
        (70_000,),
        is_of_strategy=True,
        ways=_AS_IT_SHIPS,
    ),
)

assert VISIBILITY < LEASE_VISIBILITY < LONG_PAUSE  # noqa: S101 - what LONG_PAUSE says


def scenario(name: str) -> Scenario | None:
    """The scenario of that name."""
    return next((one for one in SCENARIOS if one.name == name), None)
