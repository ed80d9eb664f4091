"""The recent messages, on moto in this process, and as `actonce list` shows them."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from botocore.stub import Stubber

from actonce.cli import listing
from actonce.demo.outcome import Sent, to_look_at
from actonce.demo.records import Records
from actonce.messages import recent
from actonce.messages.recent import Recent
from actonce.stack.clients import Stack
from actonce.stack.message_ids import as_argument
from actonce.terminal import output as console
from actonce.terminal.errors import WrongUse
from actonce.terminal.output import SafeConsole
from actonce_core.execution import execution_name
from tests.cli.test_deciding import TABLE, ledger

__all__ = ["ledger"]

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
Run = Callable[..., tuple[str, str]]


def minutes_ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def execution(name: str, began: float, ended: float | None = None) -> dict[str, Any]:
    """An item of ListExecutions; times in minutes before now."""
    item = {
        "executionArn": f"arn:{name}",
        "stateMachineArn": "arn",
        "name": name,
        "status": "RUNNING" if ended is None else "SUCCEEDED",
        "startDate": minutes_ago(began),
    }
    return item | ({} if ended is None else {"stopDate": minutes_ago(ended)})


def names(found: recent.Listed) -> list[str]:
    return [one.name for one in found.messages]


def test_no_more_is_read_than_is_shown(moto_stack: Stack) -> None:
    with Stubber(moto_stack.stepfunctions) as answers:
        answers.add_response(
            "list_executions",
            {"executions": [execution("c", 1, 0)], "nextToken": "1"},
            {"stateMachineArn": moto_stack.state_machine, "maxResults": 100},
        )
        page = {"executions": [execution("b", 2), execution("a", 3, 2)], "nextToken": "2"}
        answers.add_response("list_executions", page)
        found = recent.recent(moto_stack, since=None, status=None, limit=2)
        answers.assert_no_pending_responses()
    assert (names(found), found.more) == (["c", "b"], True)


@pytest.mark.parametrize("by_end", [True, False])
def test_since_is_when_it_began_by_whichever_time_they_are_listed(
    moto_stack: Stack, *, by_end: bool
) -> None:
    items = [
        execution("new", 3, 1),
        execution("long", 90, 2),  # it began before
        execution("open", 4),
        execution("old", 80, 70),
    ]
    if not by_end:
        items.sort(key=lambda item: item["startDate"], reverse=True)
    with Stubber(moto_stack.stepfunctions) as answers:
        answers.add_response("list_executions", {"executions": items, "nextToken": "never-read"})
        found = recent.recent(moto_stack, since=minutes_ago(60), status=None, limit=20)
    assert (names(found), found.more) == (["new", "open"], False)


def test_a_status_is_asked_of_aws_in_its_own_words(moto_stack: Stack) -> None:
    with Stubber(moto_stack.stepfunctions) as answers:
        wanted = {
            "stateMachineArn": moto_stack.state_machine,
            "maxResults": 100,
            "statusFilter": "TIMED_OUT",
        }
        answers.add_response("list_executions", {"executions": []}, wanted)
        assert not recent.recent(moto_stack, since=None, status="timed-out", limit=1).messages
    with pytest.raises(WrongUse, match="'complete' here; there are RUNNING, SUCCEEDED"):
        recent.recent(moto_stack, since=None, status="complete", limit=1)


def started(stack: Stack, *message_ids: str) -> Stack:
    """The stack with a state machine, and an execution for each."""
    wait = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 900, "End": True}}}
    arn = stack.stepfunctions.create_state_machine(
        name="process", definition=json.dumps(wait), roleArn="arn:aws:iam::123456789012:role/r"
    )["stateMachineArn"]
    for message_id in message_ids:
        stack.stepfunctions.start_execution(
            stateMachineArn=arn,
            name=execution_name(message_id),
            input=json.dumps({"message_id": message_id}),
        )
    return Stack(stack.aws, "actonce", stack.outputs | {"ProcessMessageArn": arn})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command on a stack; what it prints, and what it says besides."""

    def run_it(stack: Stack, **options: Any) -> tuple[str, str]:
        monkeypatch.setattr(listing, "find_stack", lambda *_, **__: stack)
        monkeypatch.setattr(console, "out", SafeConsole())
        monkeypatch.setattr(console, "err", SafeConsole(stderr=True))
        listing.list_(**options)
        told = capsys.readouterr()
        return told.out, told.err

    return run_it


