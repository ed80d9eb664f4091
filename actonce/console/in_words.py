"""What became of a message, in sentences: above all how an *outcome unknown* was found out.

Told from the steps of its execution, or from its row, and no further: what they leave open is said
to be open.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from actonce.console.path_in_words import UNCLEAR, path_in_words
from actonce.messages.history import short_cause
from actonce.messages.story import Story
from actonce_core.locking.locks import COMPLETE
from pipeline.visible import visible


def in_words(story: Story) -> list[str]:
    """What became of a message, in sentences that follow one another; at least one."""
    execution = story.execution
    if story.steps:
        told = path_in_words(story.steps, story.dead_letters)
    elif execution is not None:
        told = [f"Its execution is {execution.status}; its history tells nothing of it."]
    elif story.row is not None:
        told = list(_row_in_words(story.row))
    else:
        told = list(_neither(story))
    return [visible(sentence) for sentence in told]


_OUTCOMES = {
    "performed": "It was performed.",
    "found": (
        "An attempt ended without a word, so that it was not known whether it had happened. A "
        "later one looked it up: it had happened, and was not performed again."
    ),
    "dead_letter": "It is a dead letter, and waits for a decision.",
    "resolved": "A person resolved it: it is done, by that word.",
    "rejected": "A person rejected it: it is over, and is not asked for again.",
}


def _row_in_words(row: Mapping[str, Any]) -> Iterator[str]:
    """A row says how the message is now, and hardly how it came to that."""
    attempts = int(row.get("consumption_count", 0))
    if row.get("status") == COMPLETE:
        outcome = str(row.get("outcome"))
        yield _OUTCOMES.get(outcome, f"It is complete: {outcome}.")
        yield f"Its row counts {'1 attempt' if attempts == 1 else f'{attempts} attempts'}."
    elif not row.get("attempt_id") and row.get("outcome_unknown"):
        yield f"Its last attempt is over, and {UNCLEAR}: its next delivery looks it up first."
    elif not row.get("attempt_id"):
        yield "It was given back: nothing happened, and its next delivery begins anew."
    else:
        yield (
            f"Attempt {attempts} has it, or ended without a word: {UNCLEAR}. A later delivery "
            "takes it over once nothing can be at work any more, and looks it up first."
        )
    if given_back := int(row.get("given_back", 0)):
        often = "once" if given_back == 1 else f"{given_back} times"
        yield f"It was given back {often}: nothing had happened, or it could not be looked up."
    if row.get("note"):
        yield f"The note of the decision: “{short_cause(str(row['note']))}”."


def _neither(story: Story) -> Iterator[str]:
    """Of a message that has no execution and no row."""
    if story.unstarted:
        for entry in story.unstarted:
            yield f"It was not begun, and lies in UnstartedQueue: {entry.reason}."
    elif story.fingerprint is not None:
        yield (
            f"It was first seen at {story.fingerprint['first_seen']}, and there is no execution of "
            "it: it was not begun, or AWS keeps its execution no longer."
        )
    elif story.deliveries or story.conflicts:
        yield "It was delivered, and there is neither an execution nor a row of it."
    else:
        yield "No record tells what became of it: there is neither an execution nor a row of it."
