"""Each check fails the effect that is spoiled for it, and effects that are right pass them all."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from actonce.adopt.effect_check.calls import CallResult, Event, Outcome, read
from actonce.adopt.effect_check.checks import CHECKS, Trial
from actonce.adopt.effect_check.finding import Finding, Settings, Status
from actonce_core.effect import NotPerformed, Rejected
from tests.adopt.effect_check.simulated import Hung, Simulated, World

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
        self.works()
        if body["amount"] == 429:
            return self.refuse(message_id)
        return self.act(message_id)

    def works(self) -> None:
        self.world.step()

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


def but(**other: Any) -> type[Good]:
    """The good effect, but with other methods."""
    return type("Other", (Good,), other)


def raises(error: type[BaseException]) -> Any:
    def raised(*_: object) -> Any:
        raise error("of the effect")

    return raised


def answers(**other: Any) -> Any:
    """An `act` that answers something else."""
    return lambda self, message_id: Good.act(self, message_id) | other


def later(seconds: float) -> Any:
    """A `store` whose order is there a little later, as in an index."""
    return lambda self, message_id, done: self.world.later(
        seconds, lambda: self.world.orders.update({message_id: done})
    )


def acts_the_second_time(self: Good, message_id: str) -> Any:
    found = Good.find(self, message_id)
    self.world.orders.setdefault(message_id, {"order": "made up"})
    return found


def expires(self: Good, message_id: str, done: Any) -> None:
    Good.store(self, message_id, done)
    self.world.later(0.9, lambda: self.world.orders.pop(message_id, None))


def only_here(self: Good, world: World) -> None:
    """In the process's memory."""
    Good.__init__(self, World(orders={}))
    self.world.step = world.step  # type: ignore[method-assign]


def by_beginning(self: Good, message_id: str) -> Any:
    return Good.find(self, next((m for m in self.world.orders if m.startswith(message_id)), ""))


def one_list(self: Good, message_id: str, done: Any) -> None:
    """All orders are read, and written back with one more."""
    read = dict(self.world.orders)
    self.world.step()
    self.world.orders = read | {message_id: done}


def goes_on_without_it(self: Good, message_id: str) -> Any:
    """The provider takes it in, and does it when it comes to it."""
    done = {"order": message_id[:80]}
    self.world.later(1.2, lambda: self.world.orders.setdefault(message_id, done))
    self.world.step()
    self.world.step()
    self.world.orders[message_id] = done
    return {"performed": True, "effect": done}


def slow(self: Good, world: World) -> None:
    Good.__init__(self, world)
    world.took = 5.0


def gives_up(*, goes_on: str) -> Any:
    """An `act` that does not wait for a slow provider, which goes on here or there."""

    def act(self: Good, message_id: str) -> Any:
        if not self.world.slow:
            return Good.act(self, message_id)
        if goes_on:
            store = partial(self.store, message_id, {"order": "late"})
            getattr(self.world, goes_on).append((self.world.now + self.world.slow, store))
        raise TimeoutError("no answer")

    return act


def did_it(self: Good, message_id: str) -> Any:
    """The provider answered an error, so it takes it for not performed."""
    self.store(message_id, {})
    raise NotPerformed("busy")


class RejectedError(Exception):
    pass


SPOILED: list[tuple[str, str, dict[str, Any]]] = [
    ("performs", "shorter than EffectTimeoutSeconds", {"act": raises(Hung)}),
    ("performs", '"performed": true', {"act": answers(performed=1)}),
    ("performs", '"effect"', {"act": lambda self, m: {"performed": bool(Good.act(self, m))}}),
    ("small-answer", "32,768 bytes", {"act": answers(effect="x" * 40_000)}),
    ("finds-nothing", "do nothing but look", {"find": lambda self, m: self.act(m)}),
    ("finds-nothing", "do nothing but look", {"find": acts_the_second_time}),
    ("finds-nothing", '{"performed": false}', {"find": raises(KeyError)}),
    ("finds-it", "ConsistentRead=True", {"store": later(0.2)}),
    ("finds-it", "what perform answers", {"described": lambda _, done: {"found": done}}),
    ("finds-it", "when", {"described": lambda self, done: done | {"at": self.world.now}}),
    ("finds-it", "expire", {"store": expires}),
    ("finds-it", "gone with the process", {"__init__": only_here}),
    ("finds-this-one-only", "whole id", {"find": by_beginning}),
    (
        "finds-this-one-only",
        "same case",
        {
            "store": lambda self, m, done: Good.store(self, m.lower(), done),
            "find": lambda self, m: Good.find(self, m.lower()),
        },
    ),
    (
        "finds-this-one-only",
        "whole id",
        {"described": lambda self, _: list(self.world.orders.values())[-1]},
    ),
    ("odd-ids", "cut nothing off", {"store": lambda s, m, done: Good.store(s, m[:255], done)}),
    ("odd-ids", "Encode", {"find": lambda self, m: Good.find(self, m.partition("?")[0])}),
    ("rejected", "Name the error Rejected, not Rej", {"reject": raises(RejectedError)}),
    ("rejected", "exactly Rejected", {"reject": lambda _: {"rejected": True}}),
    ("not-performed", "certainly did not happen", {"refuse": did_it}),
    ("two-at-once", "own record", {"store": one_list, "works": lambda _: None}),
    ("killed-in", "--margin", {"act": goes_on_without_it}),
    ("killed-after", "together with the effect", {"__init__": only_here}),
    ("slow-provider", "abort", {"act": gives_up(goes_on="left")}),
    ("in-time", "EffectTimeoutSeconds", {"__init__": slow}),
]


