"""What the contract promises, each tried on an effect and told; knows no processes.

Each check is told as a story: what was asked, what came, what the stack would have made of it, and
what to change. The effect is performed for real, under ids that begin with `PREFIX`.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from actonce.adopt.effect_check.calls import (
    Answer,
    Caller,
    End,
    Kill,
    Outcome,
    Raw,
    find_event,
    perform_event,
    read,
)
from actonce_core.effect import MAX_EFFECT_BYTES
from actonce_core.execution import MAX_MESSAGE_ID_BYTES

PREFIX = "actonce-check-"
SIDE_BY_SIDE = 2
REPEATS = 3
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
"""Ends of message ids that some effect has come to grief with."""


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNTRIED = "not tried"
    TOLD = "told"  # nothing to pass: something worth knowing


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes:
        name: of the check.
        asks: what it asks, as a statement.
        story: what happened; empty where it passed.
        change: what to do.
    """

    name: str
    asks: str
    status: Status
    story: str = ""
    change: str = ""

    def as_json(self) -> dict[str, str]:
        """For machines."""
        return {
            "check": self.name,
            "asks": self.asks,
            "status": str(self.status),
            "story": self.story,
            "change": self.change,
        }


@dataclass(frozen=True, slots=True)
class Settings:
    """What is tried.

    Attributes:
        body: of a message that the effect performs.
        timeout: EffectTimeoutSeconds.
        margin: seconds that what the effect called may go on when its process is gone.
        settle: seconds after which a second look must say the same as the first.
        rejected: a body that it rejects; None: not tried.
        not_performed: one that it proves not to have happened; None: not tried.
    """

    body: Any
    timeout: float
    margin: float = 0.5
    settle: float = 1.0
    rejected: Any = None
    not_performed: Any = None


class _Broken(Exception):
    """A promise that was not kept."""

    def __init__(self, story: str, change: str) -> None:
        super().__init__(story)
        self.story = story
        self.change = change


class _Untried(Exception):
    """There was nothing to try it with."""


