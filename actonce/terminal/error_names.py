"""Names of errors as people read them: words in place of names that only the source explains.

What the contract of an effect names (`NotPerformed`, `Rejected`, `OutcomeUnknown`), and what AWS
does, stays as it is: it is looked for under that name.
"""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "ConflictingContent": "the same id with another content",
    "HeldBack": "held back behind another of its group",
    "KnownElsewhere": "another memory knows it",
    "LockLost": "another attempt took it over",
    "OutOfTime": "out of time",
    "StillInProgress": "another attempt is at work",
    "_CannotFind": "it could not be looked up",
    "_RoundsUsedUp": "rounds used up",
}
"""Of the functions' own errors."""


def in_words(name: str) -> str:
    """What people read in a name's place; as it is where it is nobody's own."""
    return WORDS.get(name, name)


def name_of(words: str) -> str:
    """The name that people may have read in words; as it is where it is none."""
    return next((name for name, said in WORDS.items() if said == words), words)