def findings(make: Callable[[World], Any], settings: Settings = SETTINGS) -> dict[str, Finding]:
    return {one.check: one for one in Trial(Simulated(make), settings).run()}


@pytest.mark.parametrize(("check", "change", "spoiled"), SPOILED)
def test_a_spoiled_effect_fails_the_check_that_is_meant_for_it(
    check: str, change: str, spoiled: dict[str, Any]
) -> None:
    found = findings(but(**spoiled))[check]
    assert found.status is Status.FAILED, found
    assert found.story
    assert change in found.change


def test_every_check_has_an_effect_that_it_fails() -> None:
    assert {check for check, _, _ in SPOILED} == {one.name for one in CHECKS}


@pytest.mark.parametrize(
    "right",
    [
        Good,
        but(  # Performed again it gives the first answer.
            act=lambda self, m: Good.find(self, m) if m in self.world.orders else Good.act(self, m)
        ),
        but(  # It rejects an id that is too long.
            perform=lambda self, m, body: (
                self.reject() if len(m) > 1024 else Good.perform(self, m, body)
            )
        ),
        but(described=lambda _, done: done | {"more": 1}),
        but(act=answers(effect=None), described=lambda *_: None),  # It has nothing to describe.
        but(act=gives_up(goes_on="")),
        but(act=gives_up(goes_on="due")),  # Its provider does it by itself.
    ],
    ids=["good", "idempotent", "particular", "talkative", "laconic", "aborting", "late"],
)
def test_an_effect_that_is_right_keeps_all_under_ids_of_its_own(right: type[Good]) -> None:
    caller = Simulated(right)
    found = {one.check: one.status for one in Trial(caller, SETTINGS).run()}
    assert set(found.values()) == {Status.PASSED}
    assert all(one.startswith("actonce-check-") for one in caller.world.orders)


def test_an_effect_may_take_its_id_from_the_body_where_the_stack_reads_it() -> None:
    class ByBody(Good):
        def perform(self, message_id: str, body: Any) -> Any:
            if body.get("order", {}).get("id") != message_id:
                raise ValueError
            return Good.perform(self, message_id, body)

    found = findings(ByBody, replace(SETTINGS, message_id_from="body:order.id"))
    assert {one.status for one in found.values()} == {Status.PASSED}


def test_what_cannot_be_tried_is_said_to_be_so() -> None:
    def untried(found: dict[str, Finding]) -> set[str]:
        return {name for name, one in found.items() if one.status is Status.UNTRIED}

    assert untried(findings(Good, Settings(BODY, timeout=4))) == {"rejected", "not-performed"}

    without = {one.check: one for one in Trial(Simulated(Good, can_find=False), SETTINGS).run()}
    assert untried(without) == {one.name for one in CHECKS if one.looks}
    assert {"performs", "rejected", "two-at-once"}.isdisjoint(untried(without))

    unkilled = Simulated(Good)
    unkilled.dies_at_the_end = False
    assert untried({one.check: one for one in Trial(unkilled, SETTINGS).run()}) == {"killed-after"}

    unslowed = Simulated(Good)
    unslowed.slows = False
    assert untried({one.check: one for one in Trial(unslowed, SETTINGS).run()}) == {"slow-provider"}

    broken = findings(but(act=raises(Hung)))
    assert untried(broken) == set(broken) - {"performs"}


@pytest.mark.parametrize(
    ("raw", "outcome"),
    [
        (CallResult({"performed": True, "effect": None}), Outcome.PERFORMED),
        (CallResult({"performed": True}), Outcome.UNKNOWN),
        (CallResult({"not_performed": True}), Outcome.UNKNOWN),
        (
            CallResult({"errorType": "Rejected", "errorMessage": "no"}, failed=True),
            Outcome.REJECTED,
        ),
        (CallResult({"errorType": "NotPerformed"}, failed=True), Outcome.NOT_PERFORMED),
        (CallResult({"errorType": "a.NotPerformed"}, failed=True), Outcome.UNKNOWN),
        (CallResult("no object", failed=True), Outcome.UNKNOWN),
        (CallResult([]), Outcome.UNKNOWN),
    ],
)
def test_an_answer_is_read_as_the_stack_reads_it(raw: CallResult, outcome: Outcome) -> None:
    assert read(raw, "perform", "m-1").outcome is outcome
