"""What was read of a message, and what follows from it for its sentences and the advice on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from actonce.messages.history import Step
from actonce.messages.states import (
    AFTER_DECISION,
    REDRIVEN_FOR,
    STATES,
    StateName,
    last_entered,
    latest_failures,
    state_of,
)
from actonce.messages.story import Record, Story


@dataclass(frozen=True, slots=True)
class Facts:
    """A message's story, and what follows from it.

    Attributes:
        failure: why it is a dead letter; see `failure_of`.
        decision: the last one on its dead letters; empty: nobody has decided.
        entered: the state that its execution entered last.
        failures: what failed since the start, or since the last decision or redrive.
        failures_here: of these, what failed in `entered`.
    """

    story: Story
    state: StateName
    failure: Record
    decision: Mapping[str, Any]
    entered: str
    failures: Sequence[Step]
    failures_here: Sequence[Step]

    @property
    def row(self) -> Record | None:
        """Its first attempt's row, where no execution tells more."""
        return None if self.story.execution else self.story.row

    @property
    def effects_unread(self) -> bool:
        """Whether its effects could not be read."""
        return "effects" in self.story.unread

    @property
    def are_effects_known(self) -> bool:
        """Whether its effects were looked for, and read."""
        return self.story.effects_location is not None and not self.effects_unread

    @property
    def redrivable_until(self) -> datetime | None:
        """Until when (UTC) Step Functions can continue it; None: it cannot, or did not say."""
        execution = self.story.execution
        if execution is None or execution.stopped_at is None:
            return None
        return execution.stopped_at + REDRIVEN_FOR if STATES[self.state].is_redrivable else None

    @property
    def is_undecided(self) -> bool:
        """Whether it has a dead letter, and nobody decided on its last one."""
        letters = self.story.dead_letters
        return bool(letters) and not letters[-1].decision

    @property
    def is_decided(self) -> bool:
        """Whether its execution carries out a decision, or ended while it did."""
        return self.entered in AFTER_DECISION


def gather_facts(story: Story) -> Facts:
    """The facts of a message."""
    number, entered = last_entered(story.steps)
    decisions = [wait.decision for wait in story.dead_letters if wait.decision]
    return Facts(
        story=story,
        state=state_of(story),
        failure=failure_of(story),
        decision=decisions[-1] if decisions else {},
        entered=entered,
        failures=latest_failures(story.steps),
        failures_here=latest_failures(story.steps[number:]),
    )


def failure_of(story: Story) -> Record:
    """Why it is a dead letter: `reason`, `error`, `cause`, `rounds`; empty: it is none."""
    return dict(story.dead_letters[-1].failure) if story.dead_letters else {}
