"""What was read of a message, as its sentences and the advice on it need it."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.story import Record, Story


def are_effects_unknown(story: Story) -> bool:
    """Whether nobody looked for effects, or could."""
    return story.effects_place is None or "effects" in story.unread


def failure_of(story: Story, letter: DeadLetter | None) -> Record:
    """Why it is a dead letter: `reason`, `error`, `cause`, `rounds`, as far as that is known.

    The history tells of the letter that waits; the letter at hand may be an earlier one.
    """
    if story.dead_letters:
        return dict(story.dead_letters[-1].failure)
    names = ("reason", "error", "cause", "rounds")
    return {} if letter is None else {name: getattr(letter, name) for name in names}


def is_undecided(story: Story) -> bool:
    """Whether it has a dead letter, and nobody decided on its last one."""
    return bool(story.dead_letters) and not story.dead_letters[-1].decision


def last_decision(story: Story) -> Mapping[str, Any]:
    """Of a person on its dead letters; empty: there is none."""
    return next((s.decision for s in reversed(story.dead_letters) if s.decision), {})


def name_decider(story: Story) -> str:
    """Who made the last decision, to begin a sentence."""
    return str(last_decision(story).get("decided_by") or "A person")


def description_of(story: Story) -> Any:
    """The effect's own description, by the execution's output or the row; or None."""
    if story.execution is not None:
        return story.execution.output.get("effect")
    text = (story.row or {}).get("effect")
    return None if text is None else json.loads(text)


_CLOCKS_DIFFER_BY: Final = timedelta(days=1)
"""More than any two clocks do."""


def is_from_before(story: Story) -> bool:
    """Whether its effects are older than its execution, and so perhaps another message's."""
    if story.execution is None:
        return False
    began = story.execution.started_at - _CLOCKS_DIFFER_BY
    times = [one["at"] for one in story.effects]
    return all(at is not None and datetime.fromisoformat(at) < began for at in times)
