"""Each check fails the effect that is spoiled for it, and effects that are right pass them all."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from actonce.adopt.effect_check.calls import End, Event, Kill, Outcome, Raw, read
from actonce.adopt.effect_check.checks import PREFIX, Checks, Finding, Settings, Status
from actonce_core.effect import NotPerformed, Rejected, answer
from tests.effect_check.simulated import Hung, Simulated, World

BODY = {"amount": 20}
SETTINGS = Settings(BODY, timeout=4, rejected={"amount": "20"}, not_performed={"amount": 429})


class Good:
    """An effect that keeps the contract; what is spoiled of it, a subclass says."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.numbers = itertools.count(len(world.orders))

    def __call__(self, event: Event) -> Any:
        message = event["message"]
        if event["operation"] == "find":
            return self.find(message["message_id"])
        return self.perform(message["message_id"], self.body(message))

    def body(self, message: dict[str, Any]) -> Any:
        return json.loads(message["body"])

    def perform(self, message_id: str, body: Any) -> Any:
        if not isinstance(body.get("amount"), int):
            return self.reject()
        self.world.step()
        if body["amount"] == 429:
            return self.refuse(message_id)
        return self.act(message_id)

    def act(self, message_id: str) -> Any:
        done = {"order": f"{message_id[:80]}/{next(self.numbers)}"}
        self.store(message_id, done)
        self.world.step()
        return {"performed": True, "effect": done}

    def store(self, message_id: str, done: Any) -> None:
        self.world.orders[message_id] = done

    def reject(self) -> Any:
        raise Rejected("amount")

    def refuse(self, _message_id: str) -> Any:
        raise NotPerformed("busy")

    def find(self, message_id: str) -> Any:
        if message_id not in self.world.orders:
            return {"performed": False}
        return {"performed": True, "effect": self.world.orders[message_id]}


class ByClass(Good):
    """As `answer` makes the contract of a class."""

    def __call__(self, event: Event) -> Any:
        return answer(_OfClass(self), event)


class _OfClass:
    def __init__(self, good: Good) -> None:
        self._good = good

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        effect: dict[str, Any] = self._good.perform(
            request["message_id"], json.loads(request["body"])
        )["effect"]
        return effect

    def find(self, message_id: str) -> dict[str, Any] | None:
        told = self._good.find(message_id)
        return told["effect"] if told["performed"] else None


class Idempotent(Good):
    """Performed again it gives the first answer."""

    def act(self, message_id: str) -> Any:
        if message_id in self.world.orders:
            return {"performed": True, "effect": self.world.orders[message_id]}
        return super().act(message_id)


class RejectsWhatIsTooLong(Good):
    def perform(self, message_id: str, body: Any) -> Any:
        return self.reject() if len(message_id) > 1024 else super().perform(message_id, body)


class SaysNull(Good):
    """Nothing to describe."""

    def act(self, message_id: str) -> Any:
        super().act(message_id)
        return {"performed": True, "effect": None}

    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        return told | ({"effect": None} if told["performed"] else {})


# --------------------------------------------------------------------------- spoiled


class NeverAdapted(Good):
    """It takes no notice of `operation`, and acts."""

    def __call__(self, event: Event) -> Any:
        return self.act(event["message"]["message_id"])


class ActsTheSecondTime(Good):
    """Asked to find what it does not know, it makes sure that it will be there."""

    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        self.world.orders.setdefault(message_id, {"order": "made up"})
        return told


class FindsEverything(Good):
    def find(self, message_id: str) -> Any:
        return {"performed": True, "effect": self.world.orders.get(message_id, {})}


class FailsOnNothing(Good):
    def find(self, message_id: str) -> Any:
        return {"performed": True, "effect": self.world.orders[message_id]}


class AnswersNothingByNull(Good):
    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        return told if told["performed"] else None


class Lags(Good):
    """By an index that is there a little later."""

    def store(self, message_id: str, done: Any) -> None:
        self.world.later(0.2, lambda: self.world.orders.update({message_id: done}))


class OnlyHere(Good):
    """In the process's memory."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.world = World(orders={})
        self.world.step = world.step  # type: ignore[method-assign]


class FlushedLater(Good):
    """What find reads by is written by the process's next call."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.pending: dict[str, Any] = {}

    def __call__(self, event: Event) -> Any:
        self.world.orders.update(self.pending)
        return super().__call__(event)

    def store(self, message_id: str, done: Any) -> None:
        self.pending[message_id] = done


class ByBeginning(Good):
    def find(self, message_id: str) -> Any:
        return super().find(next((m for m in self.world.orders if m.startswith(message_id)), ""))


