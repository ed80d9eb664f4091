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
from actonce.messages.filters import Narrowing
from actonce.queues.bulk_pass import QueuePass
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce.terminal.output import SafeConsole
from actonce_core.message import MessageReader
from tests.cli.test_deciding import dead, ids_left, ledger, row
from tests.cli.test_scan import fill
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


def as_json(told: tuple[int, str, str]) -> Any:
    return json.loads(told[1])


def test_few_are_listed_and_many_are_grouped(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 5)
    for number in range(6):
        dead(ledger, f"m-{number}", number)
    _, headers, group = run("dead-letters", "list")[1].splitlines()
    assert headers.split() == ["Number", "Reason", "Error", "Oldest", "Newest", "For", "example"]
    assert group.split()[:3] == ["6", "not_performed", "NotPerformed"]
    assert len(run("dead-letters", "list", "--each")[1].splitlines()) == 7
    assert len(run("dead-letters", "list", "--limit", "5")[1].splitlines()) == 6
    told = as_json(run("dead-letters", "list", "--json"))
    assert (len(told["dead_letters"]), told["groups"][0]["count"]) == (6, 6)


def test_many_kinds_are_cut_short_and_counted(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 2)
    monkeypatch.setattr(many, "MOST_GROUPS", 3)
    for number in range(5):
        dead(ledger, f"m-{number}", number, error=f"Error{number}")
    assert run("dead-letters", "list")[1].splitlines()[-1] == "and 2 of 2 more kinds"


