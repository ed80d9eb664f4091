"""Checks whether an effect keeps the contract; they do not know Lambda.

A check is a function: its docstring is the promise, and its decorator says what to change if the
effect breaks it. Its story is then what was called, what the answer was and what it should have
been. The effect is performed for real, under ids that begin with `IDS`.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actonce.adopt.effect_check.calls import (
    AFTER,
    KILLS,
    TIMED_OUT,
    Answer,
    Caller,
    CallResult,
    Event,
    Outcome,
    find_event,
    perform_event,
    read,
)
from actonce.adopt.effect_check.finding import Finding, Settings, Status
from actonce.stack.message_ids import put_id
from actonce_core.effect import MAX_EFFECT_BYTES
from actonce_core.execution import MAX_MESSAGE_ID_BYTES

IDS = "actonce-check-"
"""What the ids of effects begin with that are tried."""

SIDE_BY_SIDE = 2
REPEATS = 3
MOST_SLOW_SECONDS = 10.0
ODD = (
    "blanks  inside",
    "quotes\"'`and\\backslashes",
    "slashes/../../and?queries=1&more=%2F#x",
    "new\nlines\tand tabs",
    "ümläuts, 漢字 and 🎁",
    "007",
    "<b>{{x}}${y}%s",
    "' OR '1'='1",
)
"""Ends of message ids that effects have failed with."""

_CALLS_SHOWN = 4  # the last calls of a check that failed


class _Broken(Exception):
    """The effect broke the promise; the text says what should have happened."""

    def __init__(self, reason: str, change: str = "") -> None:
        super().__init__(reason)
        self.change = change


class _Untried(Exception):
    """The check cannot be made; the text says why."""


@dataclass(slots=True)
class Trial:
    """Runs the checks in their order, and makes their calls.

    Args:
        caller: of the effect.
        settings: see there.
    """

    caller: Caller
    settings: Settings
    described: dict[str, Any] = field(default_factory=dict)
    """Message id to the description that `perform` gave."""
    longest: float = 0.0
    _ids: str = field(default_factory=lambda: f"{IDS}{uuid.uuid4().hex[:8]}")
    _counter: int = 0
    _calls: list[str] = field(default_factory=list)
    _last: Answer | None = None

    def run(self) -> Iterator[Finding]:
        """Make every check, and yield each result at once. If the first fails, make no other."""
        performs = True
        for check in CHECKS:
            if not performs:
                why = "a plain message is not performed"
                yield Finding(check.name, check.asks, Status.UNTRIED, why)
                continue
            found = self._finding(check)
            yield found
            performs = performs and (check is not CHECKS[0] or found.status is Status.PASSED)

    def _finding(self, check: "Check") -> Finding:
        self._calls.clear()
        try:
            if check.looks and not self.caller.can_find:
                raise _Untried("nothing is named to look it up")
            finding = check.tried(self) or ""
        except _Untried as untried:
            return Finding(check.name, check.asks, Status.UNTRIED, str(untried))
        except _Broken as broken:
            story = ". ".join((*self._calls[-_CALLS_SHOWN:], str(broken)))
            change = _hint(self._last) or broken.change or check.change
            return Finding(check.name, check.asks, Status.FAILED, story, change)
        return Finding(check.name, check.asks, Status.PASSED, finding)

    # ----------------------------------------------------------------- asking

    def new_id(self, end: str) -> str:
        """An id that no message has had."""
        self._counter += 1
        return f"{self._ids}-{self._counter}-{end}"

    def perform(self, message_id: str, body: Any = None, kill: float | None = None) -> Answer:
        """Ask the effect to perform."""
        event = self.event(message_id, self.settings.body if body is None else body)
        return self.performed(message_id, self.caller.call(event, kill), kill)

    def event(self, message_id: str, body: Any) -> Event:
        """The event of perform, with the id in the body, too, if the stack reads it there."""
        body = put_id(body, self.settings.message_id_from, message_id)
        return perform_event(message_id, body)

    def performed(self, message_id: str, raw: CallResult, kill: float | None = None) -> Answer:
        """Read the answer to performing."""
        answer = read(raw, "perform", message_id)
        if answer.outcome is Outcome.PERFORMED:
            self.described[message_id] = answer.effect
            self.longest = max(self.longest, raw.seconds)
        return self._record("perform", answer, kill)

    def act(self, end: str) -> Answer:
        """Have a new message performed.

        Raises:
            _Broken: it was not performed.
        """
        answer = self.perform(self.new_id(end))
        self.must(
            answer.outcome is Outcome.PERFORMED,
            "It has to be performed, for every id",
            'Answer {"performed": true, "effect": {…}} when it is done; null will do.',
        )
        return answer

    def look(self, message_id: str, expected: Outcome | None = None) -> Answer:
        """Ask the effect to find.

        Raises:
            _Broken: the answer is not the expected one, or not clear.
        """
        answer = read(self.caller.call(find_event(message_id)), "find", message_id)
        self._record("find", answer)
        self.must(
            answer.outcome in (Outcome.PERFORMED, Outcome.NOTHING),
            "Without a clear answer a person has to decide each message whose outcome is unknown",
            'Answer {"performed": true, "effect": {…}} or {"performed": false}; raise only when '
            "you could not look.",
        )
        self.must(expected in (None, answer.outcome), f"It has to say: {expected}")
        return answer

    def must(self, holds: bool, requirement: str, change: str = "") -> None:  # noqa: FBT001 - as assert
        """Fail the check unless a condition holds.

        Args:
            holds: the condition.
            requirement: what should have happened, a clause.
            change: what to do, if the check itself does not say it.

        Raises:
            _Broken: it does not hold.
        """
        if not holds:
            raise _Broken(f"{requirement}.", change)

    def _record(self, operation: str, answer: Answer, kill: float | None = None) -> Answer:
        self._last = answer
        killed = "" if kill is None else f", killed after {kill:.0%} of its time"
        what = answer.effect if answer.outcome is Outcome.PERFORMED else answer.raw.answer
        detail = "" if what is None else f" {_short(json.dumps(what, ensure_ascii=False))}"
        words = f" ({_short(answer.words)})" if answer.words else ""
        question = f"{operation} {_quoted(answer.message_id)}{killed}"
        self._calls.append(f"{question}: {answer.outcome}{detail}{words}")
        return answer


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of the contract.

    Attributes:
        tried: makes the check, and may return something worth knowing. Its name is the check's,
            and its docstring the promise.
        change: what to do if the promise is broken.
        looks: whether it needs `find`.
    """

    tried: Callable[[Trial], str | None]
    change: str
    looks: bool

    @property
    def name(self) -> str:
        """As people and `--json` see it."""
        return self.tried.__name__.strip("_").replace("_", "-")

    @property
    def asks(self) -> str:
        """The promise, as a statement."""
        return self.tried.__doc__ or ""


