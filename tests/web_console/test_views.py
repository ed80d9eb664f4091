"""What the pages show and do, on moto, with a ledger's rows in the executions' place."""

import dataclasses
import html
import json
import re
import shlex
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from botocore.config import Config
from botocore.stub import Stubber

from actonce.cli import app as cli
from actonce.cli import many
from actonce.console import context, queue_scans
from actonce.console.cache import Cached
from actonce.console.templating import TERMS
from actonce.console.views import message
from actonce.messages import dead_letters as letters
from actonce.messages import unstarted as deliveries
from actonce.messages.filters import Listing
from actonce.operate.pausing import Feed
from actonce.operate.status import Counted, Executions, Status
from actonce.queues.standing import Depth, Pause
from actonce.records.audit_summary import NOT_AUDITED
from actonce.stack.clients import Aws, Stack
from actonce_core.execution import execution_name
from actonce_core.records import timestamp
from tests.hostile import HOSTILE_SENT, forbidden
from tests.support.queues import (
    bodies_left,
    dead,
    hold,
    ids_left,
    post,
    put_row,
    received,
    row,
)
from tests.support.stacks import TABLE, deployed, forbid
from tests.web_console.asking import Client, console_of
from tests.web_console.conftest import FIRST, Open
from tests.web_console.stacks import (
    MARKUP,
    complete,
    log_conflict,
    own_effect,
    rejected,
    retried_by_a_colleague,
    unstart,
)

ALL = {"scope": "all", "snapshot": FIRST}
"""Everything that was read first."""

BY_SCRIPT = {"hx-request": "true"}


def decide_by(client: Client, path: str, action: str, note: str = "", **asked: Any) -> None:
    """Ask what would be done, and have it done."""
    confirm = client.get(path, **asked, action=action)
    assert confirm.status == 200
    answer = client.post(path, **confirm.fields, note=note)
    assert (answer.status, answer.headers["location"]) == (303, "/jobs/1")
    client.finish()


def ends(client: Client) -> dict[str, int]:
    """How many of the newest job ended how."""
    return dict(client.context.jobs.all()[0].progress().counted)


# ------------------------------------------------------------------ what waits


def test_what_waits_is_grouped_the_longest_waiting_first(ledger: Stack, console: Open) -> None:
    first = console(ledger).get("/")
    assert (first.rows, first.sure, first.problems) == ([], 2, [])
    for number in range(3):
        dead(ledger, f"m-{number}", number, reason="rejected", error="Rejected")
    dead(ledger, "m-9", 9)
    unstart(ledger, "{")
    first = console(ledger).get("/")
    assert [(cells[0], cells[-4]) for cells in first.rows] == [
        ("refused by the function", "3"),
        ("not performed", "1"),
        ("not json", "1"),
    ]
    assert first.sure == 0


@pytest.mark.parametrize("by_another", [True, False])
def test_a_stack_that_was_replaced_or_deleted_is_not_said_to_be_clear(
    ledger: Stack, console: Open, *, by_another: bool
) -> None:
    client = console(ledger)
    assert client.get("/").problems == []
    ledger.aws.client("cloudformation").delete_stack(StackName=ledger.name)
    if by_another:
        deployed(ledger, ledger.outputs | {"DeadLetterQueueUrl": "https://sqs.example/other"})
    client.context.is_replaced.expire()
    (problem,) = client.get("/").problems
    assert "deleted or replaced" in problem


def test_a_stack_that_cannot_be_asked_for_is_not_said_to_be_there(
    ledger: Stack, console: Open
) -> None:
    client = console(ledger)
    forbid(client.context.stack, "cloudformation", "DescribeStacks")
    (problem,) = client.get("/").problems
    assert "could not be read" in problem


def held_elsewhere(stack: Stack, _: Client) -> None:
    dead(stack, "m-1")
    hold(stack, stack.dead_letter_queue)


def cannot_be_read(stack: Stack, _: Client) -> None:
    stack.sqs.delete_queue(QueueUrl=stack.dead_letter_queue)


def cannot_be_read_again(stack: Stack, client: Client) -> None:
    client.read_queues()
    client.context.counts.get()
    cannot_be_read(stack, client)


@pytest.mark.parametrize("state", [held_elsewhere, cannot_be_read, cannot_be_read_again])
def test_what_was_not_seen_is_not_taken_for_nothing(
    ledger: Stack, console: Open, state: Callable[[Stack, Client], None]
) -> None:
    client = console(ledger, reads=False)
    state(ledger, client)
    client.read_queues()
    listed = client.get("/dead-letters")
    assert listed.sure == 0
    assert listed.problems or "Another reader holds 1 more" in listed.text
    assert client.get("/").sure <= 1, "of the other queue, if it can be counted"


NOTHING: Listing[Any] = Listing([], 0)


