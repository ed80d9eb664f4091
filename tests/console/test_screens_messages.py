"""The page of one message, of one delivery that was not started, and the list of messages."""

import json
from typing import Any

import pytest

from actonce.console.views import messages as message_views
from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from actonce_core.records import timestamp
from tests.console.client import Answer, Client
from tests.console.conftest import Open, Screen
from tests.console.stacks import log_conflict, own_effect, rejected, unstart
from tests.support.queues import post
from tests.support.stacks import NOW, TABLE, forbid, with_executions, with_outputs
from tests.support.waiting import dead, ended

pytestmark = pytest.mark.usefixtures("one_reader")

FIRST = '{"message_id": "m-1", "patient": "<b>Zoë</b>", "practice": "main"}'
THEN = FIRST.replace("main", "harbour")
NO = "AWS: An error occurred (AccessDenied) when calling the {} operation: no"
NOWHERE = "No part of the stack has seen a message 'm-1'."


def denied(client: Client, service: str, operation: str = "*") -> None:
    """To the console alone."""
    forbid(client.context.stack, service, operation)


def start(stack: Stack, message_id: str, body: str = "a body") -> None:
    """Have an execution begin, which waits."""
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine,
        name=message_id,
        input=json.dumps({"message_id": message_id, "body": body}),
    )


def first_seen(stack: Stack, message_id: str, **more: str) -> None:
    """The row that a starter writes."""
    row = {"fingerprint": "f", "first_seen": timestamp(NOW), "memory": stack.state_machine}
    item: Any = {n: {"S": v} for n, v in (row | more | {"message_id": message_id}).items()}
    stack.dynamodb.put_item(TableName=TABLE, Item=item)


def timeline(page: Answer) -> list[str]:
    """Where and what, of each of its moments."""
    rows = (one.split(" | ") for one in page.words if one.startswith("| "))
    return [f"{cells[1]}: {cells[2]}" for cells in rows if " UTC" in cells[0] and len(cells) > 3]


# ---------------------------------------------------------------- a conflict


def test_a_conflict_is_shown_beside_what_was_first(
    machine: Stack, console: Open, screen: Screen
) -> None:
    entry = unstart(machine, THEN, "conflict")
    other = unstart(machine, THEN.replace("m-1", "m-2"), "conflict")
    start(machine, "m-1", FIRST)
    client = console(machine)
    screen("message_conflict", client, "/message?id=m-1")
    compared = client.open(f"/unstarted/entry?entry={entry}")
    assert [one for one in compared.words if "[" in one] == [
        '| [del: "practice": "main"] | [ins: "practice": "harbour"]'
    ]
    assert compared.actions == ["discard", "send-back"]
    assert [one.partition(" --")[0] for one in compared.commands] == [
        f"actonce unstarted discard {entry}",
        f"actonce unstarted send-back {entry}",
    ]
    none = "Step Functions has no execution of what came first to compare it with."
    assert none in client.open(f"/unstarted/entry?entry={other}").words


def test_a_conflict_that_the_log_tells_of_is_not_said_to_be_gone(
    machine: Stack, console: Open
) -> None:
    start(machine, "m-1")
    log_conflict(machine, "m-1")
    client = console(machine)
    for path in ("/message/log?id=m-1", "/message/now?id=m-1"):
        page = client.open(path)
        (sentence,) = (one for one in page.words if "UnstartedQueue had nothing of it at" in one)
        assert sentence.startswith("1 delivery with this id brought other content and was refused.")
        assert "Look again in UnstartedQueue" in page.words
        assert timeline(page)[-1] == "StarterFunction: refused"
    entry = unstart(machine, '{"message_id": "m-1"}', "conflict")
    client.read_queues()
    page = client.open("/message/now?id=m-1")
    assert f"/unstarted/entry?entry={entry}" in page.links
    assert timeline(page)[-2:] == ["StarterFunction: refused", "UnstartedQueue: waits"]


# ---------------------------------------------------------------- not seen, or not read


def test_a_message_that_is_refused_or_left_a_row_while_its_page_is_open_is_told(
    machine: Stack, console: Open
) -> None:
    client = console(machine)
    shown = client.open("/message/now?id=m-1")
    assert (shown.words[0], NOWHERE in shown.words) == ("not seen yet", True)
    unstart(machine, '{"message_id": "m-1"}', "received_too_often", source_message_id="m-1")
    first_seen(machine, "m-2")
    client.expire()
    for _ in range(2):
        shown = client.open("/message/now?id=m-1")
        assert shown.words[0] == "not started"
        assert shown.words[1].startswith("It was not started (received_too_often): SQS gave it up:")
        assert timeline(shown) == ["UnstartedQueue: waits"]
        assert "/message?id=m-1" in shown.links  # it looks no more by itself
    row = client.open("/message/now?id=m-2")
    assert row.words[0] == "not known"
    assert "UnstartedQueue had nothing of it at" in row.words[1]
    assert row.words[2].startswith("Find out by its effect whether it happened, before you send")
    assert timeline(row) == ["Fingerprints: first seen"]


def test_what_was_not_looked_at_is_not_said_to_hold_nothing(
    machine: Stack, console: Open, screen: Screen
) -> None:
    screen("message_unseen", console(machine), "/message?id=m-1")
    client = console(machine, reads=False)
    denied(client, "sqs", "GetQueueAttributes")
    client.read_queues()
    words = client.open("/message/now?id=m-1").words
    no = NO.format("GetQueueAttributes")
    assert words[:4] == [
        "not seen yet",
        NOWHERE,
        f"It may wait in RequestsQueue, which could not be read: {no}",
        f"UnstartedQueue has not been read yet. The last attempt to read it failed: {no}",
    ]