CHECKS: list[Check] = []
"""In the order in which they are made."""

Tried = TypeVar("Tried", bound=Callable[[Trial], str | None])


def _check(change: str = "", *, looks: bool = True) -> Callable[[Tried], Tried]:
    def registered(tried: Tried) -> Tried:
        CHECKS.append(Check(tried, change, looks))
        return tried

    return registered


# --------------------------------------------------------------------------- the checks


@_check(looks=False)
def _performs(trial: Trial) -> None:
    """A plain message is performed, and the answer is a clear yes with a description."""
    trial.act("plain")


@_check(
    f"Describe it in {MAX_EFFECT_BYTES:,} bytes at most: its number, its state. An execution "
    "whose data outgrow 256 KiB fails after it has acted, and no Catch sees that.",
    looks=False,
)
def _small_answer(trial: Trial) -> None:
    """The description is small: it goes through the state machine."""
    for message_id, effect in trial.described.items():
        size = len(json.dumps(effect).encode())
        trial.must(
            size <= MAX_EFFECT_BYTES,
            f"The description of {_quoted(message_id)} has {size:,} bytes",
        )


@_check(
    'Read event["operation"], and do nothing but look when it is "find", by the message\'s own '
    "id. A message that is found without having been performed never is."
)
def _finds_nothing(trial: Trial) -> None:
    """What was never performed is not found, however often it is looked for."""
    for end in ("never", ODD[0]):
        message_id = trial.new_id(end)
        for _ in range(REPEATS):
            trial.look(message_id, Outcome.NOTHING)