def test_what_was_not_asked_for_is_not_said_to_be_nothing(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    fill(ledger, 1)
    for command in ("dead-letters", "unstarted"):
        status, out, _ = run(command, "list", "--match", "nowhere")
        assert (status, out.endswith(" as asked for.\n")) == (0, True)


def test_no_message_is_shown_unless_it_is_asked_for(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1", message={"body": "a secret"})
    body = '{"message_id": "m-2", "x": "a secret"}'
    ledger.sqs.send_message(QueueUrl=ledger.unstarted_queue, MessageBody=body)
    for command in ("dead-letters", "unstarted"):
        for options in ((), ("--each",), ("--json",)):
            assert "secret" not in run(command, "list", *options)[1]
    assert "a secret" in run("dead-letters", "show", "m-1")[1]
    assert "a secret" in run("unstarted", "show", "m-2")[1]


def test_no_is_no_and_yes_is_yes(ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    dead(ledger, "m-1")
    reject = ("dead-letters", "reject", "--all", "--note", "x")
    for answer in ("n\n", "\n", "", "ja\n"):
        answered(monkeypatch, answer)
        status, out, err = run(*reject)
        assert (status, "1 message " in out, "Reject these 1? [y/N]" in err) == (1, True, True)
        assert row(ledger, "m-1")["outcome"] == "dead_letter"
    answered(monkeypatch, "y\n")
    status, out, _ = run(*reject)
    assert (status, out.splitlines()[-1]) == (0, "Decided: 1")
    assert row(ledger, "m-1")["outcome"] == "rejected"


def test_a_dry_run_shows_and_does_nothing(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    retry = ("dead-letters", "retry", "--all", "--dry-run")
    assert run(*retry)[0] == 0
    told = as_json(run(*retry, "--json"))
    assert (told["dry_run"], len(told["dead_letters"])) == (True, 1)
    assert ids_left(ledger) == ["m-1"]


def test_one_that_is_not_decided_is_told_and_is_a_failure(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    dead(ledger, "m-2")
    ledger.dynamodb.delete_item(TableName="rows", Key={"message_id": {"S": "m-2"}})
    resolve = ("dead-letters", "resolve", "--all", "--note", "x", "--yes")
    told = as_json(run(*resolve, "--json", "--limit", "1"))
    assert (told["counts"], told["left"]) == ({"decided": 1}, 0)
    status, out, err = run(*resolve)
    assert (status, out.splitlines()[-1]) == (1, "Not decided: 1")
    assert err.startswith("m-2: ")


def test_each_is_told_if_asked_for(ledger: Stack, run: Run) -> None:
    dead(ledger, "m-1")
    out = run("dead-letters", "retry", "--all", "--yes", "--each")[1]
    assert out.splitlines()[-2:] == ["m-1: Decided: retry.", "Decided: 1"]


def test_nothing_to_act_on_is_no_failure_and_makes_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (("dead-letters", "retry"), ("unstarted", "discard", "--note", "x")):
        assert run(*command, "--all", "--yes")[0] == 0
        told = run(*command, "--all", "--yes", "--json")
        assert (told[0], as_json(told)["counts"]) == (0, {})
    assert list(tmp_path.iterdir()) == []


def test_what_is_discarded_is_told_with_its_file(
    ledger: Stack, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, 3)
    monkeypatch.chdir(tmp_path)
    discard = ("unstarted", "discard", "--all", "--note", "x", "--yes")
    status, out, err = run(*discard, "--match", "body 1")
    (file,) = tmp_path.iterdir()
    assert (status, out.splitlines()[-1], f" {file.name}," in err) == (0, "Discarded: 1", True)
    assert len(file.read_text().splitlines()) == 1
    nowhere = ("--to", str(tmp_path / "no-such" / "kept.jsonl"))
    status, out, err = run(*discard, *nowhere, "--json")
    assert (status, json.loads(out)["counts"], json.loads(out)["file"]) == (1, {}, None)
    assert "No such file or directory" in err
    told = run("unstarted", "redrive", "--all", "--yes", "--json")
    assert (told[0], as_json(told)["counts"], as_json(told)["left"]) == (0, {"sent_back": 2}, 0)
    assert run("unstarted", "discard", "no-such", "--note", "x")[0] == 1
    assert list(tmp_path.iterdir()) == [file]


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


def test_hostile_texts_break_no_table(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "GROUPED_FROM", 2)
    for number in range(3):
        name = f"sha256-{number}"
        dead(
            ledger, f"{number} {HOSTILE_SENT}"[:200], number, execution_name=name, error="x" * 3000
        )
    for options in ((), ("--each",)):
        status, out, _ = run("dead-letters", "list", *options)
        assert (status, "not_performed" in out, "\x1b" in out) == (0, True, False)


# --------------------------------------------------------------------------- held by another reader


def hold(stack: Stack, queue_url: str, number: int = 10) -> None:
    """As another reader does, who takes his time."""
    stack.sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=number, VisibilityTimeout=600)


@pytest.mark.usefixtures("minute_long_looks")
def test_a_list_of_what_another_reader_holds_does_not_say_that_there_is_none(
    ledger: Stack, run: Run
) -> None:
    dead(ledger, "m-1")
    fill(ledger, 1)
    hold(ledger, ledger.dead_letter_queue)
    hold(ledger, ledger.unstarted_queue)
    for command in ("dead-letters", "unstarted"):
        status, out, err = run(command, "list")
        assert (status, out) == (0, "")
        assert "Another reader holds 1 more" in err
        told = as_json(run(command, "list", "--json"))
        assert (told[command.replace("-", "_")], told["held_elsewhere"]) == ([], 1)


@pytest.mark.usefixtures("minute_long_looks")
@pytest.mark.parametrize("seen", [0, 3])
@pytest.mark.parametrize(
    "command",
    [
        ("dead-letters", "retry"),
        ("dead-letters", "resolve", "--note", "x"),
        ("unstarted", "redrive"),
        ("unstarted", "discard", "--note", "x"),
    ],
    ids=" ".join,
)
def test_who_acts_on_all_and_does_not_see_what_another_reader_holds_has_failed(
    ledger: Stack,
    run: Run,
    command: tuple[str, ...],
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
    act = (*command, "--all", "--yes")
    if seen:
        assert run(*act, "--limit", "1")[0] == 0, "as many as were asked for"
    for options in (("--dry-run",), ("--dry-run", "--json"), ("--json",)):
        status, out, err = run(*act, *options)
        assert (status, "another reader holds 1 " in err) == (1, True)
        assert "--json" not in options or json.loads(out)["held_elsewhere"] == 1
    assert as_json(run(*act, "--json"))["left"] == 0


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
        ("unstarted", "discard", entry, "--note", "x"),
    ):
        status, _, err = run(*command)
        assert (status, "another reader holds 1 " in err, "There is no" in err) == (1, True, False)
    told = as_json(run("unstarted", "redrive", entry, "--json"))
    assert (told["missing"], told["held_elsewhere"]) == ([entry], 1)


def test_what_is_not_there_is_named_and_the_others_are_redriven(ledger: Stack, run: Run) -> None:
    first, second, _ = sorted(fill(ledger, 3))
    told = run("unstarted", "redrive", first, "no-such-id", second, "--json")
    assert (told[0], "no-such-id" in told[2]) == (1, True)
    assert (as_json(told)["counts"], as_json(told)["missing"]) == ({"sent_back": 2}, ["no-such-id"])


# --------------------------------------------------------------------------- how it is asked for


def test_ctrl_c_is_130_and_tells_what_was_done(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(QueuePass, "run", interrupted)
    status, out, err = run("dead-letters", "retry", "--all", "--yes", "--json")
    assert (status, json.loads(out)["left"]) == (130, 3)
    assert "0 of 3 were seen to, the other 3 wait as before" in err


def test_a_discard_that_deleted_nothing_has_failed(ledger: Stack, run: Run, tmp_path: Path) -> None:
    fill(ledger, 2)

    def refused(parsed: dict[str, Any], **_: Any) -> None:
        parsed["Failed"] = [{"Id": one["Id"]} for one in parsed.pop("Successful")]

    ledger.sqs.meta.events.register("after-call.sqs.DeleteMessageBatch", refused)
    file = str(tmp_path / "kept.jsonl")
    told = run("unstarted", "discard", "--all", "--yes", "--to", file, "--note", "x")
    assert (told[0], "in the queue still" in told[2]) == (1, True)


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    how = many.Many(Narrowing({}), every=True)
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
