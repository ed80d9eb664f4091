"""The commands of dead letters and unstarted deliveries, on moto: what is shown and told."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from actonce.cli import many
from actonce.operate.bulk import Bulk
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from tests.cli.conftest import Actonce
from tests.support.queues import dead, fill, hand_on, hold, ids_left, lying, put_row, row
from tests.support.stacks import deployed, fail, forbid, with_executions

YES = ("--all", "--yes")


@pytest.fixture
def ledger(ledger: Stack) -> Stack:
    return deployed(ledger)


# ------------------------------------------------------------------ shown


def test_few_are_listed_many_are_grouped_and_many_groups_are_counted(
    ledger: Stack, actonce: Actonce, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(*options: str) -> list[str]:
        return actonce("dead-letters", "list", *options, stack=ledger).out.splitlines()

    monkeypatch.setattr(many, "GROUPED_FROM", 5)
    monkeypatch.setattr(many, "MOST_GROUPS", 1)
    for number in range(6):
        dead(ledger, f"m-{number}", number)
    _, headers, group = listed()
    assert headers.split() == ["Number", "Reason", "Error", "Oldest", "Newest", "For", "example"]
    assert group.split()[:4] == ["6", "not", "performed", "NotPerformed"]
    assert (len(listed("--each")), len(listed("--limit", "5"))) == (7, 6)
    told = json.loads(*listed("--json"))
    assert (len(told["dead_letters"]), told["groups"][0]["count"]) == (6, 6)
    for number in range(2):
        dead(ledger, f"n-{number}", number, error=f"Error{number}")
    assert listed()[-1] == "and 2 more, of 2 other kinds"


def test_a_letter_the_function_refused_is_not_told_as_one_that_a_person_rejected(
    ledger: Stack, actonce: Actonce
) -> None:
    dead(ledger, "m-1", reason="rejected")
    listed = actonce("dead-letters", "list", stack=ledger)
    assert "refused by the function" in listed.out
    assert "--reason rejected" in listed.err
    shown = actonce("dead-letters", "show", "m-1", stack=ledger)
    assert "refused by the function" in shown.out


def test_no_message_is_shown_unless_it_is_asked_for(ledger: Stack, actonce: Actonce) -> None:
    dead(ledger, "m-1", message={"body": "a secret"})
    hand_on(ledger, '{"message_id": "m-2", "x": "a secret"}')
    for command, message_id in (("dead-letters", "m-1"), ("unstarted", "m-2")):
        for options in ((), ("--each",), ("--json",)):
            assert "secret" not in actonce(command, "list", *options, stack=ledger).out
        nothing = actonce(command, "list", "--match", "nowhere", stack=ledger)
        assert (nothing.status, nothing.out.endswith(" that matches.\n")) == (0, True)
        for options in ((), ("--json",)):
            assert "a secret" in actonce(command, "show", message_id, *options, stack=ledger).out


def test_of_a_conflict_what_differs_from_what_was_started_is_marked(
    moto_stack: Stack, actonce: Actonce
) -> None:
    stack = deployed(with_executions(moto_stack))
    first = {"message_id": "m-1", "body": '{"message_id": "m-1", "day": "one"}'}
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name="m-1", input=json.dumps(first)
    )
    other = '{"day": "other", "message_id": "m-1"}'
    hand_on(stack, other)
    hand_on(stack, other.replace("m-1", "m-2"))  # the first of it was not started

    def started(message_id: str) -> Any:
        out = actonce("unstarted", "show", message_id, "--json", stack=stack).out
        (told,) = json.loads(out)["unstarted"]
        return told["started"]

    assert (started("m-1"), started("m-2")) == (first, None)
    told = actonce("unstarted", "list", "--stack-name", "shop", stack=stack).err
    assert told.endswith(" actonce unstarted show --stack-name shop m-1\n")
    shown = actonce("unstarted", "show", "m-1", stack=stack).out.partition(other)[2]
    assert shown.splitlines()[2:] == [
        "  {",
        '-   "day": "one"',
        '+   "day": "other"',
        '    "message_id": "m-1"',
        "  }",
    ]
    forbid(stack, "stepfunctions", "DescribeExecution")
    assert started("m-1") is None, "who may not look is shown the rest"
    assert "AccessDenied" in actonce("unstarted", "show", "m-1", stack=stack).err


# ------------------------------------------------------------------ asked, and told


def test_whoever_sits_at_the_terminal_is_asked_and_no_is_no(
    ledger: Stack, actonce: Actonce, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(ledger, "m-1")
    asked: list[str] = []
    answers = {None: (2, "dead_letter"), False: (1, "dead_letter"), True: (0, "rejected")}
    for answer, (status, outcome) in answers.items():

        def ask(question: str, answer: bool | None = answer) -> bool | None:
            asked.append(question)
            return answer

        monkeypatch.setattr(console, "ask", ask)
        ended = actonce("dead-letters", "reject", "--all", "--note", "x", stack=ledger)
        assert (ended.status, "1 dead letter" in ended.out) == (status, True)
        assert row(ledger, "m-1")["outcome"] == outcome
    assert asked == ["Reject these 1?"] * 3


@pytest.mark.parametrize("named", [True, False])
def test_a_dry_run_shows_what_would_be_done_and_does_nothing(
    ledger: Stack, actonce: Actonce, *, named: bool
) -> None:
    dead(ledger, "m-1")
    first, second = sorted(fill(ledger, 2))
    for command, one, kind in (
        (("dead-letters", "retry"), "m-1", "dead_letters"),
        (("unstarted", "send-back"), first, "unstarted"),
        (("unstarted", "discard", "--note", "x"), first, "unstarted"),
    ):
        asked = (*command, one if named else "--all", "--dry-run")
        shown = actonce(*asked, stack=ledger)
        number = "1 " if named or kind == "dead_letters" else "2 "
        told = f"To {command[1].replace('-', ' ')}: {number}"
        assert (shown.status, shown.out.startswith(told)) == (0, True)
        told = json.loads(actonce(*asked, "--json", stack=ledger).out)
        assert (told["dry_run"], str(len(told[kind])) + " ") == (True, number)
        nothing = actonce(*command, "nowhere", "--dry-run", stack=ledger)
        assert (nothing.status, "nowhere" in nothing.err) == (1, True)
    assert ids_left(ledger) == ["m-1"]
    assert {one.entry for one in lying(ledger).entries} == {first, second}


def test_what_became_of_each_is_told_and_one_that_is_not_decided_is_a_failure(
    ledger: Stack, actonce: Actonce
) -> None:
    dead(ledger, "m-1")
    dead(ledger, "m-2")
    put_row(ledger, "m-2", "IN_PROGRESS", None)
    resolve = ("dead-letters", "resolve", *YES, "--note", "x", "--each")
    ended = actonce(*resolve, stack=ledger)
    assert (ended.status, ended.out.splitlines()[-3:]) == (
        1,
        ["m-1: Decided: resolve.", "Not decided: 1", "Resolved: 1"],
    )
    assert "m-2: " in ended.err


def test_what_is_discarded_is_told_with_its_file_and_nothing_makes_no_file(
    ledger: Stack, actonce: Actonce, tmp_path: Path
) -> None:
    for command in (("dead-letters", "retry"), ("unstarted", "discard", "--note", "x")):
        assert actonce(*command, *YES, stack=ledger).status == 0
        ended = actonce(*command, *YES, "--json", stack=ledger)
        assert (ended.status, json.loads(ended.out)["counts"]) == (0, {})
    assert list(tmp_path.iterdir()) == []
    fill(ledger, 3)
    discard = ("unstarted", "discard", "--note", "x", *YES)
    ended = actonce(*discard, "--match", "body 1", stack=ledger)
    (file,) = tmp_path.iterdir()
    assert (ended.status, ended.out.splitlines()[-1]) == (0, "Discarded: 1")
    assert f"{file.name} has" in ended.err
    assert len(file.read_text().splitlines()) == 1
    nowhere = ("--to", str(tmp_path / "no-such" / "kept.jsonl"))
    ended = actonce(*discard, *nowhere, "--json", stack=ledger)
    told = json.loads(ended.out)
    assert (ended.status, told["counts"], told["file"]) == (1, {}, None)
    told = json.loads(actonce("unstarted", "send-back", *YES, "--json", stack=ledger).out)
    assert (told["counts"], told["left"]) == ({"sent_back": 2}, 0)
    assert list(tmp_path.iterdir()) == [file]


def test_an_id_is_named_whole_and_the_others_are_seen_to(ledger: Stack, actonce: Actonce) -> None:
    dead(ledger, "request-10")
    first, second, third = sorted(fill(ledger, 3))
    for command in (("dead-letters", "show"), ("unstarted", "show")):
        ended = actonce(*command, "request-1", stack=ledger)
        assert (ended.status, "request-1'" in ended.err) == (1, True)
    for missing in ("retry", "request-1"), ("reject", "request-1", "--note", "x"):
        ended = actonce("dead-letters", *missing, "--yes", stack=ledger)
        assert (ended.status, "request-1'" in ended.err) == (1, True)
    named = (first, third[:-1], second)
    ended = actonce("unstarted", "send-back", *named, "--yes", "--json", stack=ledger)
    assert (ended.status, f"Not found in UnstartedQueue: {third[:-1]}" in ended.err) == (1, True)
    told = json.loads(ended.out)
    assert (told["counts"], told["missing"]) == ({"sent_back": 2}, [third[:-1]])
    assert ids_left(ledger) == ["request-10"]


def test_ctrl_c_is_130_and_tells_what_was_done(
    ledger: Stack, actonce: Actonce, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bulk, "run", interrupted)
    ended = actonce("dead-letters", "reject", *YES, "--note", "x", "--json", stack=ledger)
    assert (ended.status, json.loads(ended.out)["left"]) == (130, 3)
    assert "0 of 3 are done, the other 3 are as before" in ended.err


def test_what_ends_it_early_leaves_some_decided_some_unknown_and_some_as_they_were(
    ledger: Stack, actonce: Actonce, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "READERS", 1)
    for number in range(4):
        dead(ledger, f"m-{number}", number)
    fail(ledger, "dynamodb", "UpdateItem", ReadTimeoutError(endpoint_url="here"), after=2)
    reject = ("dead-letters", "reject", "--yes", "--note", "x")
    ended = actonce(*reject, "--all", stack=ledger)
    assert (ended.status, "Read timeout" in ended.err.splitlines()[-1]) == (1, True)
    assert ended.out.splitlines()[-3:] == ["Rejected: 2", "Unknown: 1", "Left as it was: 1"]
    alone = actonce(*reject, "m-3", stack=ledger)
    assert (alone.status, "not known" in alone.err) == (1, True)
    assert "Nothing was decided" not in alone.err


# ------------------------------------------------------------------ held by another reader


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize("seen", [0, 3])
def test_what_another_reader_holds_is_told_and_who_acts_on_all_has_not_acted_on_it(
    ledger: Stack, actonce: Actonce, seen: int
) -> None:
    for number in range(seen + 1):
        dead(ledger, f"m-{number}", number)
    fill(ledger, seen + 1)
    hold(ledger, ledger.dead_letter_queue, 1)
    hold(ledger, ledger.unstarted_queue, 1)
    for command, *verb in (("dead-letters", "retry"), ("unstarted", "discard", "--note", "x")):
        ended = actonce(command, "list", stack=ledger)
        assert (ended.status, bool(ended.out)) == (0, bool(seen))
        assert "Another reader holds 1 more" in ended.err
        if seen:  # as many as were asked for
            assert actonce(command, *verb, *YES, "--limit", "1", stack=ledger).status == 0
        for options in (("--dry-run", "--json"), ("--json",)):
            ended = actonce(command, *verb, *YES, *options, stack=ledger)
            assert (ended.status, "another reader holds 1 " in ended.err) == (1, True)
            assert json.loads(ended.out)["held_elsewhere"] == 1


@pytest.mark.usefixtures("minute_long_looks")
def test_one_that_another_reader_may_hold_is_not_said_to_be_nowhere(
    ledger: Stack, actonce: Actonce
) -> None:
    dead(ledger, "m-1")
    (entry,) = fill(ledger, 1)
    hold(ledger, ledger.dead_letter_queue)
    hold(ledger, ledger.unstarted_queue)
    for command in (
        ("dead-letters", "show", "m-1"),
        ("dead-letters", "retry", "m-1", "--yes"),
        ("unstarted", "show", entry),
        ("unstarted", "send-back", entry, "--yes"),
    ):
        ended = actonce(*command, stack=ledger)
        assert (ended.status, "another reader holds 1 " in ended.err) == (1, True)
        assert "There is no" not in ended.err
