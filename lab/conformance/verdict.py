"""What a run came to: was a message acted on twice, was one lost, is one waiting for a person?"""

import json
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from lab.conformance.stage import DEAD_LETTERS, UNSTARTED, Stage


class Kind(IntEnum):
    """From the best to the worst."""

    SURVIVED = 0
    """Acted on, once, and nobody needs to look."""
    PARKED = 1
    """Not acted on twice, and it, or a repeat of it, waits for a person: in UnstartedQueue, in
    DeadLetterQueue, or in an execution that is open or can be redriven."""
    LOST = 2
    """Not acted on, and nowhere."""
    TWICE = 3
    """Acted on twice, or more often; or once more when a person had closed it."""


@dataclass(frozen=True, slots=True, order=True)
class Verdict:
    """The worst of a run's messages; and whether a group's messages were acted on out of order."""

    kind: Kind
    is_out_of_order: bool = False


@dataclass(frozen=True, slots=True)
class Ends:
    """How a run ended, wherever it was run.

    Attributes:
        sent: each message that was sent: its id (None where there is none) and its body.
        effects: message id and body of each effect, in its order.
        waiting: the bodies that wait for a person.
        closed: message id, body, the number of effects until then, and how, of what a person
            closed: it is not to be acted on any more.

    Bodies of `effects` and `waiting` are in `one_form`.
    """

    sent: Sequence[tuple[str | None, Any]]
    effects: Sequence[tuple[str, str]]
    waiting: AbstractSet[str]
    closed: Sequence[tuple[str, str, int, str]] = ()


def judge(ends: Ends) -> Verdict:
    """Judge a run that has come to rest.

    A message is an id and a content: where one id was sent with two contents, the effect may happen
    for one of them, and the other must wait for a person.
    """
    effects = ends.effects
    if any(count > 1 for count in Counter(message_id for message_id, _ in effects).values()):
        return Verdict(Kind.TWICE)
    for closed_id, _, until_then, _ in ends.closed:
        if any(message_id == closed_id for message_id, _ in effects[until_then:]):
            return Verdict(Kind.TWICE)
    closed = {text for _, text, *_ in ends.closed}
    performed = set(effects)
    worst = Kind.SURVIVED
    for message_id, body in ends.sent:
        text = one_form(body)
        if text in ends.waiting or text in closed:
            worst = max(worst, Kind.PARKED)
        elif (message_id, text) not in performed:
            worst = Kind.LOST
    order = [message_id for message_id, _ in effects]
    return Verdict(worst, is_out_of_order=order != sorted(order))


def ends(stage: Stage) -> Ends:
    """How a run on the stage ended."""
    messages: list[Any] = [json.loads(text) for text in stage.executions.inputs_waiting()]
    waiting = {one_form(body) for body in stage.kept.bodies(UNSTARTED)}
    letters = map(json.loads, stage.kept.bodies(DEAD_LETTERS))
    messages += [letter["message"] for letter in letters if letter["message"] is not None]
    waiting |= {one_form(message["body"]) for message in messages}
    return Ends(stage.sent, stage.effects, waiting, stage.performed.closed)


def one_form(body: Any) -> str:
    """A body as one text, however it was written; what is no JSON stays as it is."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return str(body)
    return json.dumps(body, sort_keys=True)
