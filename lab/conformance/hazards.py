"""The hazards, as data: what is sent, to which stack, and what may go wrong how often.

A tuple is a choice: each run has one of its values, such as a message sent again after a minute or
after ten. What data cannot express is a scenario's function `set_up`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from lab.conformance.deployments import (
    deploy_in_turn,
    replace_release,
    replace_state_machine,
    restore,
    retime,
    switch,
)
from lab.conformance.effects import BROKEN, CLOSED, POISON, SLOW, UNPROVEN, UNSEEN
from lab.conformance.process import Hazard
from lab.conformance.simulated_stack import (
    INIT,
    LEASE,
    LEASE_VISIBILITY,
    STRAGGLER_MARGIN,
    UNSTARTED,
    VISIBILITY,
    SimulatedStack,
)
from lab.conformance.stepfunctions import SHORTEST_HISTORY, TRUTHFULLY

MINUTE = 60_000
DAY = 24 * 60 * MINUTE

LONG_PAUSE = 10 * MINUTE
"""Longer than any lease, time-out or visibility timeout."""


@dataclass(frozen=True, slots=True)
class Sent:
    """How message `a` is sent.

    Attributes:
        at_once: to how many consumers SQS delivers it at the same time.
        again: milliseconds after which the producer sends it again; (): never.
        wrong: what goes wrong with it each time, see `effects`; empty: nothing.
        delivered_again: milliseconds after which SQS delivers it again in any case; None: never.
    """

    at_once: tuple[int, ...] = (1,)
    again: tuple[int, ...] = ()
    wrong: tuple[str, ...] = ("",)
    delivered_again: int | None = None

    def send(self, stack: SimulatedStack) -> None:
        """Send it."""
        at_once, wrong = stack.world.pick(self.at_once), stack.world.pick(self.wrong)
        more = {wrong: True} if wrong else None
        stack.send("a", deliveries_at_once=at_once, again_after=self.delivered_again, more=more)
        if self.again:
            stack.send("a", after=stack.world.pick(self.again), more=more)


ONCE = Sent()
ONCE_OR_TWICE = Sent(at_once=(1, 2))
TWICE_AT_ONCE = Sent(at_once=(2,))

Where = Mapping[str, tuple[Any, ...]]
"""Dotted names of a stack's attributes, and the values that each may have."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A hazard.

    Attributes:
        name: on the command line.
        title: in the table.
        about: one sentence for those who read the table.
        sent: what is sent; None: `set_up` sends.
        hazards: what may go wrong at a step.
        budget: how often, in one run.
        pauses: milliseconds that a paused process stands still.
        where: what differs on the stack from the beginning.
        set_up: what else is done to the stack beforehand.
        asks_for_order: whether the order of effects is judged.
        ways: those that the published table has it for; None: all.
    """

    name: str
    title: str
    about: str
    sent: Sent | None = ONCE
    hazards: tuple[Hazard, ...] = ()
    budget: int = 1
    pauses: tuple[int, ...] = ()
    where: Where = field(default_factory=dict)
    set_up: Callable[[SimulatedStack], None] = lambda _: None
    asks_for_order: bool = False
    ways: frozenset[str] | None = None

    def begin(self, stack: SimulatedStack) -> None:
        """Prepare a stack, and send."""
        for path, values in self.where.items():
            *owners, name = path.split(".")
            owner = reduce(getattr, owners, stack)
            assert hasattr(owner, name), path  # noqa: S101 - a name that is written below
            setattr(owner, name, stack.world.pick(values))
        if self.sent is not None:
            self.sent.send(stack)
        self.set_up(stack)


def _conflict(stack: SimulatedStack) -> None:
    # Whichever was first, also where its effect has not happened yet.
    is_closed = stack.way.is_ours and stack.world.pick((False, True))
    stack.send("a", "one", more={CLOSED: True} if is_closed else None)
    stack.send("a", "other", after=stack.world.pick((0, MINUTE)))


_NO_MESSAGES = ("no message {", "[" * 200, f"[{'0,' * 150_000}")
"""No JSON for anybody; the second is deep, the third large."""


def _poison(stack: SimulatedStack) -> None:
    text = stack.world.pick((None, *_NO_MESSAGES))
    if text is None:
        stack.send("a", more={POISON: True})
    else:
        stack.send_text(text)


_GIVEN_UP = (POISON, CLOSED, BROKEN, UNSEEN)
_ANSWERED_AFTER = (*_GIVEN_UP, UNPROVEN)

_RETRIED = (("retry",), ("perhaps", "retry"), ("", "retry"), (None, "retry"))
_CLOSED = (("resolve",), ("reject",), ("perhaps",), ("", "reject"), ("retry ",))
_NOT_LOOKED_UP = ((), ("retry",), ("resolve",), ("reject",), ("retry", "resolve"))
"""What is answered to dead letters; "retry " is no decision either."""


def _redrive_queue(stack: SimulatedStack) -> None:
    """Twelve hours later a person mends the effect, and has SQS send back what it moved aside."""

    def redrive() -> None:
        for body in stack.output.bodies(UNSTARTED):
            stack.performed.is_mended = True
            stack.output.remove(UNSTARTED, body)
            stack.queue.send(body, group="group", deduplication_id="2")

    stack.world.at(DAY // 2, "redrive", redrive)


def _deploy_before_the_decision(stack: SimulatedStack) -> None:
    stack.world.at(DAY // 2, "deployment", stack.deploy_function)


def _change_by_hand(stack: SimulatedStack) -> None:
    stack.change_function_by_hand(stack.world.pick((5_000, 120_000)))


def _unheard(stack: SimulatedStack) -> None:
    # Two at once: one crashes, the other takes over after a lease, and waits for the margin. A
    # second later a third one comes, and sees no sign of life of it.
    stack.send("a", deliveries_at_once=2)
    stack.send("a", after=LEASE + 1_000)


def _group(stack: SimulatedStack) -> None:
    stack.send("a")
    stack.send("b")


def _replace_state_machine(stack: SimulatedStack) -> None:
    changes = [("replaces the state machine", replace_state_machine)]
    deploy_in_turn(stack, stack.world.pick((0, MINUTE)), changes)


def _deploy_or_not(stack: SimulatedStack) -> None:
    """A deployment is complete, or has come as far as the function and no further; or is none."""
    stack.world.pick((lambda: None, stack.deploy_function, stack.deploy_all))()


_SECOND_AHEAD = (0, 5 * MINUTE)
_EACH_ANOTHER = (0, 5 * MINUTE, -5 * MINUTE)
_AT_THE_MARGIN = dict.fromkeys(
    (Hazard.EFFECT_OUTLIVES, Hazard.EFFECT_HANGS), (STRAGGLER_MARGIN - 1_000,)
)

_SERVICE = (Hazard.THROTTLED, Hazard.ANSWER_LOST, Hazard.REPEATED)

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

_WITH_EXECUTIONS = frozenset({"step-functions", "on-trouble"})
_AS_IT_SHIPS = _WITH_EXECUTIONS | {"lease-fenced"}
"""The lease's example checks the fence."""
_UNFENCED = _WITH_EXECUTIONS | {"lease"}
"""Those whose effect checks nothing."""
_ON_EITHER_QUEUE = _WITH_EXECUTIONS | {"step-functions-fifo", "on-trouble-fifo"}
"""The same, on a FIFO queue too."""
_OURS = _ON_EITHER_QUEUE | {"lease", "lease-fenced", "lease-fenced-fifo", "lease-idempotent"}