def test_an_id_whose_name_is_a_hash_is_told_beside_it(moto_stack: Stack, run: Run) -> None:
    long = "ü" * 100
    stack = started(moto_stack, "m-1", long)

    out, _ = run(stack)

    header, *rows = (line.split() for line in out.splitlines())
    assert header == ["ID", "Status", "Began", "Took", "Message", "id"]
    told = {row[0]: row[-1] for row in rows}
    assert told[execution_name(long)] == "ü" * 39 + "…"
    assert "m-1" in told
    whole = json.loads(run(stack, json=True)[0])["messages"]
    assert {one["id"]: one["message_id"] for one in whole} == {
        execution_name(long): long,
        "m-1": "m-1",
    }


def test_more_than_are_shown_are_told_of(moto_stack: Stack, run: Run) -> None:
    stack = started(moto_stack, "m-1", "m-2")
    out, err = run(stack, limit=1)
    assert len(out.splitlines()) == 2
    assert "There are more: --limit shows them." in err
    assert json.loads(run(stack, limit=1, json=True)[0])["more"] is True
    assert run(stack, status="failed")[0] == "No such message.\n"


# --------------------------------------------------------------------------- rows


def put(stack: Stack, message_id: str, minutes: float, **values: str) -> None:
    at = minutes_ago(minutes).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    values = {"status": "COMPLETE", "updated": at, "message_id": message_id} | values
    item = {name: {"S": value} for name, value in values.items()}
    stack.dynamodb.put_item(TableName=TABLE, Item=item)


def test_of_a_ledger_the_rows_are_listed_by_when_they_were_written(ledger: Stack, run: Run) -> None:
    put(ledger, "m-1", 90, outcome="performed")
    put(ledger, "m-2", 5, outcome="dead_letter")
    put(ledger, "m-3", 3, status="IN_PROGRESS")
    ledger.dynamodb.put_item(  # a starter's, of before
        TableName=TABLE, Item={"message_id": {"S": "m-4"}, "first_seen": {"S": "2026"}}
    )
    found = recent.recent(ledger, since=None, status=None, limit=20)
    assert names(found) == ["m-3", "m-2", "m-1"]
    assert found.messages[2] == Recent("m-1", "m-1", "COMPLETE", "performed", minutes_ago(90), None)
    found = recent.recent(ledger, since=minutes_ago(60), status="complete", limit=20)
    assert names(found) == ["m-2"]
    assert recent.recent(ledger, since=None, status=None, limit=2).more
    with pytest.raises(WrongUse, match="there are IN_PROGRESS, COMPLETE"):
        recent.recent(ledger, since=None, status="failed", limit=1)

    out, _ = run(ledger)

    assert [line.split()[-1] for line in out.splitlines()] == ["ID", "m-3", "m-2", "m-1"]


def test_a_table_that_is_read_in_part_is_said_to_be(ledger: Stack, run: Run) -> None:
    last = {"message_id": {"S": "m-1"}}
    item = {name: {"S": value} for name, value in (("status", "COMPLETE"), ("message_id", "m-1"))}
    item["updated"] = {"S": "2026-01-31T09:30:00.000Z"}
    page = {"Items": [item], "ScannedCount": 15_000, "LastEvaluatedKey": last}
    with Stubber(ledger.dynamodb) as answers:
        answers.add_response("scan", page)
        answers.add_response("scan", page)  # and not a third time
        out, err = run(ledger)
    assert len(out.splitlines()) == 3
    assert "Only some 20,000 rows were read" in err


# --------------------------------------------------------------------------- the demo's example


def records(waiting: set[str], *delivered: str) -> Records:
    deliveries = [{"execution_name": name} for name in delivered]
    return Records(deliveries, {}, set(), {}, {}, set(), waiting)


def test_the_demo_names_the_message_with_most_to_tell() -> None:
    sent = [Sent(f"s-{one}", one, one) for one in ("a", "b", "c")]
    assert to_look_at(sent, records(set(), "a", "b", "b", "c")) == "b"
    assert to_look_at(sent, records({"c"}, "a", "b", "b", "c")) == "c"
    assert to_look_at([Sent("s-1", None, None)], records(set())) is None


