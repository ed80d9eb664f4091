"""The commands that act on many, on moto: what is shown, asked, done and told."""

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

from actonce.cli import dead_letters as dead_letters_command
from actonce.cli import many
from actonce.cli import unstarted as unstarted_command
from actonce.cli.app import app
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, Interrupted, WrongUse
from actonce.terminal.output import SafeConsole
from actonce_core.message import MessageReader
from tests.cli.test_deciding import dead, ids_left, ledger, row
from tests.cli.test_queue_peek import fill
from tests.hostile import HOSTILE_SENT

__all__ = ["ledger"]

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


def answered(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Somebody sits there and says that."""
    monkeypatch.setattr(console, "can_ask", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))


def test_from_the_list_to_the_decision_each_step_names_the_next(ledger: Stack, run: Run) -> None:
    assert run("dead-letters", "list")[2] == ""
    dead(ledger, "m-1")
    _, _, err = run("dead-letters", "list")
    assert err == "One whole, and how to decide: actonce dead-letters show ID\n"
    assert run("dead-letters", "list", "--json")[2] == ""
    _, _, err = run("dead-letters", "show", "m-1")
    assert err.splitlines() == [
        "not_performed: it did not happen; it was tried for as long as the patience lasts.",
        "Decide by actonce dead-letters retry, resolve or reject.",
    ]
    assert run("dead-letters", "show", "m-1", "--json")[2] == ""


def test_few_are_listed_and_many_are_grouped(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 5)
    for number in range(6):
        dead(ledger, f"m-{number}", number)
    status, out, _ = run("dead-letters", "list")
    first, headers, group = out.splitlines()
    assert (status, first) == (0, "6 messages wait for a decision:")
    assert headers.split() == ["Number", "Reason", "Error", "Oldest", "Newest", "For", "example"]
    assert group.split()[:3] == ["6", "not_performed", "NotPerformed"]
    assert len(run("dead-letters", "list", "--each")[1].splitlines()) == 7
    assert len(run("dead-letters", "list", "--limit", "5")[1].splitlines()) == 6
    told = json.loads(run("dead-letters", "list", "--json")[1])
    assert (len(told["dead_letters"]), told["groups"][0]["count"]) == (6, 6)


def test_no_is_no_and_yes_is_yes(ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    dead(ledger, "m-1")
    for answer in ("n\n", "\n", "", "ja\n"):
        answered(monkeypatch, answer)
        status, out, err = run("dead-letters", "reject", "--all", "--note", "x")
        assert status == 1
        assert "To reject: 1 message that waits for a decision" in out
        assert "Reject these 1? [y/N]" in err
        assert "Nothing was done." in err
        assert row(ledger, "m-1")["outcome"] == "dead_letter"
    answered(monkeypatch, "y\n")
    status, out, _ = run("dead-letters", "reject", "--all", "--note", "x")
    assert (status, out.splitlines()[-1]) == (0, "Decided: 1")
    assert row(ledger, "m-1")["outcome"] == "rejected"


def test_a_dry_run_shows_and_does_nothing(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    retry = ("dead-letters", "retry", "--all", "--dry-run")
    status, out, _ = run(*retry)
    assert (status, out.splitlines()[0]) == (
        0,
        "To retry: 1 message that waits for a decision",
    )
    told = json.loads(run(*retry, "--json")[1])
    assert (told["dry_run"], told["shown"], len(told["dead_letters"])) == (True, 1, 1)
    assert ids_left(ledger) == ["m-1"]


def test_one_that_is_not_decided_is_told_and_is_a_failure(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    dead(ledger, "m-2")
    ledger.dynamodb.delete_item(TableName="rows", Key={"message_id": {"S": "m-2"}})
    resolve = ("dead-letters", "resolve", "--all", "--note", "x", "--yes")
    told = json.loads(run(*resolve, "--json", "--limit", "1")[1])
    assert [one["end"] for one in told["decided"]] == ["decided"]
    status, out, err = run(*resolve)
    assert (status, out.splitlines()[-1]) == (1, "Not decided: 1")
    assert err.startswith("m-2: Its row is gone")
    assert "1 of 1 were not decided" in err


def test_nothing_to_decide_is_no_failure(run: Run) -> None:
    assert run("dead-letters", "retry", "--all", "--yes")[:2] == (
        0,
        "No message waits for this decision.\n",
    )
    status, out, _ = run("dead-letters", "retry", "--all", "--yes", "--json")
    assert (status, json.loads(out)["shown"]) == (0, 0)


def test_where_nothing_is_as_it_was_asked_for_it_is_not_said_that_nothing_waits(
    ledger: Stack, run: Run
) -> None:
    letters, deliveries = ("dead-letters", "list"), ("unstarted", "list")
    assert run(*letters)[:2] == (0, "No message waits for a decision.\n")
    assert run(*deliveries)[:2] == (0, "Nothing lies in UnstartedQueue.\n")
    dead(ledger, "m-1")
    fill(ledger, 1)
    other = ("--match", "nowhere")
    assert run(*letters, *other)[:2] == (0, "No message of these waits for a decision.\n")
    assert run(*deliveries, *other)[:2] == (0, "Nothing of this lies in UnstartedQueue.\n")


# --------------------------------------------------------------------------- held by another reader


def hold(stack: Stack, queue_url: str, number: int = 10) -> None:
    """As another reader does, who takes his time."""
    stack.sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=number, VisibilityTimeout=600)


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize("narrowed", [(), ("--match", "m-")])
def test_a_list_of_what_another_reader_holds_does_not_say_that_there_is_none(
    ledger: Stack, run: Run, narrowed: tuple[str, ...]
) -> None:
    dead(ledger, "m-1")
    dead(ledger, "m-2")
    fill(ledger, 2)
    for queue, command in (
        (ledger.dead_letter_queue, "dead-letters"),
        (ledger.unstarted_queue, "unstarted"),
    ):
        hold(ledger, queue)
        status, out, err = run(command, "list", *narrowed)
        assert (status, out) == (0, "")
        assert "Another reader holds 2 more at this moment; they are not among these." in err
        told = json.loads(run(command, "list", *narrowed, "--json")[1])
        assert (told[command.replace("-", "_")], told["held_elsewhere"]) == ([], 2)


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize(
    "command",
    [
        ("dead-letters", "retry"),
        ("dead-letters", "resolve", "--note", "x"),
        ("dead-letters", "reject", "--note", "x"),
        ("unstarted", "redrive"),
        ("unstarted", "discard", "--note", "x"),
    ],
)
def test_who_acts_on_all_and_sees_none_of_what_another_reader_holds_has_failed(
    ledger: Stack,
    run: Run,
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    dead(ledger, "m-1")
    fill(ledger, 1)
    hold(ledger, ledger.dead_letter_queue)
    hold(ledger, ledger.unstarted_queue)
    told = "another reader holds 1 at this moment; say the same again."
    status, out, err = run(*command, "--all", "--yes")
    assert (status, out) == (1, "")
    assert f"Nothing was seen and nothing done: {told}" in err
    status, out, err = run(*command, "--all", "--yes", "--json")
    assert (status, json.loads(out)["held_elsewhere"]) == (1, 1)
    assert told in err
    status, out, err = run(*command, "--all", "--dry-run")
    assert (status, out) == (1, "")
    assert told in err
    status, out, _ = run(*command, "--all", "--dry-run", "--json")
    assert (status, json.loads(out)["held_elsewhere"]) == (1, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_who_acts_on_some_and_not_on_what_another_reader_holds_has_not_acted_on_all(
    ledger: Stack, run: Run, as_json: tuple[str, ...]
) -> None:
    for number in range(4):
        dead(ledger, f"m-{number}", number)
    hold(ledger, ledger.dead_letter_queue, 1)
    resolve = ("dead-letters", "resolve", "--all", "--note", "x", "--yes", *as_json)
    assert run(*resolve, "--limit", "1")[0] == 0, "as many as were asked for"
    status, out, err = run(*resolve)
    assert (status, "2" in out) == (1, True)
    assert "Not all was seen: another reader holds 1 at this moment; say the same again." in err
    fill(ledger, 4)
    hold(ledger, ledger.unstarted_queue, 1)
    redrive = ("unstarted", "redrive", "--all", "--yes", *as_json)
    assert run(*redrive, "--limit", "1")[0] == 0
    assert run(*redrive, "--dry-run")[0] == 0
    status, out, err = run(*redrive)
    assert (status, "2" in out) == (1, True)
    assert "Not all was seen: another reader holds 1 at this moment; say the same again." in err


@pytest.mark.usefixtures("minute_long_looks")
def test_one_that_another_reader_may_hold_is_not_said_to_be_nowhere(
    ledger: Stack, run: Run
) -> None:
    dead(ledger, "m-1")
    hold(ledger, ledger.dead_letter_queue)
    for command in (("show",), ("retry",), ("reject", "--note", "x")):
        status, _, err = run("dead-letters", *command, "m-1")
        assert status == 1
        assert "There is no" not in err
        assert "Whether there is a dead letter of 'm-1' cannot be told" in err
        assert "another reader holds 1 at this moment; look again" in err
    (entry,) = fill(ledger, 1)
    hold(ledger, ledger.unstarted_queue)
    status, _, err = run("unstarted", "show", entry)
    assert status == 1
    assert f"Whether {entry!r} lies in UnstartedQueue cannot be told: another reader holds 1" in err
    for command in (("redrive",), ("discard", "--note", "x")):
        status, _, err = run("unstarted", *command, entry)
        assert status == 1
        assert f"Not seen in UnstartedQueue: {entry}; another reader holds 1 at this moment" in err
    told = json.loads(run("unstarted", "redrive", entry, "--json")[1])
    assert (told["missing"], told["held_elsewhere"]) == ([entry], 1)


def test_an_id_is_named_whole(ledger: Stack, run: Run) -> None:
    dead(ledger, "request-10")
    fill(ledger, 1)
    for command, where in (
        (("dead-letters", "show"), "There is no dead letter of 'request-1' in the queue"),
        (("dead-letters", "retry", "--yes"), "There is no dead letter of 'request-1' in the queue"),
        (("unstarted", "show"), "There is no 'request-1' in UnstartedQueue"),
        (("unstarted", "redrive"), "Not in UnstartedQueue: request-1"),
    ):
        status, out, err = run(*command, "request-1")
        assert (status, where in err) == (1, True), (out, err)
    assert ids_left(ledger) == ["request-10"]


def test_each_is_told_if_asked_for(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    out = run("dead-letters", "retry", "--all", "--yes", "--each")[1]
    assert out.splitlines()[-2:] == ["m-1: Decided: retry.", "Decided: 1"]


def test_hostile_texts_break_no_table(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 2)
    for number in range(3):
        name = f"sha256-{number}"
        dead(
            ledger, f"{number} {HOSTILE_SENT}"[:200], number, execution_name=name, error="x" * 3000
        )
    status, out, _ = run("dead-letters", "list")
    assert status == 0
    assert "\x1b" not in out
    assert "not_performed" in out
    assert max(len(line) for line in out.splitlines()) <= 200


def test_many_kinds_are_cut_short_and_counted(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 2)
    monkeypatch.setattr(many, "MOST_GROUPS", 3)
    for number in range(5):
        dead(ledger, f"m-{number}", number, error=f"Error{number}")
    out = run("dead-letters", "list")[1]
    assert out.splitlines()[-1] == "and 2 of 2 more kinds"


def test_what_is_discarded_is_told_with_its_file(
    ledger: Stack, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, 3)
    monkeypatch.chdir(tmp_path)
    discard = ("unstarted", "discard", "--all", "--note", "x", "--yes")
    status, out, _ = run(*discard, "--match", "body 1")
    assert out.startswith("To be discarded: 1 delivery\n")
    (file,) = tmp_path.iterdir()
    assert (status, out.splitlines()[-1]) == (0, f"Discarded: 1, kept in {file.name}")
    assert len(file.read_text().splitlines()) == 1
    assert "2 deliveries" in run("unstarted", "redrive", "--all", "--dry-run")[1]
    status, out, _ = run("unstarted", "redrive", "--all", "--yes", "--json")
    told = json.loads(out)
    assert (status, told["redriven"], told["left"]) == (0, 2, 0)
    assert run(*discard)[:2] == (0, "Nothing of this lies in UnstartedQueue.\n")
    assert len(list(tmp_path.iterdir())) == 1
    assert run("unstarted", "discard", "no-such", "--note", "x")[0] == 1


def test_a_discard_whose_file_cannot_be_made_names_no_file(
    ledger: Stack, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, 2)
    monkeypatch.chdir(tmp_path)
    nowhere = ("--to", str(tmp_path / "no-such" / "kept.jsonl"))
    status, out, err = run("unstarted", "discard", "--all", "--note", "x", "--yes", *nowhere)
    assert (status, out.splitlines()[-1]) == (1, "Discarded: 0")
    assert "No such file or directory" in err
    assert "2 deliveries" in run("unstarted", "redrive", "--all", "--dry-run")[1]


def test_ctrl_c_is_130_and_says_how_to_go_on() -> None:
    left = [7]
    with many.acting("Deciding", 10, lambda: left[0]) as (tell, early):
        tell(3)
        raise KeyboardInterrupt
    (error,) = early
    assert isinstance(error, Interrupted)
    assert error.exit_status == 130
    assert "3 of 10 were seen to, the other 7 wait as before" in str(error)


@pytest.mark.parametrize(
    "line",
    [
        "unstarted redrive --all",  # nobody can be asked
        "unstarted discard some-id --note ",
        "unstarted discard --all --note x",
        "dead-letters retry",
        "dead-letters retry --all",
        "dead-letters retry --all --json",
        "dead-letters retry --all m-1 --yes",
        "dead-letters retry --all --yes --reason refused",
        "dead-letters retry m-1 --reason rejected",
        "dead-letters retry m-1 --rate 5",
        "dead-letters retry m-1 --dry-run",
        "dead-letters perform m-1 --note ",
        "dead-letters resolve m-1 --note ",
        "dead-letters reject --all --yes --note ",
        "dead-letters list --reason refused",
        "dead-letters list --before yesterday",
    ],
)
def test_what_cannot_be_asked_for_is_wrong_use_before_anything_is_read(line: str) -> None:
    with pytest.raises(WrongUse):
        app(line.split(" "), standalone_mode=False)


def test_what_is_for_many_is_named_where_one_was_named() -> None:
    with pytest.raises(WrongUse, match=r"--rate and --dry-run go with --all only: leave them out"):
        app(["unstarted", "redrive", "some-id", "--dry-run"], standalone_mode=False)
    with pytest.raises(WrongUse, match="Name one, as list shows them, or say --all"):
        app(["dead-letters", "retry"], standalone_mode=False)


def test_what_acts_on_many_has_the_same_options_everywhere() -> None:
    group = typer.main.get_command(app)
    options = {}
    for name in ("dead-letters retry", "dead-letters perform", "unstarted redrive"):
        area, command = name.split()
        found = group.commands[area].commands[command].params  # type: ignore[attr-defined]
        options[name] = {one.name: one.opts for one in found}
    first, *others = options.values()
    own = {"message_id", "ids", "note", "error"}
    assert {"every", "before", "limit", "rate", "dry_run", "yes", "each", "json"} < first.keys()
    for other in others:
        assert {n: o for n, o in other.items() if n not in own} == {
            n: o for n, o in first.items() if n not in own
        }


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    everything: dict[str, Any] = {"before": None, "match": None, "limit": None, "every": True}
    how = many.Many.asked_for({}, **everything)
    with pytest.raises(WrongUse, match="Nobody can be asked"):
        how.check(None)
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w+b", buffering=0) as raw:
        terminal = io.TextIOWrapper(raw)
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(console, "err", SafeConsole(stderr=True))
        console.err.file = terminal
        how.check(None)
    os.close(leader)
