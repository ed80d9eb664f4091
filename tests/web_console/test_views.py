"""What the pages show and do, on moto, with a ledger's rows in the executions' place."""

import dataclasses
import html
import json
import re
import shlex
import socket
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from botocore.config import Config
from botocore.stub import Stubber

from actonce.cli import app as cli
from actonce.cli.audit import NotAudited
from actonce.console import rates, snapshots
from actonce.console.audits import Verdict
from actonce.console.desk import Desk
from actonce.console.snapshots import Found, Reader
from actonce.console.stories import FRESH_EVERY
from actonce.console.tasks import Clear
from actonce.console.watching import Seen, Seldom
from actonce.messages.dead_letters import decide
from actonce.operate.pausing import Feed, Pause
from actonce.operate.status import Depth, Status
from actonce.stack.clients import Aws, Stack
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp
from tests.cli.received import received
from tests.cli.test_deciding import TABLE, dead, ids_left, post, put_row, row
from tests.cli.test_recent import started
from tests.hostile import HOSTILE_SENT, forbidden
from tests.web_console.asking import Answer, Client, finish
from tests.web_console.conftest import Open

MARKUP = "<img src=x onerror=alert(1)>\"'`{{777*777}}</script><b>"


def look(*readers: Reader[Any]) -> None:
    for reader in readers:
        reader.look()
        reader.wait(60)


def opened(console: Open, stack: Stack, **more: Any) -> tuple[Client, Desk]:
    client, desk = console(stack, **more)
    look(desk.letters, desk.unstarted)
    return client, desk


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


# ------------------------------------------------------------------ what waits


def test_what_waits_is_grouped_the_longest_waiting_first(ledger: Stack, console: Open) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number, reason="rejected", error="Rejected")
    dead(ledger, "m-9", 9)
    unstart(ledger, "{", "not_json")
    client, _ = opened(console, ledger)
    text = client.get("/").text
    assert text.index(">rejected<") < text.index(">not_performed<") < text.index(">not_json<")
    told = json.loads(client.get("/?format=json").text)
    assert [(g["reason"], g["count"]) for g in told["dead-letters"]["groups"]] == [
        ("rejected", 3),
        ("not_performed", 1),
    ]
    assert told["unstarted"]["seen"] == 1


