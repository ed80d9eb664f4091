"""Whose memory a known message id is: who has to be asked whether it was acted on.

A row of the Fingerprints table says that an id was seen, not that it was acted on. That is known to
the state machine whose execution has the id's name, or to the row itself, where a ledger or a lease
has written it. A deployment can part a row from who knows: another state machine takes the place of
the one that was there, or another strategy.

Invariant: what another memory knows is never started on trust.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

Row = Mapping[str, Any]
"""A row as DynamoDB gives it: `{attribute: {type: value}}`."""


@dataclass(frozen=True, slots=True)
class Names:
    """A state machine's memory: the names of its executions.

    Attributes:
        state_machine: its ARN.
        stack: id of the stack that made it. A state machine that is made anew under its old name
            has the old ARN and remembers nothing; a new stack has a new id.
    """

    state_machine: str
    stack: str

    @property
    def attributes(self) -> dict[str, Any]:
        """What a row says of it, in DynamoDB's form."""
        return {"memory": {"S": self.state_machine}, "memory_stack": {"S": self.stack}}


@dataclass(frozen=True, slots=True)
class Lock:
    """The row itself, written by a ledger or a lease (`way`); see `actonce_core.locking.rows`."""

    way: str
    is_complete: bool


def memory_of(row: Row) -> Names | Lock | None:
    """Whose memory a row is; None: written before rows said it, so a state machine's."""
    way = way_of(row)
    if way is not None:
        return Lock(way, is_complete=row["status"]["S"] == "COMPLETE")
    if "memory" not in row:
        return None
    return Names(row["memory"]["S"], row["memory_stack"]["S"])


def way_of(row: Row) -> str | None:
    """`ledger` or `lease`, whichever wrote the row last; None: neither."""
    if "status" not in row:
        return None
    if "memory" in row:
        return str(row["memory"]["S"])
    # Written before rows said it; only a lease has versions.
    return "lease" if "version" in row else "ledger"


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories that a starter may ask.

    Attributes:
        own: of the state machine that it starts executions of.
        former: ARNs of the state machines that this one follows, the oldest first; an operator
            names them.
        names_remembered: for so long after an id was first seen Step Functions is certain to
            remember its execution's name, if it has one.
    """

    own: Names
    former: tuple[str, ...]
    names_remembered: timedelta

    def to_ask(self, memory: Names | None) -> str | None:
        """ARN of the state machine that knows the names of that memory; None: none of these.

        A row that does not say whose it is, is the oldest state machine's, because only that can
        have been there when it was written.
        """
        if memory is None:
            return (*self.former, self.own.state_machine)[0]
        if memory == self.own or memory.state_machine in self.former:
            return memory.state_machine
        return None