def test_one_denied_read_does_not_end_the_page_of_a_message(machine: Stack, console: Open) -> None:
    start(machine, "m-1")
    first_seen(machine, "m-1")
    client = console(machine)
    denied(client, "stepfunctions", "DescribeExecution")
    denied(client, "logs")
    execution = f"Its execution could not be read: {NO.format('DescribeExecution')}"
    log = f"Its deliveries could not be read: {NO.format('*')}"
    for path, problems in (
        ("/message?id=m-1", [execution]),
        ("/message/now?id=m-1", [execution]),
        ("/message/log?id=m-1", [execution, log]),
    ):
        page = client.open(path)
        assert (page.status, page.problems) == (200, problems)
        assert any(one.startswith("Its records have expired, or could") for one in page.words)
        assert timeline(page) == ["Fingerprints: first seen"]


# ---------------------------------------------------------------- its effect, body and id


@pytest.mark.parametrize(
    ("reason", "actions", "twice"),
    [
        # A retry of what may have happened looks first.
        ("outcome_unknown", ["resolve", "retry", "perform", "reject"], "perform"),
        ("rejected", ["resolve", "retry", "reject"], "retry"),
    ],
)
def test_where_the_effect_is_seen_to_resolve_is_advised_and_offered_first(
    machine: Stack, console: Open, reason: str, actions: list[str], twice: str
) -> None:
    dead(machine, "m-1", reason=reason)
    page = console(machine, effect_store=own_effect(machine, "m-1")).open("/message?id=m-1")
    assert page.actions == actions
    assert any(one.startswith("Resolve it: the table cards has its effect (") for one in page.words)
    (offered,) = (one for one in page.words if " advised " in one)
    assert offered.startswith("( ) resolve: ")
    there = "Its effect is there already: this would make it happen twice."
    assert [one.split()[2] for one in page.words if one.endswith(there)] == [f"{twice}:"]
    assert timeline(page) == ["the table cards: acted on"]


def test_a_page_offers_no_decision_by_a_letter_that_is_not_the_one_that_waits(
    machine: Stack, console: Open
) -> None:
    dead(machine, "m-1", 1)
    post(machine, "m-1", 2)  # a stray one that looks newer, of the same execution
    other = machine.execution_arn("m-9")
    post(machine, "m-2", 3, execution_arn=other)
    dead(machine, "m-2", 0)
    client = console(machine)
    for message_id in ("m-1", "m-2"):
        page = client.open(f"/message?id={message_id}")
        shown = [letter for letter in page.fields.get("key", []) if letter]
        assert bool(shown) is (message_id == "m-2"), message_id


def test_blanks_around_an_id_are_seen_and_a_long_id_is_cut_in_its_middle(
    machine: Stack, console: Open
) -> None:
    long = "a" * 40 + "b" * 60
    rejected(machine, " pay-1")
    dead(machine, long, 1, execution_name=execution_name(long))
    client = console(machine)
    page = client.open("/dead-letters")
    assert [cells[1] for cells in page.rows] == ["pay-1", f"{'a' * 39}…{'b' * 20}"]
    names = map(execution_name, (" pay-1", long))
    assert {f"/message?id={name}" for name in names} <= set(page.links)
    assert 'title="a blank"> </span>pay-1' in page.text
    unseen = client.open("/message?id=m-9+")
    assert "There are blanks around this id. Did you mean m-9 </message?id=m-9>?" in unseen.words
    assert unseen.commands == ["actonce where --stack-name actonce 'm-9 '"]


# ---------------------------------------------------------------- the list


def test_the_list_tells_what_waits_for_a_decision_and_lists_it_alone(
    machine: Stack, console: Open, screen: Screen
) -> None:
    rejected(machine)
    dead(machine, "m-2")
    ended(machine, "m-2", "found")
    client = console(machine)
    screen("messages", client, "/messages")
    waiting = client.get("/messages?status=waiting_for_decision")
    assert waiting.headers["location"] == "/dead-letters"


def test_messages_are_listed_by_status_and_day(
    machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_views, "_PAGE", 2)
    client = console(with_executions(machine, "m-0", "m-1", "m-2"))
    page = client.open("/messages?status=running")
    assert [cells[0] for cells in page.rows] == ["m-2", "m-1"]
    assert any(one.startswith("/messages?status=running&cursor=2%3A") for one in page.links)
    assert client.open("/messages?day=2020-01-01").words[-1] == "There is no message that matches."
    for query, sentence in (
        ("day=the-31st", "'the-31st' is no day; write it as "),
        ("status=nonsense", "There is no status 'nonsense'; there are RUNNING, SUCCEEDED, "),
    ):
        wrong = client.open(f"/messages?{query}")
        assert (wrong.status, wrong.problems[0].startswith(sentence)) == (422, True)
        assert f"/messages?{query}" in wrong.links


def test_a_list_says_that_it_lacks_what_only_a_first_attempt_was_made_at(
    machine: Stack, console: Open
) -> None:
    stack = with_outputs(with_executions(machine, "m-2"), StartExecutions="on-trouble")
    only = "This stack starts executions on trouble only, and these are the messages that have one."
    assert any(one.startswith(only) for one in console(stack).open("/messages").words)
