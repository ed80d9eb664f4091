"""Judges a run: was a message acted on twice, was one lost, does one wait for a person?"""

import json
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from lab.conformance.simulated_stack import DEAD_LETTERS, UNSTARTED, SimulatedStack


class Kind(IntEnum):
    """From the best to the worst."""

    SURVIVED = 0
    """Acted on once; nobody needs to look."""
    PARKED = 1
    """Not acted on twice, and the message or a repeat of it waits for a person: in UnstartedQueue,
    in DeadLetterQueue, or in an execution that is open or can be redriven."""
    LOST = 2
    """Not acted on, and nowhere to be found."""
    TWICE = 3
    """Acted on more than once, or again after a person had closed it."""


@dataclass(frozen=True, slots=True, order=True)
class Verdict:
    """The worst of a run's messages, and whether messages were acted on out of order."""

    kind: Kind
    is_out_of_order: bool = False


@dataclass(frozen=True, slots=True)
class FinalState:
    """A run's final state, in memory or on the embedded AWS.

    Attributes:
        sent: each message that was sent: its id (None if it has none) and its body.
        effects: message id and body of each effect, in order.
        waiting: the bodies that wait for a person.
        closed: of each message that a person closed: id, body, the number of effects until then,
            and `resolved` or `rejected`. It must not be acted on any more.

    Bodies of `effects` and `waiting` are in `one_form`.
    """

    sent: Sequence[tuple[str | None, Any]]
    effects: Sequence[tuple[str, str]]
    waiting: AbstractSet[str]
    closed: Sequence[tuple[str, str, int, str]] = ()


def judge(final: FinalState) -> Verdict:
    """Judge a run that has come to rest.

    A message is an id and a content: if an id was sent with two contents, the effect may happen for
    one of them, and the other must wait for a person.
    """
    effects = final.effects
    if any(count > 1 for count in Counter(message_id for message_id, _ in effects).values()):
        return Verdict(Kind.TWICE)
    for closed_id, _, until_then, _ in final.closed:
        if any(message_id == closed_id for message_id, _ in effects[until_then:]):
            return Verdict(Kind.TWICE)
    closed = {text for _, text, *_ in final.closed}
    performed = set(effects)
    worst = Kind.SURVIVED
    for message_id, body in final.sent:
        text = one_form(body)
        if text in final.waiting or text in closed:
            worst = max(worst, Kind.PARKED)
        elif (message_id, text) not in performed:
            worst = Kind.LOST
    order = [message_id for message_id, _ in effects]
    return Verdict(worst, is_out_of_order=order != sorted(order))


def final_state(stack: SimulatedStack) -> FinalState:
    """The stack's state after a run."""
    messages: list[Any] = [json.loads(text) for text in stack.executions.inputs_waiting()]
    waiting = {one_form(body) for body in stack.output.bodies(UNSTARTED)}
    messages += [json.loads(text)["message"] for text in stack.output.bodies(DEAD_LETTERS)]
    waiting |= {one_form(message["body"]) for message in messages}
    return FinalState(stack.sent, stack.effects, waiting, stack.performed.closed)


def one_form(body: Any) -> str:
    """A body's canonical text; a text that is not JSON stays as it is."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return str(body)
    return json.dumps(body, sort_keys=True)
