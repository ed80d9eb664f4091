"""What the pages show and do, on moto, with a ledger's rows in the executions' place."""

import dataclasses
import html
import json
import re
import shlex
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from botocore.config import Config
from botocore.stub import Stubber

from actonce.cli import app as cli
from actonce.console import queue_scans
from actonce.console.cache import Cached
from actonce.console.context import Context
from actonce.console.jobs import discard_task
from actonce.console.views import message
from actonce.messages.filters import Listing
from actonce.operate.deciding import decide
from actonce.operate.pausing import Feed
from actonce.operate.status import Status
from actonce.queues.standing import Pause
from actonce.records.audit_summary import NOT_AUDITED
from actonce.stack.clients import Aws, Stack
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp
from tests.hostile import HOSTILE_SENT, forbidden
from tests.support.queues import dead, ids_left, post, put_row, received, row
from tests.support.stacks import TABLE, with_executions
from tests.web_console.asking import Answer, Client, finish, read_queues
from tests.web_console.conftest import Open

MARKUP = "<img src=x onerror=alert(1)>\"'`{{777*777}}</script><b>"
SURE = "quiet-good"
"""The class of what is said to be empty for sure."""


def opened(console: Open, stack: Stack, **more: Any) -> tuple[Client, Context]:
    client, context = console(stack, **more)
    read_queues(context)
    return client, context


def fields(answer: Answer) -> dict[str, Any]:
    """What the form of a page would send."""
    found: dict[str, list[str]] = {}
    for tag in re.findall(r"<input type=\"hidden\"[^>]*>", answer.text):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        assert name is not None
        assert value is not None
        found.setdefault(name[1], []).append(html.unescape(value[1]))
    return found


def unstart(stack: Stack, body: str, reason: str, **more: str) -> str:
    attributes = {
        "reason": reason,
        "detail": "a detail",
        "source_message_id": "first-id",
        "receive_count": "1",
        **more,
    }
    return stack.sqs.send_message(
        QueueUrl=stack.unstarted_queue,
        MessageBody=body,
        MessageAttributes={
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
        },
    )["MessageId"]


def complete(stack: Stack, message_id: str, at: datetime | None = None) -> None:
    """Give a row what a consumer writes beside its status."""
    stack.dynamodb.update_item(
        TableName=TABLE,
        Key={"message_id": {"S": message_id}},
        UpdateExpression="SET updated = :at, consumption_count = :one",
        ExpressionAttributeValues={
            ":at": {"S": timestamp(at or datetime.now(UTC))},
            ":one": {"N": "1"},
        },
    )


def exported(client: Client, path: str, **query: Any) -> Any:
    return json.loads(client.get(path, format="json", **query).text)


def ends(context: Context) -> Mapping[str, int]:
    """How many of the first job ended how."""
    job = context.jobs.get(1)
    assert job is not None
    return job.progress().counted


# ------------------------------------------------------------------ what waits


def test_what_waits_is_grouped_the_longest_waiting_first(ledger: Stack, console: Open) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number, reason="rejected", error="Rejected")
    dead(ledger, "m-9", 9)
    unstart(ledger, "{", "not_json")
    client, _ = opened(console, ledger)
    text = client.get("/").text
    assert text.index(">rejected<") < text.index(">not_performed<") < text.index(">not_json<")
    assert re.findall(r'<td class="n">(\d+)</td>', text) == ["3", "1", "1"]


