"""A mutant: what ships, with one decision changed."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from actonce.conformance.machine import Definition

Place = tuple[str, str, int]
"""A file, a function of it (or a state), and the line of a statement."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One.

    Attributes:
        file: of the decision, under the project's folder.
        where: the function, or the state and its part.
        line: in the file; 0 where the place says it.
        change: what was changed, in words.
        places: where in its function the change can be noticed at all, as `code.probed` and
            `definition.recorded` tell them; empty: wherever the file is run.
        applied: while the context is open the code in this process is the mutant; it yields the
            state machine's definition where that is changed, else None.
    """

    file: str
    where: str
    line: int
    change: str
    places: frozenset[Place]
    applied: Callable[[], AbstractContextManager[Definition | None]] = field(compare=False)

    @property
    def name(self) -> str:
        """Of the mutant, whatever else of the file changes."""
        return f"{self.file} {self.where}: {self.change}"
