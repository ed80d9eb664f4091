"""A demo of a team's own effect: what it sends, and how it counts what the effect did."""

import random
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from actonce.demo.requests import Traffic, resent
from actonce.messages.effect_store import find_effect_store
from actonce.stack.clients import Stack
from actonce.stack.message_ids import DEFAULT, put_id
from actonce.terminal.errors import Failed, UsageError
from actonce_core.delivery import Delivery
from actonce_core.invoked_effect import InvokedEffect
from actonce_core.message import Message, MessageReader

_LOOKS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class OwnEffect:
    """A team's own effect, as a demo knows it.

    Attributes:
        body: of a message that it performs; None if a file is sent.
        message_id_from: where the stack reads the ids.
    """

    body: Any
    message_id_from: str = DEFAULT

    def check(self, reader: MessageReader) -> None:
        """Check that the stack reads the ids that `generate` makes.

        Raises:
            UsageError: it reads none, or another, by which all messages would be one.
        """
        traffic = self.generate(1, 0)
        read = reader.read(Delivery("demo", traffic.bodies[0], {}, {}))
        if not isinstance(read, Message) or read.message_id not in traffic.message_ids:
            raise UsageError(
                f"The demo puts an id into one place of the body, and this stack makes it of "
                f"{self.message_id_from} (MessageIdFrom): bring messages of your own with --input."
            )

    def generate(self, messages: int, seed: int) -> Traffic:
        """Messages like the sample, each under an id of its own; the same seed gives the same."""
        chance = random.Random(f"requests {seed}")  # noqa: S311 - not for secrets
        ids = [f"request-{number:05d}-{chance.getrandbits(32):08x}" for number in range(messages)]
        return resent(ids, [put_id(self.body, self.message_id_from, one) for one in ids], chance)


def count_effects(stack: Stack, message_ids: Iterable[str]) -> Counter[str]:
    """Count the effects of these messages, by message id.

    Args:
        stack: that performed them.
        message_ids: of all messages that were sent.

    Raises:
        Failed: they cannot be counted.
    """
    if (table := find_effect_store(stack)) is not None:
        # It may also have effects that others asked for.
        sent = set(message_ids)
        return Counter(one.message_id for one in table.every() if one.message_id in sent)
    unseen = list(dict.fromkeys(message_ids))
    finder = InvokedEffect(stack.lambda_, "", stack.find_function or "")

    def look(message_id: str) -> bool:
        try:
            return finder.find(message_id) is not None
        except Exception as error:
            raise Failed(
                f"The effect of {message_id!r} could not be looked up ({error}), so nothing can "
                "be counted: name its table (EffectsTableName)."
            ) from error

    with ThreadPoolExecutor(_LOOKS_AT_ONCE, thread_name_prefix="find") as threads:
        found = zip(unseen, threads.map(look, unseen), strict=True)
        return Counter(message_id for message_id, is_there in found if is_there)