@dataclass(slots=True)
class Checks:
    """The checks, in their order.

    Args:
        caller: of the effect.
        settings: what is tried.
        finds: whether there is something to ask `find`.
    """

    caller: Caller
    settings: Settings
    finds: bool = True
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    performed: dict[str, Any] = field(default_factory=dict)
    """Message id to the description that `perform` gave."""
    longest: float = 0.0
    _counter: int = 0

    def run(self) -> Iterator[Finding]:
        """Try all; each is told when it is done. None after the first is tried if that fails."""
        first = self._finding("performs", self.performs)
        yield first
        for name, check in self._others():
            if first.status is not Status.PASSED:
                yield Finding(
                    name, _asks(check), Status.UNTRIED, "a plain message is not performed"
                )
            elif not self.finds and name in _FINDS:
                yield Finding(name, _asks(check), Status.UNTRIED, "nothing is named to look it up")
            else:
                yield self._finding(name, check)

    def _others(self) -> list[tuple[str, Callable[[], str | None]]]:
        return [
            ("small-answer", self.small_answer),
            ("finds-nothing", self.finds_nothing),
            ("find-does-not-act", self.find_does_not_act),
            ("finds-it", self.finds_it),
            ("finds-it-again", self.finds_it_again),
            ("finds-it-elsewhere", self.finds_it_elsewhere),
            ("finds-this-one-only", self.finds_this_one_only),
            ("same-description", self.same_description),
            ("odd-ids", self.odd_ids),
            ("long-ids", self.long_ids),
            ("rejected", self.rejected),
            ("not-performed", self.not_performed),
            ("two-at-once", self.two_at_once),
            ("killed-before", lambda: self._killed("before")),
            ("killed-in", lambda: self._killed("in")),
            ("killed-after", lambda: self._killed("after")),
            ("leaves-nothing-running", self.leaves_nothing_running),
            ("in-time", self.in_time),
            ("performed-again", self.performed_again),
        ]

    def _finding(self, name: str, check: Callable[[], str | None]) -> Finding:
        asks = _asks(check) if name not in _ASKS else _ASKS[name]
        try:
            told = check()
        except _Broken as broken:
            return Finding(name, asks, Status.FAILED, broken.story, broken.change)
        except _Untried as untried:
            return Finding(name, asks, Status.UNTRIED, str(untried))
        if name in _INFORMS:
            return Finding(name, asks, Status.TOLD, told or "")
        return Finding(name, asks, Status.PASSED, told or "")

    # ----------------------------------------------------------------- asking

    def _new_id(self, end: str = "") -> str:
        self._counter += 1
        return f"{PREFIX}{self.run_id}-{self._counter}{'-' if end else ''}{end}"

    def _perform(
        self, message_id: str, body: Any = None, kill: Kill | None = None, attempt: int = 1
    ) -> Answer:
        asked = self.settings.body if body is None else body
        event = perform_event(message_id, asked, attempt)
        return self._performed(message_id, self.caller.call(event, kill))

    def _performed(self, message_id: str, raw: Raw) -> Answer:
        told = read(raw, "perform", message_id)
        if told.said is Outcome.PERFORMED:
            self.performed[message_id] = told.effect
            self.longest = max(self.longest, raw.seconds)
        _refuse_look_alikes(told)
        return told

    def _find(self, message_id: str) -> Answer:
        return read(self.caller.call(find_event(message_id)), "find", message_id)

    def _perform_well(self, message_id: str, body: Any = None) -> Answer:
        told = self._perform(message_id, body)
        if told.said is not Outcome.PERFORMED:
            raise _Broken(
                f"perform of {_quoted(message_id)} was answered: {told}.",
                'Answer {"performed": true, "effect": {…}} when it is done, for every id.',
            )
        return told

    def _find_well(self, message_id: str) -> Answer:
        told = self._find(message_id)
        if told.said not in (Outcome.PERFORMED, Outcome.NOTHING):
            raise _Broken(
                f"find of {_quoted(message_id)} was answered: {told}. A person would have to "
                "decide each message whose outcome is unknown.",
                'Answer {"performed": true, "effect": {…}} or {"performed": false}; raise only '
                "when you could not look.",
            )
        return told

    def _expect(self, message_id: str, said: Outcome, when: str, change: str) -> Answer:
        told = self._find_well(message_id)
        if told.said is not said:
            raise _Broken(f"{when}, find of {_quoted(message_id)} said: {told.said}.", change)
        return told

    # ----------------------------------------------------------------- the checks

    def performs(self) -> str | None:
        """A plain message is performed, and the answer is a clear yes with a description."""
        told = self._perform(self._new_id("plain"))
        if told.said is Outcome.PERFORMED:
            answer = told.raw.answer
            if isinstance(answer, dict) and "effect" not in answer:
                raise _Broken(
                    "perform answered that it was performed, without `effect`. Step Functions "
                    "takes that for no answer: the message would be looked up, each time.",
                    'Put "effect" into the answer: a small description, or null.',
                )
            return None
        if told.raw.end is End.HUNG:
            raise _Broken(
                f"perform had not ended after {self.settings.timeout:g} s.",
                "Give every call that it makes a time-out shorter than EffectTimeoutSeconds, or "
                "check with the --timeout that it is deployed with.",
            )
        answer = _short_json(told.raw.answer)
        raise _Broken(
            f"perform was asked with the body {_short_json(self.settings.body)}, and answered "
            f"{answer}, which means: {told}.",
            "Give a body that it performs with --body. If it is the right one: answer "
            '{"performed": true, "effect": {…}} when it is done.',
        )

    def small_answer(self) -> str | None:
        """The description is small: it goes through the state machine."""
        for message_id, effect in self.performed.items():
            size = len(json.dumps(effect).encode())
            if size > MAX_EFFECT_BYTES:
                raise _Broken(
                    f"The description of {_quoted(message_id)} has {size:,} bytes. An execution "
                    "whose data outgrow 256 KiB fails after it has acted, and no Catch sees that.",
                    f"Describe it in {MAX_EFFECT_BYTES:,} bytes at most: its number, its state.",
                )
        return None

    def finds_nothing(self) -> str | None:
        """What was never performed is not found."""
        for end in ("never", ODD[0]):
            self._expect(
                self._new_id(end),
                Outcome.NOTHING,
                "Nothing was performed under it, and",
                "Look it up by the message's own id. A message that is found without having been "
                "performed never is.",
            )
        return None

    def find_does_not_act(self) -> str | None:
        """Looking up changes nothing, however often it is done."""
        message_id = self._new_id("only-looked-for")
        for number in range(REPEATS):
            told = self._find_well(message_id)
            if told.said is Outcome.PERFORMED:
                raise _Broken(
                    f"Only find was asked for {_quoted(message_id)}, and the "
                    f"{_ordinal(number + 1)} time it said that it was performed: find acts.",
                    'Read event["operation"]; do nothing but look when it is "find".',
                )
        return None

    def finds_it(self) -> str | None:
        """What was performed is found, at once."""
        message_id = self._new_id("found")
        self._perform_well(message_id)
        self._expect(
            message_id,
            Outcome.PERFORMED,
            "perform had answered that it was done, and",
            "Read consistently, by what perform stored with the effect: ConsistentRead=True, no "
            "index, replica, search or cache that lags. A find that is too early makes it happen "
            "twice.",
        )
        return None

    def finds_it_again(self) -> str | None:
        """A second look, and a later one, say the same as the first."""
        message_id = self._new_id("again")
        self._perform_well(message_id)
        first = self._find_well(message_id)
        for waited in (0.0, 0.0, self.settings.settle):
            self.caller.wait(waited)
            later = self._find_well(message_id)
            if (later.said, later.effect) != (first.said, first.effect):
                raise _Broken(
                    f"find of {_quoted(message_id)} said: {first.said} "
                    f"{_short_json(first.effect)}; and later: {later.said} "
                    f"{_short_json(later.effect)}.",
                    "Describe what is done, not when or by whom it is looked at; and do not remove "
                    "or expire what find reads by.",
                )
        return None

    def finds_it_elsewhere(self) -> str | None:
        """Another process finds it: nothing is remembered in one alone."""
        message_id = self._new_id("elsewhere")
        self._perform_well(message_id)
        self.caller.renew()
        self._expect(
            message_id,
            Outcome.PERFORMED,
            "It was performed by one process, and in another",
            "Keep what find reads by outside of the process: where the effect itself is, or in a "
            "table. Memory and /tmp are gone with the process.",
        )
        return None

    def finds_this_one_only(self) -> str | None:
        """Of two messages each finds its own, and nobody finds a neighbour."""
        one, two = self._new_id("One"), self._new_id("Two")
        told = {one: self._perform_well(one), two: self._perform_well(two)}
        for message_id in (one, two):
            found = self._find_well(message_id)
            other = two if message_id == one else one
            if found.effect == told[other].effect != told[message_id].effect:
                raise _Broken(
                    f"find of {_quoted(message_id)} described the effect of {_quoted(other)}.",
                    "Look it up by the message's own id, the whole of it.",
                )
        for near in (one[:-1], f"{one}-1", f"{one} ", one.lower(), one.upper(), "%", "*", ".*"):
            self._expect(
                near,
                Outcome.NOTHING,
                f"Only {_quoted(one)} and {_quoted(two)} were performed, and",
                "Compare the whole id, byte for byte: no beginning of it, no pattern, and letters "
                "of the same case only. Else a message that was never performed is taken for done.",
            )
        return None

    def same_description(self) -> str | None:
        """Perform and find describe it in the same words."""
        message_id = self._new_id("described")
        told = self._perform_well(message_id)
        found = self._expect(
            message_id, Outcome.PERFORMED, "It was performed, and", "See finds-it."
        )
        if found.effect != told.effect:
            raise _Broken(
                f"perform said {_short_json(told.effect)}, and find {_short_json(found.effect)}: "
                "whoever reads the executions would count two different effects.",
                "Store what perform answers with the effect, and answer the same from find.",
            )
        return None

    def odd_ids(self) -> str | None:
        """A message id may have any character."""
        for end in ODD:
            self._agrees(self._new_id(end))
        return None

    def long_ids(self) -> str | None:
        """A message id may be long."""
        message_id = self._new_id("long")
        message_id += "x" * (MAX_MESSAGE_ID_BYTES - len(message_id))
        told = self._agrees(message_id)
        if told.said is not Outcome.PERFORMED:
            return f"{MAX_MESSAGE_ID_BYTES:,} bytes: {told.said}"
        return None

    def _agrees(self, message_id: str) -> Answer:
        """It is performed and found, or clearly not performed and not found."""
        told = self._perform(message_id)
        if told.said is Outcome.UNKNOWN:
            raise _Broken(
                f"perform of {_quoted(message_id)} was answered: {told}. Nobody would know whether "
                "it happened.",
                "Take every id, encoded for where it is stored; or reject it before anything is "
                "called.",
            )
        expected = Outcome.PERFORMED if told.said is Outcome.PERFORMED else Outcome.NOTHING
        self._expect(
            message_id,
            expected,
            f"perform said: {told.said}; and",
            "Encode the id in the same way where it is stored and where it is looked up, and cut "
            "nothing off.",
        )
        return told

    def rejected(self) -> str | None:
        """What never can be performed is rejected, and nothing was done."""
        return self._refused(self.settings.rejected, Outcome.REJECTED, "--rejected", "Rejected")

    def not_performed(self) -> str | None:
        """What provably did not happen is said to be so, and nothing was done."""
        asked = self.settings.not_performed
        return self._refused(asked, Outcome.NOT_PERFORMED, "--not-performed", "NotPerformed")

    def _refused(self, body: Any, said: Outcome, option: str, error: str) -> str | None:
        if body is None:
            raise _Untried(f"give a body for which it is so with {option}")
        message_id = self._new_id("refused")
        told = self._perform(message_id, body)
        if told.said is not said:
            raise _Broken(
                f"perform was asked with the body {_short_json(body)}, and answered "
                f"{_short_json(told.raw.answer)}, which means: {told}.",
                f"Raise an error whose name is exactly {error}.",
            )
        if self.finds:
            self._expect(
                message_id,
                Outcome.NOTHING,
                f"perform said: {said}; and",
                f"Raise {error} only if it certainly did not happen; anything else is an unknown "
                "outcome, and costs a wait. This costs a second effect.",
            )
        return None

    def two_at_once(self) -> str | None:
        """Two processes at work side by side do not disturb each other."""
        ids = [self._new_id(f"beside-{n}") for n in range(SIDE_BY_SIDE)]
        events = [perform_event(one, self.settings.body) for one in ids]
        raws = self.caller.at_once(events)
        for message_id, raw in zip(ids, raws, strict=True):
            told = self._performed(message_id, raw)
            if told.said is Outcome.UNKNOWN:
                raise _Broken(
                    f"Of two that ran at once, perform of {_quoted(message_id)} was answered: "
                    f"{told}.",
                    "Share nothing between processes but what bears it: no file of one name, no "
                    "fixed port, no counter that is read and then written.",
                )
            if not self.finds:
                continue
            found = self._expect(
                message_id,
                Outcome.PERFORMED if told.said is Outcome.PERFORMED else Outcome.NOTHING,
                f"Two ran at once, perform said: {told.said}; and",
                "Write each message's own record, not a list of all that is read and then written.",
            )
            if told.said is Outcome.PERFORMED and found.effect != told.effect:
                raise _Broken(
                    f"Two ran at once. perform of {_quoted(message_id)} said "
                    f"{_short_json(told.effect)}, and find {_short_json(found.effect)}.",
                    "Write each message's own record, under its own id.",
                )
        return None

    def _killed(self, moment: str) -> str | None:
        kills = [kill for kill in self.caller.kills if kill.moment == moment]
        if not kills:
            raise _Untried("nobody can be killed at that moment here")
        found = 0
        for kill in kills:
            message_id = self._new_id(f"killed-{moment}")
            told = self._perform(message_id, kill=kill)
            answered = told.said is Outcome.PERFORMED  # it was quicker than the kill
            found += self._final(message_id, kill, answered=answered)
        return f"{found} of {len(kills)} had happened" if moment == "in" else None

    def _final(self, message_id: str, kill: Kill, *, answered: bool) -> bool:
        """Whether it had happened; after the margin the first look is final."""
        self.caller.wait(self.settings.margin)
        first = self._find_well(message_id)
        if kill.moment == "before" and first.said is Outcome.PERFORMED:
            raise _Broken(
                f"The process was killed {kill}, and find of {_quoted(message_id)} said: "
                f"{first.said}.",
                "Say that it was performed only of what was; begun is not done.",
            )
        if (answered or kill.moment == "after") and first.said is Outcome.NOTHING:
            raise _Broken(
                f"The process was killed {kill}. It had been performed, and find of "
                f"{_quoted(message_id)} said: {first.said}. It would happen twice.",
                "Store what find reads by together with the effect, or before it; not in memory, "
                "not at the end of the handler, not in the background.",
            )
        self.caller.wait(self.settings.settle)
        later = self._find_well(message_id)
        if (first.said, first.effect) != (later.said, later.effect):
            raise _Broken(
                f"The process was killed {kill}. {self.settings.margin:g} s later find of "
                f"{_quoted(message_id)} said: {first.said} {_short_json(first.effect)}; and "
                f"{self.settings.settle:g} s after that: {later.said} "
                f"{_short_json(later.effect)}. The stack would have tried again in between.",
                "What was called goes on without its process: find has to wait for it, or raise "
                "while it may; or StragglerMarginSeconds has to be longer than it takes (--margin "
                "here).",
            )
        return first.said is Outcome.PERFORMED

    def leaves_nothing_running(self) -> str | None:
        """When it has answered, nothing of it goes on."""
        self._perform_well(self._new_id("alone"))
        left = self.caller.left_running()
        if left:
            raise _Broken(
                f"perform had answered, and {left} process{'es' if left > 1 else ''} that it had "
                "started went on. Lambda freezes it at any point, and ends it at any other.",
                "Do all of it before you answer; start no process that lives on.",
            )
        return None

    def in_time(self) -> str | None:
        """It takes less time than it has."""
        allowed = self.settings.timeout
        if self.longest > allowed:
            raise _Broken(
                f"perform took {self.longest:.1f} s, and has {allowed:g} s.",
                "Raise EffectTimeoutSeconds, and the function's own time-out with it.",
            )
        half = self.longest > allowed / 2
        return f"{self.longest:.2f} s of {allowed:g} s" + (": more than half" if half else "")

    def performed_again(self) -> str | None:
        """What it makes of a second perform with one id (the stack does not rely on it)."""
        message_id = self._new_id("twice")
        first, second = self._perform_well(message_id), self._perform(message_id, attempt=2)
        if second.said is not Outcome.PERFORMED:
            return f"a second perform of one message is refused: {second}"
        if second.effect == first.effect:
            return "a second perform of one message gives the same description, so it may be one"
        return (
            "a second perform of one message is a second effect "
            f"({_short_json(first.effect)}, {_short_json(second.effect)}): what ActOnce is for"
        )