# fmt: off
SCENARIOS = (
    Scenario(
        "twice-at-once", "delivered twice at once",
        "SQS delivers one message to two consumers at the same time.",
        TWICE_AT_ONCE,
    ),
    Scenario(
        "again-later", "delivered again later",
        "The message was handled, its deletion is lost, and SQS delivers it again.",
        ONCE, (Hazard.NOT_ACKNOWLEDGED,),
    ),
    Scenario(
        "resend-5-minutes", "sent again within 5 minutes",
        "The producer sends it again, at once or a minute later, under a new SQS id.",
        Sent(again=(0, MINUTE)),
    ),
    Scenario(
        "resend-later", "sent again after 5 minutes",
        "The producer sends it again ten minutes or two hours later, under a new SQS id.",
        Sent(again=(10 * MINUTE, 120 * MINUTE)),
    ),
    Scenario(
        "resend-91-days", "sent again after 91 days",
        "The producer sends it again when Step Functions has forgotten the execution's name.",
        Sent(again=(91 * DAY,)),
    ),
    Scenario(
        "short-history", "history forgotten after 30 days",
        "The account keeps execution histories for 30 days only, and the producer sends it again "
        "after 24, 26, 31 or 79.",
        Sent(again=(24 * DAY, 26 * DAY, 31 * DAY, 79 * DAY)),
        where={"executions.names_free_after": (SHORTEST_HISTORY,)},
    ),
    Scenario(
        "crash", "crash at any step",
        "A process dies before any one of its steps; delivered once, or twice at once.",
        ONCE_OR_TWICE, (Hazard.CRASH,),
    ),
    Scenario(
        "crash-after-effect", "crash after the effect",
        "The process dies after the effect, before anything is written down.",
        ONCE, (Hazard.CRASH_AFTER_EFFECT,),
    ),
    Scenario(
        "effect-unheard", "the effect's answer is lost",
        "The effect happens and its caller gets an error; or it says that it did not happen.",
        ONCE_OR_TWICE, (Hazard.EFFECT_ANSWER_LOST, Hazard.NOT_PERFORMED),
    ),
    Scenario(
        "effect-late", "time-out while the effect runs",
        "The effect happens seconds after it was asked for, as many as the way allows for; its "
        "caller waits for it, or its time is over before.",
        ONCE_OR_TWICE, (Hazard.EFFECT_LATE, Hazard.EFFECT_OUTLIVES),
    ),
    Scenario(
        "margin", "effect within the margin",
        "What the effect calls acts for as long as the margin allows after its caller's end, "
        "which comes at once or with the caller's time-out; the second consumer's clock is 5 "
        "minutes ahead.",
        ONCE_OR_TWICE, (Hazard.EFFECT_OUTLIVES, Hazard.EFFECT_HANGS),
        where={"wall_offsets": (_SECOND_AHEAD,), "lateness": (_AT_THE_MARGIN,)},
    ),
    Scenario(
        "zombie", "a consumer that stood still",
        "A process stands still before any step, for 20 s, 40 s, 50 s or 10 minutes, and then "
        "goes on.",
        ONCE_OR_TWICE, (Hazard.PAUSE,), pauses=(20_000, 40_000, 50_000, LONG_PAUSE),
    ),
    Scenario(
        "frozen", "a frozen sandbox",
        "The call that the effect makes goes on when its caller has given up and raised an error; "
        "it is frozen with the sandbox, and goes on at a later invocation there; sent again ten "
        "minutes later.",
        Sent(again=(10 * MINUTE,)), (Hazard.LEFT_RUNNING,),
    ),
    Scenario(
        "clock-ahead", "clock 5 minutes ahead",
        "Of two consumers, a second apart, the second one's clock is ahead; an effect may be "
        "late.",
        Sent(delivered_again=1000), (Hazard.EFFECT_LATE,),
        where={"wall_offsets": (_SECOND_AHEAD,), "lateness": ({Hazard.EFFECT_LATE: (2_000,)},)},
    ),
    Scenario(
        "clock-behind", "clock 5 minutes behind",
        "Of two consumers, a second apart, the second one's clock is behind; one may crash "
        "before its effect.",
        Sent(delivered_again=1000), (Hazard.CRASH_BEFORE_EFFECT,),
        where={"wall_offsets": ((0, -5 * MINUTE),), "lateness": ({Hazard.EFFECT_LATE: (2_000,)},)},
    ),
    Scenario(
        "conflict", "same id, other content",
        "Two messages with one id and two contents: one may be acted on, the other must be kept.",
        None, set_up=_conflict,
    ),
    Scenario(
        "services-fail", "a service fails",
        "Any call of DynamoDB, Step Functions, Lambda or SQS is throttled, or its answer is "
        "lost.",
        ONCE_OR_TWICE, (*_SERVICE, Hazard.NOT_ACKNOWLEDGED),
    ),
    Scenario(
        "poison", "poison messages",
        "What is no message, be it small, deep or large, and a message that the effect rejects.",
        None, set_up=_poison,
    ),
    Scenario(
        "given-up", "given up",
        "The effect rejects a message, or never happens, provably or not, or can never be looked "
        "up; while it is given up a process crashes, a service fails, or a deletion is lost.",
        Sent(wrong=_GIVEN_UP), (Hazard.CRASH, *_SERVICE, Hazard.NOT_ACKNOWLEDGED),
        ways=_ON_EITHER_QUEUE | {"lease-fenced"},
    ),
    Scenario(
        "tried-again", "given up and tried again",
        "The same, with nothing else; what was wrong is mended, and an operator has it tried "
        "again, at once or after 13 days; before that the answer was none, or came too late.",
        Sent(wrong=_ANSWERED_AFTER),
        where={"executions.answers": _RETRIED, "executions.answered_after": (0, 13 * DAY)},
        ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "redriven", "moved aside by SQS, and redriven",
        "The same; what was wrong is mended, and a person has SQS send the dead-letter queue's "
        "messages back.",
        Sent(wrong=_ANSWERED_AFTER), set_up=_redrive_queue,
        ways=frozenset({"lease", "lease-fenced-fifo"}),
    ),
    Scenario(
        "mended-by-deploying", "mended by a deployment, and tried again",
        "The effect rejects a message; a version that is mended, with a time-out of 2 minutes in "
        "the place of 15 s, is deployed, and an operator's answers bring it; an answer is lost, "
        "an effect hangs, a process crashes, or the execution is aborted; or two of them.",
        Sent(wrong=(POISON,)),
        (Hazard.ANSWER_LOST, Hazard.EFFECT_HANGS, Hazard.CRASH, Hazard.ABORTED), budget=2,
        where={"executions.answers": (("retry", "retry"),), "executions.answered_after": (DAY,)},
        set_up=_deploy_before_the_decision, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "closed", "given up and closed",
        "The same, and the operator's answer is that it is done, or is not to be done, or is "
        "none; then it is sent again.",
        Sent(wrong=_ANSWERED_AFTER, again=(DAY,)), where={"executions.answers": _CLOSED},
        ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "unclear", "an unclear answer",
        "The effect's function answers what is neither yes nor no, whatever it has done, or where "
        "it would raise that nothing happened; it may crash after its effect.",
        Sent(wrong=("", POISON, CLOSED)),
        (Hazard.UNCLEAR, Hazard.NOT_PERFORMED, Hazard.CRASH_AFTER_EFFECT), budget=2,
        where={"answers_unclearly": (False, True)}, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "cold-start", "a slow cold start",
        "The effect's function takes 5 s, 10 s or a minute to begin, a version with a longer "
        "time-out having been published meanwhile or not; a process stands still for 10 s or 40 "
        "s, or crashes.",
        ONCE, (Hazard.PAUSE, Hazard.CRASH), pauses=(10_000, 40_000),
        where={"cold_start": (5_000, INIT, 60_000)}, set_up=_deploy_or_not,
        ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "changed-by-hand", "a time-out changed by hand",
        "Somebody sets the time-out of the effect's function to 5 s or 2 minutes, past the "
        "stack; a process stands still for 10 s or 70 s, or crashes, or the effect is late.",
        ONCE, (Hazard.PAUSE, Hazard.CRASH, Hazard.EFFECT_LATE), pauses=(10_000, 70_000),
        where={"cold_start": (0, 4_000, INIT)}, set_up=_change_by_hand,
        ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "not-looked-up", "nothing looks it up",
        "No function is named to look the effect up; its answer is lost, a process or a call "
        "fails, the execution is aborted, and an operator answers, or nobody does.",
        ONCE,
        (Hazard.EFFECT_ANSWER_LOST, Hazard.EFFECT_OUTLIVES, Hazard.CRASH, Hazard.ANSWER_LOST,
         Hazard.ABORTED),
        where={"executions.answers": _NOT_LOOKED_UP}, set_up=SimulatedStack.look_nothing_up,
        ways=_UNFENCED,
    ),
    Scenario(
        "told-by-a-person", "nothing looks it up, and a person does",
        "No function is named to look the effect up, and nobody heard whether it happened; an "
        "operator looks, and answers truthfully: it is to be performed, or is done. A "
        "deployment, an abort with or without a redrive, or a lost answer comes in between; or "
        "two of them.",
        Sent(wrong=(BROKEN, UNSEEN)),
        (Hazard.DEPLOYED, Hazard.ABORTED, Hazard.EFFECT_ANSWER_LOST, Hazard.EFFECT_OUTLIVES),
        budget=2, where={"executions.answers": ((TRUTHFULLY, TRUTHFULLY),)},
        set_up=SimulatedStack.look_nothing_up, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "long-effect", "a service fails when the effect did",
        "The effect takes as long as the way allows for, or its answer is lost; and a call is "
        "refused, or its answer lost, too; delivered once, or twice at once.",
        ONCE_OR_TWICE,
        (Hazard.EFFECT_LATE, Hazard.EFFECT_ANSWER_LOST, Hazard.THROTTLED, Hazard.ANSWER_LOST),
        budget=2, ways=_UNFENCED,
    ),
    Scenario(
        "slow-look-up", "a slow look-up",
        "It takes 10 s to look the effect up; its answer was lost, or a process crashes.",
        Sent(wrong=(SLOW,)), (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH), ways=_UNFENCED,
    ),
    Scenario(
        "late-takeover", "a takeover's answer comes late",
        "A consumer crashes before its effect; what the next one asks for is done at once, and "
        "it stands still for 10 minutes before it hears that.",
        ONCE, (Hazard.CRASH_BEFORE_EFFECT, Hazard.ANSWER_LATE), budget=2, pauses=(LONG_PAUSE,),
        ways=frozenset({"lease", "lease-idempotent"}),
    ),
    Scenario(
        "late-answer", "an answer comes late",
        "What a process asks for is done at once, and it stands still for 20 s, 40 s, 50 s or 10 "
        "minutes before it hears that.",
        ONCE_OR_TWICE, (Hazard.ANSWER_LATE,), pauses=(20_000, 40_000, 50_000, LONG_PAUSE),
        ways=_OURS,
    ),
    Scenario(
        "unheard", "heartbeats are not heard",
        "A consumer crashes before its effect, and of the one that takes over no heartbeat is "
        "heard before it begins its own, which is as late as the margin allows; sent again.",
        None, (Hazard.CRASH_BEFORE_EFFECT, Hazard.EFFECT_OUTLIVES), budget=2,
        where={
            "lateness": (_AT_THE_MARGIN,),
            "unheard_until": (LEASE + STRAGGLER_MARGIN + 2_000,),
        },
        set_up=_unheard, ways=frozenset({"lease"}),
    ),
    Scenario(
        "provider-down", "the provider is down",
        "The effect proves for 90 s, or for 50 minutes, that it did not happen.",
        where={"performed.down_until": (90_000, 50 * MINUTE)},
    ),
    Scenario(
        "down-and-twice", "the provider is down, and it is delivered twice",
        "The effect proves for 2 s, 90 s or 50 minutes that it did not happen; delivered twice at "
        "once, and sent again at once or a minute later.",
        Sent(at_once=(2,), again=(0, MINUTE)),
        where={"performed.down_until": (2_000, 90_000, 50 * MINUTE)}, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "provider-gone", "the provider is down for hours",
        "The same for twelve hours; one more thing goes wrong, or an execution is aborted in any "
        "state, and redriven or not.",
        ONCE, (Hazard.CRASH, Hazard.THROTTLED, Hazard.ANSWER_LOST, Hazard.ABORTED),
        where={"performed.down_until": (12 * 60 * MINUTE,)}, ways=_UNFENCED,
    ),
    Scenario(
        "find-down", "the effect cannot be looked up",
        "The effect's answer is lost, or a process crashes, and for twelve hours nothing can be "
        "looked up; the execution may be aborted meanwhile.",
        ONCE, (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH, Hazard.ABORTED), budget=2,
        where={"performed.blind_until": (12 * 60 * MINUTE,)}, ways=_UNFENCED,
    ),
    Scenario(
        "find-away", "the effect cannot be looked up for a while",
        "The effect's answer is lost, or a process crashes, and for 50 minutes nothing can be "
        "looked up.",
        ONCE, (Hazard.EFFECT_ANSWER_LOST, Hazard.CRASH),
        where={"performed.blind_until": (50 * MINUTE,)}, ways=_UNFENCED,
    ),
    Scenario(
        "group-order", "order in a group",
        "Two messages of one group; the effect of one may not happen at first.",
        None, (Hazard.NOT_PERFORMED,), set_up=_group, asks_for_order=True,
    ),
    Scenario(
        "deployed-between", "deployed between",
        "A version of the effect's function with a time-out of 2 minutes in the place of 15 s is "
        "published, or one with 15 s again, before any invocation, while executions are open; a "
        "process crashes, or stands still for 40, 70 or 110 s.",
        ONCE, (Hazard.DEPLOYED, Hazard.PAUSE, Hazard.CRASH), budget=2,
        pauses=(40_000, 70_000, 110_000), set_up=_deploy_or_not, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "aborted-redriven", "aborted and redriven",
        "An operator aborts the execution in any state, and redrives it at once, after a minute "
        "or never; one thing more goes wrong, or it is aborted again.",
        ONCE,
        (Hazard.ABORTED, Hazard.CRASH, Hazard.EFFECT_LATE, Hazard.EFFECT_OUTLIVES,
         Hazard.EFFECT_ANSWER_LOST, Hazard.NOT_PERFORMED, Hazard.THROTTLED),
        budget=2, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "another-memory", "state machine replaced",
        "Between any two steps a deployment puts another state machine in the place of the one "
        "that was there; sent twice, and one process may crash.",
        Sent(again=(0, 10 * MINUTE)), (Hazard.CRASH,), set_up=_replace_state_machine,
        ways=_ON_EITHER_QUEUE,
    ),
    Scenario(
        "retimed", "a time-out changed by a deployment",
        "A version with a time-out of 2 minutes in the place of 15 s, or the other way round, is "
        "published, then the state machine and then the starter are deployed for it, each between "
        "any two steps; a process crashes or stands still, or an effect is late; sent twice.",
        Sent(again=(0, MINUTE)),
        (Hazard.CRASH, Hazard.PAUSE, Hazard.EFFECT_OUTLIVES, Hazard.EFFECT_LATE,
         Hazard.EFFECT_HANGS),
        pauses=(25_000, 70_000, 130_000), set_up=retime, ways=frozenset({"on-trouble"}),
    ),
    Scenario(
        "switched", "StartExecutions switched",
        "A deployment has the starter make first attempts, or no longer, or no longer and then "
        "again, between any two steps; a process crashes or stands still, or the effect is late, "
        "is not performed, or its answer is lost; sent twice.",
        Sent(again=(0, MINUTE)),
        (Hazard.CRASH, Hazard.PAUSE, Hazard.NOT_PERFORMED, Hazard.EFFECT_LATE,
         Hazard.ANSWER_LOST),
        pauses=(10_000, 40_000), set_up=switch, ways=frozenset({"on-trouble"}),
    ),
    Scenario(
        "earlier-starter", "an earlier release's starter",
        "The same with an earlier release's starter, which comes before, afterwards, or in "
        "between, as one that was warm.",
        Sent(again=(0, MINUTE)),
        (Hazard.CRASH, Hazard.PAUSE, Hazard.NOT_PERFORMED, Hazard.EFFECT_LATE,
         Hazard.ANSWER_LOST),
        pauses=(10_000, 40_000), set_up=replace_release, ways=frozenset({"on-trouble"}),
    ),
    Scenario(
        "restored", "a table restored to before",
        "The Fingerprints table forgets the message, between any two steps; sent again at once or "
        "ten minutes later.",
        Sent(again=(0, 10 * MINUTE)), set_up=restore, ways=_WITH_EXECUTIONS,
    ),
    Scenario(
        "any-two", "any two at once",
        "Any two of all things that may go wrong at a step, but for a frozen sandbox, in one run; "
        "one consumer's clock is right, the next one's 5 minutes ahead, the next one's 5 minutes "
        "behind, and so on.",
        TWICE_AT_ONCE, _ANY, budget=2, pauses=(20_000, 40_000, 70_000, LONG_PAUSE),
        where={"wall_offsets": (_EACH_ANOTHER,)}, ways=_AS_IT_SHIPS,
    ),
    Scenario(
        "any-and-memory", "replaced, and any other",
        "Between any two steps another state machine takes the place of the one that was there, "
        "and any one of all things goes wrong besides; sent again ten minutes later.",
        Sent(again=(10 * MINUTE,)), _ANY, pauses=(70_000,),
        where={"wall_offsets": (_EACH_ANOTHER,)}, set_up=_replace_state_machine,
        ways=_WITH_EXECUTIONS,
    ),
)
# fmt: on

assert VISIBILITY < LEASE_VISIBILITY < LONG_PAUSE  # noqa: S101 - what LONG_PAUSE says


def find_scenario(name: str) -> Scenario:
    """The scenario of that name; StopIteration: there is none."""
    return next(one for one in SCENARIOS if one.name == name)
