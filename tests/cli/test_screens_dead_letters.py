"""`actonce dead-letters`: what it shows, asks and reports, of few, of many, and of one."""

import json
from datetime import UTC, datetime

import pytest
from moto.stepfunctions.models import stepfunctions_backends

from actonce.cli import bulk
from actonce.operate.bulk import Bulk
from actonce.stack.clients import Stack
from actonce.terminal import output
from tests.cli.conftest import Run, Screen
from tests.support.queues import hold, ids_left, post, shown
from tests.support.stacks import with_executions
from tests.support.waiting import dead, decision_on

ANOTHER_HOLDS = "Another reader holds 1 more at this moment. They are not listed here.\n"
AGAIN = "another reader holds 1 at this moment. Give the same command again."


def letter_of(stack: Stack, message_id: str) -> str:
    """As `show` names the one that it shows."""
    letter = shown(stack, message_id)
    assert letter is not None
    return letter.letter


def some(stack: Stack, number: int) -> None:
    """Letters of `m-0` and so on, a second apart."""
    for n in range(number):
        dead(stack, f"m-{n}", n)


# ---------------------------------------------------------------- what is listed and shown


def test_few_are_listed_many_are_grouped_and_many_groups_are_counted(
    machine: Stack, run: Run, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    some(machine, 2)
    screen("dead_letters_list", machine, "dead-letters list")
    monkeypatch.setattr(bulk, "GROUPED_FROM", 5)
    monkeypatch.setattr(bulk, "MOST_GROUPS", 1)
    for n in range(2, 6):
        dead(machine, f"m-{n}", n)
    listed = run("dead-letters list --limit 6", machine).out
    assert [line.split()[0] for line in listed.splitlines()[1:]] == [f"m-{n}" for n in range(6)]
    for n in range(2):
        dead(machine, f"n-{n}", n, error=f"Error{n}")
    screen("dead_letters_groups", machine, "dead-letters list")
    answer = json.loads(run("dead-letters list --json", machine).out)
    assert len(answer["dead_letters"]) == 8
    groups = [(one["error"], one["count"], one["example"]) for one in answer["groups"]]
    assert groups == [("NotPerformed", 6, "m-0"), ("Error0", 1, "n-0"), ("Error1", 1, "n-1")]
    assert answer["groups"][0].keys() == {
        *("reason", "error", "count", "oldest", "newest", "example"),
    }


def test_no_message_is_shown_unless_it_is_asked_for(
    machine: Stack, run: Run, screen: Screen
) -> None:
    dead(machine, "m-1", message={"body": "a secret"})
    for more in ("", "--json", "--match secret"):
        assert "a secret" not in run(f"dead-letters list {more}", machine).out
    assert run("dead-letters list --match nowhere", machine).out == (
        "There is no dead letter that matches.\n"
    )
    screen("dead_letters_show", machine, "dead-letters show m-1")
    (listed,) = json.loads(run("dead-letters list --json", machine).out)["dead_letters"]
    answer = json.loads(run("dead-letters show m-1 --json", machine).out)
    summary = answer.pop("summary")
    assert (summary["state"], summary["advised"]) == ("waiting_for_decision", "retry")
    assert answer == listed | {"execution_status": "RUNNING", "message": {"body": "a secret"}}
    assert (letter := shown(machine, "m-1")) is not None
    assert listed == {
        "message_id": "m-1",
        "execution_name": "m-1",
        "letter": letter.entry,
        "execution_arn": machine.execution_arn("m-1"),
        "reason": "not_performed",
        "error": "NotPerformed",
        "cause": "closed",
        "rounds": 1,
        "posted_at": "2026-01-31T09:30:00.000Z",
    }


def test_of_an_execution_that_ended_undecided_nothing_waits_and_only_a_retry_continues_it(
    machine: Stack, run: Run, screen: Screen
) -> None:
    stack = with_executions(machine, "m-1", "m-2")
    for one in ("m-1", "m-2"):
        post(stack, one, execution_arn=stack.execution_arn(one), task_token=one)
    stop(stack, "m-1")
    screen("dead_letters_aborted", stack, "dead-letters list", "dead-letters list --reason aborted")
    answer = json.loads(run("dead-letters list --json", stack).out)
    assert [one["message_id"] for one in answer["dead_letters"]] == ["m-2"]
    assert answer["ended"] == {"aborted": 1}
    for more, message_id in (("", "m-2"), ("--reason aborted", "m-1")):
        answer = run(f"dead-letters reject --all --note x --dry-run --json {more}", stack).out
        assert [one["message_id"] for one in json.loads(answer)["dead_letters"]] == [message_id]
    by_id = run("dead-letters show m-1", stack)
    assert "execution_status  ABORTED\n" in by_id.out
    assert by_id.err == ""  # no other decision is offered
    for out in (by_id.out, run("where m-1", stack).out):
        assert "State          aborted (ABORTED)\n" in out
        assert out.endswith(" UTC. actonce dead-letters retry m-1\n")


def stop(stack: Stack, message_id: str) -> None:
    """Somebody stops its execution."""
    arn = stack.execution_arn(message_id)
    stack.stepfunctions.stop_execution(executionArn=arn)
    *_, machine = stepfunctions_backends["123456789012"]["us-east-1"].state_machines
    (stopped,) = (one for one in machine.executions if one.execution_arn == arn)
    stopped.stop_date = datetime.now(UTC)


# ---------------------------------------------------------------- what is asked and reported


def test_a_dry_run_shows_what_would_be_done_and_does_nothing(machine: Stack, run: Run) -> None:
    dead(machine, "m-1")
    ended = run("dead-letters retry --all --dry-run", machine)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("To retry: 1 dead letter\n")
    assert "Retried" not in ended.out
    answer = json.loads(run("dead-letters retry --all --dry-run --json", machine).out)
    assert answer.keys() == {"action", "dry_run", "dead_letters", "groups", "in_flight_elsewhere"}
    assert (answer["action"], answer["dry_run"]) == ("retry", True)
    assert (ids_left(machine), decision_on(machine, "m-1")) == (["m-1"], None)


def test_whoever_sits_at_the_terminal_is_asked_and_no_is_no(
    machine: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(machine, "m-1")
    for answer, status, sentence, decision in (
        (None, 2, "There is no terminal to ask at: say --yes, or --dry-run", None),
        (False, 1, "Nothing was done.\n", None),
        (True, 0, "", "reject"),
    ):
        monkeypatch.setattr(output, "ask", lambda _, answer=answer: answer)
        ended = run("dead-letters reject --all --note x", machine)
        assert ended.out.startswith("To reject: 1 dead letter\n")
        assert (ended.status, decision_on(machine, "m-1")) == (status, decision)
        assert sentence in ended.err
        assert ("Rejected: 1" in ended.out) is (answer is True)


def test_what_became_of_each_is_told_and_one_that_is_not_decided_is_a_failure(
    machine: Stack, run: Run, screen: Screen
) -> None:
    nothing = "There is no dead letter that matches.\n"
    assert run("dead-letters retry --all --yes", machine) == (0, nothing, "")
    some(machine, 1)
    post(machine, "m-1", 1)  # its execution is forgotten
    screen("dead_letters_resolve", machine, "dead-letters resolve --all --yes --note x")
    letter = letter_of(machine, "m-1")
    ended = run(f"dead-letters resolve --letter {letter} --yes --note x m-1", machine)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("actonce: Nothing was decided. Step Functions no longer has its ")


def test_ctrl_c_is_130_and_tells_what_was_done(
    machine: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    some(machine, 3)
    monkeypatch.setattr(Bulk, "run", interrupted)
    ended = run("dead-letters reject --all --yes --note x --json", machine)
    assert ended.status == 130
    answer = json.loads(ended.out)
    assert (answer["counts"], answer["left"], answer["ends"]) == ({}, 3, [])
    assert ended.err == (
        "actonce: Interrupted: 0 of 3 are done, the other 3 are as before. "
        "The same command continues with them.\n"
    )


# ---------------------------------------------------------------- one, by its id and letter


def test_whoever_decides_on_one_names_the_letter_that_was_shown(machine: Stack, run: Run) -> None:
    for n in range(2):
        dead(machine, f"m-{n}", n, reason="outcome_unknown", cause="late")
    letter = letter_of(machine, "m-0")
    refused = {
        "perform --yes --note x m-0": (2, f": actonce dead-letters perform --letter {letter}"),
        "retry --letter 12345678 --all": (2, "--letter names the dead letter of one ID, without"),
        "retry --yes m-10": (1, "There is no dead letter of 'm-10' in the queue."),
    }
    for line, (status, sentence) in refused.items():
        ended = run(f"dead-letters {line}", machine)
        assert (ended.status, ended.out, sentence in ended.err) == (status, "", True), ended.err
    ended = run(f"dead-letters reject --yes --note x --letter {letter} m-0 --json", machine)
    assert (ended.status, json.loads(ended.out)["end"]) == (0, "decided")
    assert ids_left(machine) == ["m-1"]


# ---------------------------------------------------------------- what another reader holds


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize(
    ("line", "status", "ids"),
    [
        ("list --limit 1", 0, ["m-1"]),
        ("retry --all --yes --limit 1", 0, ["m-1"]),  # it was not to act on all
        ("retry --all --yes", 1, ["m-1", "m-2", "m-3"]),
    ],
)
def test_who_acts_on_all_has_not_acted_on_what_another_reader_holds(
    machine: Stack, run: Run, line: str, status: int, ids: list[str]
) -> None:
    some(machine, 4)
    hold(machine, machine.dead_letter_queue, 1)
    ended = run(f"dead-letters {line} --json", machine)
    answer = json.loads(ended.out)
    listed = answer["ends"] if "ends" in answer else answer["dead_letters"]
    assert [one["message_id"] for one in listed] == ids
    assert (ended.status, answer["in_flight_elsewhere"]) == (status, 1)
    assert ended.err == ANOTHER_HOLDS + (
        f"actonce: Not all could be read: {AGAIN}\n" if status else ""
    )


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("show m-1", "cannot be told: {}; look again; actonce where tells its story."),
        ("retry --all --yes --json", "Nothing could be read, and nothing was done: {}. Give the"),
    ],
)
def test_one_that_another_reader_may_hold_is_not_said_to_be_nowhere(
    machine: Stack, run: Run, line: str, sentence: str
) -> None:
    dead(machine, "m-1")
    hold(machine, machine.dead_letter_queue)
    assert run("dead-letters list", machine) == (0, "", ANOTHER_HOLDS)
    ended = run(f"dead-letters {line}", machine)
    assert ended.status == 1
    assert sentence.format("another reader holds 1 at this moment") in ended.err
    assert "There is no" not in ended.out + ended.err