@_check(
    "Store with the effect what perform answers, and read that consistently: ConsistentRead=True, "
    "no index, replica, search or cache that lags, nor what is gone with the process, as memory or "
    "/tmp. A find that is too early makes it happen twice. Describe what is done, not when it is "
    "looked at, and expire nothing of it."
)
def _finds_it(trial: Trial) -> None:
    """What was performed is found, at once, later, and by another process; and described alike."""
    done = trial.act("found")
    first = trial.look(done.message_id, Outcome.PERFORMED)
    found = first.effect
    says_more = isinstance(found, dict) and isinstance(done.effect, dict) and found | done.effect
    trial.must(found in (done.effect, says_more), "They have to describe one effect")
    _same_later(trial, first, (0.0, trial.settings.settle))
    trial.caller.renew()
    trial.look(done.message_id, Outcome.PERFORMED)


@_check(
    "Compare the whole id, byte for byte: no beginning of it, no pattern, and letters of the "
    "same case only. Else a message that was never performed is taken for done."
)
def _finds_this_one_only(trial: Trial) -> None:
    """Of two messages each finds its own, and nobody finds a neighbour."""
    one, two = trial.act("One"), trial.act("Two")
    for own, other in ((one, two), (two, one)):
        found = trial.look(own.message_id, Outcome.PERFORMED)
        trial.must(
            found.effect == own.effect or found.effect != other.effect,
            f"That is the effect of {_quoted(other.message_id)}",
        )
    name = one.message_id
    for near in (name[:-1], f"{name}-1", f"{name} ", name.lower(), name.upper(), "%", "*", ".*"):
        trial.look(near, Outcome.NOTHING)


@_check(
    "Encode the id in the same way where it is stored and where it is looked up, and cut nothing "
    "off; or reject it before anything is called."
)
def _odd_ids(trial: Trial) -> str:
    """A message id may have any character, and be long."""
    for end in ODD:
        _agrees(trial, trial.perform(trial.new_id(end)))
    long = trial.perform(trial.new_id("long").ljust(MAX_MESSAGE_ID_BYTES, "x"))
    _agrees(trial, long)
    return f"{MAX_MESSAGE_ID_BYTES:,} bytes: {long.outcome}"


def _agrees(trial: Trial, answer: Answer) -> None:
    """It must clearly be performed and found, or clearly neither."""
    trial.must(answer.outcome is not Outcome.UNKNOWN, "Nobody would know whether it happened")
    if trial.caller.can_find:
        performed = answer.outcome is Outcome.PERFORMED
        trial.look(answer.message_id, Outcome.PERFORMED if performed else Outcome.NOTHING)


@_check("Raise an error whose name is exactly Rejected, before anything is called.", looks=False)
def _rejected(trial: Trial) -> None:
    """What never can be performed is rejected, and nothing was done."""
    _refused(trial, trial.settings.rejected, Outcome.REJECTED, "--rejected")


@_check(
    "Raise an error whose name is exactly NotPerformed, and only if it certainly did not happen. "
    "Anything else is an unknown outcome, and costs a wait; this costs a second effect.",
    looks=False,
)
def _not_performed(trial: Trial) -> None:
    """What provably did not happen is said to be so, and nothing was done."""
    _refused(trial, trial.settings.not_performed, Outcome.NOT_PERFORMED, "--not-performed")


def _refused(trial: Trial, body: Any, outcome: Outcome, option: str) -> None:
    if body is None:
        raise _Untried(f"give a body for which it is so with {option}")
    answer = trial.perform(trial.new_id("refused"), body)
    trial.must(answer.outcome is outcome, f"It has to say: {outcome}")
    _agrees(trial, answer)


@_check(
    "Write each message's own record, and share nothing else between processes: no file of "
    "one name, no fixed port, no list or counter that is read and then written.",
    looks=False,
)
def _two_at_once(trial: Trial) -> None:
    """Two processes at work side by side do not disturb each other."""
    ids = [trial.new_id(f"beside-{number}") for number in range(SIDE_BY_SIDE)]
    raws = trial.caller.at_once([trial.event(one, trial.settings.body) for one in ids])
    for answer in [trial.performed(one, raw) for one, raw in zip(ids, raws, strict=True)]:
        _agrees(trial, answer)


