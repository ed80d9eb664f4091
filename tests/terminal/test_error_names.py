"""No error that the functions raise is told to people by a name that only the source explains."""

import ast
from pathlib import Path

from actonce.stack.embedded_folder import PROJECT
from actonce.terminal.error_names import WORDS, error_label, name_of

KNOWN_BY_NAME = {"NotPerformed", "Rejected", "OutcomeUnknown"}
"""Of an effect's contract."""

NEVER_TOLD = {
    # Of the lease, which is a library.
    *("ConflictingContent", "KnownElsewhere", "LockLost", "StillInProgress"),
    "NotJson",  # a refusal, with a reason
    "_Ended",
    "_FoundNothing",  # which the reader makes a refusal, or compares the whole body for
    "_NotUp",
    "TooManyExecutions",  # of the night, whose log says it
    "UnreadableRecords",
}


def _errors(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(getattr(base, "id", "").endswith(("Exception", "Error")) for base in node.bases)
    }


def test_each_error_of_the_functions_is_told_in_words_or_known_by_its_name() -> None:
    raised = {name for file in (PROJECT / "functions").rglob("*.py") for name in _errors(file)}
    assert raised - KNOWN_BY_NAME - NEVER_TOLD == set(WORDS)


def test_words_lead_back_to_the_name_and_other_names_stay() -> None:
    assert {name_of(error_label(name)) for name in WORDS} == set(WORDS)
    for name in ("Lambda.Unknown", "States.Timeout", *KNOWN_BY_NAME):
        assert error_label(name) == name_of(name) == name
