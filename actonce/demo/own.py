"""A demo of a team's own effect: what is sent to it, and how what it did is counted."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from actonce.demo.requests import Traffic, resent
from actonce.messages.own_effects import Attributes, EffectsTable
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.delivery import Delivery
from actonce_core.invoked_effect import InvokedEffect
from actonce_core.message import Message, MessageReader

_LOOKS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Own:
    """What a demo has to know of it.

    Attributes:
        body: of a message that it performs; None where a file is sent.
        table: where its effects are; None: they are looked up, one by one.
        attributes: of the table.
    """

    body: Any
    table: str | None = None
    attributes: Attributes = field(default_factory=Attributes)

    def effects(self, stack: Stack) -> EffectsTable | None:
        """The table's effects; None where none is named."""
        if self.table is None:
            return None
        return EffectsTable(stack.dynamodb, self.table, self.attributes, tables=stack.tables)

    def check(self, reader: MessageReader) -> None:
        """Whether the stack reads the ids that `generate` makes.

        Raises:
            WrongUse: it finds none, or another: all messages would be one.
        """
        body, *_ = self.generate(1, 0).bodies
        read = reader.read(Delivery("demo", body, {}, {}))
        if not isinstance(read, Message) or read.message_id != json.loads(body)["message_id"]:
            raise WrongUse(
                "The demo puts its ids into message_id, and this stack reads them elsewhere "
                "(MessageIdFrom): bring messages of your own with --input."
            )

    def generate(self, messages: int, seed: int) -> Traffic:
        """Messages like the sample, each under an id of its own; the same seed gives the same."""
        chance = random.Random(f"requests {seed}")  # noqa: S311 - not for secrets
        bodies = [
            {**self.body, "message_id": f"request-{number:05d}-{chance.getrandbits(32):08x}"}
            for number in range(messages)
        ]
        return resent(bodies, chance)


def counted(
    stack: Stack, own: Own, message_ids: Iterable[str], books: Counter[str]
) -> Counter[str]:
    """Effects of these messages, by message, in its stored form.

    Args:
        stack: that performed them.
        own: how to count.
        message_ids: of all messages that were sent.
        books: what the stack's own table holds; a project's effect may use it.

    Raises:
        Failed: they cannot be counted.
    """
    if (table := own.effects(stack)) is not None:
        # It may hold what others have asked for.
        sent = set(message_ids)
        effects = (effect for effect in table.every() if effect is not None)
        return Counter(one.message_id for one in effects if one.message_id in sent)
    found = Counter(books)
    unseen = [one for one in dict.fromkeys(message_ids) if not found[one]]
    finder = InvokedEffect(stack.lambda_, "", stack.find_function or "")

    def look(message_id: str) -> bool:
        try:
            return finder.find(message_id) is not None
        except Exception as error:
            raise Failed(
                f"The effect of {message_id!r} could not be looked up ({error}), so nothing can "
                "be counted: name its table with --effects-table."
            ) from error

    with ThreadPoolExecutor(_LOOKS_AT_ONCE, thread_name_prefix="find") as threads:
        for message_id, is_there in zip(unseen, threads.map(look, unseen), strict=True):
            found[message_id] += is_there
    return +found
