"""Tables as they come out: whole ids, wrapped texts, and a line for each row in a file."""

import io

import pytest

from actonce.cli import tables
from actonce.terminal import output as console
from actonce.terminal.output import SafeConsole

HASHED = "sha256-" + "0" * 64
DETAIL = "The message id was first seen with another content, and so this one was not started."
HEADERS = ("ID", "Reason", "Detail")
ROWS = [(HASHED, "conflict", DETAIL), ("a\nb", "not_json", "\x1b[31mred"), ("日本", "x", "")]


def printed(monkeypatch: pytest.MonkeyPatch, width: int | None, **fields: str) -> list[str]:
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
        tables.print_rows(HEADERS, ROWS)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_an_id_is_whole_and_a_text_is_wrapped_between_words(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    lines = printed(monkeypatch, width)
    assert lines[0].split() == list(HEADERS)
    assert lines[1].startswith(f"{HASHED}  conflict")
    column = lines[0].index("Detail")
    wrapped = [
        line[column:]
        for line in lines[1:]
        if line[:column].strip() in ("", lines[1][:column].strip())
    ]
    assert " ".join(wrapped) == DETAIL
    assert max(map(len, lines)) <= max(width, column + 24)


def test_in_a_file_every_row_is_one_line_with_codes_and_wide_letters_in_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers, first, second, third = printed(monkeypatch, None)
    assert headers.split() == list(HEADERS)
    assert first == f"{HASHED}  conflict  {DETAIL}"
    assert second.split() == [r"a\nb", "not_json", r"\u001b[31mred"]
    assert third.index("x") == headers.index("Reason") - 2  # two letters of two columns each


def test_an_id_without_end_pads_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, 120, id="x" * 3000, cause=DETAIL)
    assert max(map(len, lines)) <= 120
    assert sum(line.count("x") for line in lines) == 3000 + DETAIL.count("x")


def test_no_rows_are_their_headers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(console, "out", SafeConsole())
    console.out.file = file
    tables.print_rows(("ID", "Detail"), [])
    assert file.getvalue() == "ID  Detail\n"
