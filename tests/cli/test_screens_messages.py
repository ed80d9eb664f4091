"""`actonce list` and `actonce where`: the recent messages, and one's timeline and how it stands."""

import json
from typing import Any

import pytest

from actonce.messages import recent
from actonce.queues.depth import PAUSED_SINCE
from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from actonce_core.first_attempt import FIRST_ATTEMPT
from actonce_core.records import timestamp
from tests.cli.conftest import Run, Screen
from tests.support.queues import hold
from tests.support.stacks import NOW, TABLE, forbid, with_executions, with_outputs
from tests.support.waiting import dead

LONG_ID = "ü" * 100


def put(stack: Stack, message_id: str, **row: str) -> None:
    item: Any = {name: {"S": value} for name, value in (row | {"message_id": message_id}).items()}
    stack.dynamodb.put_item(TableName=TABLE, Item=item)


def first_seen(stack: Stack, message_id: str, **row: str) -> None:
    """The row that a starter writes."""
    seen = {"fingerprint": "f", "first_seen": timestamp(NOW), "memory": stack.state_machine}
    put(stack, message_id, **(seen | row))


# ---------------------------------------------------------------- list


def test_the_list_has_ids_that_commands_take_and_tells_of_more(
    machine: Stack, run: Run, screen: Screen
) -> None:
    stack = with_executions(machine, "m-1", LONG_ID)
    screen("list_executions", stack, "list --limit 1")
    answer = json.loads(run("list --json", stack).out)
    assert [(one["id"], one["message_id"]) for one in answer["messages"]] == [
        (execution_name(LONG_ID), LONG_ID),
        ("m-1", "m-1"),
    ]
    assert {one["state"] for one in answer["messages"]} == {"retrying"}
    assert answer["messages"][0].keys() == {"id", "message_id", "status", "state", "since", "ended"}
    assert (answer["more"], answer["only_trouble"]) == (False, False)
    assert json.loads(run("list --json --limit 1", stack).out)["more"] is True
    assert run("list --status failed", stack).out == "There is no message that matches.\n"


