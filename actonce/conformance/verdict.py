"""What a run came to: was a message acted on twice, was one lost, is one waiting for a person?"""

import json
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from actonce.conformance.stage import DEAD_LETTERS, UNSTARTED, Stage


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
    """Acted on twice, or more often."""


@dataclass(frozen=True, slots=True, order=True)
class Verdict:
    """The worst of a run's messages; and whether a group's messages were acted on out of order."""

    kind: Kind
    is_out_of_order: bool = False


def judge(stage: Stage) -> Verdict:
    """Judge a run that has come to rest.

    A message is an id and a content: where one id was sent with two contents, the effect may happen
    for one of them, and the other must wait for a person.
    """
    effects = stage.effects
    if any(count > 1 for count in Counter(message_id for message_id, _ in effects).values()):
        return Verdict(Kind.TWICE)
    performed = {(message_id, body) for message_id, body in effects}
    waiting = _waiting(stage)
    worst = Kind.SURVIVED
    for message_id, body in stage.sent:
        text = body if isinstance(body, str) else json.dumps(body, sort_keys=True)
        if text in waiting:
            worst = max(worst, Kind.PARKED)
        elif (message_id, text) not in performed:
            worst = Kind.LOST
    order = [message_id for message_id, _ in effects]
    return Verdict(worst, is_out_of_order=order != sorted(order))


def _waiting(stage: Stage) -> set[str]:
    """The bodies that wait for a person, in one form."""
    bodies = [*stage.kept.bodies(UNSTARTED)]
    messages: list[Any] = [json.loads(text) for text in stage.executions.inputs_waiting()]
    messages += [json.loads(text)["message"] for text in stage.kept.bodies(DEAD_LETTERS)]
    return {_same_form(body) for body in bodies} | {
        json.dumps(message["body"], sort_keys=True) for message in messages
    }


def _same_form(body: str) -> str:
    try:
        return json.dumps(json.loads(body), sort_keys=True)
    except ValueError:
        return body