class AnyCase(Good):
    def store(self, message_id: str, done: Any) -> None:
        super().store(message_id.lower(), done)

    def find(self, message_id: str) -> Any:
        return super().find(message_id.lower())


class Trimmed(Good):
    def find(self, message_id: str) -> Any:
        return super().find(message_id.strip())


class TheLastOne(Good):
    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        last = list(self.world.orders.values())[-1:]
        return told | ({"effect": last[0]} if told["performed"] else {})


class OtherWords(Good):
    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        return told | ({"effect": {"found": True}} if told["performed"] else {})


class SaysWhenItLooked(Good):
    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        return told | ({"effect": {"at": self.world.now}} if told["performed"] else {})


class Expires(Good):
    def store(self, message_id: str, done: Any) -> None:
        super().store(message_id, done)
        self.world.later(0.9, lambda: self.world.orders.pop(message_id, None))


class CutOff(Good):
    """The id is longer than its column."""

    def store(self, message_id: str, done: Any) -> None:
        super().store(message_id[:255], done)


class AsciiOnly(Good):
    def store(self, message_id: str, done: Any) -> None:
        message_id.encode("ascii")
        super().store(message_id, done)


class InAnAddress(Good):
    """The id is put into a URL as it is."""

    def find(self, message_id: str) -> Any:
        return super().find(message_id.partition("?")[0].partition("#")[0])


class RejectedError(Exception):
    pass


class RejectsByAnotherName(Good):
    def reject(self) -> Any:
        raise RejectedError("amount")


class RejectsByValue(Good):
    def reject(self) -> Any:
        return {"rejected": True}


class RejectsByAnError(Good):
    def reject(self) -> Any:
        raise ValueError("amount")


class DidIt(Good):
    """The answer was an error, so it takes it for not performed."""

    def refuse(self, message_id: str) -> Any:
        self.store(message_id, {})
        return super().refuse(message_id)


class NotPerformedException(Exception):
    pass


class RefusesByAnotherName(Good):
    def refuse(self, _message_id: str) -> Any:
        raise NotPerformedException("busy")


class AlmostTrue(Good):
    def act(self, message_id: str) -> Any:
        return super().act(message_id) | {"performed": 1}


class NoDescription(Good):
    def act(self, message_id: str) -> Any:
        super().act(message_id)
        return {"performed": True}


class Vast(Good):
    def act(self, message_id: str) -> Any:
        return {"performed": True, "effect": {"pdf": "x" * 40_000} | super().act(message_id)}


class OneList(Good):
    """All orders are read, and written back with one more."""

    def store(self, message_id: str, done: Any) -> None:
        read = dict(self.world.orders)
        self.world.step()
        self.world.orders = read | {message_id: done}

    def perform(self, message_id: str, body: Any) -> Any:
        return self.act(message_id) if body == BODY else super().perform(message_id, body)


class GoesOnWithoutIt(Good):
    """The provider takes it in, and does it when it comes to it."""

    def perform(self, message_id: str, body: Any) -> Any:
        if body != BODY:
            return super().perform(message_id, body)
        done = {"order": message_id[:80]}
        self.world.later(1.2, lambda: self.world.orders.setdefault(message_id, done))
        self.world.step()
        self.world.step()
        self.world.orders[message_id] = done
        return {"performed": True, "effect": done}


class StartsAProcess(Good):
    def act(self, message_id: str) -> Any:
        self.world.left += 1
        return super().act(message_id)


class Hangs(Good):
    def act(self, _message_id: str) -> Any:
        raise Hung


class Slow(Good):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.took = 5.0


class FailsAlways(Good):
    def act(self, _message_id: str) -> Any:
        raise RuntimeError("the provider answered 500")


SPOILED: list[tuple[type[Good], str]] = [
    (NeverAdapted, "finds-nothing"),
    (ActsTheSecondTime, "find-does-not-act"),
    (FindsEverything, "finds-nothing"),
    (FailsOnNothing, "finds-nothing"),
    (AnswersNothingByNull, "finds-nothing"),
    (Lags, "finds-it"),
    (OnlyHere, "finds-it-elsewhere"),
    (OnlyHere, "killed-after"),
    (FlushedLater, "killed-after"),
    (ByBeginning, "finds-this-one-only"),
    (AnyCase, "finds-this-one-only"),
    (Trimmed, "finds-this-one-only"),
    (TheLastOne, "finds-this-one-only"),
    (OtherWords, "same-description"),
    (SaysWhenItLooked, "finds-it-again"),
    (Expires, "finds-it-again"),
    (CutOff, "long-ids"),
    (AsciiOnly, "odd-ids"),
    (InAnAddress, "odd-ids"),
    (RejectsByAnotherName, "rejected"),
    (RejectsByValue, "rejected"),
    (RejectsByAnError, "rejected"),
    (DidIt, "not-performed"),
    (RefusesByAnotherName, "not-performed"),
    (AlmostTrue, "performs"),
    (NoDescription, "performs"),
    (Hangs, "performs"),
    (FailsAlways, "performs"),
    (Vast, "small-answer"),
    (OneList, "two-at-once"),
    (GoesOnWithoutIt, "killed-in"),
    (StartsAProcess, "leaves-nothing-running"),
    (Slow, "in-time"),
]


