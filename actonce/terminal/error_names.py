"""Words for a person in place of the functions' own error names, which only the source explains.

Names of an effect's contract (`NotPerformed`, `Rejected`, `OutcomeUnknown`), and AWS's, stay as
they are: people search for them.
"""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "HeldBack": "held back behind another of its group",
    "OutOfTime": "out of time",
    "TooLittleTime": "its turn came too late in the batch",
}
"""Words by error name."""


def error_label(name: str) -> str:
    """The words for an error's name; other names stay as they are."""
    return WORDS.get(name, name)


def name_of(words: str) -> str:
    """The name that stands behind these words; other texts stay as they are."""
    return next((name for name, known in WORDS.items() if known == words), words)