def test_a_queue_that_is_being_read_is_not_called_empty(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, go_on = console(ledger), threading.Event()
    monkeypatch.setattr(client.context.letters, "_read", lambda _: go_on.wait(60) and NOTHING)
    client.context.letters.scan()
    try:
        assert (client.get("/dead-letters").sure, client.get("/").sure) == (0, 1)
    finally:
        go_on.set()


def test_a_list_is_read_again_where_its_queue_has_changed_but_not_a_snapshot(
    ledger: Stack, console: Open
) -> None:
    client = console(ledger)
    assert client.get("/unstarted").sure == 1
    unstart(ledger, "{")
    client.context.counts.expire()
    seen = client.get("/unstarted", snapshot=client.unstarted.number)
    client.finish()
    assert (client.unstarted.number, seen.rows, seen.sure) == (FIRST, [], 0)
    client.get("/unstarted")
    client.finish()  # a moment is not always enough
    client.context.counts.expire()
    listed = client.get("/unstarted")
    assert (len(listed.rows), listed.sure) == (1, 0)


def test_a_group_is_shown_by_pages_and_of_the_snapshot_that_was_seen(
    ledger: Stack, console: Open
) -> None:
    for number in range(51):
        post(ledger, f"m-{number:02}", number)
    client = console(ledger)
    post(ledger, "one-more", 59)
    client.read_queues()
    page = client.get("/dead-letters", snapshot=FIRST, reason="not_performed", page=2)
    assert [(cells[1], cells[-1]) for cells in page.rows] == [
        ("m-50", '{"message_id": "m-50", "number": 50}')
    ]
    assert page.links.count(f"/dead-letters?snapshot={FIRST}&page=1&reason=not_performed") == 1
    assert "one-more" in client.get("/dead-letters", page=2).text


def test_what_is_advised_on_a_kind_stands_above_its_list_and_is_offered_first(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger)
    dead(ledger, "m-3", reason="outcome_unknown")
    unstart(ledger, '{"message_id": "m-2"}', "conflict")
    client = console(ledger)
    for path, reason, told, offered, every in (
        (
            "/dead-letters",
            "rejected",
            "For each of these: It did not happen",
            ["reject", "retry", "resolve"],
            ["retry", "perform", "resolve", "reject"],
        ),
        (
            "/unstarted",
            "conflict",
            "sent back, it would be refused again",
            ["discard", "send-back"],
            ["send-back", "discard"],
        ),
    ):
        listed = client.get(path, reason=reason)
        asked = client.get(f"{path}/decide", **ALL, reason=reason, action=offered[0])
        assert listed.actions == offered
        assert " checked" not in listed.text, "nothing is ticked yet"
        for answer in (listed, asked):
            assert answer.text.count('class="note advice"') == 1
            assert told in answer.text
        assert client.get(path).actions == every
        assert "advice" not in client.get(path).text, "kinds want different things"
    shown = client.get("/message", id="m-1")
    assert (shown.actions, "For perform" in shown.text) == (["reject", "retry", "resolve"], False)
    refused = client.get("/dead-letters/decide", **ALL, reason="rejected", action="perform")
    assert (refused.status, "decide retry" in refused.problems[0]) == (422, True)


def test_a_kind_without_a_name_is_not_all_kinds(ledger: Stack, console: Open) -> None:
    dead(ledger, "named")
    dead(ledger, "nameless", 1, error="")
    client = console(ledger)
    (link,) = [link for link in client.get("/").links if link.endswith("error=")]
    listed = client.get(link)
    assert [cells[1] for cells in listed.rows] == ["nameless"]
    assert listed.fields["error"] == [""]
    kind = {"reason": "not_performed", "error": ""}
    confirm = client.get("/dead-letters/decide", **ALL, **kind, action="retry")
    assert "--all --reason not_performed --error '' --before" in confirm.commands[0]
    assert [cells[0] for cells in confirm.rows] == ["nameless"]


def test_what_reads_only_shows_every_view_and_offers_no_change(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger)
    entry = unstart(ledger, "{")
    client = console(ledger, read_only=True)
    paths = ["/", "/waiting", "/stack", "/dead-letters", "/unstarted", "/messages", "/audit"]
    paths += ["/message?id=m-1", "/message/now?id=m-1", "/message/log?id=m-1", "/jobs"]
    paths += ["/message?id=nobody", f"/unstarted/entry?entry={entry}"]
    for path in paths:
        answer = client.get(path)
        assert answer.status == 200, path
        assert "is not called" not in answer.text, path
        assert answer.actions == [], path
        assert "checkbox" not in answer.text, path
        assert set(re.findall(r'method="post" hx-post="([^"]*)"', answer.text)) <= {"/scan"}, path
    assert [len(client.get(path).rows) for path in ("/dead-letters", "/unstarted")] == [1, 1]


def test_what_reads_only_may_make_every_call_that_shows_an_execution(
    machine: Stack, console: Open
) -> None:
    start(machine, "m-1")
    client = console(machine, read_only=True)
    paths = ["/", "/stack", "/messages", "/message?id=m-1", "/message/log?id=m-1"]
    for path in [*paths, "/message/raw?id=m-1", "/message?id=nobody"]:
        answer = client.get(path)
        assert answer.status == 200, path
        assert "is not called" not in answer.text, path


def test_a_stack_that_takes_nothing_or_fails_is_not_said_to_run_well(
    ledger: Stack, console: Open
) -> None:
    render = console(ledger, reads=False).context.render
    pause = Pause("2026-01-31T09:30:00.000Z", "me", "")
    on, off = ((Feed("1", "starter", state),) for state in ("Enabled", "Disabled"))
    empty, some = Depth(0, 0, 0, None), Depth(3, 0, 0, 60)
    queues = dict.fromkeys(("requests", "unstarted", "dead_letters"), empty)
    outage = Executions(Counted(0), Counted(60), Counted(0))
    aborted = Executions(Counted(0), Counted(0), Counted(1))
    for status, told in (
        (Status("actonce", None, on, queues), ["running", "nobody"]),
        (Status("actonce", None, off, queues), ["stopped", "nobody"]),
        (Status("actonce", pause, off, queues), ["paused", "nobody"]),
        (
            Status("actonce", None, on, queues, oldest_failed_seconds=3_000),
            ["running", "the provider", "50 min"],
        ),
        (Status("actonce", None, on, queues, executions=outage), ["running", "the provider"]),
        (Status("actonce", None, on, queues, executions=aborted), ["running", "a person"]),
        (
            Status("actonce", None, on, queues | {"dead_letters": some}, executions=outage),
            ["running", "a person"],
        ),
    ):
        shown = render("stack.html.j2", {"status": Cached(status, datetime.now(UTC), None)})
        facts = re.sub(r'title="[^"]*"', "", shown)
        pattern = r">(running|stopped|paused|nobody|a person|the provider)|\b(50 min)|^ *(running)"
        found = re.findall(pattern, facts, re.MULTILINE)
        assert ["".join(one) for one in found] == told


# ------------------------------------------------------------------ deciding


def test_a_whole_group_is_decided_and_nothing_that_came_later(ledger: Stack, console: Open) -> None:
    for number in range(12):
        dead(ledger, f"m-{number}", number)
    dead(ledger, "other", 20, reason="rejected", error="Rejected")
    client = console(ledger)
    dead(ledger, "later", 30)
    client.read_queues()
    kind = {"reason": "not_performed", "error": "NotPerformed"}
    decide_by(client, "/dead-letters/decide", "resolve", "by telephone", **ALL, **kind)
    assert ids_left(ledger) == ["later", "other"]
    outcomes = [row(ledger, name)["outcome"] for name in ("m-7", "other", "later")]
    assert outcomes == ["resolved", "dead_letter", "dead_letter"]
    assert ends(client) == {"decided": 12}
    page = client.get("/jobs/1")
    assert [cells[1] for cells in page.rows] == ["resolved"] * 12
    assert '<span class="end">12 resolved</span>' in page.text
    assert "later" in client.get("/dead-letters").text, "it was read again by itself"


def test_only_what_was_ticked_is_decided(ledger: Stack, console: Open) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)
    client = console(ledger)
    ticked = [one.entry for one in client.letters.entries if one.message_id != "m-1"]
    asked: dict[str, Any] = {"snapshot": FIRST, "scope": "ticked", "entry": ticked}
    decide_by(client, "/dead-letters/decide", "reject", "closed", **asked)
    assert ids_left(ledger) == ["m-1"]