def findings(make: Callable[[World], Any], settings: Settings = SETTINGS) -> dict[str, Finding]:
    return {one.name: one for one in Checks(Simulated(make), settings).run()}


@pytest.mark.parametrize(
    ("spoiled", "check"), SPOILED, ids=lambda one: getattr(one, "__name__", one)
)
def test_a_spoiled_effect_fails_the_check_that_is_meant_for_it(
    spoiled: type[Good], check: str
) -> None:
    found = findings(spoiled)
    assert found[check].status is Status.FAILED, found
    assert found[check].story
    assert found[check].change


@pytest.mark.parametrize("right", [Good, ByClass, Idempotent, RejectsWhatIsTooLong, SaysNull])
def test_an_effect_that_is_right_keeps_all(right: type[Good]) -> None:
    found = findings(right)
    assert {one.status for one in found.values()} == {Status.PASSED, Status.TOLD}, found
    assert found["performed-again"].status is Status.TOLD


def test_every_check_has_an_effect_that_it_fails() -> None:
    """All but one: what a call cannot have done that never was made, only a lie can claim."""
    never = {"killed-before", "performed-again"}
    assert {check for _, check in SPOILED} == set(findings(Good)) - never
    assert findings(FindsEverything)["killed-before"].status is Status.FAILED


def test_what_cannot_be_tried_is_said_to_be_so() -> None:
    found = findings(Good, Settings(BODY, timeout=4))
    untried = {name for name, one in found.items() if one.status is Status.UNTRIED}
    assert untried == {"rejected", "not-performed"}
    assert "--rejected" in found["rejected"].story

    caller = Simulated(Good)
    told = list(Checks(caller, SETTINGS, finds=False).run())
    without = {one.name for one in told if one.status is Status.UNTRIED}
    assert {"finds-it", "killed-after"} < without
    assert "rejected" not in without

    broken = findings(FailsAlways)
    assert broken.pop("performs").status is Status.FAILED
    assert {one.status for one in broken.values()} == {Status.UNTRIED}


def test_the_story_says_what_was_asked_what_came_and_what_to_change() -> None:
    story = findings(RejectsByAnotherName)["rejected"]
    assert story.story.startswith("perform raised RejectedError. Step Functions compares names")
    assert "exactly Rejected" in story.change
    assert story.as_json()["status"] == "failed"
    assert "twice" in findings(Good)["performed-again"].story or "second effect" in (
        findings(Good)["performed-again"].story
    )


def test_what_is_performed_can_be_told_apart_from_anything_else() -> None:
    caller = Simulated(Good)
    list(Checks(caller, SETTINGS).run())
    assert caller.world.orders
    assert all(one.startswith(PREFIX) for one in caller.world.orders)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (Raw(End.ANSWERED, {"performed": True, "effect": {}}), Outcome.PERFORMED),
        (Raw(End.ANSWERED, {"performed": True, "rejected": True, "effect": {}}), Outcome.PERFORMED),
        (Raw(End.ANSWERED, {"rejected": True}), Outcome.UNKNOWN),
        (Raw(End.ANSWERED, {"not_performed": True}), Outcome.UNKNOWN),
        (Raw(End.FAILED, {"errorType": "Rejected", "errorMessage": "no"}), Outcome.REJECTED),
        (Raw(End.FAILED, {"errorType": "NotPerformed", "errorMessage": ""}), Outcome.NOT_PERFORMED),
        (Raw(End.FAILED, {"errorType": "a.NotPerformed"}), Outcome.UNKNOWN),
        (Raw(End.FAILED, "no object"), Outcome.UNKNOWN),
        (Raw(End.ANSWERED, None), Outcome.UNKNOWN),
        (Raw(End.ANSWERED, []), Outcome.UNKNOWN),
        (Raw(End.DIED), Outcome.UNKNOWN),
        (Raw(End.HUNG), Outcome.UNKNOWN),
    ],
)
def test_an_answer_is_read_as_the_stack_reads_it(raw: Raw, said: Outcome) -> None:
    assert read(raw, "perform", "m-1").said is said


def test_kills_are_told_in_words() -> None:
    assert str(Kill("in", 0.3)) == "after 30% of its time"
    assert "before it answered" in str(Kill("after"))