_INFORMS = frozenset({"performed-again"})
_FINDS = frozenset({
    "finds-nothing", "find-does-not-act", "finds-it", "finds-it-again", "finds-it-elsewhere",
    "finds-this-one-only", "same-description", "odd-ids", "long-ids", "killed-before", "killed-in",
    "killed-after",
})  # fmt: skip
_ASKS = {
    "killed-before": "Killed before the call, it has not happened.",
    "killed-in": "Killed in the middle, the first look after the margin is final.",
    "killed-after": "Killed before it could answer, it is found.",
}


def _asks(check: Callable[[], str | None]) -> str:
    return (check.__doc__ or "").strip()


_LOOK_ALIKES = {"notperformed": "NotPerformed", "rejected": "Rejected"}


def _refuse_look_alikes(told: Answer) -> None:
    """An answer that was meant as one of the two, and is none."""
    answer = told.raw.answer
    if told.said is not Outcome.UNKNOWN or not isinstance(answer, dict):
        return
    if told.raw.end is End.FAILED:
        name = str(answer.get("errorType", ""))
        bare = name.lower().replace("_", "").removesuffix("error").removesuffix("exception")
        for look_alike, meant in _LOOK_ALIKES.items():
            if bare.endswith(look_alike):
                raise _Broken(
                    f"perform raised {name}. Step Functions compares names whole, so this is an "
                    f"unknown outcome, and not {meant}.",
                    f"Name the error exactly {meant}, without package or ending.",
                )
        return
    value = answer.get("performed")
    if isinstance(value, str | int) and not isinstance(value, bool):
        raise _Broken(
            f"perform answered performed: {value!r}, which is no clear yes: only true is.",
            'Answer "performed": true, the JSON value.',
        )


def _quoted(message_id: str) -> str:
    text = json.dumps(message_id, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}…, {len(message_id):,} characters,"


def _short_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