@_check(
    "What was called goes on without its process: find has to wait for it, or raise while it "
    "may; or StragglerMarginSeconds has to be longer than it takes (--margin here)."
)
def _killed_in(trial: Trial) -> str:
    """Killed in the middle, the first look after the margin is final."""
    return f"{sum(_killed(trial, kill) for kill in KILLS)} of {len(KILLS)} had happened"


@_check(
    "Store what find reads by together with the effect, or before it; not in memory, not at "
    "the end of the handler, not in the background. Else it happens twice."
)
def _killed_after(trial: Trial) -> None:
    """Killed before it could answer, it is found."""
    _killed(trial, AFTER)


def _killed(trial: Trial, kill: float) -> bool:
    """Kill a call, wait for the margin, check that the first look-up is final; what that found."""
    answer = trial.perform(trial.new_id("killed"), kill=kill)
    if kill == AFTER and not answer.raw.failed:
        raise _Untried("its process is no Python, so nothing here can kill it at that moment")
    trial.caller.wait(trial.settings.margin)
    # It may have been quicker than the kill.
    acted = kill == AFTER or answer.outcome is Outcome.PERFORMED
    first = trial.look(answer.message_id, Outcome.PERFORMED if acted else None)
    _same_later(trial, first, (trial.settings.settle,))
    return first.outcome is Outcome.PERFORMED


def _same_later(trial: Trial, first: Answer, waits: tuple[float, ...]) -> None:
    for seconds in waits:
        trial.caller.wait(seconds)
        later = trial.look(first.message_id)
        trial.must(
            (later.outcome, later.effect) == (first.outcome, first.effect),
            "The stack acts on the first look",
        )


@_check("Raise EffectTimeoutSeconds, and the function's own time-out with it.", looks=False)
def _in_time(trial: Trial) -> str:
    """It takes less time than it has."""
    took, allowed = trial.longest, trial.settings.timeout
    trial.must(took <= allowed, f"perform took {took:.1f} s, and has {allowed:g} s")
    return f"{took:.2f} s of {allowed:g} s" + (": more than half" if took > allowed / 2 else "")


@_check(
    "Have the client's own time-out, or a signal, abort the request, or end the process. What goes "
    "on is frozen with Lambda's sandbox, and acts when that is thawed, after find has said no."
)
def _slow_provider(trial: Trial) -> str:
    """What it gives up, because its provider is slow, does not happen after its answer."""
    settings, seconds = trial.settings, min(trial.settings.timeout / 2, MOST_SLOW_SECONDS)
    body, delay = (settings.body, seconds) if settings.slow is None else (settings.slow, 0.0)
    found: list[Outcome] = []
    for is_killed in (True, False):  # what its provider does by itself, it does in both
        trial.caller.renew()  # none of its connections is there yet
        message_id = trial.new_id("slow")
        raw = trial.caller.call(trial.event(message_id, body), slow=delay)
        answer, took = trial.performed(message_id, raw), raw.seconds
        if answer.outcome is Outcome.PERFORMED:
            if took < delay:
                raise _Untried("nothing here slows its provider: give a body that does with --slow")
            return f"it waits {took:.1f} s"
        if is_killed:
            trial.caller.renew()
        trial.caller.wait(max(settings.margin, seconds))
        found.append(trial.look(message_id).outcome)
    trial.must(found[0] is found[1], "The first one's process was killed after its answer")
    return f"it waits {took:.1f} s, and gives up"


def _hint(last: Answer | None) -> str:
    """What to change if the answer took too long, or was meant to be clear and is not."""
    if last is None or last.outcome is not Outcome.UNKNOWN:
        return ""
    document = last.raw.answer if isinstance(last.raw.answer, dict) else {}
    name = str(document.get("errorType", ""))
    if name == TIMED_OUT:
        return "Give every call that it makes a time-out shorter than EffectTimeoutSeconds."
    bare = name.lower().replace("_", "").removesuffix("error").removesuffix("exception")
    for meant in ("NotPerformed", "Rejected"):
        if bare.endswith(meant.lower()):
            return f"Name the error {meant}, not {name}: names are compared whole."
    return ""


def _quoted(message_id: str) -> str:
    text = json.dumps(message_id, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}…, {len(message_id):,} characters,"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
