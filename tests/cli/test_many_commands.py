"""The commands of dead letters and unstarted deliveries, on moto: what is shown and told."""

import io
import json
import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from botocore.exceptions import ReadTimeoutError

from actonce.cli import dead_letters as dead_letters_command
from actonce.cli import many
from actonce.cli import unstarted as unstarted_command
from actonce.cli.app import app
from actonce.cli.choosing import Many
from actonce.messages.filters import Narrowing
from actonce.operate.bulk import Bulk
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce.terminal.output import SafeConsole
from actonce_core.message import MessageReader
from tests.cli.conftest import Actonce
from tests.support.queues import dead, fill, hand_on, hold, ids_left, row
from tests.support.stacks import TABLE, fail, forbid, with_executions

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(ledger: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process; its exit status, output and errors."""
    for command in (dead_letters_command, unstarted_command):
        monkeypatch.setattr(command, "find_stack", lambda *_, **__: ledger)
    monkeypatch.setattr(unstarted_command, "message_reader", lambda _: MessageReader())

    def run_it(*arguments: str) -> tuple[int, str, str]:
        status = 0
        monkeypatch.setattr(console, "out", SafeConsole())
        monkeypatch.setattr(console, "err", SafeConsole(stderr=True))
        capsys.readouterr()
        try:
            app(list(arguments), standalone_mode=False)
        except Failed as error:
            status = error.exit_status
            print(f"actonce: {error}", file=sys.stderr)
        except typer.Exit as error:
            status = error.exit_code
        told = capsys.readouterr()
        return status, told.out, told.err

    return run_it


# ------------------------------------------------------------------ shown


def test_few_are_listed_many_are_grouped_and_many_groups_are_counted(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 5)
    monkeypatch.setattr(many, "MOST_GROUPS", 1)
    for number in range(6):
        dead(ledger, f"m-{number}", number)
    _, headers, group = run("dead-letters", "list")[1].splitlines()
    assert headers.split() == ["Number", "Reason", "Error", "Oldest", "Newest", "For", "example"]
    assert group.split()[:3] == ["6", "not_performed", "NotPerformed"]
    assert len(run("dead-letters", "list", "--each")[1].splitlines()) == 7
    assert len(run("dead-letters", "list", "--limit", "5")[1].splitlines()) == 6
    told = json.loads(run("dead-letters", "list", "--json")[1])
    assert (len(told["dead_letters"]), told["groups"][0]["count"]) == (6, 6)
    for number in range(2):
        dead(ledger, f"n-{number}", number, error=f"Error{number}")
    assert run("dead-letters", "list")[1].splitlines()[-1] == "and 2 more, of 2 other kinds"


def test_no_message_is_shown_unless_it_is_asked_for(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1", message={"body": "a secret"})
    hand_on(ledger, '{"message_id": "m-2", "x": "a secret"}')
    for command, message_id in (("dead-letters", "m-1"), ("unstarted", "m-2")):
        for options in ((), ("--each",), ("--json",)):
            assert "secret" not in run(command, "list", *options)[1]
        status, out, _ = run(command, "list", "--match", "nowhere")
        assert (status, out.endswith(" that matches.\n")) == (0, True)
        assert "a secret" in run(command, "show", message_id)[1]
        assert "a secret" in run(command, "show", message_id, "--json")[1]


def test_of_a_conflict_what_differs_from_what_was_started_is_marked(
    moto_stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = with_executions(moto_stack)
    first = {"message_id": "m-1", "body": '{"message_id": "m-1", "day": "one"}'}
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name="m-1", input=json.dumps(first)
    )
    monkeypatch.setattr(unstarted_command, "find_stack", lambda *_, **__: stack)
    other = '{"day": "other", "message_id": "m-1"}'
    hand_on(stack, other)
    hand_on(stack, other.replace("m-1", "m-2"))  # the first of it was not started

    def started(message_id: str) -> Any:
        (told,) = json.loads(run("unstarted", "show", message_id, "--json")[1])["unstarted"]
        return told["started"]

    assert (started("m-1"), started("m-2")) == (first, None)
    shown = run("unstarted", "show", "m-1")[1].partition(other)[2].splitlines()[2:]
    assert shown == [
        "  {",
        '-   "day": "one"',
        '+   "day": "other"',
        '    "message_id": "m-1"',
        "  }",
    ]
    forbid(stack, "stepfunctions", "DescribeExecution")
    assert started("m-1") is None, "who may not look is shown the rest"
    assert "AccessDenied" in run("unstarted", "show", "m-1")[2]


# ------------------------------------------------------------------ asked, and told


def test_no_is_no_and_yes_is_yes(ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    dead(ledger, "m-1")
    monkeypatch.setattr(console, "can_ask", lambda: True)

    def reject(answer: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        return run("dead-letters", "reject", "--all", "--note", "x")

    for answer in ("n\n", "\n", "", "ja\n"):
        status, out, err = reject(answer)
        assert (status, "1 dead letter" in out, "Reject these 1? [y/N]" in err) == (1, True, True)
        assert row(ledger, "m-1")["outcome"] == "dead_letter"
    status, out, _ = reject("y\n")
    assert (status, out.splitlines()[-1]) == (0, "Decided: 1")
    assert row(ledger, "m-1")["outcome"] == "rejected"


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    how = Many(Narrowing({}), every=True)
    with pytest.raises(WrongUse, match="no terminal to ask at"):
        how.check(None)
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w+b", buffering=0) as raw:
        terminal = io.TextIOWrapper(raw)
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(console, "err", SafeConsole(stderr=True))
        console.err.file = terminal
        how.check(None)
    os.close(leader)


@pytest.mark.parametrize(
    "words",
    [
        ("dead-letters", "retry"),
        ("dead-letters", "retry", "m-1", "--all", "--yes"),
        ("dead-letters", "retry", "m-1", "--limit", "1"),
        ("dead-letters", "list", "--reason", "conflict"),
        # As of a shell's variable that is not set: everything would be meant.
        ("unstarted", "discard", "--all", "--yes", "--note", "x", "--before", ""),
        ("unstarted", "redrive", "--all", "--yes", "--match", ""),
        ("dead-letters", "retry", "--all", "--yes", "--reason", ""),
        ("dead-letters", "reject", "m-1", "--note", " "),
        ("unstarted", "discard", "e-1", "--note", " "),
        ("unstarted", "discard", "e-1", "--note", "x", "--to", os.devnull),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_wrong_use(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words)[0] == 2


def test_a_dry_run_shows_and_does_nothing(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    retry = ("dead-letters", "retry", "--all", "--dry-run")
    assert run(*retry)[0] == 0
    told = json.loads(run(*retry, "--json")[1])
    assert (told["dry_run"], len(told["dead_letters"])) == (True, 1)
    assert ids_left(ledger) == ["m-1"]


def test_what_became_of_each_is_told_and_one_that_is_not_decided_is_a_failure(
    ledger: Stack, run: Run
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}")
    ledger.dynamodb.delete_item(TableName=TABLE, Key={"message_id": {"S": "m-2"}})
    resolve = ("dead-letters", "resolve", "--all", "--note", "x", "--yes")
    told = json.loads(run(*resolve, "--json", "--limit", "1")[1])
    assert (told["counts"], told["left"]) == ({"decided": 1}, 0)
    status, out, err = run(*resolve, "--each")
    assert (status, out.splitlines()[-3:]) == (
        1,
        ["m-1: Decided: resolve.", "Decided: 1", "Not decided: 1"],
    )
    assert err.startswith("m-2: ")


def test_nothing_to_act_on_is_no_failure_and_makes_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (("dead-letters", "retry"), ("unstarted", "discard", "--note", "x")):
        assert run(*command, "--all", "--yes")[0] == 0
        status, out, _ = run(*command, "--all", "--yes", "--json")
        assert (status, json.loads(out)["counts"]) == (0, {})
    assert list(tmp_path.iterdir()) == []


def test_what_is_discarded_is_told_with_its_file(
    ledger: Stack, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, 3)
    monkeypatch.chdir(tmp_path)
    discard = ("unstarted", "discard", "--all", "--note", "x", "--yes")
    status, out, err = run(*discard, "--match", "body 1")
    (file,) = tmp_path.iterdir()
    assert (status, out.splitlines()[-1], f"{file.name} has" in err) == (0, "Discarded: 1", True)
    assert len(file.read_text().splitlines()) == 1
    nowhere = ("--to", str(tmp_path / "no-such" / "kept.jsonl"))
    status, out, err = run(*discard, *nowhere, "--json")
    assert (status, json.loads(out)["counts"], json.loads(out)["file"]) == (1, {}, None)
    status, out, _ = run("unstarted", "redrive", "--all", "--yes", "--json")
    told = json.loads(out)
    assert (status, told["counts"], told["left"]) == (0, {"sent_back": 2}, 0)
    assert list(tmp_path.iterdir()) == [file]


def test_an_id_is_named_whole_and_the_others_are_seen_to(ledger: Stack, run: Run) -> None:
    dead(ledger, "request-10")
    first, second, _ = sorted(fill(ledger, 3))
    for command in (("dead-letters", "show"), ("dead-letters", "retry"), ("unstarted", "show")):
        status, _, err = run(*command, "request-1")
        assert (status, "request-1'" in err) == (1, True)
    status, out, err = run("unstarted", "redrive", first, "request-1", second, "--json")
    assert (status, "Not found in UnstartedQueue: request-1" in err) == (1, True)
    told = json.loads(out)
    assert (told["counts"], told["missing"]) == ({"sent_back": 2}, ["request-1"])
    assert ids_left(ledger) == ["request-10"]


def test_ctrl_c_is_130_and_tells_what_was_done(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bulk, "run", interrupted)
    status, out, err = run("dead-letters", "retry", "--all", "--yes", "--json")
    assert (status, json.loads(out)["left"]) == (130, 3)
    assert "0 of 3 are done, the other 3 are as before" in err


def test_what_ends_it_early_leaves_some_decided_some_unknown_and_some_as_they_were(
    ledger: Stack, actonce: Actonce, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "READERS", 1)
    for number in range(4):
        dead(ledger, f"m-{number}", number)
    fail(ledger, "dynamodb", "UpdateItem", ReadTimeoutError(endpoint_url="here"), after=2)
    act = ("dead-letters", "reject", "--all", "--yes", "--note", "x")
    ended = actonce(*act, stack=ledger)
    assert (ended.status, "Read timeout" in ended.err.splitlines()[-1]) == (1, True)
    assert ended.out.splitlines()[-3:] == ["Decided: 2", "Unknown: 1", "Left as it was: 1"]


def test_one_whose_end_is_not_known_is_not_said_to_be_undone(
    ledger: Stack, actonce: Actonce
) -> None:
    dead(ledger, "m-1")
    fail(ledger, "dynamodb", "UpdateItem", ReadTimeoutError(endpoint_url="here"))
    ended = actonce("dead-letters", "reject", "m-1", "--note", "x", "--yes", stack=ledger)
    assert (ended.status, "not known" in ended.err) == (1, True)
    assert "Nothing was decided" not in ended.err


# ------------------------------------------------------------------ held by another reader


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize("seen", [0, 3])
@pytest.mark.parametrize(
    ("command", "verb"),
    [
        ("dead-letters", ("retry",)),
        ("unstarted", ("redrive",)),
        ("unstarted", ("discard", "--note", "x")),
    ],
)
def test_what_another_reader_holds_is_told_and_who_acts_on_all_has_not_acted_on_it(
    ledger: Stack,
    run: Run,
    command: str,
    verb: tuple[str, ...],
    seen: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(seen + 1):
        dead(ledger, f"m-{number}", number)
    fill(ledger, seen + 1)
    hold(ledger, ledger.dead_letter_queue, 1)
    hold(ledger, ledger.unstarted_queue, 1)
    status, out, err = run(command, "list")
    assert (status, bool(out), "Another reader holds 1 more" in err) == (0, bool(seen), True)
    act = (command, *verb, "--all", "--yes")
    if seen:
        assert run(*act, "--limit", "1")[0] == 0, "as many as were asked for"
    for options in (("--dry-run", "--json"), ("--json",)):
        status, out, err = run(*act, *options)
        assert (status, "another reader holds 1 " in err) == (1, True)
        assert json.loads(out)["held_elsewhere"] == 1


@pytest.mark.usefixtures("minute_long_looks")
def test_one_that_another_reader_may_hold_is_not_said_to_be_nowhere(
    ledger: Stack, run: Run
) -> None:
    dead(ledger, "m-1")
    (entry,) = fill(ledger, 1)
    hold(ledger, ledger.dead_letter_queue)
    hold(ledger, ledger.unstarted_queue)
    for command in (
        ("dead-letters", "show", "m-1"),
        ("dead-letters", "retry", "m-1"),
        ("unstarted", "show", entry),
        ("unstarted", "redrive", entry),
    ):
        status, _, err = run(*command)
        assert (status, "another reader holds 1 " in err, "There is no" in err) == (1, True, False)
