"""`actonce unstarted`: what was not started is listed, shown, sent back or discarded."""

import json
from pathlib import Path

import pytest

from actonce.stack.clients import Stack
from tests.cli.conftest import Run, Screen
from tests.support.queues import fill, hold, send_to_unstarted
from tests.support.stacks import forbid, with_executions

ANOTHER_HOLDS = "Another reader holds 1 more at this moment. They are not listed here.\n"
AGAIN = "another reader holds 1 at this moment. Give the same command again."
OTHER_DAY = '{"day": "other", "message_id": "m-1"}'


@pytest.fixture
def started(machine: Stack) -> Stack:
    """`m-1` was started with one content, and came again with another."""
    stack = with_executions(machine)
    content = {"message_id": "m-1", "body": '{"message_id": "m-1", "day": "one"}'}
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name="m-1", input=json.dumps(content)
    )
    send_to_unstarted(stack, OTHER_DAY)
    return stack


def test_no_message_is_shown_unless_it_is_asked_for(
    machine: Stack, run: Run, screen: Screen
) -> None:
    body = '{"message_id": "m-2", "x": "a secret"}'
    entry = send_to_unstarted(machine, body)
    for more in ("", "--json", "--match secret"):
        assert "a secret" not in run(f"unstarted list {more}", machine).out
    nowhere = run("unstarted list --match nowhere", machine).out
    assert nowhere == "There is no unstarted delivery that matches.\n"
    screen("unstarted_show", machine, "unstarted show m-2")
    (listed,) = json.loads(run("unstarted list --json", machine).out)["unstarted"]
    (answer,) = json.loads(run("unstarted show m-2 --json", machine).out)["unstarted"]
    assert answer == listed | {"attributes": {}, "body": body, "started": None}
    assert listed | {"since": ""} == {
        "sqs_message_id": entry,
        "message_id": "m-2",
        "reason": "conflict",
        "detail": "Another content.",
        "since": "",
        "receive_count": 2,
        "source_message_id": "first-id",
    }


def test_of_a_conflict_what_differs_from_what_was_started_is_marked(
    started: Stack, run: Run, screen: Screen
) -> None:
    send_to_unstarted(started, OTHER_DAY.replace("m-1", "m-2"))
    screen("unstarted_list", started, "unstarted list --stack-name shop")
    screen("unstarted_show_conflict", started, "unstarted show m-1")
    for message_id, content in (
        ("m-1", {"message_id": "m-1", "body": '{"message_id": "m-1", "day": "one"}'}),
        ("m-2", None),
    ):
        answer = json.loads(run(f"unstarted show {message_id} --json", started).out)
        assert answer["unstarted"][0]["started"] == content
    forbid(started, "stepfunctions", "DescribeExecution")
    unread = run("unstarted show m-1", started)
    assert unread.status == 0
    assert unread.err.startswith("What came first could not be read: An error occurred (AccessD")


NOTHING_DONE = {
    "dry_run": False,
    "counts": {},
    "left": 0,
    "ends": [],
    "missing": [],
    "file": None,
    "left_behind": 0,
    "in_flight_elsewhere": 0,
}


def test_what_is_discarded_is_told_with_its_file_and_nothing_makes_no_file(
    machine: Stack, run: Run, screen: Screen, tmp_path: Path
) -> None:
    discard = "unstarted discard --all --yes --note x"
    assert run(discard, machine).out == "There is no unstarted delivery that matches.\n"
    answer = json.loads(run(f"{discard} --json", machine).out)
    assert answer == NOTHING_DONE | {"action": "discard"}
    assert list(tmp_path.iterdir()) == []
    fill(machine, 3)
    screen("unstarted_discard", machine, f"{discard} --match 'body 1'")
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["body"] == "body 1"
    unwritten = run(f"{discard} --to no-such/kept.jsonl --json", machine)
    assert unwritten.err == (
        "actonce: no-such/kept.jsonl cannot be written: No such file or directory\n"
    )
    assert unwritten.status == 1
    assert json.loads(unwritten.out) == NOTHING_DONE | {"action": "discard", "left": 2}
    answer = json.loads(run("unstarted send-back --all --yes --json", machine).out)
    assert (answer["counts"], answer["file"]) == ({"sent_back": 2}, None)
    assert {one["text"] for one in answer["ends"]} == {"Sent back."}
    assert list(tmp_path.iterdir()) == [file]


def test_an_id_is_named_whole_and_the_others_are_seen_to(machine: Stack, run: Run) -> None:
    first, second, third = sorted(fill(machine, 3))
    ended = run(f"unstarted send-back {first} {third[:-1]} {second} --yes --json", machine)
    answer = json.loads(ended.out)
    assert ended.status == 1
    assert ended.err == f"actonce: Not found in UnstartedQueue: {third[:-1]}.\n"
    assert (answer["counts"], answer["missing"]) == ({"sent_back": 2}, [third[:-1]])
    assert {one["sqs_message_id"] for one in answer["ends"]} == {first, second}
    assert run("unstarted show request-1", machine) == (
        1,
        "",
        "actonce: 'request-1' is not in UnstartedQueue. What is: actonce unstarted list\n",
    )


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize(
    ("line", "status", "number"),
    [
        ("discard --all --yes --note x --limit 1", 0, 1),  # it was not to act on all
        ("send-back --all --yes", 1, 3),
    ],
)
def test_who_acts_on_all_has_not_acted_on_what_another_reader_holds(
    machine: Stack, run: Run, line: str, status: int, number: int
) -> None:
    fill(machine, 4)
    hold(machine, machine.unstarted_queue, 1)
    ended = run(f"unstarted {line} --json", machine)
    answer = json.loads(ended.out)
    assert len(answer["ends"] if "ends" in answer else answer["unstarted"]) == number
    assert (ended.status, answer["in_flight_elsewhere"]) == (status, 1)
    assert ended.err.startswith(ANOTHER_HOLDS)
    assert (f"Not all could be read: {AGAIN}" in ended.err) is bool(status)
    assert bool(answer.get("file")) is line.startswith("discard")


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("show {}", "Whether '{}' is in UnstartedQueue cannot be told: another reader holds 1 at"),
        ("send-back {} --yes", "Not found in UnstartedQueue: {}, of which another reader holds 1"),
        ("discard --all --yes --note x", f"Nothing could be read, and nothing was done: {AGAIN}"),
    ],
)  # fmt: skip
def test_one_that_another_reader_may_hold_is_not_said_to_be_nowhere(
    machine: Stack, run: Run, line: str, sentence: str
) -> None:
    (entry,) = fill(machine, 1)
    hold(machine, machine.unstarted_queue)
    assert run("unstarted list", machine) == (0, "", ANOTHER_HOLDS)
    ended = run(f"unstarted {line.format(entry)}", machine)
    assert (ended.status, sentence.format(entry) in ended.err) == (1, True)
    assert "There is no" not in ended.out + ended.err