@pytest.mark.parametrize(
    ("message_id", "argument"),
    [
        ("a; b", "'a; b'"),
        ("it's", "'it'\"'\"'s'"),
        ("-x", "-- -x"),
        ("\x1b[2J", "sha256-1"),
        ("m-1", "m-1"),
    ],
)
def test_an_id_is_told_as_it_is_typed(message_id: str, argument: str) -> None:
    assert as_argument(message_id, "sha256-1") == argument


def test_pages_of_executions_follow_each_other_with_none_twice(moto_stack: Stack) -> None:
    began = [execution(f"m{n}", n, n - 1) for n in range(1, 8)]
    with Stubber(moto_stack.stepfunctions) as answers:
        first = {"stateMachineArn": moto_stack.state_machine, "maxResults": 3}
        answers.add_response("list_executions", {"executions": began[:3], "nextToken": "a"}, first)
        answers.add_response(
            "list_executions", {"executions": began[3:6]}, first | {"nextToken": "a"}
        )
        page = recent.page(moto_stack, status=None, day=None, cursor=None, limit=3)
        then = recent.page(moto_stack, status=None, day=None, cursor=page.cursor, limit=3)
    assert [one.name for one in (*page.messages, *then.messages)] == [f"m{n}" for n in range(1, 7)]
    assert (page.cursor, then.cursor) == ("0:a", None)


def test_a_page_of_a_day_passes_over_others_and_goes_on_in_the_middle_of_a_call(
    moto_stack: Stack,
) -> None:
    hours = [execution(f"h{n}", 60 * n, 60 * n - 1) for n in range(1, 60)]
    arguments = {"stateMachineArn": moto_stack.state_machine, "maxResults": 1000}
    day = NOW.date() - timedelta(days=1)
    names = []
    cursor = None
    with Stubber(moto_stack.stepfunctions) as answers:
        for _ in range(3):
            answers.add_response("list_executions", {"executions": hours}, arguments)
            page = recent.page(moto_stack, status=None, day=day, cursor=cursor, limit=10)
            names += [one.name for one in page.messages]
            cursor = page.cursor
    # 09:30 back to the midnight before is 9 whole hours; the day before has the 24 after these.
    assert names == [f"h{n}" for n in range(10, 34)]
    assert cursor is None


def test_no_more_executions_are_looked_at_than_are_told(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "MOST_LOOKED_AT", 2)
    with Stubber(moto_stack.stepfunctions) as answers:
        for number in range(2):
            listed = {"executions": [execution(f"m{number}", number)], "nextToken": f"t{number}"}
            answers.add_response("list_executions", listed)
        day = NOW.date() - timedelta(days=30)
        page = recent.page(moto_stack, status=None, day=day, cursor=None, limit=10)
    assert (page.messages, page.cursor, page.looked_at) == ([], "0:t1", 2)


def test_pages_of_rows(ledger: Stack) -> None:
    for number in range(5):
        item = {"message_id": {"S": f"m{number}"}, "status": {"S": "COMPLETE"}}
        when = {"updated": {"S": f"2026-01-31T09:0{number}:00.000Z"}, "outcome": {"S": "performed"}}
        ledger.dynamodb.put_item(TableName=TABLE, Item=item | when)
    page = recent.page(ledger, status="complete", day=NOW.date(), cursor=None, limit=3)
    then = recent.page(ledger, status="complete", day=NOW.date(), cursor=page.cursor, limit=3)
    assert [one.name for one in (*page.messages, *then.messages)] == ["m4", "m3", "m2", "m1", "m0"]
    other = recent.page(ledger, status=None, day=date(2026, 1, 30), cursor=None, limit=3)
    assert (other.messages, then.cursor) == ([], None)


@pytest.mark.parametrize("cursor", ["x", "1", "-1:", "\u0663:a", "999999999999:"])
def test_a_place_in_the_list_that_is_none_is_told(moto_stack: Stack, cursor: str) -> None:
    with pytest.raises(WrongUse, match="first page"):
        recent.page(moto_stack, status=None, day=None, cursor=cursor, limit=3)
