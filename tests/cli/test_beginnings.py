"""Ids by their beginnings: only where they are unique, and never in place of a whole one."""

import dataclasses
import json
import sys
from collections.abc import Callable

import pytest

from actonce.cli import where as where_command
from actonce.messages import dead_letters
from actonce.messages.dead_letters import NotThere, decide
from actonce.messages.id_prefixes import only_one
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.execution import execution_name
from tests.cli.received import received
from tests.cli.test_deciding import TABLE, dead, ledger, post, put_row, row
from tests.cli.test_many_commands import Run, answered, run
from tests.cli.test_recent import started
from tests.cli.test_status import forbid

__all__ = ["ledger", "run"]

Where = Callable[[Stack, str], tuple[str, str]]


def test_a_beginning_is_of_one_or_told() -> None:
    names = {"m-100": "m-100", "m-1000": "m-1000", "x-200": "x-200", "sha256-1": "x-200"}
    assert only_one("x-20", names) == "x-200"
    assert only_one("sha2", names) == "x-200"
    assert only_one("y-20", names) is None
    assert only_one("x-2", names) is None, "three characters are a slip"
    with pytest.raises(WrongUse, match="'m-10' is the beginning of 2 ids: m-100, m-1000"):
        only_one("m-10", names)
    assert only_one("same", {"same-a": "1", "same-b": "1"}) == "1"


def test_many_of_a_beginning_are_not_all_told_and_none_in_full_length() -> None:
    names = {f"{'long' * 100}{number:02}": str(number) for number in range(12)}
    with pytest.raises(WrongUse) as raised:
        only_one("long", names)
    assert "12 ids" in str(raised.value)
    assert "and 2 more" in str(raised.value)
    assert len(str(raised.value)) < 1000


# --------------------------------------------------------------------------- dead letters


def letters_left(stack: Stack) -> list[str]:
    found = received(stack, stack.dead_letter_queue)
    return sorted(json.loads(message["Body"])["message_id"] for message in found)


def test_a_dead_letter_is_shown_by_the_beginning_of_its_id(moto_stack: Stack) -> None:
    stack = started(moto_stack)
    post(stack, "request-1")
    post(stack, "ü-4711", execution_name=execution_name("ü-4711"))

    def found(beginning: str) -> str | None:
        with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
            letters = dead_letters.waiting(queue)
        letter = dead_letters.by_beginning(stack, letters, beginning)
        return letter.message_id if letter else None

    assert found("requ") == "request-1"
    assert found("ü-47") == "ü-4711"
    assert found(execution_name("ü-4711")[:12]) == "ü-4711"
    assert found("none") is None


def test_an_id_that_a_message_has_is_not_the_beginning_of_another(moto_stack: Stack) -> None:
    stack = started(moto_stack, "request-1")
    post(stack, "request-10")
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = dead_letters.waiting(queue)
    assert dead_letters.by_beginning(stack, letters, "request-1") is None
    assert dead_letters.by_beginning(stack, letters, "request-") is not None


