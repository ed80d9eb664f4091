from pathlib import PurePosixPath

import pytest

from actonce.adopt.project.changes import Changes, decide, digest

FILE = PurePosixPath("file")


@pytest.mark.parametrize(
    ("was", "now", "new", "what"),
    [
        ("1", "1", "1", set()),
        ("1", "1", "2", {"replaced"}),
        ("1", "1", None, {"removed"}),
        (None, None, "2", {"added"}),
        # An upgrade that was cut short got as far as this file.
        ("1", "2", "2", set()),
        ("1", None, None, set()),
        (None, "2", "2", set()),
        # The team has changed it, made it, or taken it away.
        ("1", "theirs", "1", {"replaced", "refused"}),
        ("1", "theirs", "2", {"replaced", "refused"}),
        ("1", "theirs", None, {"removed", "refused"}),
        (None, "theirs", "2", {"added", "refused"}),
        ("1", None, "1", {"replaced", "refused"}),
        ("1", None, "2", {"replaced", "refused"}),
    ],
)
def test_what_becomes_of_a_file(
    was: str | None, now: str | None, new: str | None, what: set[str]
) -> None:
    given = [{} if one is None else {FILE: one} for one in (was, now, new)]
    changes = decide(*given)
    assert {name for name in Changes.__slots__ if getattr(changes, name)} == what


def test_line_ends_are_no_change() -> None:
    assert digest(b"a\r\nb\r\n") == digest(b"a\nb\n") != digest(b"a\nb")
