"""A mutant: what ships, with one decision changed."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from actonce.conformance.machine import Definition


@dataclass(frozen=True, slots=True)
class Mutant:
    """One.

    Attributes:
        file: of the decision, under the project's folder.
        where: the function, or the state and its part.
        line: in the file; 0 where the place says it.
        change: what was changed, in words.
        applied: while the context is open the code in this process is the mutant; it yields the
            state machine's definition where that is changed, else None.
    """

    file: str
    where: str
    line: int
    change: str
    applied: Callable[[], AbstractContextManager[Definition | None]] = field(compare=False)

    @property
    def name(self) -> str:
        """Of the mutant, as long as nothing before it in its function changes."""
        return f"{self.file} {self.where}: {self.change}"