def test_where_nothing_waits_it_is_quiet(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    text = client.get("/").text
    assert text.count(SURE) == 2
    assert 'role="alert"' not in text.replace('id="offline" class="bad" role="alert"', "")


def held_elsewhere(stack: Stack, _: Context) -> None:
    dead(stack, "m-1")
    stack.sqs.receive_message(QueueUrl=stack.dead_letter_queue, VisibilityTimeout=600)


def cannot_be_read(stack: Stack, _: Context) -> None:
    stack.sqs.delete_queue(QueueUrl=stack.dead_letter_queue)


def cannot_be_read_again(stack: Stack, context: Context) -> None:
    read_queues(context)
    context.counts.get()
    cannot_be_read(stack, context)


@pytest.mark.parametrize(
    ("state", "listed"),
    [(held_elsewhere, []), (cannot_be_read, None), (cannot_be_read_again, [])],
)
def test_what_was_not_seen_is_not_taken_for_nothing(
    ledger: Stack, console: Open, state: Callable[[Stack, Context], None], listed: list[str] | None
) -> None:
    client, context = console(ledger)
    state(ledger, context)
    read_queues(context)
    assert SURE not in client.get("/dead-letters").text
    assert client.get("/").text.count(SURE) <= 1, "of the other queue, if it can be counted"
    told = exported(client, "/dead-letters")
    assert told["dead_letters"] == listed
    assert told["error"] or told["held_elsewhere"] == 1


def test_a_list_is_read_again_where_its_queue_has_changed(ledger: Stack, console: Open) -> None:
    client, context = opened(console, ledger)
    assert SURE in client.get("/unstarted").text
    unstart(ledger, "{", "not_json")
    context.counts.expire()
    client.get("/unstarted")
    finish(context)  # a moment is not always enough
    context.counts.expire()
    listed = client.get("/unstarted").text
    assert listed.count("data-row") == 1
    assert SURE not in listed


def test_a_list_of_one_snapshot_has_nothing_read(ledger: Stack, console: Open) -> None:
    client, context = opened(console, ledger)
    latest = context.letters.latest
    assert latest is not None
    dead(ledger, "m-1")
    listed = client.get("/dead-letters", snapshot=latest.number).text
    finish(context)
    assert context.letters.latest is latest
    assert "data-row" not in listed
    assert SURE not in listed


def test_a_queue_that_is_being_read_is_not_called_empty(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, context = opened(console, ledger)
    go_on = threading.Event()

    def slowly(_: Any) -> Listing[Any]:
        assert go_on.wait(60)
        return Listing([], 0)

    monkeypatch.setattr(context.letters, "_read", slowly)
    context.letters.scan()
    try:
        listed, first = client.get("/dead-letters").text, client.get("/").text
    finally:
        go_on.set()
    context.letters.wait(60)
    assert SURE not in listed
    assert first.count(SURE) == 1, "of the other queue"


def test_a_group_is_shown_by_pages_and_of_the_snapshot_that_was_seen(
    ledger: Stack, console: Open
) -> None:
    for number in range(60):
        post(ledger, f"m-{number:02}", number % 60)
    client, context = opened(console, ledger)
    first = context.letters.latest
    assert first is not None
    post(ledger, "one-more", 59)
    read_queues(context)
    page = client.get("/dead-letters", snapshot=first.number, reason="not_performed", page=2)
    assert page.text.count("data-row") == 10
    assert 'rel="prev"' in page.text
    assert "one-more" not in page.text
    assert "one-more" in client.get("/dead-letters", page=2).text


def test_a_kind_without_a_name_is_not_all_kinds(ledger: Stack, console: Open) -> None:
    dead(ledger, "named")
    dead(ledger, "nameless", 1, error="")
    client, _ = opened(console, ledger)
    links = re.findall(r'<td><a href="([^"]*)"', client.get("/").text)
    (link,) = [html.unescape(link) for link in links if re.search(r"error=(&|$)", link)]
    listed = client.get(link).text
    assert listed.count("data-row") == 1
    assert re.search(r'name="error" value=""', listed)
    told = {"snapshot": 1, "scope": "all", "reason": "not_performed", "error": ""}
    confirm = html.unescape(client.get("/dead-letters/decide", **told, action="retry").text)
    assert "--all --reason not_performed --error '' --before" in confirm
    assert "<li>nameless" in confirm
    assert "<li>named" not in confirm


def test_what_reads_only_shows_every_view(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    complete(ledger, "m-1")
    entry = unstart(ledger, "{", "not_json")
    client, context = opened(console, ledger, read_only=True)
    assert context.letters.state().error is None
    assert context.unstarted.state().error is None
    paths = ["/", "/waiting", "/stack", "/dead-letters", "/unstarted", "/messages", "/audit"]
    paths += ["/message?id=m-1", "/message/now?id=m-1", "/message/log?id=m-1", "/jobs"]
    paths += ["/message?id=nobody", "/message/verdict?id=m-1", f"/unstarted/entry?entry={entry}"]
    for path in paths:
        answer = client.get(path)
        assert answer.status == 200, path
        assert "is not called" not in answer.text, path
    assert "not_json" in client.get("/unstarted").text


def stack_page(context: Context, status: Status) -> str:
    return context.render("stack.html.j2", {"status": Cached(status, datetime.now(UTC), None)})


def test_transient_failures_are_told(ledger: Stack, console: Open) -> None:
    _, context = console(ledger)
    status = Status("actonce", None, (), {})
    failing = dataclasses.replace(status, oldest_failed_seconds=3_000)
    shown = [stack_page(context, one) for one in (status, failing)]
    assert ["failed-of-late" in one for one in shown] == [False, True]
    assert "3,000 s" in shown[1]


@pytest.mark.parametrize(
    ("state", "pause", "told"),
    [
        ("Enabled", None, "running"),
        ("Disabled", None, "stopped"),
        ("Disabled", Pause("2026-01-31T09:30:00.000Z", "me", ""), "paused"),
    ],
)
def test_a_stack_that_takes_nothing_though_nobody_paused_it_is_not_said_to_run(
    ledger: Stack, console: Open, state: str, pause: Pause | None, told: str
) -> None:
    _, context = console(ledger)
    shown = stack_page(context, Status("actonce", pause, (Feed("1", "starter", state),), {}))
    assert re.findall(r"\b(running|stopped|paused)\b", shown) == [told]


# ------------------------------------------------------------------ deciding


def test_a_whole_group_is_decided_and_nothing_that_came_later(ledger: Stack, console: Open) -> None:
    for number in range(12):
        dead(ledger, f"m-{number}", number)
    dead(ledger, "other", 20, reason="rejected", error="Rejected")
    client, context = opened(console, ledger)
    asked = {"snapshot": 1, "reason": "not_performed", "error": "NotPerformed"}
    confirm = client.get("/dead-letters/decide", **asked, scope="all", action="resolve")
    dead(ledger, "later", 30)

    answer = client.post("/dead-letters/decide", **fields(confirm), note="by telephone")
    assert (answer.status, answer.headers["location"]) == (303, "/jobs/1")
    finish(context)

    assert row(ledger, "m-7")["outcome"] == "resolved"
    assert row(ledger, "other")["outcome"] == row(ledger, "later")["outcome"] == "dead_letter"
    assert ids_left(ledger) == ["later", "other"]
    assert ends(context) == {"decided": 12}
    assert client.get("/jobs/1").text.count("data-row") == 12
    # The list was read again by itself.
    assert "later" in client.get("/dead-letters").text


def test_only_what_was_ticked_is_decided(ledger: Stack, console: Open) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)
    client, context = opened(console, ledger)
    latest = context.letters.latest
    assert latest is not None
    ticked = [letter.entry for letter in latest.entries if letter.message_id != "m-1"]
    asked: dict[str, Any] = {"snapshot": latest.number, "scope": "ticked", "entry": ticked}
    confirm = client.get("/dead-letters/decide", **asked, action="reject")
    client.post("/dead-letters/decide", **fields(confirm), note="closed")
    finish(context)
    assert ids_left(ledger) == ["m-1"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"action": "resolve", "note": "  "}, 422),
        ({"action": ""}, 422),
        ({"key": ""}, 422),
        ({"scope": "ticked"}, 422),
        ({"snapshot": 77}, 410),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_decided(
    ledger: Stack, console: Open, change: dict[str, Any], status: int
) -> None:
    dead(ledger, "m-1")
    client, context = opened(console, ledger)
    asked = {"key": "k", "snapshot": 1, "scope": "all", "action": "reject", "note": "why"}
    for headers in ({}, {"hx-request": "true"}):
        answer = client.post("/dead-letters/decide", headers, **(asked | change))
        assert answer.status == status
        assert 'role="alert"' in answer.text
        assert ("<html" in answer.text) is not bool(headers), "a part of the page, or a page"
    assert context.jobs.all() == []


def test_what_nothing_can_look_up_is_performed_on_a_persons_word_and_not_retried(
    ledger: Stack, console: Open
) -> None:
    unknown = "LookupError: No function is named to look it up (FindFunctionArn)"
    dead(ledger, "m-1", reason="outcome_unknown", error="_CannotFind", cause=unknown)
    complete(ledger, "m-1")
    client, context = opened(console, ledger)
    offered = re.findall(r'name="action" value="(\w+)"', client.get("/message", id="m-1").text)
    assert offered == ["perform", "resolve", "reject"]
    seen = {"snapshot": 1, "scope": "all"}
    for answer in (
        client.get("/dead-letters/decide", **seen, action="retry"),
        client.post("/dead-letters/decide", key="k", **seen, action="retry", note=""),
        client.post("/dead-letters/decide", key="k", **seen, action="perform", note=" "),
    ):
        assert answer.status == 422
    confirm = client.get("/dead-letters/decide", **seen, action="perform")
    assert "What did happen happens twice" in confirm.text
    client.post("/dead-letters/decide", **fields(confirm), note="nothing in the journal")
    finish(context)
    assert row(ledger, "m-1")["status"] == "IN_PROGRESS"
    assert len(received(ledger, ledger.requests_queue)) == 1


def only(context: Context) -> str:
    """The entry of the only dead letter that was read."""
    assert context.letters.latest is not None
    (letter,) = context.letters.latest.entries
    return letter.entry


def test_a_second_click_decides_nothing_more(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, context = opened(console, ledger)
    asked = {"key": "the page's", "entry": only(context), "action": "retry", "note": ""}
    first = client.post("/dead-letters/decide", **asked)
    second = client.post("/dead-letters/decide", **asked, headers={"hx-request": "true"})
    assert first.headers["location"] == second.headers["hx-redirect"] == "/jobs/1"
    finish(context)
    assert len(context.jobs.all()) == 1


@pytest.mark.parametrize("is_read_since", [False, True])
def test_the_page_of_a_message_decides_the_letter_that_it_showed_and_no_other(
    ledger: Stack, console: Open, *, is_read_since: bool
) -> None:
    dead(ledger, "m-1", reason="rejected", error="Rejected", cause="no such practice")
    complete(ledger, "m-1")
    client, context = opened(console, ledger)
    shown = client.get("/message", id="m-1")
    # A colleague has it tried again, and it fails otherwise.
    assert decide(ledger, "m-1", "retry").decided
    dead(ledger, "m-1", 1, reason="outcome_unknown", error="Unclear", cause="timed out")
    complete(ledger, "m-1")
    if is_read_since:
        read_queues(context)
    assert len(received(ledger, ledger.requests_queue)) == 1

    client.post("/dead-letters/decide", **fields(shown), action="retry")
    finish(context)

    assert row(ledger, "m-1").get("outcome") == "dead_letter"
    assert len(received(ledger, ledger.requests_queue)) == 0
    assert ends(context) == {"failed": 1}
    # Looked at again it shows the letter that waits now, and that is decided.
    again = client.get("/message", id="m-1")
    assert "timed out" in again.text
    client.post("/dead-letters/decide", **fields(again), action="reject", note="now it is seen")
    finish(context)
    assert row(ledger, "m-1")["outcome"] == "rejected"


def test_a_letter_that_is_known_no_more_is_not_decided_by_its_message(
    ledger: Stack, console: Open
) -> None:
    dead(ledger, "m-1")
    complete(ledger, "m-1")
    client, context = opened(console, ledger)
    told = fields(client.get("/message", id="m-1"))
    ledger.sqs.purge_queue(QueueUrl=ledger.dead_letter_queue)
    dead(ledger, "m-1", 1)
    for _ in range(queue_scans.KEPT):
        read_queues(context)
    asked = {"action": "reject", "note": "closed"}
    for form in (told, {"key": "of an older page", "message": "m-1"}, {"key": "k", "entry": ""}):
        assert client.post("/dead-letters/decide", **form, **asked).status == 410
    assert context.jobs.all() == []
    assert row(ledger, "m-1")["outcome"] == "dead_letter"


def test_the_page_of_a_message_has_its_letter_read_where_it_is_not_among_those_read(
    ledger: Stack, console: Open
) -> None:
    client, context = opened(console, ledger)
    dead(ledger, "m-1", cause="no such practice")
    complete(ledger, "m-1")
    context.counts.expire()
    client.get("/message", id="m-1")
    finish(context)
    shown = client.get("/message/now", id="m-1")
    assert fields(shown)["entry"]
    assert "no such practice" in shown.text


def test_where_the_letter_is_not_read_the_page_says_so_and_decides_nothing(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_scans, "SMALL", 0)
    client, context = opened(console, ledger)
    dead(ledger, "m-1")
    complete(ledger, "m-1")
    context.counts.expire()
    shown = client.get("/message", id="m-1")
    assert 'id="decide"' in shown.text
    assert 'name="action"' not in shown.text
    assert "dead-letters reject m-1" in shown.text
    answer = client.post("/scan", **fields(shown))
    assert (answer.status, answer.headers["location"]) == (303, "/message?id=m-1")
    finish(context)
    assert fields(client.get("/message", id="m-1"))["entry"]


def test_a_job_that_breaks_off_says_so_and_what_it_left(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, context = opened(console, ledger)
    ledger.dynamodb.delete_table(TableName=TABLE)
    asked = {"key": "k", "entry": only(context), "action": "resolve", "note": "why"}
    client.post("/dead-letters/decide", **asked)
    finish(context)
    assert "ResourceNotFoundException" in client.get("/jobs/1").text
    assert ids_left(ledger) == ["m-1"]


def test_the_command_that_is_shown_does_the_same(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number, error="It's; `odd` $x")
    client, _ = opened(console, ledger)
    asked = {"snapshot": 1, "reason": "not_performed", "error": "It's; `odd` $x"}
    confirm = client.get("/dead-letters/decide", **asked, scope="all", action="resolve")
    shown = re.search(r'<pre class="command">(.*?)</pre>', confirm.text, re.S)
    assert shown is not None
    words = shlex.split(html.unescape(shown[1]))
    assert words[:3] == ["actonce", "dead-letters", "resolve"]
    from actonce.cli import dead_letters as command  # noqa: PLC0415

    monkeypatch.setattr(command, "find_stack", lambda *_, **__: ledger)
    monkeypatch.setattr("sys.argv", [*words, "--dry-run", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)["dead_letters"]
    assert sorted(one["message_id"] for one in found) == ["m-0", "m-1", "m-2"]


# ------------------------------------------------------------------ unstarted


def test_what_could_not_be_started_is_sent_back(ledger: Stack, console: Open) -> None:
    entry = unstart(ledger, '{"message_id": "m-1"}', "received_too_often")
    client, context = opened(console, ledger)
    shown = client.get("/unstarted/entry", entry=entry)
    assert 'href="/message?id=m-1"' in shown.text
    confirm = client.get("/unstarted/decide", **fields(shown), action="redrive")
    client.post("/unstarted/decide", **fields(confirm))
    finish(context)
    sent = ledger.sqs.receive_message(QueueUrl=ledger.requests_queue)["Messages"]
    assert [message["Body"] for message in sent] == ['{"message_id": "m-1"}']
    assert ends(context) == {"sent_back": 1}
    assert client.get("/unstarted/entry", entry=entry).status == 404


def test_what_is_discarded_is_written_to_a_file_first(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    for number in range(3):
        unstart(ledger, f"garbage {number}", "not_json")
    client, context = opened(console, ledger)
    latest = context.unstarted.latest
    assert latest is not None
    asked = {"snapshot": latest.number, "reason": "not_json", "scope": "all"}
    confirm = client.get("/unstarted/decide", **asked, action="discard")
    told = fields(confirm)
    assert client.post("/unstarted/decide", **told, note=" ").status == 422
    client.post("/unstarted/decide", **told, note="a scanner")
    finish(context)
    (file,) = tmp_path.glob("discarded-*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(line["body"] for line in lines) == ["garbage 0", "garbage 1", "garbage 2"]
    assert {line["note"] for line in lines} == {"a scanner"}
    assert str(file) in client.get("/jobs/1").text
    assert exported(client, "/unstarted")["unstarted"] == []


def test_a_file_is_named_where_something_was_discarded_and_only_there(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    unstart(ledger, "garbage", "not_json")
    unstart(ledger, "held", "not_json")
    _, context = opened(console, ledger)
    latest = context.unstarted.latest
    assert latest is not None
    entries = list(latest.entries)
    nowhere = tmp_path / "no such folder" / "discarded.jsonl"
    task = discard_task(context.stack, entries, nowhere, "a scanner")
    with pytest.raises(Failed, match="No such file"):
        task.run()
    assert task.notes == []
    ledger.sqs.receive_message(
        QueueUrl=ledger.unstarted_queue, MaxNumberOfMessages=1, VisibilityTimeout=600
    )
    task = discard_task(context.stack, entries, tmp_path / "discarded.jsonl", "a scanner")
    task.run()
    assert sorted(one.happened for one in task.ended) == [False, True]
    (told,) = task.notes
    assert str(tmp_path / "discarded.jsonl") in told


def test_an_entry_is_found_that_came_later_and_one_that_is_held_is_not_said_to_be_gone(
    ledger: Stack, console: Open
) -> None:
    client, context = opened(console, ledger)
    entry = unstart(ledger, "{", "not_json")
    client.get("/unstarted/entry", entry=entry)
    finish(context)
    answer = client.get("/unstarted/entry", entry=entry)
    latest = context.unstarted.latest
    assert latest is not None
    assert answer.status == 200
    assert fields(answer)["snapshot"] == [str(latest.number)]
    ledger.sqs.receive_message(QueueUrl=ledger.unstarted_queue, VisibilityTimeout=600)
    client, _ = opened(console, ledger)
    answer = client.get("/unstarted/entry", entry=entry)
    assert (answer.status, "Another reader held 1 more" in answer.text) == (404, True)


# ------------------------------------------------------------------ messages


@pytest.fixture
def machine(ledger: Stack) -> Stack:
    """The stack with a state machine in the ledger's place."""
    stack = with_executions(ledger)
    outputs = {name: told for name, told in stack.outputs.items() if name != "LedgerTableName"}
    return dataclasses.replace(stack, outputs=outputs)


UNSEEN = "unseen-yet"


def test_a_message_that_is_refused_or_left_a_row_while_its_page_is_open_is_told(
    machine: Stack, console: Open
) -> None:
    client, context = opened(console, machine)
    for message_id in ("m-1", "m-2"):
        assert UNSEEN in client.get("/message", id=message_id).text
    unstart(machine, '{"message_id": "m-1"}', "received_too_often", source_message_id="m-1")
    machine.dynamodb.put_item(
        TableName=TABLE,
        Item={
            "message_id": {"S": "m-2"},
            "fingerprint": {"S": "f" * 64},
            "first_seen": {"S": timestamp(datetime.now(UTC))},
        },
    )
    context.counts.expire()
    for message_id, told in (("m-1", "received_too_often"), ("m-2", "first seen")):
        client.get("/message/now", id=message_id)
        finish(context)  # a moment is not always enough
        text = client.get("/message/now", id=message_id).text
        assert told in text
        assert UNSEEN not in text


def test_what_was_not_looked_at_is_not_said_to_hold_nothing(machine: Stack, console: Open) -> None:
    client, context = opened(console, machine)
    assert "Nothing waits in RequestsQueue." in client.get("/message", id="m-1").text
    client, context = console(machine)
    with Stubber(context.stack.sqs) as answers:
        for _ in range(2):  # the counts, and where the queue's reader begins
            answers.add_client_error(
                "get_queue_attributes", "AccessDenied", "not allowed to look", 403
            )
        answers.add_response("list_queue_tags", {"Tags": {}})
        context.counts.get()
        context.unstarted.scan()
        context.unstarted.wait(60)
        text = html.unescape(client.get("/message/now", id="m-1").text)
    assert "not allowed to look" in text
    assert "UnstartedQueue has not been read yet" in text
    assert "Nothing waits" not in text


def test_messages_are_listed_by_status_and_day(ledger: Stack, console: Open) -> None:
    now = datetime.now(UTC)
    for number in range(60):
        put_row(ledger, f"m-{number:02}", "COMPLETE", "performed")
        complete(ledger, f"m-{number:02}", now)
    client, _ = opened(console, ledger)
    first = client.get("/messages", status="complete", day=str(now.date()))
    assert first.text.count("data-row") == 50
    older = re.search(r'rel="next" href="([^"]*)"', first.text)
    assert older is not None
    assert client.get(html.unescape(older[1])).text.count("data-row") == 10
    assert exported(client, "/messages", day="2020-01-01")["messages"] == []
    for wrong in ({"day": "yesterday"}, {"status": "nonsense"}):
        assert client.get("/messages", **wrong).status == 422


def test_an_id_is_found_whatever_is_in_it_and_none_is_empty(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    for name in ("m-1", "a/../b?c&d=e#f", "ü €", HOSTILE_SENT.strip()):
        answer = client.get("/find", q=name)
        assert answer.headers["location"].startswith("/message?id=")
        shown = client.get(answer.headers["location"])
        assert (shown.status, UNSEEN in shown.text) == (200, True), name
    assert client.get("/find", q=" ").headers["location"] == "/messages"
    for path in ("/message", "/message/now", "/message/log", "/message/raw", "/message/verdict"):
        assert client.get(f"{path}?id=").status == client.get(path).status == 404


def test_nothing_that_a_message_brings_is_more_than_text(ledger: Stack, console: Open) -> None:
    for hostile in (MARKUP, HOSTILE_SENT):
        dead(
            ledger,
            hostile,
            reason="not_performed",
            error=hostile,
            cause=hostile,
            execution_name=hostile,
        )
        complete(ledger, hostile)
        unstart(ledger, hostile, "not_json", detail=hostile)
    client, context = opened(console, ledger)
    latest = context.unstarted.latest
    assert latest is not None
    paths = [
        "/",
        "/waiting",
        "/dead-letters",
        "/unstarted",
        *(f"/unstarted/entry?entry={entry.entry}" for entry in latest.entries),
        *(f"/message?id={quote(text)}" for text in (MARKUP, HOSTILE_SENT)),
        f"/message?id={quote(MARKUP)}&format=json",
        "/dead-letters?format=json",
        f"/dead-letters?reason={quote(MARKUP)}&error={quote(HOSTILE_SENT)}",
        f"/dead-letters/decide?snapshot=1&scope=all&action=retry&reason={quote(MARKUP)}",
        "/dead-letters/decide?snapshot=1&scope=all&action=retry",
        f"/unstarted/decide?snapshot={latest.number}&scope=all&action=discard",
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status in (200, 422), path
        if answer.headers["content-type"].startswith("text/html"):
            assert "<img" not in answer.text, path
            assert "<b>" not in answer.text, path
            assert str(777 * 777) not in answer.text, path
        assert not forbidden(answer.text), path


# ------------------------------------------------------------------ what fails


def test_what_may_not_be_seen_is_told_and_the_rest_is_shown(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, context = opened(console, ledger)
    with Stubber(context.stack.sqs) as answers:
        answers.add_client_error("get_queue_attributes", "AccessDenied", "not allowed", 403)
        text = client.get("/").text
    assert "GetQueueAttributes operation: not allowed" in html.unescape(text)
    assert "not_performed" in text


def test_credentials_that_expire_are_told_with_what_to_do(ledger: Stack, console: Open) -> None:
    client, context = opened(console, ledger)
    with Stubber(context.stack.dynamodb) as answers:
        answers.add_client_error("scan", "ExpiredTokenException", "expired", 400)
        answer = client.get("/messages")
    assert (answer.status, "aws sso login" in answer.text) == (502, True)
    assert client.get("/messages").status == 200


def test_a_fault_of_a_view_is_told_and_the_others_go_on(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    client, _ = opened(console, ledger)

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret of the message")

    monkeypatch.setattr(message, "read_story", broken)
    answer = client.get("/message", id="m-1")
    assert (answer.status, "ZeroDivisionError" in answer.text) == (500, True)
    assert "a secret" not in answer.text
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert client.get("/").status == 200


def test_an_address_that_is_none_is_told(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    for path in ("/nowhere", "/jobs/0", "/jobs/x", "/jobs/99999999999", "/unstarted/entry"):
        answer = client.get(path)
        assert (answer.status, 'role="alert"' in answer.text) == (404, True), path


SUMMARY = {
    "version": 1,
    "sentence": "Of 3 messages, 1 acted on again, 1 lost.",
    "exit_status": 1,
    "generated_at": "2026-01-31T10:00:00Z",
    "from": "2026-01-31",
    "to": "2026-01-31",
    "days": [{"day": "2026-01-31", "verdicts": {"performed_again": 1, "lost": 1}}],
    "alarms": [{"message_id": "m-1", "verdict": "performed_again", "timeline": []}],
    "listed": {"lost": ["m-2"]},
}


def test_an_audit_that_is_at_hand_is_shown(ledger: Stack, console: Open, tmp_path: Path) -> None:
    client, _ = opened(console, ledger)
    assert "data-row" not in client.get("/audit").text
    assert client.get("/message/verdict", id="m-1").status == 200
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    client, _ = opened(console, ledger, audit=tmp_path)
    text = client.get("/audit").text
    assert str(SUMMARY["sentence"]) in text
    assert 'href="/message?id=m-1"' in text
    told = [client.get("/message/verdict", id=name).text for name in ("m-1", "m-2", "m-3")]
    verdicts = [re.findall(r"verdict-(\w+)", one) for one in told]
    assert verdicts == [["performed_again"], ["lost"], []]
    (tmp_path / "summary.json").write_text("{")
    assert client.get("/audit").status == 502


def test_an_audit_that_has_not_come_to_its_end_says_nothing_of_a_message(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    sentence = "The audit that began at 2026-01-31T10:00:00.000Z has not come to its end."
    summary = {"version": 1, "sentence": sentence, "exit_status": NOT_AUDITED}
    summary |= {"generated_at": "2026-01-31T10:00:00.000Z", "records": "records/"}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    client, _ = opened(console, ledger, audit=tmp_path)
    assert 'class="status' not in client.get("/message/verdict?id=m-1").text
    for path in ("/message/verdict?id=m-1", "/audit"):
        assert sentence in client.get(path).text, path


def test_an_aws_that_is_gone_is_told_in_each_view_and_the_console_goes_on(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        port = closed_again.getsockname()[1]
    once = Config(connect_timeout=1, retries={"total_max_attempts": 1})
    monkeypatch.setattr(Aws.fresh, "__defaults__", (once,))
    gone = dataclasses.replace(ledger, aws=Aws(f"http://127.0.0.1:{port}"))
    client, _ = opened(console, gone)
    for path in ("/", "/stack"):
        answer = client.get(path)
        assert (answer.status, "actonce up" in answer.text) == (200, True), path
    for path in ("/messages", "/message?id=m-1", "/message/now?id=m-1"):
        answer = client.get(path, {"hx-request": "true"} if "now" in path else None)
        assert (answer.status, "actonce up" in answer.text) == (502, True), path
        assert ("<html" in answer.text) is ("now" not in path)
    asked = {"key": "k", "entry": "never read", "action": "retry", "note": ""}
    assert client.post("/dead-letters/decide", **asked).status == 410
