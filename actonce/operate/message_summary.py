"""How a message stands: one sentence that says no more than what was found says.

Whether it was acted on is told by the effects that were found, or else by the word of whoever
acted: an effect of a team's own leaves nothing in the Appointments table, and "it was not acted on"
would have it done again.
"""

import json
from typing import Any

from actonce.messages.story import Story
from actonce.operate.unread import cannot_be_told
from actonce.stack.message_ids import as_argument

DESCRIPTION_CHARACTERS = 200
"""As much of an effect's description as is told in the sentence; `--json` has it whole."""

_ACTED = frozenset({"performed", "found"})


def sentence(story: Story) -> str:
    """Where the message is now, and whether it was acted on."""
    row = story.row or {}
    if story.dead_letters and not story.dead_letters[-1].over:
        return (
            "It is a dead letter and waits for a decision: "
            f"actonce dead-letters show {message_argument(story)}"
        )
    if row.get("outcome") == "dead_letter":
        return f"It is a dead letter: actonce dead-letters show {message_argument(story)}"
    if story.row is None and story.execution is None:
        lies = "it lies in UnstartedQueue" if story.unstarted else _lies_nowhere(story)
        return f"No execution is known; {lies}; {acted_on(story)}."
    outcome = outcome_of(story)
    status = row["status"] if story.execution is None else story.execution.status
    suppressed = sum(line["end"] == "suppressed" for line in story.deliveries)
    return (
        f"Its {'row' if story.execution is None else 'execution'} is {status}"
        f"{f' ({outcome})' if outcome else ''}; {acted_on(story)}; "
        f"{suppressed} of {len(story.deliveries)} deliveries suppressed."
    )


def sentence_of_conflicts(story: Story) -> str | None:
    """What came with the same id and another content, and where to see it; None: nothing did."""
    number = len(story.conflicts)
    if not number:
        return None
    if any(entry.is_conflict for entry in story.unstarted):
        where = f": actonce unstarted show {message_argument(story)}"
    elif story.unstarted_held_elsewhere:
        they = "it lies" if number == 1 else "they lie"
        where = f"; {cannot_be_told(they, story.unstarted_held_elsewhere)}."
    else:
        where = "; none waits now."
    return (
        f"{number} more {'delivery' if number == 1 else 'deliveries'} brought another content with "
        f"this id, and {'was' if number == 1 else 'were'} refused{where}"
    )


def _lies_nowhere(story: Story) -> str:
    if story.unstarted_held_elsewhere:
        return cannot_be_told("it lies", story.unstarted_held_elsewhere)
    return "it lies nowhere any more"


def outcome_of(story: Story) -> str | None:
    """`performed`, `found`, `resolved`, `rejected` or `dead_letter`; None while it is open."""
    if story.execution is not None:
        outcome = story.execution.output.get("outcome")
    else:
        outcome = (story.row or {}).get("outcome")
    return None if outcome is None else str(outcome)


def description_of(story: Story) -> Any:
    """What the effect said of itself: by the execution's output, or by the row; or None."""
    if story.execution is not None:
        return story.execution.output.get("effect")
    text = (story.row or {}).get("effect")
    return None if text is None else json.loads(text)


def acted_on(story: Story) -> str:
    """Whether it was acted on, and who says so."""
    if story.effects:
        return _counted(story)
    outcome = outcome_of(story)
    if outcome in _ACTED:
        who = "row" if story.execution is None else "execution"
        but = "" if story.own_place is None else f", but {story.own_place} has no effect of it"
        return f"it was acted on, by the word of its {who}{_described(description_of(story))}{but}"
    if outcome == "resolved":
        return "it was acted on, by the word of whoever resolved it"
    if story.execution is not None and story.execution.status == "RUNNING":
        return "no effect of it is known so far"
    return "no effect of it is known"


def _counted(story: Story) -> str:
    times = len(story.effects)
    if story.own_place is None:
        return f"it was acted on {'once' if times == 1 else f'{times} times'}"
    if times == 1 and story.effects[0]["effect_id"] is None:
        # There is room for one: it cannot tell once from more often.
        told = f"it was acted on, as {story.own_place} has it"
    else:
        told = f"{story.own_place} has {'one effect' if times == 1 else f'{times} effects'} of it"
    described = [effect["description"] for effect in story.effects if effect["description"]]
    return told + (_described(described[0] if len(described) == 1 else described or None))


def message_argument(story: Story) -> str:
    """The message as an argument that can be copied into a shell."""
    return as_argument(story.message_id, story.execution_name)


def _described(effect: Any) -> str:
    if effect is None:
        return ""
    text = json.dumps(effect, ensure_ascii=False)
    if len(text) > DESCRIPTION_CHARACTERS:
        text = text[: DESCRIPTION_CHARACTERS - 1] + "…"
    return f": {text}"