def test_a_second_click_finds_the_first_ones_job_also_when_its_snapshot_is_kept_no_more(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(ledger, "m-1")
    client = console(ledger)
    asked = ALL | {"key": "k", "action": "reject", "note": "why"}
    first = client.post("/dead-letters/decide", **asked)
    client.finish()
    monkeypatch.setattr(queue_scans.QueueScans, "snapshot", lambda *_: None)
    second = client.post("/dead-letters/decide", BY_SCRIPT, **asked)
    assert first.headers["location"] == second.headers["hx-redirect"] == "/jobs/1"
    assert len(client.context.jobs.all()) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"action": "resolve", "note": "  "}, 422),
        ({"note": "x" * 1001}, 422),
        ({"action": ""}, 422),
        ({"key": ""}, 422),
        ({"scope": "ticked"}, 422),
        ({"snapshot": 77}, 410),
        ({"snapshot": 0, "entry": ""}, 410),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_decided(
    ledger: Stack, console: Open, change: dict[str, Any], status: int
) -> None:
    dead(ledger, "m-1")
    client = console(ledger)
    asked = ALL | {"key": "k", "action": "reject", "note": "why"} | change
    for headers in ({}, BY_SCRIPT):
        answer = client.post("/dead-letters/decide", headers, **asked)
        assert (answer.status, len(answer.problems)) == (status, 1)
        assert ("<html" in answer.text) is not bool(headers), "a part of the page, or a page"
    assert client.context.jobs.all() == []


def test_what_nothing_can_look_up_is_performed_on_a_persons_word_and_not_retried(
    ledger: Stack, console: Open
) -> None:
    unknown = "LookupError: No function is named to look it up (FindFunctionArn)"
    dead(ledger, "m-1", reason="outcome_unknown", error="_CannotFind", cause=unknown)
    complete(ledger, "m-1")
    client = console(ledger)
    for one in (client.get("/message", id="m-1"), client.get("/dead-letters")):
        assert one.actions == ["perform", "resolve", "reject"]
    path = "/dead-letters/decide"
    for answer in (
        client.get(path, **ALL, action="retry"),
        client.post(path, **ALL, action="retry", key="k", note=""),
        client.post(path, **ALL, action="perform", key="k", note=" "),
    ):
        assert answer.status == 422
    decide_by(client, path, "perform", "nothing in the journal", **ALL)
    assert row(ledger, "m-1")["status"] == "IN_PROGRESS"
    assert len(received(ledger, ledger.requests_queue)) == 1


@pytest.mark.parametrize("is_read_since", [False, True])
def test_the_page_of_a_message_decides_the_letter_that_it_showed_and_no_other(
    ledger: Stack, console: Open, *, is_read_since: bool
) -> None:
    rejected(ledger)
    client = console(ledger)
    shown = client.get("/message", id="m-1")
    retried_by_a_colleague(ledger)
    if is_read_since:
        client.read_queues()
    assert len(received(ledger, ledger.requests_queue)) == 1

    client.post("/dead-letters/decide", **shown.fields, action="retry")
    client.finish()

    assert row(ledger, "m-1")["outcome"] == "dead_letter"
    assert received(ledger, ledger.requests_queue) == []
    assert ends(client) == {"failed": 1}
    # Looked at again it shows the letter that waits now, and that is decided.
    again = client.get("/message", id="m-1")
    assert "timed out" in again.text
    client.post("/dead-letters/decide", **again.fields, action="reject", note="now it is seen")
    client.finish()
    assert row(ledger, "m-1")["outcome"] == "rejected"


