"""Tables at the widths that people have: ids are whole, columns are there, details wrap."""

import re
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from actonce.cli.tables import fields_as_lines, rows_as_lines

WIDTHS = [60, 80, 120, None]
LONG = "x" * 3000
APPOINTMENT = "appointment-172fabed-323e-44f3-8f11-efe69d6d091e"
STORY = [
    ("2026-11-23T03:04:53.434Z", "Fingerprints", "first seen", "0ad4c4398511"),
    ("2026-11-23T03:04:53.668Z", "Appointments", "booked", f"practice main, slot 1, {APPOINTMENT}"),
    ("2026-11-23T03:04:53.686Z", "execution", "SUCCEEDED", "performed"),
]
LETTERS = [
    (
        "request-00012-8d5a2cd0",
        "outcome_unknown",
        "3",
        "2026-11-23T03:04:53.434Z",
        "Lambda.Unknown",
    ),
    ("request-00013-8d5a2cd1", "rejected", "1", "2026-11-23T03:04:54.434Z", "Rejected"),
]
HEADERS = ("ID", "Reason", "Rounds", "Since", "Error")
DETAIL = "The message id was first seen with another content, and so this one was not started."

every_width = pytest.mark.parametrize("width", WIDTHS, ids=str)


def texts(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    return [line.text for line in rows_as_lines(headers, rows, width)]


@every_width
@pytest.mark.parametrize("rows", [STORY, LETTERS], ids=["story", "letters"])
def test_nothing_is_cut_and_nothing_is_wider_than_there_is_room(
    width: int | None, rows: Sequence[Sequence[str]]
) -> None:
    headers = HEADERS[-len(rows[0]) :]
    lines = texts(headers, rows, width)
    for row in rows:
        for value in row:
            assert any(value in line for line in lines) or " " in value
        for word in " ".join(row).split():
            assert any(word in line for line in lines)
    assert width is None or max(map(cell_len, lines)) <= width


def test_a_heading_that_does_not_fit_beside_the_rest_stands_below_it_as_its_values_do() -> None:
    row = ("2026-11-23T03:04:53.434Z", "DeadLetterQueue", "AwaitStraggler", "entered")
    lines = texts(("Time", "Where", "What", "More"), [row], 60)
    assert max(map(cell_len, lines)) <= 60
    assert [line.split() for line in lines[1:3]] == [["More"], list(row[:3])]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_details_that_do_not_fit_beside_the_rest_stand_below_it(width: int) -> None:
    lines = texts(("Time", "Where", "What", "More"), STORY, width)
    assert lines[0].split() == ["Time", "Where", "What", "More"]
    assert lines[1].split()[:2] == ["2026-11-23T03:04:53.434Z", "Fingerprints"]
    below = next(line for line in lines if APPOINTMENT in line)
    assert below.startswith("    ")


def test_a_table_that_does_not_fit_becomes_blocks() -> None:
    assert texts(HEADERS, LETTERS, 60) == [
        "ID      request-00012-8d5a2cd0",
        "Reason  outcome_unknown",
        "Rounds  3",
        "Since   2026-11-23T03:04:53.434Z",
        "Error   Lambda.Unknown",
        "",
        "ID      request-00013-8d5a2cd1",
        "Reason  rejected",
        "Rounds  1",
        "Since   2026-11-23T03:04:54.434Z",
        "Error   Rejected",
    ]
    assert texts(HEADERS, LETTERS, 120)[0].split() == list(HEADERS)


@pytest.mark.parametrize("width", [80, 120, None])
def test_one_long_id_empties_no_other_column_and_pads_no_other_row(width: int | None) -> None:
    long = (LONG, "rejected", "1", "2026-11-23T03:04:54.434Z", "Rejected")
    lines = texts(HEADERS, [LETTERS[0], long, LETTERS[1]], width)
    assert [line for line in lines if LONG in line] == [f"ID      {LONG}"]
    assert "Reason  rejected" in lines
    if width != 80:  # where the others fit, they stay a table, in their order
        assert lines[0].split() == list(HEADERS)
        assert lines[1].split()[0] == LETTERS[0][0]
        assert lines[-1].split()[0] == LETTERS[1][0]
        assert max(len(line) for line in lines if LONG not in line) <= 120


@pytest.mark.parametrize("width", [60, 80])
def test_a_text_is_broken_between_words_under_its_own_column(width: int) -> None:
    lines = texts(("ID", "Detail"), [("m-1", DETAIL)], width)
    assert len(lines) > 2
    assert all(line.startswith(" " * 5) for line in lines[2:])
    assert re.sub(r" +", " ", " ".join(lines[1:])) == f"m-1 {DETAIL}"


def test_in_a_file_every_row_is_one_line() -> None:
    assert len(texts(("ID", "Detail"), [("m-1", DETAIL * 9), ("m-2", "")], None)) == 3


@every_width
def test_a_field_is_whole_and_its_text_hangs_beside_its_name(width: int | None) -> None:
    lines = [one.text for one in fields_as_lines({"id": LONG, "cause": DETAIL, "none": ""}, width)]
    assert lines[0] == f"id     {LONG}"
    assert lines[-1] == "none"
    assert all(line.startswith("       ") for line in lines[2:-1])


def test_what_others_wrote_is_shown_as_codes_and_wide_letters_keep_the_columns() -> None:
    lines = texts(("ID", "Detail"), [("a\nb", "\x1b[31m"), ("日本", "x")], 80)
    assert lines == ["ID    Detail", r"a\nb  \u001b[31m", "日本  x"]


def test_no_rows_are_their_headers_alone() -> None:
    assert texts(("ID", "Detail"), [], 60) == ["ID  Detail"]


def test_a_few_wide_rows_are_blocks_and_leave_the_others_a_table_but_not_one_alone() -> None:
    hashed = ("sha256-" + "0" * 64, *LETTERS[1][1:])
    lines = texts(HEADERS, [hashed, *LETTERS], 120)
    assert lines[0].split() == list(HEADERS)
    assert lines[2] == f"ID      {hashed[0]}"
    assert lines[-1].split() == list(LETTERS[1])
    assert texts(HEADERS, [hashed, hashed, LETTERS[0]], 100)[0].startswith("ID      sha256-")
    assert not any(
        line.split()[:2] == ["ID", "Reason"]
        for line in texts(HEADERS, [hashed, hashed, LETTERS[0]], 100)
    )