def test_a_decision_by_a_beginning_is_made_when_that_is_meant(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(ledger, "request-1")
    reject = ("dead-letters", "reject", "requ", "--note", "x")
    status, _, err = run(*reject)
    assert status == 2
    assert "'requ' is only the beginning of 'request-1': name it whole" in err
    answered(monkeypatch, "n\n")
    status, _, err = run(*reject)
    assert (status, "requ is the beginning of request-1. Is that meant? [y/N]" in err) == (1, True)
    assert row(ledger, "request-1")["outcome"] == "dead_letter"
    answered(monkeypatch, "y\n")
    assert run(*reject)[:2] == (0, "Decided: reject.\n")
    assert row(ledger, "request-1")["outcome"] == "rejected"


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_a_script_names_ids_whole(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    dead(ledger, "request-1")
    refuse(ledger, "request-1")
    answered(monkeypatch, "y\n")
    for command in (("dead-letters", "retry"), ("unstarted", "redrive")):
        status, _, err = run(*command, "requ", option)
        assert (status, "name it whole" in err) == (2, True)
    assert letters_left(ledger) == ["request-1"]


def test_of_two_none_is_decided(ledger: Stack, run: Run) -> None:
    dead(ledger, "request-1")
    dead(ledger, "request-2")
    status, _, err = run("dead-letters", "retry", "request")
    assert status == 2
    assert "'request' is the beginning of 2 ids: request-1, request-2." in err
    assert letters_left(ledger) == ["request-1", "request-2"]


def test_a_message_that_waits_no_more_is_not_the_beginning_of_one_that_does(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch, "y\n")
    put_row(ledger, "request-1", "COMPLETE", "performed")
    dead(ledger, "request-10")
    refuse(ledger, "request-11")
    status, _, err = run("dead-letters", "reject", "request-1", "--note", "x")
    assert (status, "There is no dead letter of 'request-1'" in err) == (1, True)
    assert letters_left(ledger) == ["request-10"]
    status, _, err = run("unstarted", "redrive", "request-1")
    assert (status, "Not in UnstartedQueue: request-1" in err) == (1, True)


def test_a_message_of_which_nothing_is_there_is_told_apart(moto_stack: Stack) -> None:
    with pytest.raises(NotThere):
        decide(started(moto_stack), "m-1", "resolve")


@pytest.mark.usefixtures("minute_long_looks")
def test_where_another_reader_holds_letters_one_is_not_said_not_to_be_there(
    moto_stack: Stack,
) -> None:
    stack = started(moto_stack)
    post(stack, "m-2")
    stack.sqs.receive_message(QueueUrl=stack.dead_letter_queue, VisibilityTimeout=600)
    with pytest.raises(NotThere, match="cannot be told, and it has no execution: another reader"):
        decide(stack, "m-1", "resolve")


# --------------------------------------------------------------------------- unstarted


def refuse(stack: Stack, message_id: str) -> str:
    body = json.dumps({"message_id": message_id})
    sent = stack.sqs.send_message(QueueUrl=stack.unstarted_queue, MessageBody=body)
    return sent["MessageId"]


def test_what_could_not_be_started_is_named_by_a_beginning(ledger: Stack, run: Run) -> None:
    refuse(ledger, "request-1")
    sqs_id = refuse(ledger, "order-2")
    refuse(ledger, "order-2")

    def shown(name: str) -> list[str]:
        status, out, err = run("unstarted", "show", name, "--json")
        assert status == 0, err
        return [one["message_id"] for one in json.loads(out)["unstarted"]]

    assert shown("requ") == ["request-1"]
    assert shown("orde") == ["order-2", "order-2"], "one message, delivered twice"
    assert shown(sqs_id[:13]) == ["order-2"]
    status, _, err = run("unstarted", "show", "none-such")
    assert (status, "There is no 'none-such' in UnstartedQueue; actonce unstarted list" in err) == (
        1,
        True,
    )
    assert shown(f"sqs:{sqs_id}") == ["order-2"], "as the audit's page and its lists call it"


def test_it_is_redriven_by_a_beginning_when_that_is_meant(
    ledger: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(ledger, "request-1")
    redrive = ("unstarted", "redrive", "requ")
    assert run(*redrive)[0] == 2
    answered(monkeypatch, "n\n")
    assert run(*redrive)[0] == 1
    assert not received(ledger, ledger.requests_queue)
    answered(monkeypatch, "y\n")
    assert run(*redrive)[:2] == (0, "Sent back: 1\n")
    assert len(received(ledger, ledger.requests_queue)) == 1
    assert "Not in UnstartedQueue: requ" in run(*redrive, "--yes")[2]


def test_a_name_that_list_tells_names_it_here_too(ledger: Stack, run: Run) -> None:
    refuse(ledger, "two words")
    status, out, _ = run("unstarted", "show", execution_name("two words"), "--json")
    assert (status, json.loads(out)["unstarted"][0]["message_id"]) == (0, "two words")


# --------------------------------------------------------------------------- where


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Where:
    """Runs `where` on a stack that has whatever a story is read from; what it prints and says."""

    def run_it(stack: Stack, message_id: str) -> tuple[str, str]:
        monkeypatch.setattr(where_command, "find_stack", lambda *_, **__: stack)
        monkeypatch.setattr(console, "out", console.SafeConsole())
        monkeypatch.setattr(console, "err", console.SafeConsole(stderr=True))
        try:
            where_command.where(message_id)
        except Failed as error:
            print(error, file=sys.stderr)
        told = capsys.readouterr()
        return told.out, told.err

    return run_it


def with_story(stack: Stack) -> Stack:
    """The stack with a table, a log and parameters to read."""
    outputs = {"FingerprintsTableName": TABLE, "StarterLogGroupName": "starter"}
    stack.logs.create_log_group(logGroupName="starter")
    template = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    stack.aws.client("cloudformation").create_stack(
        StackName="actonce", TemplateBody=json.dumps(template)
    )
    return dataclasses.replace(stack, outputs=stack.outputs | outputs)


def without_ledger(stack: Stack) -> Stack:
    outputs = {name: one for name, one in stack.outputs.items() if name != "LedgerTableName"}
    return dataclasses.replace(stack, outputs=outputs)


def test_where_takes_a_beginning_and_says_of_which(ledger: Stack, where: Where) -> None:
    stack = with_story(started(without_ledger(ledger), "request-1", "order-1", "order-2", "order"))

    out, err = where(stack, "requ")
    assert "Its execution is RUNNING" in out
    assert err == "requ is the beginning of request-1\n"

    out, err = where(stack, "order")
    assert ("Its execution is RUNNING" in out, err) == (True, ""), "it is one itself"

    out, err = where(stack, "orde")
    assert out == ""
    assert "'orde' is the beginning of 3 ids: order, order-1, order-2." in err

    none = "No execution has this name, and of the newest 1,000 none begins so."
    assert none in where(stack, "nothing")[1]
    assert where(stack, "req")[1].startswith("No part of the stack has seen a message 'req'")

    forbid(stack, "stepfunctions", "ListExecutions")
    assert where(stack, "requ")[1].startswith("No part of the stack has seen a message 'requ'")


def test_where_says_that_a_table_is_not_searched(ledger: Stack, where: Where) -> None:
    put_row(ledger, "request-1", "COMPLETE", "performed")
    out, err = where(with_story(ledger), "requ")
    assert out == ""
    assert "Behind a ledger or a lease a message is found by its whole id only" in err


@pytest.mark.usefixtures("minute_long_looks")
def test_where_does_not_say_that_what_another_reader_holds_lies_nowhere(
    ledger: Stack, where: Where
) -> None:
    stack = with_story(started(without_ledger(ledger)))
    refuse(stack, "request-1")
    stack.dynamodb.put_item(
        TableName=TABLE,
        Item={
            "message_id": {"S": "request-1"},
            "fingerprint": {"S": "f" * 64},
            "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        },
    )
    stack.sqs.receive_message(QueueUrl=stack.unstarted_queue, VisibilityTimeout=600)
    cannot = "whether it lies in UnstartedQueue cannot be told: another reader holds 1"
    assert f"No execution is known; {cannot} at this moment" in where(stack, "request-1")[0]
    _, err = where(stack, "request-2")
    assert "No part of the stack that could be read has seen a message 'request-2'." in err
    assert f"{cannot[0].upper()}{cannot[1:]} at this moment; look again." in err
