"""Commands on a message, to be pasted into a shell."""

import shlex
from typing import Final

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.story import Story
from actonce.terminal.visible import visible
from actonce_core.execution import HASHED_NAME_PREFIX


def command(story: Story, words: str) -> str:
    """A command on the message, to be pasted."""
    return f"actonce {words}{story.options} {message_argument(story)}"


def message_argument(story: Story) -> str:
    """The message as an argument that can be copied into a shell."""
    # A row alone is not found by the name of an execution.
    may_be_name = story.row is None or story.execution is not None
    return as_argument(story.message_id, story.execution_name, may_be_name=may_be_name)


def command_to_decide(options: str, letter: DeadLetter, decision: str, note: str = "") -> str:
    """The command line that decides on this very letter, to be pasted; `options`: `Stack`'s."""
    note = note or ("" if decision == "retry" else "WHY")
    options = (f" --note {shlex.quote(note)}" if note else "") + options
    argument = as_argument(letter.message_id, letter.execution_name)
    return f"actonce dead-letters {decision} --letter {letter.letter}{options} {argument}"


_LONGEST_ARGUMENT: Final = 80
"""Characters; an execution's name has no more."""


def as_argument(message_id: str, execution_name: str, *, may_be_name: bool = True) -> str:
    """A message as an argument that can be copied into a shell.

    Its id; but the name of its execution where the id has invisible characters, is long, or looks
    like the name of another message's execution.
    """
    is_long = len(message_id) > _LONGEST_ARGUMENT
    is_name = may_be_name and message_id.startswith(HASHED_NAME_PREFIX)
    if visible(message_id) != message_id or is_long or is_name:
        return execution_name
    return f"{'-- ' if message_id.startswith('-') else ''}{shlex.quote(message_id)}"