def test_of_a_long_page_the_states_are_left_out_and_it_says_so(
    machine: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = with_executions(machine, "m-1", "m-2")
    monkeypatch.setattr(recent, "MOST_STATES", 1)
    listed = run("list", stack)
    assert listed.out.splitlines()[0].split() == ["ID", "Status", "Began"]
    assert listed.err == "States are looked up for up to 100 messages: say --limit.\n"
    forbid(stack, "stepfunctions", "GetExecutionHistory")
    (one,) = json.loads(run("list --limit 1 --json", stack).out)["messages"]
    assert one["state"] == "running"


# ---------------------------------------------------------------- where


def test_where_names_what_it_could_not_read_and_does_not_take_it_for_absent(
    machine: Stack, run: Run, screen: Screen
) -> None:
    stack = with_executions(machine, "m-1")
    screen("where_execution", stack, "where m-1")
    answer = json.loads(run("where m-1 --json", stack).out)
    assert [one["event_type"] for one in answer["timeline"]] == ["started", "entered", "SUCCEEDED"]
    assert [one["state"] for one in answer["execution"]["steps"]] == ["", "A State", ""]
    assert answer["unread"] == {}
    forbid(stack, "stepfunctions", "GetExecutionHistory")
    no = "AWS: An error occurred (AccessDenied) when calling the GetExecutionHistory operation: no"
    history = "Its execution's history, which tells whether it waits for a decision,"
    unread = f"{history} could not be read: {no}"
    assert run("where m-1", stack).out.splitlines()[-1] == unread
    answer = json.loads(run("where m-1 --json", stack).out)
    summary = answer.pop("summary")
    assert (answer["unread"], answer["timeline"]) == ({"history": no}, [])
    assert (summary["state"], summary["unread"]) == ("running", [unread])
    assert summary.keys() == {
        *("state", "label", "explanation", "status", "outcome", "effects", "sentence"),
        *("advice", "advised", "conflicts", "unread"),
    }
    assert answer.keys() == {
        *("message_id", "execution_name", "deliveries", "conflicts", "fingerprint", "row"),
        *("execution", "dead_letters", "effects", "effects_location", "unstarted"),
        *("unstarted_in_flight_elsewhere", "unread", "timeline"),
    }
    forbid(stack, "dynamodb", "GetItem")
    ended = run("where m-2", stack)  # which only the table could have seen
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(
        "actonce: AWS: An error occurred (AccessDenied) when calling the Ge"
    )


def test_who_asks_where_one_stands_that_waits_is_shown_the_way_to_its_letter(
    machine: Stack, run: Run, screen: Screen
) -> None:
    dead(machine, "m-2", reason="rounds_used_up")
    screen("where_waits", machine, "where m-2")
    answer = json.loads(run("where m-2 --json", machine).out)
    assert answer["summary"]["state"] == "waiting_for_decision"
    assert [one["reason"] for one in answer["dead_letters"]] == ["rounds_used_up"]


def test_what_nobody_has_seen_may_be_waiting(machine: Stack, run: Run) -> None:
    def answer(line: str) -> str:
        ended = run(line, machine)
        assert (ended.status, ended.out) == (1, "")
        return ended.err.removesuffix("\n").removeprefix(
            "actonce: No part of the stack has seen a message 'm-2'. "
        )

    nothing = "Nothing waits in RequestsQueue. Recent messages: actonce list --aws"
    assert answer("where m-2 --aws") == nothing
    for _ in range(3):
        machine.sqs.send_message(QueueUrl=machine.requests_queue, MessageBody="{}")
    hold(machine, machine.requests_queue, 1)
    perhaps = "It may be one of about 3 in RequestsQueue."
    assert answer("where m-2") == perhaps
    machine.sqs.tag_queue(QueueUrl=machine.requests_queue, Tags={PAUSED_SINCE: "2026"})
    paused = "The stack is paused. To have it take messages again: actonce resume --aws"
    assert answer("where m-2 --aws") == f"{perhaps} {paused}"
    forbid(machine, "sqs", "ListQueueTags")
    unread = f"{perhaps} Whether the stack is paused could not be read: AWS: An error occurred"
    assert answer("where m-2").startswith(unread)


@pytest.mark.usefixtures("minute_long_looks")
def test_where_does_not_say_that_what_another_reader_holds_lies_nowhere(
    machine: Stack, run: Run
) -> None:
    first_seen(machine, "m-2")
    machine.sqs.send_message(QueueUrl=machine.unstarted_queue, MessageBody='{"message_id": "m-2"}')
    hold(machine, machine.unstarted_queue)
    unsure = "Whether it is in UnstartedQueue cannot be told: another reader holds 1 at this moment"
    known, other = run("where m-2", machine), run("where m-3", machine)
    assert known.status == 0
    assert "State          not known\n" in known.out
    assert f" {unsure}.\n" in known.out
    assert "Find out by its effect whether it happened, before you send it again." in known.out
    assert (other.status, other.out) == (1, "")
    assert other.err == (
        "actonce: No part of the stack that could be read has seen a message 'm-3'. "
        f"{unsure}; look again. Nothing waits in RequestsQueue. Recent messages: actonce list\n"
    )


# ---------------------------------------------------------------- of a first attempt


HOSTILE_EFFECT = '{"order": "\\u001b[2J\u202e<b>\\ud800"}'


def test_a_message_that_only_a_first_attempt_was_made_at_has_its_row(
    machine: Stack, run: Run, screen: Screen
) -> None:
    stack = with_outputs(with_executions(machine, "m-2"), StartExecutions="on-trouble")
    row = {"memory": f"{stack.state_machine}{FIRST_ATTEMPT}", "updated": "2026-01-31T09:30:01.000Z"}
    row |= {"status": "COMPLETE", "outcome": "performed", "effect": HOSTILE_EFFECT}
    first_seen(stack, "m-1", **row, attempt_id="a-1", stage="begun")
    screen("where_first_attempt", stack, "list", "where m-1")
    answer = json.loads(run("where m-1 --json", stack).out)
    assert (answer["execution"], answer["row"]["effect"]) == (None, HOSTILE_EFFECT)
    assert answer["fingerprint"].keys() == {"fingerprint", "first_seen", "memory"}
