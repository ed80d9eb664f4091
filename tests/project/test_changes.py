from pathlib import PurePosixPath

import pytest

from actonce.adopt.project.changes import Change, What, decide, decide_all, digest


@pytest.mark.parametrize(
    ("was", "now", "new", "what"),
    [
        ("1", "1", "1", What.NOTHING),
        ("1", "1", "2", What.REPLACE),
        ("1", "1", None, What.REMOVE),
        ("1", "2", "2", What.NOTHING),  # an earlier try got as far as this file
        ("1", None, None, What.NOTHING),
        (None, None, "2", What.ADD),
        (None, "2", "2", What.NOTHING),
        ("1", "theirs", "1", What.KEEP),
        ("1", "theirs", "2", What.BESIDE),
        ("1", "theirs", None, What.ORPHAN),
        (None, "theirs", "2", What.BESIDE),
        ("1", None, "1", What.KEEP),  # they took it away
        ("1", None, "2", What.BESIDE),
    ],
)
def test_what_becomes_of_a_file(
    was: str | None, now: str | None, new: str | None, what: What
) -> None:
    assert decide(was, now, new) is what


def test_nothing_is_written_over_or_removed_that_is_neither_the_old_nor_the_new() -> None:
    versions = ("1", "2", "3", None)
    for was in versions:
        for new in versions:
            assert decide(was, "theirs", new) in (What.KEEP, What.BESIDE, What.ORPHAN)


def test_every_file_of_either_version_is_decided_on() -> None:
    a, b, c = map(PurePosixPath, "abc")
    assert decide_all({b: "1", c: "1"}, {b: "1", c: "1"}, {a: "2", b: "2"}) == [
        Change(a, What.ADD),
        Change(b, What.REPLACE),
        Change(c, What.REMOVE),
    ]


def test_line_ends_are_no_change() -> None:
    assert digest(b"a\r\nb\r\n") == digest(b"a\nb\n") != digest(b"a\nb")
