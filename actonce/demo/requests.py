"""Made-up appointment requests, and the re-sends of a producer that is not sure."""

import json
import random
from dataclasses import dataclass
from typing import Any

PRACTICES = ("harbour", "hillside", "main", "market", "riverside")
_RESENT_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the producer sends, in order.

    Attributes:
        message_ids: each once, in the order of their first sending.
        bodies: the messages' bodies; some of them again, with their names in another order.
    """

    message_ids: list[str]
    bodies: list[str]


def generate(messages: int, seed: int) -> Traffic:
    """Generate requests; the same seed gives the same traffic.

    Args:
        messages: how many different requests.
        seed: of the generator.
    """
    chance = random.Random(f"requests {seed}")  # noqa: S311 - not for secrets
    requests = [_request(chance, number) for number in range(messages)]
    return resent([str(one["message_id"]) for one in requests], requests, chance)


def resent(
    message_ids: list[str], requests: list[dict[str, Any]], chance: random.Random
) -> Traffic:
    """Requests, each with the id at its place in the list, and some of them sent again."""
    bodies = [json.dumps(request) for request in requests]
    for request in chance.sample(requests, round(len(requests) * _RESENT_SHARE)):
        # A producer whose call timed out sends again, at once or much later.
        position = chance.randrange(len(bodies) + 1)
        bodies.insert(position, json.dumps(_in_another_order(request, chance)))
    return Traffic(message_ids, bodies)


def _request(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "message_id": f"request-{number:05d}-{chance.getrandbits(32):08x}",
        "practice": chance.choice(PRACTICES),
        "patient": f"patient-{chance.randrange(10_000):04d}",
        "wanted_day": f"2026-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}",
        "reason": chance.choice(("check-up", "vaccination", "follow-up", "blood test")),
    }


def _in_another_order(request: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    names = list(request)
    chance.shuffle(names)
    return {name: request[name] for name in names}
