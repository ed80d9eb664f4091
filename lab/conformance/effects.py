"""The effect, which must not happen twice; here it is only counted.

It can be looked up. It may fail, or happen while its answer is lost, or late, even after its caller
is gone, but within the time that the way tolerates; or whenever its sandbox is thawed. A message
may say that it goes wrong each time.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from actonce_core.effect import NotPerformed, Rejected
from lab.conformance.dynamodb import TransactionCanceledException
from lab.conformance.process import TIME_IS_OVER, Hazard, Process
from lab.conformance.world import World

POISON = "poison"
"""The effect rejects a message with this field in its body."""
CLOSED = "closed"
"""The effect of a message with this field proves that it did not happen, until that is mended."""
BROKEN = "broken"
"""It fails without having happened, and without proof."""
UNSEEN = "unseen"
"""It happens, its answer is lost, and it cannot be looked up."""
UNPROVEN = "unproven"
"""It fails without having happened, without proof, and it cannot be looked up."""
SLOW = "slow"
"""It takes `SLOW_LOOK_UP` to look it up."""
SLOW_LOOK_UP = 10_000
"""Milliseconds."""
LEFT_FOR = 2_000
"""Milliseconds that a call which its caller has given up goes on for; frozen, for longer."""

Lateness = Mapping[Hazard, Sequence[int]]

EFFECTS_TABLE = "effects"


@dataclass(slots=True)
class EffectLog:
    """What has happened, and what a person decided.

    Attributes:
        effects: message id and body of each effect, in order.
        is_mended: messages no longer go wrong each time.
        unseen: message ids whose effect cannot be looked up.
        slow: message ids whose effect takes long to look up.
        closed: message id and body of each message that a person has closed, with the number of
            effects until then, and `resolved` or `rejected`.
        down_until: milliseconds of the world until which every effect proves that it did not
            happen; constant in a run.
        blind_until: milliseconds until which nothing can be looked up; likewise.
    """

    effects: list[tuple[str, str]] = field(default_factory=list)
    is_mended: bool = False
    unseen: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    closed: list[tuple[str, str, int, str]] = field(default_factory=list)
    down_until: int = 0
    blind_until: int = 0

    def state(self) -> Hashable:
        """All that changes in a run."""
        return (
            tuple(self.effects),
            self.is_mended,
            frozenset(self.unseen),
            frozenset(self.slow),
            tuple(self.closed),
        )


@dataclass(frozen=True, slots=True)
class CountingEffect:
    """An `Effect`.

    Attributes:
        performed: counts it.
        write: writes what must be written in the same moment, for a message id; it may raise
            `NotPerformed`.
        lateness: for each hazard of lateness the milliseconds after which the effect may happen.
    """

    world: World
    performed: EffectLog
    lateness: Lateness
    write: Callable[[str], None] = lambda _: None

    def find(self, message_id: str) -> dict[str, Any] | None:
        """See `Effect`."""

        def look() -> int:
            if message_id in self.performed.unseen and not self.performed.is_mended:
                raise ConnectionError("nobody can look")
            if self.world.now < self.performed.blind_until:
                raise ConnectionError("nobody can look by now")
            return sum(known == message_id for known, _ in self.performed.effects)

        def fails() -> int:
            raise ConnectionError("the system cannot be reached")

        if message_id in self.performed.slow:
            self.world.sleep(SLOW_LOOK_UP / 1000)
        found = self.world.step(
            f"looks the effect of {message_id} up", look, otherwise={Hazard.THROTTLED: fails}
        )
        return {"effects": found} if found else None

    def _goes_wrong(self, body: Any) -> list[str]:
        """What goes wrong with this message each time."""
        if self.performed.is_mended or not isinstance(body, dict):
            return []
        return [name for name in (POISON, CLOSED, BROKEN, UNSEEN, UNPROVEN) if name in body]

    def perform(  # noqa: C901, PLR0915 - all that can go wrong
        self, request: dict[str, Any]
    ) -> dict[str, Any]:
        """See `Effect`."""
        message_id, sent = request["message_id"], json.loads(request["body"])
        body = json.dumps(sent, sort_keys=True)
        goes_wrong = self._goes_wrong(sent)
        if UNPROVEN in goes_wrong:
            self.performed.unseen.add(message_id)
        if isinstance(sent, dict) and SLOW in sent:
            self.performed.slow.add(message_id)
        if POISON in goes_wrong:
            raise Rejected("poison")

        def happen() -> str:
            self.write(message_id)
            self.performed.effects.append((message_id, body))
            return f"effect {len(self.performed.effects)}"

        def happen_unheard() -> str:
            happen()
            raise ConnectionError("no answer")

        def happen_or_not() -> str:
            if self.world.now < self.performed.down_until:
                raise NotPerformed("the system is down")
            if CLOSED in goes_wrong:
                raise NotPerformed("the system is closed")
            if BROKEN in goes_wrong or UNPROVEN in goes_wrong:
                raise ConnectionError("the system is broken")
            if UNSEEN in goes_wrong:
                self.performed.unseen.add(message_id)
                return happen_unheard()
            return happen()

        def not_performed() -> str:
            raise NotPerformed("the system is closed")

        answers: list[str] = []

        def happen_late(hazard: Hazard = Hazard.EFFECT_LATE) -> str:
            self._later(self.world.pick(self.lateness[hazard]), message_id, happen, answers)
            return ""

        def hang() -> str:
            deadline = self.world.process.deadline
            left = 0 if deadline is None else deadline - self.world.now
            late = left + self.world.pick(self.lateness[Hazard.EFFECT_HANGS])
            self._later(late, message_id, happen, answers)
            return ""

        def outlive() -> str:
            happen_late(Hazard.EFFECT_OUTLIVES)
            self.world.end_process(TIME_IS_OVER)

        def leave_running() -> str:
            until = self.world.now + LEFT_FOR

            def go_on() -> None:
                self.world.sleep(max(0, until - self.world.now) / 1000)
                with suppress(NotPerformed):
                    self.world.step(f"PERFORMS {message_id}, left running", happen)

            self.world.leave_task(go_on)
            raise TimeoutError("no answer in time")

        what = f"PERFORMS {message_id}"
        number = self.world.step(
            what,
            happen_or_not,
            otherwise={
                Hazard.NOT_PERFORMED: not_performed,
                Hazard.EFFECT_ANSWER_LOST: happen_unheard,
                Hazard.EFFECT_LATE: happen_late,
                Hazard.EFFECT_OUTLIVES: outlive,
                Hazard.EFFECT_HANGS: hang,
                Hazard.LEFT_RUNNING: leave_running,
            },
            is_effect=True,
        )
        if not number:
            self.world.wait(lambda: bool(answers))
            if not answers[0]:
                raise NotPerformed("it came too late")
        return {"effect": message_id}

    def _later(
        self, late: int, message_id: str, happen: Callable[[], str], answers: list[str]
    ) -> None:
        def code() -> None:
            self.world.sleep(late / 1000)
            try:
                answers.append(self.world.step(f"PERFORMS {message_id}, late", happen))
            except NotPerformed:
                answers.append("")

        self.world.spawn(
            Process(f"the system asked by {self.world.new_id()}", disturbed=False), code
        )


class FencedClient:
    """DynamoDB for an effect whose items are written in one transaction with the lease's fence."""

    def __init__(self, dynamodb: Any, fence: Mapping[str, Any]) -> None:
        self._dynamodb, self._fence = dynamodb, fence

    def __getattr__(self, operation: str) -> Any:
        return getattr(self._dynamodb, operation)

    def put_item(self, **request: Any) -> Any:
        """Put an item while the fence's condition holds.

        Raises:
            NotPerformed: it does not hold any more.
        """
        try:
            return self._dynamodb.transact_write_items(
                TransactItems=[self._fence, {"Put": request}]
            )
        except TransactionCanceledException as error:
            raise NotPerformed("the fence did not hold") from error
