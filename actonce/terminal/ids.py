"""Message ids as a person names them, in commands and addresses."""

from actonce.terminal.errors import UsageError
from actonce_core.execution import unusable_id


def check_id(text: str) -> str:
    """An id that a message can have.

    Raises:
        UsageError: it is empty, as from a shell variable that is not set, or no message can have
            it.
    """
    if not text:
        raise UsageError("An empty id names nothing: is a variable of your shell not set?")
    if (why := unusable_id(text)) is not None:
        raise UsageError(f"No message has the id that was given, which {why}: look it up again.")
    return text