def test_a_letter_that_is_known_no_more_is_not_decided_by_its_message(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger)
    client = console(ledger)
    shown = client.get("/message", id="m-1")
    ledger.sqs.purge_queue(QueueUrl=ledger.dead_letter_queue)
    dead(ledger, "m-1", 1)
    for _ in range(queue_scans.KEPT):
        client.read_queues()
    answer = client.post("/dead-letters/decide", **shown.fields, action="reject", note="closed")
    assert (answer.status, client.context.jobs.all()) == (410, [])
    assert row(ledger, "m-1")["outcome"] == "dead_letter"


@pytest.mark.parametrize("is_small", [True, False])
def test_where_the_letter_was_not_read_it_is_read_or_the_page_says_so_and_decides_nothing(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, *, is_small: bool
) -> None:
    client = console(ledger)
    rejected(ledger)
    client.context.counts.expire()
    if not is_small:
        monkeypatch.setattr(queue_scans, "SMALL", 0)
        shown = client.get("/message", id="m-1")
        assert 'id="decide"' in shown.text
        assert shown.actions == []
        assert "reject --note WHY --stack-name actonce m-1" in shown.text
        answer = client.post("/scan", **shown.fields)
        assert answer.headers["location"] == "/message?id=m-1"
    client.get("/message", id="m-1")
    client.finish()
    shown = client.get("/message/now", id="m-1")
    assert shown.fields["entry"] == [client.letters.entries[0].entry]
    assert "no such practice" in shown.text


def test_before_a_group_is_decided_all_of_it_can_be_seen_however_often_it_is_read(
    ledger: Stack, console: Open
) -> None:
    for number in range(51):
        post(ledger, f"m-{number:02}", number)
    client = console(ledger)
    first = client.get("/dead-letters/decide", **ALL, action="reject")
    (more,) = [link for link in first.links if "page=2" in link]
    for _ in range(queue_scans.KEPT + 1):
        client.read_queues()
    shown = [cells[0] for page in (first, client.get(more)) for cells in page.rows]
    assert shown == [f"m-{number:02}" for number in range(51)]
    assert client.post("/dead-letters/decide", **first.fields, note="why").status == 303
    client.finish()  # else it goes on in the next test
    assert sum(ends(client).values()) == 51


ODD = "It's; `odd` $x"


