"""What a demo that starts afresh would throw away, besides what demos have left there.

A demo writes down which messages it sends, and on which server, before it sends them. What else is
there is somebody's.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from actonce.stack.clients import Stack


@dataclass(frozen=True, slots=True)
class AtStake:
    """What no demo has put there.

    Attributes:
        messages: stored ids of messages that the stack remembers.
        unread: how many messages wait in RequestsQueue, whoever sent them.
    """

    messages: Collection[str]
    unread: int = 0

    def __bool__(self) -> bool:
        return bool(self.messages) or self.unread > 0

    @property
    def sentence(self) -> str:
        """What would be gone."""
        parts = []
        if self.messages:
            such = min(self.messages, key=lambda one: (len(one), one))
            number = len(self.messages)
            many = f"{number:,} messages, such as " if number > 1 else "the message "
            parts.append(f"what became of {many}{such}")
        if self.unread:
            waits = "message that waits" if self.unread == 1 else "messages that wait"
            parts.append(f"{self.unread:,} {waits} in RequestsQueue")
        return f"The demo starts afresh and throws away {' and '.join(parts)}."


@dataclass(frozen=True, slots=True)
class Demos:
    """What demos did on one server.

    Attributes:
        pid: of the server.
        ids: stored ids of the messages that they sent, or were going to.
        at_rest: none of them was ended in the middle.
    """

    pid: int
    ids: frozenset[str] = frozenset()
    at_rest: bool = True

    def write(self, file: Path) -> None:
        """Write it down."""
        told = {"pid": self.pid, "at_rest": self.at_rest, "ids": sorted(self.ids)}
        file.write_text(json.dumps(told))

    @classmethod
    def read(cls, file: Path, pid: int) -> "Demos | None":
        """What demos did on the server that runs; None where they did nothing on it."""
        try:
            told = json.loads(file.read_text())
            found = cls(told["pid"], frozenset(told["ids"]), told["at_rest"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if found.pid == pid else None


def at_stake(stack: Stack, demos: Demos | None, depth: int) -> AtStake:
    """What a fresh start would throw away.

    Args:
        stack: that runs.
        demos: what demos did on its server; None: nothing.
        depth: of RequestsQueue. A demo that was ended in the middle leaves messages there.
    """
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=stack.fingerprints_table, ProjectionExpression="message_id", ConsistentRead=True
    )
    known = {row["message_id"]["S"] for page in pages for row in page["Items"]}
    own = demos is not None and not demos.at_rest
    return AtStake(known - (demos.ids if demos else frozenset()), 0 if own else depth)