def test_where_nothing_waits_it_is_quiet(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    text = client.get("/").text
    assert text.count("✓ Nothing") == 2
    assert 'role="alert"' not in text.replace('id="offline" class="bad" role="alert"', "")


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_what_another_reader_holds_is_not_taken_for_nothing(
    path: str, ledger: Stack, console: Open
) -> None:
    queue = ledger.dead_letter_queue
    if path == "dead-letters":
        dead(ledger, "m-1")
    else:
        queue = ledger.unstarted_queue
        unstart(ledger, "{", "not_json")
    hold = ledger.sqs.receive_message(QueueUrl=queue, VisibilityTimeout=600)
    assert len(hold["Messages"]) == 1
    client, _ = opened(console, ledger)
    listed = client.get(f"/{path}").text
    assert "✓" not in listed
    assert "Another reader holds 1 more" in listed
    assert client.get("/").text.count("✓ Nothing") == 1, "of the other queue"
    exported = json.loads(client.get(f"/{path}?format=json").text)
    assert (exported[path.replace("-", "_")], exported["held_elsewhere"]) == ([], 1)


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_a_queue_that_could_not_be_read_is_not_taken_for_an_empty_one(
    path: str, ledger: Stack, console: Open
) -> None:
    client, desk = console(ledger)
    ledger.sqs.delete_queue(QueueUrl=ledger.dead_letter_queue)
    ledger.sqs.delete_queue(QueueUrl=ledger.unstarted_queue)
    look(desk.letters, desk.unstarted)
    listed = client.get(f"/{path}").text
    assert "✓" not in listed
    assert 'class="bad" role="alert">' in listed
    exported = json.loads(client.get(f"/{path}?format=json").text)
    assert exported[path.replace("-", "_")] is None
    assert exported["error"]


def lying(stack: Stack, path: str, number: int) -> None:
    """Put so many more into the queue of a list."""
    for one in range(number):
        if path == "dead-letters":
            dead(stack, f"m-{one}", one)
        else:
            unstart(stack, "{", "not_json")


def counted_anew(desk: Desk) -> None:
    """As if the counts had grown too old to be told again."""
    desk.watched.counts.forget()


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_a_list_is_read_again_where_its_queue_has_changed(
    path: str, ledger: Stack, console: Open
) -> None:
    client, desk = opened(console, ledger)
    listed = client.get(f"/{path}").text
    assert re.search(r'quiet-good">✓ No[^<]*, as seen at <time', listed)
    lying(ledger, path, 2)
    counted_anew(desk)
    client.get(f"/{path}")
    finish(desk)  # a moment is not always enough
    counted_anew(desk)
    listed = client.get(f"/{path}").text
    assert listed.count("data-row") == 2
    assert "✓" not in listed


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_a_list_of_one_snapshot_has_nothing_read(path: str, ledger: Stack, console: Open) -> None:
    client, desk = opened(console, ledger)
    reader = desk.letters if path == "dead-letters" else desk.unstarted
    latest = reader.latest
    assert latest is not None
    lying(ledger, path, 2)
    listed = client.get(f"/{path}", snapshot=latest.number).text
    finish(desk)
    assert reader.latest is latest
    assert "The queue has 2 messages now, and had 0 when it was read" in listed
    assert re.search(r"No[^<]*, as far as it was seen at <time", listed)
    assert "✓" not in listed


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_a_queue_too_long_to_be_read_again_unasked_is_not_taken_for_an_empty_one(
    path: str, ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SMALL", 1)
    client, desk = opened(console, ledger)
    lying(ledger, path, 2)
    listed = client.get(f"/{path}").text
    assert "The queue has 2 messages now, and had 0 when it was read" in listed
    assert "✓" not in listed
    assert json.loads(client.get(f"/{path}?format=json").text)["count"] == 2
    first = client.get("/").text
    assert first.count("✓ Nothing") == 1, "of the other queue"
    assert "The queue has 2 now: look again." in first
    finish(desk)


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_a_queue_that_is_being_read_is_not_called_empty(
    path: str, ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened(console, ledger)
    assert "✓" in client.get(f"/{path}").text
    go_on = threading.Event()

    def slowly(_: Any) -> Found[Any]:
        assert go_on.wait(60)
        return Found([], 0, 0)

    reader: Reader[Any] = desk.letters if path == "dead-letters" else desk.unstarted
    monkeypatch.setattr(reader, "_read", slowly)
    reader.look()
    try:
        listed, first = client.get(f"/{path}").text, client.get("/").text
    finally:
        go_on.set()
    reader.wait(60)
    assert "The queue is being read" in listed
    assert "✓" not in listed
    assert first.count("✓ Nothing") == 1, "of the other queue"


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_after_a_read_that_failed_nothing_is_called_empty(
    path: str, ledger: Stack, console: Open
) -> None:
    client, desk = opened(console, ledger)
    client.get("/")  # has the queues counted, and so not read again by what follows
    ledger.sqs.delete_queue(QueueUrl=ledger.dead_letter_queue)
    ledger.sqs.delete_queue(QueueUrl=ledger.unstarted_queue)
    look(desk.letters, desk.unstarted)
    listed = client.get(f"/{path}").text
    assert 'class="bad" role="alert">' in listed
    assert "as far as it was seen at" in listed
    assert "✓" not in listed
    assert "✓ Nothing" not in client.get("/").text
    counted_anew(desk)
    assert "could not be looked at" in client.get(f"/{path}").text


@pytest.mark.parametrize("path", ["dead-letters", "unstarted"])
def test_a_list_that_is_kept_no_more_is_not_taken_for_an_empty_one(
    path: str, ledger: Stack, console: Open
) -> None:
    client, _ = opened(console, ledger)
    assert "What you saw is no longer kept" in client.get(f"/{path}?snapshot=99").text
    exported = client.get(f"/{path}?snapshot=99&format=json")
    assert exported.status == 410
    assert "no longer kept" in json.loads(exported.text)["error"]


def test_a_group_is_shown_by_pages_and_of_the_snapshot_that_was_seen(
    ledger: Stack, console: Open
) -> None:
    for number in range(60):
        post(ledger, f"m-{number:02}", number % 60)
    client, desk = opened(console, ledger)
    first = desk.letters.latest
    assert first is not None
    post(ledger, "one-more", 59)
    look(desk.letters)
    page = client.get("/dead-letters", snapshot=first.number, reason="not_performed", page=2)
    assert "Page 2 of 2" in page.text
    assert page.text.count("data-row") == 10
    assert "one-more" not in page.text
    assert "all 60" in page.text
    assert "one-more" in client.get("/dead-letters", page=2).text


def test_a_kind_without_a_name_is_not_all_kinds(ledger: Stack, console: Open) -> None:
    dead(ledger, "named")
    dead(ledger, "nameless", 1, error="")
    client, _ = opened(console, ledger)
    links = re.findall(r'<td><a href="([^"]*)"', client.get("/").text)
    (link,) = [html.unescape(link) for link in links if re.search(r"error=(&|$)", link)]
    listed = client.get(link).text
    assert "all 1<" in listed.replace("</label>", "<"), link
    assert "named<" not in listed.replace("nameless<", "")
    assert re.search(r'name="error" value=""', listed)
    told = {"snapshot": 1, "scope": "all", "reason": "not_performed", "error": ""}
    confirm = html.unescape(client.get("/dead-letters/decide", **told, decision="retry").text)
    assert "Retry 1 dead letter?" in confirm
    assert "--all --reason not_performed --error '' --before" in confirm


def test_what_reads_only_shows_every_view(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    complete(ledger, "m-1")
    entry = unstart(ledger, "{", "not_json")
    client, desk = opened(console, ledger, read_only=True)
    assert desk.letters.standing().error is None
    assert desk.unstarted.standing().error is None
    paths = ["/", "/waiting", "/stack", "/dead-letters", "/unstarted", "/messages", "/audit"]
    paths += ["/message?id=m-1", "/message/now?id=m-1", "/message/log?id=m-1", "/works"]
    paths += ["/message?id=nobody", "/message/verdict?id=m-1", f"/unstarted/entry?entry={entry}"]
    for path in paths:
        answer = client.get(path)
        assert answer.status == 200, path
        assert "is not called" not in answer.text, path
    assert "not_json" in client.get("/unstarted").text


def test_a_snapshot_that_is_kept_no_more_is_told(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    assert "no longer kept" in client.get("/dead-letters", snapshot=77).text
    answer = client.get("/dead-letters/decide", snapshot=77, decision="retry", scope="all")
    assert answer.status == 410
    answer = client.post(
        "/dead-letters/decide", word="w", snapshot=77, decision="retry", scope="all"
    )
    assert (answer.status, "Nothing was done or decided" in answer.text) == (410, True)


def test_the_weather_is_told_by_what_failed_of_late(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines(*ends: tuple[str, str | None]) -> None:
        found = [{"end": end, "error": error} for end, error in ends]
        monkeypatch.setattr(rates, "delivery_lines", lambda *_, **__: iter(found))

    _, desk = opened(console, ledger)
    at_an_endpoint = dataclasses.replace(desk.stack, aws=Aws("http://127.0.0.1:1"))
    now = datetime.now(UTC)
    lines(("started", None), ("suppressed", None))
    calm = rates.rates(at_an_endpoint, now)
    assert (calm.numbers["started"], calm.numbers["failed"], calm.errors) == (1, 0, {})
    lines(("failed", "ThrottlingException"), ("failed", "ThrottlingException"), ("failed", MARKUP))
    rough = rates.rates(at_an_endpoint, now)
    assert rough.errors == {"ThrottlingException": 2, MARKUP: 1}
    status = Seldom(lambda: stack_status(desk.stack), 60).seen()
    shown = [
        desk.render(
            "stack.html.j2",
            {"status": status, "rates": Seen(seen, now, None), "calls": Counter[str]()},
        )
        for seen in (calm, rough)
    ]
    assert "calm" in shown[0]
    assert "3 deliveries failed in five minutes, and come again by themselves" in shown[1]
    assert "ThrottlingException 2" in shown[1]
    assert "<img" not in shown[1]
    # What backs off for a quarter of an hour did not fail in these five minutes.
    failing = dataclasses.replace(stack_status(desk.stack), oldest_failed_seconds=3_000)
    status = Seldom(lambda: failing, 60).seen()
    values = {"status": status, "rates": Seen(calm, now, None), "calls": Counter[str]()}
    backing_off = desk.render("stack.html.j2", values)
    assert "calm" not in backing_off
    assert "deliveries of up to 3,000 s of age failed in half an hour" in backing_off


def stack_status(stack: Stack) -> Status:
    return Status(stack.called, None, (), {"requests": Depth(0, 0, 0, None)})


def test_a_stack_that_takes_nothing_though_nobody_paused_it_is_not_said_to_run(
    ledger: Stack, console: Open
) -> None:
    _, desk = console(ledger)

    def told(state: str, pause: Pause | None = None) -> str:
        found = Status("actonce", pause, (Feed("1", "starter", state),), {})
        now = datetime.now(UTC)
        no_rates: Seen[rates.Rates] = Seen(None, now, None)
        values = {"status": Seen(found, now, None), "rates": no_rates, "calls": Counter[str]()}
        return desk.render("stack.html.j2", values)

    assert "nobody said pause" not in told("Enabled")
    stopped = told("Disabled")
    assert "Nothing is taken, and nobody said pause" in stopped
    assert "running" not in stopped
    paused = told("Disabled", Pause("2026-01-31T09:30:00.000Z", "me", ""))
    assert "paused</strong> since" in paused
    assert "nobody said pause" not in paused


# ------------------------------------------------------------------ deciding


def test_a_whole_group_is_decided_and_nothing_that_came_later(ledger: Stack, console: Open) -> None:
    for number in range(12):
        dead(ledger, f"m-{number}", number)
    dead(ledger, "other", 20, reason="rejected", error="Rejected")
    client, desk = opened(console, ledger)
    latest = desk.letters.latest
    assert latest is not None
    asked = {"snapshot": latest.number, "reason": "not_performed", "error": "NotPerformed"}
    confirm = client.get("/dead-letters/decide", **asked, scope="all", decision="resolve")
    assert "Resolve 12 dead letters?" in confirm.text
    dead(ledger, "later", 30)

    answer = client.post("/dead-letters/decide", **fields(confirm), note="by telephone")
    assert (answer.status, answer.headers["location"]) == (303, "/works/1")
    finish(desk)

    assert row(ledger, "m-7")["outcome"] == "resolved"
    assert row(ledger, "other")["outcome"] == row(ledger, "later")["outcome"] == "dead_letter"
    assert ids_left(ledger) == ["later", "other"]
    shown = client.get("/works/1").text
    assert "12 of 12" in shown
    assert "12 decided" in re.sub(r"\s+", " ", shown)
    exported = json.loads(client.get("/works/1?format=json").text)
    assert exported["ends"] == {"decided": 12}
    # The list was read again by itself.
    assert "later" in client.get("/dead-letters").text


def test_only_what_was_ticked_is_decided(ledger: Stack, console: Open) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)
    client, desk = opened(console, ledger)
    latest = desk.letters.latest
    assert latest is not None
    ticked = [letter.entry for letter in latest.entries if letter.newest.message_id != "m-1"]
    asked: dict[str, Any] = {"snapshot": latest.number, "scope": "ticked", "entry": ticked}
    confirm = client.get("/dead-letters/decide", **asked, decision="reject")
    client.post("/dead-letters/decide", **fields(confirm), note="closed")
    finish(desk)
    assert ids_left(ledger) == ["m-1"]


@pytest.mark.parametrize(
    ("decision", "note", "said"),
    [
        ("resolve", "", "an empty note is none"),
        ("reject", "  ", "an empty note"),
        ("", "x", "Choose"),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_decided(
    ledger: Stack, console: Open, decision: str, note: str, said: str
) -> None:
    dead(ledger, "m-1")
    client, desk = opened(console, ledger)
    answer = client.post(
        "/dead-letters/decide", word="w", message="m-1", decision=decision, note=note
    )
    assert (answer.status, said in answer.text) == (422, True)
    assert desk.works.all() == []


def test_what_nothing_can_look_up_is_performed_on_a_persons_word_and_not_retried(
    ledger: Stack, console: Open
) -> None:
    unknown = "LookupError: No function is named to look it up (FindFunctionArn)"
    dead(ledger, "m-1", reason="outcome_unknown", error="_CannotFind", cause=unknown)
    complete(ledger, "m-1")
    client, desk = opened(console, ledger)
    shown = client.get("/message", id="m-1")
    assert re.findall(r'name="decision" value="(\w+)"', shown.text) == [
        *("perform", "resolve", "reject")
    ]
    assert "What did happen happens twice" in shown.text
    seen = {"snapshot": 1, "scope": "all"}
    for answer in (
        client.get("/dead-letters/decide", **seen, decision="retry"),
        client.post("/dead-letters/decide", word="w", **seen, decision="retry", note=""),
        client.post("/dead-letters/decide", word="w", **seen, decision="perform", note=" "),
    ):
        assert answer.status == 422
        assert re.search("Nothing can look it up|an empty note is none", answer.text)
    confirm = client.get("/dead-letters/decide", **seen, decision="perform")
    assert "What did happen happens twice" in confirm.text
    client.post("/dead-letters/decide", **fields(confirm), note="nothing in the journal")
    finish(desk)
    assert row(ledger, "m-1")["status"] == "IN_PROGRESS"
    assert len(received(ledger, ledger.requests_queue)) == 1


def only(desk: Desk) -> str:
    """The entry of the only dead letter that was read."""
    assert desk.letters.latest is not None
    (letter,) = desk.letters.latest.entries
    return letter.entry


def test_a_second_click_decides_nothing_more(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, desk = opened(console, ledger)
    asked = {"word": "the page's", "entry": only(desk), "decision": "retry", "note": ""}
    first = client.post("/dead-letters/decide", **asked)
    second = client.post("/dead-letters/decide", **asked, headers={"hx-request": "true"})
    assert first.headers["location"] == second.headers["hx-redirect"] == "/works/1"
    finish(desk)
    assert len(desk.works.all()) == 1


def test_what_somebody_else_decided_meanwhile_is_said(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, desk = opened(console, ledger)
    entry = only(desk)
    put_row(ledger, "m-1", "COMPLETE", "resolved")
    for decision in ("reject", "resolve"):
        asked = {"word": decision, "entry": entry, "decision": decision, "note": "why"}
        client.post("/dead-letters/decide", **asked)
        finish(desk)
    ended = [json.loads(client.get(f"/works/{n}?format=json").text)["ended"] for n in (1, 2)]
    assert "It waits for no decision" in ended[0][0]["said"]
    assert row(ledger, "m-1")["outcome"] == "resolved"


@pytest.mark.parametrize("is_read_since", [False, True])
@pytest.mark.parametrize("decision", ["retry", "resolve", "reject"])
def test_the_page_of_a_message_decides_the_letter_that_it_showed_and_no_other(
    ledger: Stack, console: Open, decision: str, *, is_read_since: bool
) -> None:
    dead(ledger, "m-1", reason="rejected", error="Rejected", cause="no such practice")
    complete(ledger, "m-1")
    client, desk = opened(console, ledger)
    shown = client.get("/message", id="m-1")
    # A colleague has it tried again, and it fails otherwise.
    assert decide(ledger, "m-1", "retry").decided
    dead(ledger, "m-1", 1, reason="outcome_unknown", error="Unclear", cause="timed out")
    complete(ledger, "m-1")
    if is_read_since:
        look(desk.letters)
    assert len(received(ledger, ledger.requests_queue)) == 1

    client.post("/dead-letters/decide", **fields(shown), decision=decision, note="no such thing")
    finish(desk)

    assert row(ledger, "m-1").get("outcome") == "dead_letter"
    assert len(received(ledger, ledger.requests_queue)) == 0
    assert "no such practice" in shown.text
    told = client.get("/works/1").text
    assert "1 failed" in told
    assert "the message has another letter since" in told
    assert "look again" in told
    # Looked at again it shows the letter that waits now, and that is decided.
    again = client.get("/message", id="m-1")
    assert "timed out" in again.text
    client.post("/dead-letters/decide", **fields(again), decision="reject", note="now it is seen")
    finish(desk)
    assert row(ledger, "m-1")["outcome"] == "rejected"


def test_a_letter_that_is_known_no_more_is_not_decided_by_its_message(
    ledger: Stack, console: Open
) -> None:
    dead(ledger, "m-1")
    complete(ledger, "m-1")
    client, desk = opened(console, ledger)
    told = fields(client.get("/message", id="m-1"))
    ledger.sqs.purge_queue(QueueUrl=ledger.dead_letter_queue)
    dead(ledger, "m-1", 1)
    for _ in range(snapshots.KEPT):
        look(desk.letters)
    asked = {"decision": "reject", "note": "closed"}
    for form in (told, {"word": "of an older page", "message": "m-1"}, {"word": "w", "entry": ""}):
        answer = client.post("/dead-letters/decide", **form, **asked)
        assert (answer.status, "Nothing was decided" in answer.text) == (410, True)
        assert "open the page again" in answer.text
    assert desk.works.all() == []
    assert row(ledger, "m-1")["outcome"] == "dead_letter"


def test_the_page_of_a_message_has_its_letter_read_where_it_is_not_among_those_read(
    ledger: Stack, console: Open
) -> None:
    client, desk = opened(console, ledger)
    dead(ledger, "m-1", cause="no such practice")
    complete(ledger, "m-1")
    counted_anew(desk)
    client.get("/message", id="m-1")
    finish(desk)
    shown = client.get("/message/now", id="m-1")
    assert fields(shown)["entry"]
    assert "no such practice" in shown.text


def test_where_the_letter_is_not_read_the_page_says_so_and_decides_nothing(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SMALL", 0)
    client, desk = opened(console, ledger)
    dead(ledger, "m-1")
    complete(ledger, "m-1")
    counted_anew(desk)
    shown = client.get("/message", id="m-1")
    assert 'name="decision"' not in shown.text
    assert "It waits for a decision" in shown.text
    assert "Its dead letter is not among those that were read" in shown.text
    assert "DeadLetterQueue is known as it was read at" in shown.text
    assert "dead-letters reject m-1" in shown.text
    answer = client.post("/look", **fields(shown))
    assert (answer.status, answer.headers["location"]) == (303, "/message?id=m-1")
    finish(desk)
    assert fields(client.get("/message", id="m-1"))["entry"]


def test_a_work_that_breaks_off_says_so_and_what_it_left(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, desk = opened(console, ledger)
    ledger.dynamodb.delete_table(TableName=TABLE)
    asked = {"word": "w", "entry": only(desk), "decision": "resolve", "note": "why"}
    client.post("/dead-letters/decide", **asked)
    finish(desk)
    shown = client.get("/works/1").text
    assert "ResourceNotFoundException" in shown
    assert ids_left(ledger) == ["m-1"]


def test_the_command_that_is_shown_does_the_same(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number, error="It's; `odd` $x")
    client, desk = opened(console, ledger)
    latest = desk.letters.latest
    assert latest is not None
    asked = {"snapshot": latest.number, "reason": "not_performed", "error": "It's; `odd` $x"}
    confirm = client.get("/dead-letters/decide", **asked, scope="all", decision="resolve")
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
    client, desk = opened(console, ledger)
    text = client.get("/unstarted/entry", entry=entry).text
    assert "m-1" in text
    latest = desk.unstarted.latest
    assert latest is not None
    confirm = client.get(
        "/unstarted/clear", snapshot=latest.number, scope="ticked", entry=entry, action="redrive"
    )
    client.post("/unstarted/clear", **fields(confirm))
    finish(desk)
    sent = ledger.sqs.receive_message(QueueUrl=ledger.requests_queue)["Messages"]
    assert [message["Body"] for message in sent] == ['{"message_id": "m-1"}']
    assert "1 sent back" in re.sub(r"\s+", " ", client.get("/works/1").text)
    assert client.get("/unstarted/entry", entry=entry).status == 404


def test_what_is_discarded_is_written_to_a_file_first(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    for number in range(3):
        unstart(ledger, f"garbage {number}", "not_json")
    client, desk = opened(console, ledger)
    latest = desk.unstarted.latest
    assert latest is not None
    asked = {"snapshot": latest.number, "reason": "not_json", "scope": "all"}
    confirm = client.get("/unstarted/clear", **asked, action="discard")
    told = fields(confirm)
    assert client.post("/unstarted/clear", **told, note=" ").status == 422
    client.post("/unstarted/clear", **told, note="a scanner")
    finish(desk)
    (file,) = tmp_path.glob("discarded-*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(line["body"] for line in lines) == ["garbage 0", "garbage 1", "garbage 2"]
    assert {line["note"] for line in lines} == {"a scanner"}
    assert str(file) in client.get("/works/1").text
    assert "Nothing of this kind" in client.get("/unstarted").text


def test_a_file_that_could_not_be_written_is_not_said_to_hold_what_was_discarded(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    unstart(ledger, "garbage", "not_json")
    client, desk = opened(console, ledger)
    latest = desk.unstarted.latest
    assert latest is not None
    file = tmp_path / "no such folder" / "discarded.jsonl"
    task = Clear(desk.stack, latest.entries, file, "a scanner")
    with pytest.raises(Failed, match=r"discarded\.jsonl cannot be written: No such file"):
        task.run()
    assert task.said() == []
    look(desk.unstarted)
    assert client.get("/unstarted").text.count("data-row") == 1


def test_what_is_in_the_file_is_told_where_only_some_was_discarded(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    unstart(ledger, "garbage", "not_json")
    unstart(ledger, "held", "not_json")
    _, desk = opened(console, ledger)
    latest = desk.unstarted.latest
    assert latest is not None
    entries = list(latest.entries)
    ledger.sqs.receive_message(
        QueueUrl=ledger.unstarted_queue, MaxNumberOfMessages=1, VisibilityTimeout=600
    )
    task = Clear(desk.stack, entries, tmp_path / "discarded.jsonl", "a scanner")
    assert task.said() == []
    task.run()
    assert sorted(one.happened for one in task.ended()) == [False, True]
    (told,) = task.said()
    assert "discarded.jsonl, whole: keep that file." in told


def test_an_entry_that_is_not_known_says_how_far_its_queue_was_read(
    ledger: Stack, console: Open
) -> None:
    held = unstart(ledger, "{", "not_json")
    ledger.sqs.receive_message(QueueUrl=ledger.unstarted_queue, VisibilityTimeout=600)
    client, desk = opened(console, ledger)
    answer = client.get("/unstarted/entry", entry=held)
    assert (answer.status, "Another reader held 1 more" in answer.text) == (404, True)
    finish(desk)
    ledger.sqs.delete_queue(QueueUrl=ledger.unstarted_queue)
    look(desk.unstarted)
    assert "When it was read last, that failed" in client.get("/unstarted/entry", entry=held).text
    client, desk = console(ledger)
    answer = client.get("/unstarted/entry", entry=held)
    assert (answer.status, "has not been read yet" in answer.text) == (404, True)


def test_an_entry_that_came_later_is_found(ledger: Stack, console: Open) -> None:
    client, desk = opened(console, ledger)
    entry = unstart(ledger, "{", "not_json")
    client.get("/unstarted/entry", entry=entry)
    finish(desk)
    answer = client.get("/unstarted/entry", entry=entry)
    latest = desk.unstarted.latest
    assert latest is not None
    assert answer.status == 200
    assert fields(answer)["snapshot"] == [str(latest.number)]


# ------------------------------------------------------------------ messages


@pytest.fixture
def machine(ledger: Stack) -> Stack:
    """The stack with a state machine in the ledger's place."""
    stack = started(ledger)
    outputs = {name: told for name, told in stack.outputs.items() if name != "LedgerTableName"}
    return dataclasses.replace(stack, outputs=outputs)


def test_a_message_that_is_refused_while_its_page_is_open_is_told(
    machine: Stack, console: Open
) -> None:
    client, desk = opened(console, machine)
    assert "not seen yet" in client.get("/message", id="m-1").text
    unstart(machine, '{"message_id": "m-1"}', "received_too_often", source_message_id="m-1")
    counted_anew(desk)
    client.get("/message/now", id="m-1")
    finish(desk)
    text = client.get("/message/now", id="m-1").text
    assert "received_too_often" in text
    assert "not seen yet" not in text


def test_a_message_that_left_but_a_row_is_told_after_some_looks(
    machine: Stack, console: Open
) -> None:
    client, _ = opened(console, machine)
    assert "not seen yet" in client.get("/message", id="m-1").text
    machine.dynamodb.put_item(
        TableName=TABLE,
        Item={
            "message_id": {"S": "m-1"},
            "fingerprint": {"S": "f" * 64},
            "first_seen": {"S": timestamp(datetime.now(UTC))},
        },
    )
    texts = [client.get("/message/now", id="m-1").text for _ in range(FRESH_EVERY)]
    assert "first seen" in texts[-1]
    assert "not seen yet" not in texts[-1]


def test_what_was_not_looked_at_is_not_said_to_hold_nothing(machine: Stack, console: Open) -> None:
    client, desk = opened(console, machine)
    text = client.get("/message", id="m-1").text
    assert "Nothing waits in RequestsQueue." in text
    assert "UnstartedQueue is known as it was read at" in text
    client, desk = console(machine)
    with Stubber(desk.stack.sqs) as answers:
        for _ in range(2):  # the counts, and where the queue's reader begins
            answers.add_client_error(
                "get_queue_attributes", "AccessDenied", "not allowed to look", 403
            )
        answers.add_response("list_queue_tags", {"Tags": {}})
        desk.watched.counts.seen()
        look(desk.unstarted)
        text = html.unescape(client.get("/message/now", id="m-1").text)
    assert "RequestsQueue could not be looked at" in text
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
    older = re.search(r'href="(/messages\?[^"]*cursor[^"]*)" *>Older', first.text) or re.search(
        r'rel="next" href="([^"]*)"', first.text
    )
    assert older is not None
    assert client.get(html.unescape(older[1])).text.count("data-row") == 10
    assert "No such message" in client.get("/messages", day="2020-01-01").text
    wrong = client.get("/messages", day="yesterday")
    assert (wrong.status, "no day" in wrong.text) == (422, True)
    wrong = client.get("/messages", status="nonsense")
    assert (wrong.status, "There is no status" in wrong.text) == (422, True)


def test_an_id_is_found_whatever_is_in_it(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    for name in ("m-1", "a/../b?c&d=e#f", "ü €", HOSTILE_SENT.strip()):
        answer = client.get("/find", q=name)
        assert answer.headers["location"].startswith("/message?id=")
        shown = client.get(answer.headers["location"])
        assert (shown.status, "not seen yet" in shown.text) == (200, True), name
    assert "whole id only" in client.get("/find", q="m-1", how="beginning").text


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
    client, desk = opened(console, ledger)
    latest = desk.unstarted.latest
    assert latest is not None
    paths = [
        "/",
        "/waiting",
        "/dead-letters",
        "/unstarted",
        *(f"/unstarted/entry?entry={entry.entry}" for entry in latest.entries),
        *(f"/message?id={quote(text)}" for text in (MARKUP, HOSTILE_SENT)),
        *(f"/find?how=beginning&q={quote(text)}" for text in (MARKUP, HOSTILE_SENT)),
        f"/message?id={quote(MARKUP)}&format=json",
        "/dead-letters?format=json",
        f"/dead-letters?reason={quote(MARKUP)}&error={quote(HOSTILE_SENT)}",
        f"/dead-letters/decide?snapshot=1&scope=all&decision=retry&reason={quote(MARKUP)}",
        "/dead-letters/decide?snapshot=1&scope=all&decision=retry",
        f"/unstarted/clear?snapshot={latest.number}&scope=all&action=discard",
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
    client, desk = opened(console, ledger)
    with Stubber(desk.stack.sqs) as answers:
        for _ in range(3):
            answers.add_client_error(
                "get_queue_attributes", "AccessDenied", "not allowed to look", 403
            )
        desk.watched.counts.forget()
        text = client.get("/").text
    assert "GetQueueAttributes operation: not allowed to look" in html.unescape(text)
    assert "not_performed" in text


def test_credentials_that_expire_are_told_with_what_to_do(ledger: Stack, console: Open) -> None:
    client, desk = opened(console, ledger)
    with Stubber(desk.stack.dynamodb) as answers:
        answers.add_client_error("scan", "ExpiredTokenException", "expired", 400)
        answer = client.get("/messages")
    assert answer.status == 502
    assert "aws sso login" in answer.text
    assert client.get("/messages").status == 200


def test_a_fault_of_a_view_is_told_and_the_others_go_on(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    client, desk = opened(console, ledger)

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a secret of the message")

    monkeypatch.setattr(desk.stories, "fresh", broken, raising=False)
    answer = client.get("/message", id="m-1")
    assert answer.status == 500
    assert "ZeroDivisionError" in answer.text
    assert "a secret" not in answer.text
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert client.get("/").status == 200


def test_a_part_that_fails_is_a_part(ledger: Stack, console: Open) -> None:
    client, desk = opened(console, ledger)
    with Stubber(desk.stack.dynamodb) as answers:
        answers.add_client_error("get_item", "ThrottlingException", "slow down", 400)
        answers.add_client_error("get_item", "ThrottlingException", "slow down", 400)
        answer = client.get("/message/now", id="m-1", headers={"hx-request": "true"})
    assert answer.status == 502
    assert "<html" not in answer.text
    assert "slow down" in answer.text


def test_an_address_that_is_none_is_told(ledger: Stack, console: Open) -> None:
    client, _ = opened(console, ledger)
    for path in ("/nowhere", "/works/0", "/works/x", "/works/99999999999", "/unstarted/entry"):
        answer = client.get(path)
        assert answer.status == 404, path
        assert "cannot be shown" in answer.text


def test_no_audit_is_told_and_one_that_is_at_hand_is_shown(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    client, _ = opened(console, ledger)
    assert "No audit" in client.get("/audit").text
    assert "No audit" in client.get("/message/verdict", id="m-1").text
    summary = {
        "sentence": "Of 3 messages, 1 acted on again, 1 lost.",
        "exit_status": 1,
        "generated_at": "2026-01-31T10:00:00Z",
        "from": "2026-01-31",
        "to": "2026-01-31",
        "days": [{"day": "2026-01-31", "verdicts": {"performed_again": 1, "lost": 1}}],
        "alarms": [{"message_id": "m-1", "verdict": "performed_again", "timeline": []}],
        "listed": {"lost": ["m-2"]},
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    client, _ = opened(console, ledger, audit=tmp_path)
    text = client.get("/audit").text
    assert "1 acted on again, 1 lost" in text
    assert 'href="/message?id=m-1"' in text
    assert "performed_again" in client.get("/message/verdict", id="m-1").text
    assert "lost" in client.get("/message/verdict", id="m-2").text
    (tmp_path / "summary.json").write_text("{")
    broken = client.get("/audit")
    assert (broken.status, "is no JSON" in broken.text) == (502, True)


def test_an_audit_that_has_not_come_to_its_end_says_nothing_of_a_message(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    sentence = "The audit that began at 2026-01-31T10:00:00.000Z has not come to its end."
    summary = {
        "version": 1,
        "sentence": sentence,
        "exit_status": NotAudited.exit_status,
        "generated_at": "2026-01-31T10:00:00.000Z",
        "records": "records/",
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    client, desk = opened(console, ledger, audit=tmp_path)
    assert desk.audits.of_message("m-1") == Verdict(None, sentence)
    told = client.get("/message/verdict", id="m-1").text
    assert sentence in told
    assert "None" not in told
    shown = client.get("/audit").text
    assert sentence in shown
    assert "it says nothing of any message" in shown
    assert "/audit/page" not in shown
    drawn = client.get("/audit/page")
    assert (drawn.status, sentence in drawn.text) == (404, True)
    (tmp_path / "summary.json").write_text(json.dumps(summary | {"version": 99}))
    drawn = client.get("/audit/page")
    assert (drawn.status, "run the audit again" in drawn.text) == (404, True)
    del summary["sentence"]
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert "has not come to its end" in desk.audits.of_message("m-1").said


def test_the_verdict_of_any_message_is_looked_up_in_the_table(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    day = tmp_path / "messages" / "day=2026-01-31"
    day.mkdir(parents=True)
    rows = {"message_id": ["m-1"], "verdict": ["performed_once"]}
    pq.write_table(pa.table(rows), day / "part-0.parquet")
    (tmp_path / "summary.json").write_text('{"from": "2026-01-31", "to": "2026-01-31"}')
    client, _ = opened(console, ledger, audit=tmp_path)
    assert "performed_once" in client.get("/message/verdict", id="m-1").text
    assert "Not judged" in client.get("/message/verdict", id="m-2").text
    (day / "part-0.parquet").write_bytes(b"torn")
    assert client.get("/message/verdict", id="m-1").status == 502


def test_an_aws_that_is_gone_is_told_in_each_view_and_the_console_goes_on(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        port = closed_again.getsockname()[1]
    once = Config(connect_timeout=1, retries={"total_max_attempts": 1})
    monkeypatch.setattr(Aws.fresh, "__defaults__", (once,))
    gone = dataclasses.replace(ledger, aws=Aws(f"http://127.0.0.1:{port}"))
    client, _ = opened(console, gone)
    first = client.get("/")
    assert first.status == 200
    assert "actonce up" in first.text
    assert "actonce up" in client.get("/stack").text
    for path in ("/messages", "/message?id=m-1", "/message/now?id=m-1"):
        answer = client.get(path, {"hx-request": "true"} if "now" in path else None)
        assert (answer.status, "actonce up" in answer.text) == (502, True), path
    asked = {"word": "w", "entry": "never read", "decision": "retry", "note": ""}
    assert client.post("/dead-letters/decide", **asked).status == 410
