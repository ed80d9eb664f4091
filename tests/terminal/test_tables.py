"""Tables as they come out: whole ids, wrapped texts, and a line for each row in a file."""

import io
from collections.abc import Sequence

import pytest

from actonce.cli import tables
from actonce.terminal import output as console
from actonce.terminal.output import SafeConsole

HASHED = "sha256-" + "0" * 64
DETAIL = "The message id was first seen with another content, and so this one was not started."
HEADERS = ("ID", "Reason", "Detail")
ROWS = [(HASHED, "conflict", DETAIL), ("a\nb", "not_json", "\x1b[31mred"), ("日本", "x", "")]


def printed(
    monkeypatch: pytest.MonkeyPatch,
    width: int | None,
    rows: Sequence[Sequence[str]] = ROWS,
    **fields: str,
) -> list[str]:
    """The lines of the table, or of the fields; a width is a terminal's, without colours."""
    file = io.StringIO()
    out = SafeConsole()
    out.file = file
    if width is not None:
        monkeypatch.setattr(SafeConsole, "is_terminal", True)
        out.width = width
        out.no_color = True
    monkeypatch.setattr(console, "out", out)
    if fields:
        tables.print_fields(fields)
    else:
        tables.print_rows(HEADERS, rows)
    lines = file.getvalue().splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    return lines


def test_at_a_terminal_an_id_is_whole_and_a_text_wrapped_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = printed(monkeypatch, 140)
    column = lines[0].index("Detail")
    wrapped = [lines[1], *(line for line in lines[2:] if line.startswith(" " * column))]
    assert wrapped[0].startswith(f"{HASHED}  conflict  ")
    assert " ".join(line[column:] for line in wrapped) == DETAIL
    assert max(map(len, lines)) <= 140
    narrow = printed(monkeypatch, 80)
    assert (len(narrow), narrow[1]) == (1 + len(ROWS), f"{HASHED}  conflict  {DETAIL}")


def test_in_a_file_every_row_is_one_line_with_codes_and_wide_letters_in_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers, first, second, third = printed(monkeypatch, None)
    assert headers.split() == list(HEADERS)
    assert first == f"{HASHED}  conflict  {DETAIL}"
    assert second.split() == [r"a\nb", "not_json", r"\u001b[31mred"]
    assert third.index("x") == headers.index("Reason") - 2  # two letters of two columns each
    assert printed(monkeypatch, None, []) == ["ID  Reason  Detail"]


def test_blanks_around_a_value_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ("pay-1", "pay-1 ", " pay-1", " ")
    _, *rows = printed(monkeypatch, None, [(one, "x", "") for one in ids])
    assert [row.rpartition("x")[0].rstrip() for row in rows] == [
        "pay-1",
        "'pay-1 '",
        "' pay-1'",
        "' '",
    ]
    assert printed(monkeypatch, None, message_id="pay-1 ")[0].split("  ")[-1] == "'pay-1 '"


def test_a_word_that_is_copied_is_not_broken_and_one_without_end_widens_no_other_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arn = f"arn:aws:states:eu-west-1:123456789012:execution:once:{HASHED}"
    lines = printed(monkeypatch, 80, execution_arn=arn, cause=DETAIL)
    assert [line.split()[-1] for line in lines if "execution_arn" in line] == [arn]
    for width in (120, None):
        _, long, short = printed(monkeypatch, width, [("x" * 3000, "y", ""), ("z", "y", "")])
        assert (long.split(), short.split()) == (["x" * 3000, "y"], ["z", "y"])
        assert len(short) == 83
