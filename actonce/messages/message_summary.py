"""How a message stands: one sentence that says no more than what was found says.

Whether it was acted on is told by the effects that were found, or else by the word of whoever
acted: an effect of a team's own leaves nothing in the Appointments table, and "it was not acted on"
would have it done again.
"""

import json
import shlex
from datetime import timedelta
from typing import Any

from actonce.messages.story import Part, Story
from actonce.queues.scan import held_by_another
from actonce.queues.standing import Depth, Pause
from pipeline.visible import visible

DESCRIPTION_CHARACTERS = 200
"""As much of an effect's description as is told in the sentence; `--json` has it whole."""

_ACTED = frozenset({"performed", "found"})

_PARTS: dict[Part, str] = {
    "execution": "Its execution",
    "history": "Its execution's history, which tells whether it waits for a decision,",
    "row": "What the Fingerprints table, or the ledger, has of it",
    "effects": "What its effect left",
    "unstarted": "UnstartedQueue",
    "log": "Its deliveries",
}


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
        is_unread = "execution" in story.unread or "row" in story.unread
        begun = "Whether it was begun could not be read" if is_unread else "No execution is known"
        return f"{begun}; {lies}; {acted_on(story)}."
    outcome = outcome_of(story)
    status = row["status"] if story.execution is None else story.execution.status
    waits = ""
    if status == "RUNNING" and "history" in story.unread:
        waits = "whether it waits for a decision could not be read; "
    suppressed = sum(line["end"] == "suppressed" for line in story.deliveries)
    deliveries = f"{suppressed} of {len(story.deliveries)} deliveries suppressed"
    if "log" in story.unread:
        deliveries = "its deliveries could not be read"
    return (
        f"Its {'row' if story.execution is None else 'execution'} is {status}"
        f"{f' ({outcome})' if outcome else ''}; {waits}{acted_on(story)}; {deliveries}."
    )


def sentences_of_unread(story: Story) -> list[str]:
    """Each part that could not be read, with why."""
    return [f"{_PARTS[part]} could not be read: {why}" for part, why in story.unread.items()]


def sentence_of_conflicts(story: Story) -> str | None:
    """What came with the same id and another content, and where to see it; None: nothing did."""
    number = len(story.conflicts)
    if not number:
        return None
    they = "it lies" if number == 1 else "they lie"
    if any(entry.is_conflict for entry in story.unstarted):
        where = f": actonce unstarted show {message_argument(story)}"
    elif "unstarted" in story.unread:
        where = f"; whether {they} in UnstartedQueue could not be read."
    elif story.unstarted_held_elsewhere:
        where = f"; {cannot_be_told(they, story.unstarted_held_elsewhere)}."
    else:
        where = "; none waits now."
    return (
        f"{number} more {'delivery' if number == 1 else 'deliveries'} brought another content with "
        f"this id, and {'was' if number == 1 else 'were'} refused{where}"
    )


def _lies_nowhere(story: Story) -> str:
    if "unstarted" in story.unread:
        return "whether it lies in UnstartedQueue could not be read"
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
        if "effects" in story.unread:
            but = f", but {story.own_place or 'the Appointments table'} could not be read"
        return f"it was acted on, by the word of its {who}{_described(description_of(story))}{but}"
    if outcome == "resolved":
        return "it was acted on, by the word of whoever resolved it"
    who_may_know: set[Part] = {"effects"}
    if story.execution is None:
        who_may_know |= {"execution", "row"}
    if not who_may_know.isdisjoint(story.unread):
        return "whether it was acted on could not be read"
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


def unseen(
    message_id: str,
    requests: Depth | None,
    pause: Pause | None,
    held_elsewhere: int | None = None,
) -> list[str]:
    """What to tell of a message that no part of the stack has seen: it may be waiting.

    Args:
        message_id: as it was asked for.
        requests: how much waits in RequestsQueue; None: that could not be looked at.
        pause: of the stack; None: it is not paused.
        held_elsewhere: messages of UnstartedQueue that another reader held; None: not looked for.
    """
    told = [f"No part of the stack has seen a message {message_id!r}."]
    if held_elsewhere:
        cannot = cannot_be_told("it lies", held_elsewhere)
        told = [
            f"No part of the stack that could be read has seen a message {message_id!r}.",
            f"{cannot[0].upper()}{cannot[1:]}; look again.",
        ]
    if requests is None:
        told.append("RequestsQueue could not be looked at: it may wait there.")
    elif (unread := requests.waiting + requests.delayed) or requests.in_flight:
        told.append(f"{_waiting(unread, requests.in_flight, requests.oldest_seconds)}.")
        told.append("It may be one of them.")
    else:
        told.append("Nothing waits in RequestsQueue. actonce list shows recent messages.")
    if pause is not None:
        told.append("The stack is paused: actonce resume has it take messages again.")
    return told


def cannot_be_told(they: str, held_elsewhere: int) -> str:
    """What to say of UnstartedQueue, within a sentence, where not all of it could be read.

    Args:
        they: who may lie there, such as `it lies`.
        held_elsewhere: how many of its messages another reader held.
    """
    return f"whether {they} in UnstartedQueue cannot be told: {held_by_another(held_elsewhere)}"


def as_argument(message_id: str, execution_name: str) -> str:
    """A message as an argument that can be copied into a shell.

    Its id, or where that cannot be seen the name of its execution.
    """
    if visible(message_id) != message_id:
        return execution_name
    return f"{'-- ' if message_id.startswith('-') else ''}{shlex.quote(message_id)}"


def _waiting(unread: int, in_flight: int, oldest_seconds: int | None) -> str:
    parts = []
    if unread:
        age = (
            ""
            if oldest_seconds is None
            else f", the oldest for {timedelta(seconds=oldest_seconds)} or longer"
        )
        parts.append(f"{unread:,} wait unread in RequestsQueue{age}")
    if in_flight:
        parts.append(f"{in_flight:,} are being taken from it, or come back to it")
    return " and ".join(parts)
