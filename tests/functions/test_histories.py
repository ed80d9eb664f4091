"""Executions' histories: read through throttling, told as lines, and kept in a day's file."""

import gzip
import zlib
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core import transient
from actonce_core.histories.day_file import json_line, packed, unpacked
from actonce_core.histories.reading import ExecutionSummary, executions_between, read_histories
from actonce_core.histories.stays import dead_letter_records
from actonce_core.transient import retry_throttled
from tests.support.histories import (
    START,
    STATE_MACHINE,
    listed,
)

# --------------------------------------------------------------------------- reading


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transient, "_LONGEST_PAUSE", 0.0)


def item(name: str, start: int, stop: int | None) -> dict[str, Any]:
    """An execution that began and ended so many seconds after `START`."""
    ended = None if stop is None else START + timedelta(seconds=stop)
    return listed(name, START + timedelta(seconds=start), ended)


def test_executions_that_ran_at_some_time_of_the_day_are_found() -> None:
    client = boto3.client("stepfunctions")
    first = [item("later", 20, None), item("begins", 9, 30), item("within", 3, 5)]
    second = [item("throughout", -9, None), item("ends", -9, 0), item("earlier", -9, -1)]
    request = {"stateMachineArn": STATE_MACHINE, "maxResults": 1000}
    between = (START, START + timedelta(seconds=10))

    with Stubber(client) as stubber:
        stubber.add_response("list_executions", {"executions": first, "nextToken": "more"}, request)
        stubber.add_client_error("list_executions", "ThrottlingException")
        more = request | {"nextToken": "more"}
        stubber.add_response("list_executions", {"executions": second}, more)
        pages = list(executions_between(client, STATE_MACHINE, between, retry_for=60))

    assert [[one.name for one in page] for page in pages] == [
        ["begins", "within"],
        ["throughout", "ends"],
    ]


def test_an_execution_that_is_forgotten_meanwhile_is_told_of() -> None:
    client = boto3.client("stepfunctions")
    gone = ExecutionSummary("arn:aws:states:x", "gone", START, None)
    with Stubber(client) as stubber:
        stubber.add_client_error("get_execution_history", "ExecutionDoesNotExist")
        (forgotten,) = read_histories(client, [gone], dead_letter_records, retry_for=60)

    assert (forgotten.records, forgotten.execution) == (None, gone)


@pytest.mark.parametrize(
    ("code", "retry_for", "calls"),
    [
        ("ThrottlingException", 60, 6),
        ("ThrottlingException", -1, 1),  # the time is over
        ("AccessDeniedException", 60, 1),
    ],
)
def test_throttling_is_waited_out_for_a_while_and_other_errors_are_not(
    code: str, retry_for: float, calls: int
) -> None:
    made: list[str] = []

    def fail() -> str:
        made.append(code)
        if len(made) <= 5:
            raise ClientError({"Error": {"Code": code, "Message": ""}}, "GetExecutionHistory")
        return "answer"

    if calls > 5:
        assert retry_throttled(fail, retry_for) == "answer"
    else:
        with pytest.raises(ClientError, match=code):
            retry_throttled(fail, retry_for)
    assert len(made) == calls


# --------------------------------------------------------------------------- the day's file


def test_the_same_lines_are_the_same_bytes_and_are_read_again() -> None:
    lines = [json_line({"note": note}) for note in ("Praxis schließt\u2028heute", None)]
    assert packed(lines) == packed(lines[::-1])
    assert unpacked(packed(lines)) == set(lines)
    assert packed(lines)[4:8] == bytes(4)  # gzip's time
    assert unpacked(gzip.compress(lines[0].removesuffix(b"\n"))) == {lines[0]}


@pytest.mark.parametrize("spoil", [lambda file: file[:-9], lambda file: b"x" + file])
def test_a_file_that_is_no_whole_gzip_is_told(spoil: Any) -> None:
    with pytest.raises((EOFError, OSError, zlib.error)):
        unpacked(spoil(packed([b"a line\n"])))
