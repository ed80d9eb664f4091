"""Each check fails the effect that is spoiled for it, and effects that are right pass them all."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from actonce.adopt.effect_check.calls import End, Event, Outcome, Raw, read
from actonce.adopt.effect_check.checks import CHECKS, PREFIX, Finding, Settings, Status, Trial
from actonce_core.effect import NotPerformed, Rejected
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
        return self.perform(message["message_id"], json.loads(message["body"]))

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
        return {"performed": True, "effect": self.described(self.world.orders[message_id])}

    def described(self, done: Any) -> Any:
        return done


class Idempotent(Good):
    """Performed again it gives the first answer."""

    def act(self, message_id: str) -> Any:
        done = self.world.orders.get(message_id)
        return {"performed": True, "effect": done} if done else super().act(message_id)


class RejectsWhatIsTooLong(Good):
    def perform(self, message_id: str, body: Any) -> Any:
        return self.reject() if len(message_id) > 1024 else super().perform(message_id, body)


class SaysNull(Good):
    """Nothing to describe."""

    def act(self, message_id: str) -> Any:
        return super().act(message_id) | {"effect": None}

    def described(self, done: Any) -> Any:
        del done


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


class AnswersNothingByNull(Good):
    def find(self, message_id: str) -> Any:
        told = super().find(message_id)
        return told if told["performed"] else None


class Lags(Good):
    """By an index that is there a little later."""

    def store(self, message_id: str, done: Any) -> None:
        self.world.later(0.2, lambda: self.world.orders.update({message_id: done}))


class OtherWords(Good):
    def described(self, done: Any) -> Any:
        return {"found": done}


class OnlyHere(Good):
    """In the process's memory."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.world = World(orders={})
        self.world.step = world.step  # type: ignore[method-assign]


class ByBeginning(Good):
    def find(self, message_id: str) -> Any:
        return super().find(next((m for m in self.world.orders if m.startswith(message_id)), ""))


class AnyCase(Good):
    def store(self, message_id: str, done: Any) -> None:
        super().store(message_id.lower(), done)

    def find(self, message_id: str) -> Any:
        return super().find(message_id.lower())


class TheLastOne(Good):
    def described(self, done: Any) -> Any:
        return list(self.world.orders.values())[-1] or done


class SaysWhenItLooked(Good):
    def described(self, done: Any) -> Any:
        return done | {"at": self.world.now}


class Expires(Good):
    def store(self, message_id: str, done: Any) -> None:
        super().store(message_id, done)
        self.world.later(0.9, lambda: self.world.orders.pop(message_id, None))


class CutOff(Good):
    """The id is longer than its column."""

    def store(self, message_id: str, done: Any) -> None:
        super().store(message_id[:255], done)


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


class DidIt(Good):
    """The answer was an error, so it takes it for not performed."""

    def refuse(self, message_id: str) -> Any:
        self.store(message_id, {})
        return super().refuse(message_id)


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


class Hangs(Good):
    def act(self, _message_id: str) -> Any:
        raise Hung


class Slow(Good):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.took = 5.0


SPOILED: list[tuple[type[Good], str, str]] = [
    (NeverAdapted, "finds-nothing", 'event["operation"]'),
    (ActsTheSecondTime, "finds-nothing", 'event["operation"]'),
    (AnswersNothingByNull, "finds-nothing", '{"performed": false}'),
    (Lags, "finds-it", "ConsistentRead=True"),
    (OtherWords, "finds-it", "what perform answers"),
    (OnlyHere, "finds-it-elsewhere", "outside of the process"),
    (OnlyHere, "killed-after", "together with the effect"),
    (ByBeginning, "finds-this-one-only", "whole id"),
    (AnyCase, "finds-this-one-only", "same case"),
    (TheLastOne, "finds-this-one-only", "whole id"),
    (SaysWhenItLooked, "finds-it-again", "when"),
    (Expires, "finds-it-again", "expire"),
    (CutOff, "odd-ids", "cut nothing off"),
    (InAnAddress, "odd-ids", "Encode"),
    (RejectsByAnotherName, "rejected", "Name the error Rejected, not RejectedError"),
    (RejectsByValue, "rejected", "exactly Rejected"),
    (DidIt, "not-performed", "certainly did not happen"),
    (AlmostTrue, "performs", '"performed": true'),
    (NoDescription, "performs", '"effect"'),
    (Hangs, "performs", "--timeout"),
    (Vast, "small-answer", "32,768 bytes"),
    (OneList, "two-at-once", "own record"),
    (GoesOnWithoutIt, "killed-in", "--margin"),
    (Slow, "in-time", "EffectTimeoutSeconds"),
]


def findings(make: Callable[[World], Any], settings: Settings = SETTINGS) -> dict[str, Finding]:
    return {one.check: one for one in Trial(Simulated(make), settings).run()}


@pytest.mark.parametrize(("spoiled", "check", "change"), SPOILED)
def test_a_spoiled_effect_fails_the_check_that_is_meant_for_it(
    spoiled: type[Good], check: str, change: str
) -> None:
    found = findings(spoiled)[check]
    assert found.status is Status.FAILED, found
    assert found.story
    assert change in found.change


def test_every_check_has_an_effect_that_it_fails() -> None:
    assert {check for _, check, _ in SPOILED} | {"performed-again"} == {one.name for one in CHECKS}


@pytest.mark.parametrize("right", [Good, Idempotent, RejectsWhatIsTooLong, SaysNull])
def test_an_effect_that_is_right_keeps_all_under_ids_of_its_own(right: type[Good]) -> None:
    caller = Simulated(right)
    found = {one.check: one.status for one in Trial(caller, SETTINGS).run()}
    assert found.pop("performed-again") is Status.TOLD
    assert set(found.values()) == {Status.PASSED}
    assert all(one.startswith(PREFIX) for one in caller.world.orders)


def test_what_cannot_be_tried_is_said_to_be_so() -> None:
    def untried(found: dict[str, Finding]) -> set[str]:
        return {name for name, one in found.items() if one.status is Status.UNTRIED}

    assert untried(findings(Good, Settings(BODY, timeout=4))) == {"rejected", "not-performed"}

    without = {one.check: one for one in Trial(Simulated(Good, can_find=False), SETTINGS).run()}
    assert untried(without) == {one.name for one in CHECKS if one.looks}
    assert {"performs", "rejected", "two-at-once"}.isdisjoint(untried(without))

    broken = findings(Hangs)
    assert untried(broken) == set(broken) - {"performs"}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (Raw(End.ANSWERED, {"performed": True, "effect": None}), Outcome.PERFORMED),
        (Raw(End.ANSWERED, {"performed": True}), Outcome.UNKNOWN),
        (Raw(End.ANSWERED, {"not_performed": True}), Outcome.UNKNOWN),
        (Raw(End.FAILED, {"errorType": "Rejected", "errorMessage": "no"}), Outcome.REJECTED),
        (Raw(End.FAILED, {"errorType": "NotPerformed", "errorMessage": ""}), Outcome.NOT_PERFORMED),
        (Raw(End.FAILED, {"errorType": "a.NotPerformed"}), Outcome.UNKNOWN),
        (Raw(End.FAILED, "no object"), Outcome.UNKNOWN),
        (Raw(End.ANSWERED, []), Outcome.UNKNOWN),
        (Raw(End.DIED), Outcome.UNKNOWN),
        (Raw(End.HUNG), Outcome.UNKNOWN),
    ],
)
def test_an_answer_is_read_as_the_stack_reads_it(raw: Raw, said: Outcome) -> None:
    assert read(raw, "perform", "m-1").said is said