@pytest.mark.parametrize(
    ("name", "action", "kind", "meant"),
    [
        ("dead_letters", "resolve", {"reason": "not_performed", "error": ODD}, ["m-0", "m-1"]),
        ("dead_letters", "reject", {}, ["m-0", "m-1", "m-2"]),
        ("unstarted", "discard", {"reason": "not_json"}, ["u-0"]),
        ("unstarted", "send-back", {}, ["u-0", "u-1"]),
    ],
)
def test_the_command_that_is_shown_does_the_same_and_nothing_to_what_came_later(
    ledger: Stack,
    console: Open,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    name: str,
    action: str,
    kind: dict[str, str],
    meant: list[str],
) -> None:
    for number, error in enumerate((ODD, ODD, "another")):
        dead(ledger, f"m-{number}", number, error=error)
    unstart(ledger, '{"message_id": "u-0"}')
    unstart(ledger, '{"message_id": "u-1"}', "too_large")
    client = console(ledger)
    dead(ledger, "later", 9, error=ODD)
    unstart(ledger, '{"message_id": "later"}')
    path = f"/{name.replace('_', '-')}/decide"
    (command,) = client.get(path, **ALL, **kind, action=action).commands
    monkeypatch.setattr(many, "find_stack", lambda *_, **__: ledger)
    monkeypatch.setattr("sys.argv", [*shlex.split(command), "--dry-run", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert found["action"] == action
    assert sorted(one["message_id"] for one in found[name]) == meant


def test_the_command_of_one_message_is_of_that_one_whatever_its_id(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected(ledger, "--all")
    rejected(ledger, "m-1")
    client = console(ledger)
    entry = next(one.entry for one in client.letters.entries if one.message_id == "--all")
    asked: dict[str, Any] = {"snapshot": FIRST, "scope": "ticked", "entry": entry}
    (command,) = client.get("/dead-letters/decide", **asked, action="reject").commands
    monkeypatch.setattr(many, "find_stack", lambda *_, **__: ledger)
    monkeypatch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None)
    assert [row(ledger, one)["outcome"] for one in ("--all", "m-1")] == ["rejected", "dead_letter"]


def test_where_no_command_does_the_same_none_is_shown(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1", reason="of another version", error="E")
    dead(ledger, "m-2", 1, error="E\u202e")
    client = console(ledger)
    kinds = [{"reason": "of another version"}, {"error": "E\u202e"}]
    path = "/dead-letters/decide"
    shown = [client.get(path, **ALL, **kind, action="reject") for kind in kinds]
    dead(ledger, "m-3", 2)
    hold(ledger, ledger.dead_letter_queue, 1)
    client.read_queues()
    shown.append(client.get(path, snapshot=FIRST + 1, scope="all", action="reject"))
    assert [(answer.status, answer.commands) for answer in shown] == 3 * [(200, [])]


# ------------------------------------------------------------------ unstarted


def test_what_could_not_be_started_is_sent_back(ledger: Stack, console: Open) -> None:
    entry = unstart(ledger, '{"message_id": "m-1"}', "received_too_often")
    client = console(ledger)
    shown = client.get("/unstarted/entry", entry=entry)
    assert "/message?id=m-1" in shown.links
    assert shown.actions == ["send-back", "discard"]
    decide_by(client, "/unstarted/decide", "send-back", **shown.fields)
    assert bodies_left(ledger, ledger.requests_queue) == ['{"message_id": "m-1"}']
    assert ends(client) == {"sent_back": 1}
    assert client.get("/unstarted/entry", entry=entry).status == 404


def test_what_is_discarded_is_written_to_a_file_first_and_the_file_is_named(
    ledger: Stack, console: Open, tmp_path: Path
) -> None:
    for number in range(3):
        unstart(ledger, f"garbage {number}")
    nowhere = console_of(ledger, tmp_path / "no such folder")
    decide_by(nowhere, "/unstarted/decide", "discard", "a scanner", **ALL)
    job = nowhere.get("/jobs/1")
    (problem,) = job.problems
    assert re.search(r"cannot be written: .*\n? The other 3 wait as before\.", problem)
    assert "keep that file" not in job.text
    client = console(ledger)
    decide_by(client, "/unstarted/decide", "discard", "a scanner", **ALL, reason="not_json")
    (file,) = tmp_path.glob("discarded-*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(line["body"] for line in lines) == ["garbage 0", "garbage 1", "garbage 2"]
    assert {line["note"] for line in lines} == {"a scanner"}
    assert f"{file} has what was discarded, whole" in client.get("/jobs/1").text
    assert client.unstarted.entries == []


def test_an_entry_is_found_that_came_later_and_one_that_is_held_is_not_said_to_be_gone(
    ledger: Stack, console: Open
) -> None:
    client = console(ledger)
    entry = unstart(ledger, "{")
    client.get("/unstarted/entry", entry=entry)
    client.finish()
    answer = client.get("/unstarted/entry", entry=entry)
    assert answer.fields["snapshot"] == [str(client.unstarted.number)]
    hold(ledger, ledger.unstarted_queue)
    answer = console(ledger).get("/unstarted/entry", entry=entry)
    assert (answer.status, "Another reader held 1 more" in answer.text) == (404, True)


def start(stack: Stack, message_id: str, body: str = "a body") -> None:
    """Have an execution begin, which waits."""
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.outputs["ProcessMessageArn"],
        name=message_id,
        input=json.dumps({"message_id": message_id, "body": body}),
    )


def test_a_conflict_is_shown_beside_what_was_first(machine: Stack, console: Open) -> None:
    body = {"message_id": "m-1", "patient": "<b>Zoë</b>"}
    entries = [
        unstart(machine, json.dumps(body | {"message_id": name, "practice": "harbour"}), "conflict")
        for name in ("m-1", "m-2")
    ]
    start(machine, "m-1", json.dumps(body | {"practice": "main"}))
    client = console(machine)
    client.finish()
    for path, asked in (("/unstarted/entry", {"entry": entries[0]}), ("/message", {"id": "m-1"})):
        shown = client.get(path, **asked)
        marked = re.findall(r"<(del|ins)>(.*?)</", shown.text)
        assert marked == [("del", "main"), ("ins", "harbour")]
        assert "&lt;b&gt;Zoë&lt;/b&gt;" in shown.text
        assert '<pre class="body"' in shown.text
        assert "unstarted show" not in shown.text, "it is shown here"
    assert (
        "no longer has the first execution" in client.get("/unstarted/entry", entry=entries[1]).text
    )
    # And its own page shows all that Step Functions has of it.
    assert "ExecutionStarted" in client.get("/message/raw", id="m-1").text
    assert '"harbour"' not in client.get("/message/raw", id="m-1").text


# ------------------------------------------------------------------ messages


def is_unseen(client: Client, message_id: str) -> bool:
    return "unseen-yet" in client.get("/message/now", id=message_id).text


def test_a_message_that_is_refused_or_left_a_row_while_its_page_is_open_is_told(
    machine: Stack, console: Open
) -> None:
    client = console(machine)
    assert [is_unseen(client, name) for name in ("m-1", "m-2")] == [True, True]
    unstart(machine, '{"message_id": "m-1"}', "received_too_often", source_message_id="m-1")
    item = {"message_id": "m-2", "fingerprint": "f", "first_seen": timestamp(datetime.now(UTC))}
    machine.dynamodb.put_item(TableName=TABLE, Item={n: {"S": v} for n, v in item.items()})
    client.context.counts.expire()
    for message_id, told in (("m-1", "received_too_often"), ("m-2", "first seen")):
        client.get("/message/now", id=message_id)
        client.finish()  # a moment is not always enough
        assert told in client.get("/message/now", id=message_id).text
        assert not is_unseen(client, message_id)


NEXT_LOOK = re.compile(r'hx-get="(/message/now\?[^"]*)"')


def test_what_is_nowhere_is_looked_for_some_times_and_then_when_asked(
    machine: Stack, console: Open
) -> None:
    client, looks, again = console(machine), 0, "/message?id=m-1"
    shown = client.get(again)
    while looks <= message.MOST_LOOKS and (found := NEXT_LOOK.search(shown.text)):
        assert again not in shown.links
        looks += 1
        shown = client.get(html.unescape(found[1]))
    assert (looks, again in shown.links) == (message.MOST_LOOKS, True)
    item = {"message_id": "m-1", "fingerprint": "f", "first_seen": timestamp(datetime.now(UTC))}
    machine.dynamodb.put_item(TableName=TABLE, Item={n: {"S": v} for n, v in item.items()})
    assert "hx-trigger" in client.get("/message/now", id="m-1").text, "it may begin any moment"
    assert again in client.get("/message/now", id="m-1", looks=message.MOST_LOOKS).links
    start(machine, "m-1")
    assert "pulse" in client.get("/message/now", id="m-1", looks=message.MOST_LOOKS).text


def test_what_was_not_looked_at_is_not_said_to_hold_nothing(machine: Stack, console: Open) -> None:
    assert "Nothing waits in RequestsQueue." in console(machine).get("/message", id="m-1").text
    client = console(machine, reads=False)
    forbid(client.context.stack, "sqs", "GetQueueAttributes")
    client.read_queues()
    text = html.unescape(client.get("/message/now", id="m-1").text)
    assert "AccessDenied" in text
    assert "UnstartedQueue has not been read yet" in text
    assert "Nothing waits" not in text


def test_one_denied_read_does_not_end_the_page_of_a_message(machine: Stack, console: Open) -> None:
    start(machine, "m-1")
    item = {"message_id": "m-1", "fingerprint": "f", "first_seen": timestamp(datetime.now(UTC))}
    machine.dynamodb.put_item(TableName=TABLE, Item={n: {"S": v} for n, v in item.items()})
    client = console(machine)
    forbid(client.context.stack, "stepfunctions", "DescribeExecution")
    forbid(client.context.stack, "logs")
    for path, problems in (("", 1), ("/now", 1), ("/log", 2)):
        shown = client.get(f"/message{path}", id="m-1")
        assert (shown.status, len(shown.problems)) == (200, problems)
        assert all("AccessDenied" in one for one in shown.problems)
        assert "not started" not in shown.text
        assert "first seen" in shown.text


def test_events_that_may_not_be_read_leave_input_and_output(machine: Stack, console: Open) -> None:
    start(machine, "m-1")
    client = console(machine)
    forbid(client.context.stack, "stepfunctions", "GetExecutionHistory")
    shown = client.get("/message/raw", id="m-1")
    assert (shown.status, len(shown.problems)) == (200, 1)
    assert "a body" in shown.text


def test_a_conflict_that_the_log_tells_of_is_looked_for_before_it_is_said_to_be_gone(
    machine: Stack, console: Open
) -> None:
    """The queue is as long as it was when it was read: that says nothing."""
    start(machine, "m-1")
    before = unstart(machine, "{")
    client = console(machine)
    machine.sqs.purge_queue(QueueUrl=machine.unstarted_queue)
    entry = unstart(machine, '{"message_id": "m-1"}', "conflict")
    log_conflict(machine, "m-1")
    client.get("/message/log", id="m-1")
    client.finish()
    shown = client.get("/message/now", id="m-1")
    assert f"/unstarted/entry?entry={entry}" in shown.links
    assert client.get("/unstarted/entry", entry=before).status == 404


def test_a_conflict_that_is_not_found_is_not_said_to_be_gone(machine: Stack, console: Open) -> None:
    start(machine, "m-1")
    log_conflict(machine, "m-1")
    client = console(machine)
    client.get("/message/log", id="m-1")
    client.finish()
    shown = client.get("/message/now", id="m-1")
    assert "brought other content" in shown.text
    assert "UnstartedQueue had nothing of it at 2" in shown.text
    assert shown.fields == {"queue": ["unstarted"], "message": ["m-1"]}


@pytest.mark.parametrize(
    ("reason", "offered", "twice"),
    [
        ("rejected", ["resolve", "retry", "reject"], 1),
        ("outcome_unknown", ["resolve", "retry", "perform", "reject"], 1),
    ],
)
def test_where_the_effect_is_seen_to_resolve_is_advised_and_first(
    ledger: Stack, console: Open, tmp_path: Path, reason: str, offered: list[str], twice: int
) -> None:
    dead(ledger, "m-1", reason=reason)
    complete(ledger, "m-1")
    shown = console(ledger, own=own_effect(tmp_path, "m-1")).get("/message", id="m-1")
    assert shown.actions == offered
    assert re.findall(r"<strong>(\w+)</strong> <span class=\"badge advised", shown.text) == [
        "Resolve"
    ]
    assert shown.text.count("this would make it happen twice") == twice
    assert "2026-01-31 09:31:07 UTC" in shown.text
    unseen = console(ledger, own=own_effect(tmp_path, "m-2")).get("/message", id="m-1")
    assert "happen twice." not in unseen.text.partition("If it did happen, it happens twice.")[0]


def test_the_body_stands_with_the_message_whole_and_laid_out_where_that_changes_nothing(
    machine: Stack, console: Open
) -> None:
    bodies = {
        "m-1": '{"b": 1.50, "a": "<i>"}',
        "m-2": '{"b": 1.5, "a": "<i>"}',
        "m-3": json.dumps([MARKUP] * 500),
    }
    for message_id, body in bodies.items():
        start(machine, message_id, body)
    client = console(machine)
    shown = {name: client.get("/message", id=name).text for name in bodies}
    (as_sent,) = re.findall(r'<pre class="body"[^>]*>(.*?)</pre>', shown["m-1"], re.DOTALL)
    assert html.unescape(as_sent) == bodies["m-1"], "Python would write 1.5"
    assert '{\n  "b": 1.5,\n  "a": "<i>"\n}' in html.unescape(shown["m-2"])
    assert "<img" not in shown["m-3"]
    assert shown["m-3"].count("&lt;img") == 500, "it scrolls, and is whole"


def test_blanks_around_an_id_are_seen_and_a_long_id_is_cut_in_its_middle(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger, " pay-1")
    long = "a" * 1_000 + "b" * 1_000
    dead(ledger, long, 1, execution_name=execution_name(long))
    complete(ledger, long)
    client = console(ledger)
    listed = client.get("/dead-letters")
    assert '<span class="blank" title="a blank"> </span>pay-1' in listed.text
    assert [len(cells[1]) for cells in listed.rows if "…" in cells[1]] == [60]
    assert [cells[1][:2] + cells[1][-2:] for cells in listed.rows if "…" in cells[1]] == ["aabb"]
    shown = client.get("/message", id=long)
    seen = re.sub(r"<[^>]*>", "", shown.text)
    assert seen.count("b" * 1_000) == 1, "where it is unfolded"
    assert "Did you mean" in client.get("/message", id="m-9 ").text
    assert "/message?id=m-9" in client.get("/message", id="m-9 ").links


def test_the_list_tells_what_waits_for_a_decision_and_lists_it_alone(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger)
    put_row(ledger, "m-2", "COMPLETE", "resolved")
    complete(ledger, "m-2")
    client = console(ledger)
    states = {cells[0]: cells[1] for cells in client.get("/messages").rows}
    assert states["m-1"].startswith("waiting for decision refused by the function, for ")
    assert states["m-2"] == "resolved by hand"
    answer = client.get("/messages", status="waiting_for_decision")
    assert answer.headers["location"] == "/dead-letters"


def test_a_letter_leads_to_its_message_behind_a_lock_whatever_its_id_is(
    ledger: Stack, console: Open
) -> None:
    dead(ledger, "order 17", execution_name=execution_name("order 17"))
    complete(ledger, "order 17")
    client = console(ledger)
    (link,) = [link for link in client.get("/dead-letters").links if link.startswith("/message?")]
    shown = client.get(link).text
    assert "waiting for decision" in shown
    assert 'name="action"' in shown


def test_what_ended_before_it_was_decided_waits_with_the_command_that_continues_it(
    machine: Stack, console: Open
) -> None:
    start(machine, "m-1")
    start(machine, "m-2")
    machine.stepfunctions.stop_execution(executionArn=machine.execution_arn("m-1"))
    client = console(machine)
    stopped = client.get("/stopped")
    assert [cells[:2] for cells in stopped.rows] == [["m-1", "aborted"]]
    assert stopped.commands == ["actonce dead-letters retry --stack-name actonce m-1"]
    assert "newest" not in stopped.text
    forbid(client.context.stack, "stepfunctions", "ListExecutions")
    assert console(machine).get("/stopped").rows
    client = console(machine, reads=False)
    forbid(client.context.stack, "stepfunctions", "ListExecutions")
    assert "AccessDenied" in client.get("/stopped").problems[0]


def test_every_word_of_the_domain_and_every_reason_is_explained(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger)
    unstart(ledger, "{")
    page = html.unescape(console(ledger).get("/").text)
    for meaning in TERMS.values():
        assert meaning in page
    for meaning in (letters.MEANINGS["rejected"], deliveries.MEANINGS["not_json"]):
        assert f'title="{meaning[0].upper()}{meaning[1:]}."' in page


def test_that_not_all_that_stopped_was_looked_at_is_told(
    machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "MOST_STOPPED", 1)
    for name in ("m-1", "m-2"):
        start(machine, name)
        machine.stepfunctions.stop_execution(executionArn=machine.execution_arn(name))
    stopped = console(machine).get("/stopped")
    assert len(stopped.rows) == 1
    assert "1 newest of each state" in stopped.text


def test_how_the_stack_is_is_looked_at_again_after_a_decision(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client = console(ledger)

    def waiting() -> int:
        status = client.context.status.get().value
        assert status is not None
        return status.waiting_for_decision

    assert waiting() == 1
    decide_by(client, "/dead-letters/decide", "reject", "closed", **ALL)
    client.finish()
    assert waiting() == 0


def test_messages_are_listed_by_status_and_day(ledger: Stack, console: Open) -> None:
    for number in range(51):
        put_row(ledger, f"m-{number:02}", "COMPLETE", "performed")
        complete(ledger, f"m-{number:02}")
    client = console(ledger)
    first = client.get("/messages", status="complete", day=str(datetime.now(UTC).date()))
    (older,) = [link for link in first.links if "cursor=" in link]
    assert [len(first.rows), len(client.get(older).rows)] == [50, 1]
    assert client.get("/messages", day="2020-01-01").rows == []
    for wrong in ({"day": "yesterday"}, {"status": "nonsense"}):
        assert client.get("/messages", **wrong).status == 422


def test_an_id_is_found_whatever_is_in_it_and_none_is_empty(ledger: Stack, console: Open) -> None:
    client = console(ledger)
    for name in ("m-1", "a/../b?c&d=e#f", "ü €", HOSTILE_SENT.strip()):
        location = client.get("/find", q=name).headers["location"]
        assert location.startswith("/message?id=")
        assert "unseen-yet" in client.get(location).text, name
    assert client.get("/find", q=" m-1 ").headers["location"] == "/message?id=+m-1+"
    assert client.get("/find", q=" ").headers["location"] == "/messages"
    for path in ("/message", "/message/now", "/message/log", "/message/raw"):
        assert client.get(f"{path}?id=").status == client.get(path).status == 404


def test_nothing_that_a_message_brings_is_more_than_text(ledger: Stack, console: Open) -> None:
    for hostile in (MARKUP, HOSTILE_SENT):
        dead(ledger, hostile, error=hostile, cause=hostile, execution_name=hostile)
        complete(ledger, hostile)
        unstart(ledger, hostile, detail=hostile)
    client = console(ledger)
    paths = [
        *("/", "/waiting", "/dead-letters", "/unstarted", "/messages"),
        *(f"/unstarted/entry?entry={entry.entry}" for entry in client.unstarted.entries),
        *(f"/message?id={quote(text)}" for text in (MARKUP, HOSTILE_SENT)),
        f"/dead-letters?reason={quote(MARKUP)}&error={quote(HOSTILE_SENT)}",
        f"/dead-letters/decide?snapshot={FIRST}&scope=all&action=retry&reason={quote(MARKUP)}",
        f"/dead-letters/decide?snapshot={FIRST}&scope=all&action=retry",
        f"/unstarted/decide?snapshot={FIRST}&scope=all&action=discard",
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status in (200, 422), path
        assert not re.search(rf"<img|<b>|{777 * 777}", answer.text), path
        assert not forbidden(answer.text), path


# ------------------------------------------------------------------ what fails


def test_what_may_not_be_seen_is_told_with_what_to_do_and_the_rest_is_shown(
    ledger: Stack, console: Open
) -> None:
    rejected(ledger)
    client = console(ledger)
    stack = client.context.stack
    forbid(stack, "sqs", "GetQueueAttributes")
    first = client.get("/")
    assert ("GetQueueAttributes operation" in first.problems[0], len(first.rows)) == (True, 1)
    with Stubber(stack.dynamodb) as answers:
        answers.add_client_error("scan", "ExpiredTokenException", "expired", 400)
        answer = client.get("/messages")
    assert (answer.status, "aws sso login" in answer.problems[0]) == (502, True)
    assert client.get("/messages").status == 200


def test_a_fault_of_a_view_is_told_and_the_others_go_on(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret of the message")

    client = console(ledger)
    monkeypatch.setattr(message, "read_story", broken)
    answer = client.get("/message", id="m-1")
    assert (answer.status, "ZeroDivisionError" in answer.problems[0]) == (500, True)
    assert "a secret" not in answer.text
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert client.get("/").status == 200


ENDED = {
    "version": 1,
    "sentence": "Of 3 messages, 1 acted on again, 1 lost.",
    "exit_status": 1,
    "generated_at": "2026-01-31T10:00:00Z",
    "from": "2026-01-31",
    "to": "2026-01-31",
    "days": [{"day": "2026-01-31", "verdicts": {"performed_again": 1, "lost": 1}}],
    "alarms": [{"message_id": "m-1", "verdict": "performed_again", "timeline": []}],
}
BEGUN = {
    "version": 1,
    "sentence": "The audit that began at 2026-01-31T10:00:00.000Z has not come to its end.",
    "exit_status": NOT_AUDITED,
    "generated_at": "2026-01-31T10:00:00.000Z",
    "records": "records/",
}


@pytest.mark.parametrize("is_in_bucket", [False, True])
def test_the_audit_that_is_at_hand_is_shown(
    ledger: Stack, console: Open, tmp_path: Path, *, is_in_bucket: bool
) -> None:
    s3 = ledger.aws.client("s3")
    s3.create_bucket(Bucket="audits")
    outputs = ledger.outputs | {"AuditBucketName": "audits"}
    stack = dataclasses.replace(ledger, outputs=outputs) if is_in_bucket else ledger
    client = console(stack, audit=None if is_in_bucket else tmp_path)
    assert "There is no audit of this stack" in client.get("/audit").text
    made = {"generated_at": timestamp(stack.created_at() + timedelta(seconds=1))}
    told: tuple[tuple[int, Any], ...] = ((200, ENDED | made), (200, BEGUN | made), (502, "{"))
    for status, summary in (*told, (502, ENDED)):  # the last one was made before the stack
        written = summary if isinstance(summary, str) else json.dumps(summary)
        s3.put_object(Bucket="audits", Key="audit/summary.json", Body=written.encode())
        (tmp_path / "summary.json").write_text(written)
        answer = client.get("/audit")
        assert answer.status == status
        assert ("/message?id=m-1" in answer.links) is (summary == ENDED | made)
        assert ("it says nothing of any message" in answer.text) is (summary == BEGUN | made)
        assert status != 200 or str(summary["sentence"]) in answer.text


def test_an_aws_that_is_gone_is_told_in_each_view_and_the_console_goes_on(
    ledger: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        port = closed_again.getsockname()[1]
    once = Config(connect_timeout=1, retries={"total_max_attempts": 1})
    monkeypatch.setattr(Aws.fresh, "__defaults__", (once,))
    client = console(dataclasses.replace(ledger, aws=Aws(f"http://127.0.0.1:{port}")))
    for path, status in (("/", 200), ("/stack", 200), ("/messages", 502), ("/message?id=m", 502)):
        for headers in ({}, BY_SCRIPT):
            answer = client.get(path, headers)
            assert (answer.status, "actonce up" in answer.text) == (status, True), path
    asked = {"key": "k", "entry": "never read", "action": "retry", "note": ""}
    assert client.post("/dead-letters/decide", **asked).status == 410
