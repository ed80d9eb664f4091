"""What the pages show and do, on moto."""

import html
import json
import re
import shlex
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from actonce.cli import app as cli
from actonce.cli import bulk
from actonce.console import responses
from actonce.console.cache import Cached
from actonce.console.templating import TERMS
from actonce.console.views import message
from actonce.messages import dead_letters as letters
from actonce.messages import unstarted as deliveries
from actonce.messages.filters import Listing
from actonce.operate.pausing import EventSourceMapping
from actonce.operate.status import Count, Executions, Status
from actonce.queues.depth import Depth, Pause
from actonce.stack.clients import Stack
from tests.console.conftest import Open
from tests.console.stacks import MARKUP, rejected, unstart
from tests.support.hostile import HOSTILE_SENT, forbidden
from tests.support.queues import post
from tests.support.waiting import dead, decision_on

ALL = {"scope": "all"}
"""Everything that the queue has."""

BY_HTMX = {"hx-request": "true"}


# ------------------------------------------------------------------ what waits


NOTHING: Listing[Any] = Listing([], 0)


def test_a_queue_that_is_being_read_is_not_called_empty(
    machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, go_on = console(machine), threading.Event()
    monkeypatch.setattr(responses, "A_MOMENT", 0.1)
    monkeypatch.setattr(client.context.letters, "_read", lambda _: go_on.wait(60) and NOTHING)
    client.context.letters.scan()
    try:
        assert (client.get("/dead-letters").sure, client.get("/").sure) == (0, 1)
    finally:
        go_on.set()


def test_a_group_is_shown_by_pages(machine: Stack, console: Open) -> None:
    for number in range(51):
        post(machine, f"m-{number:02}", number)
    client = console(machine)
    page = client.get("/dead-letters", reason="not_performed", page=2)
    assert [cells[1] for cells in page.rows] == ["m-50"]
    (back,) = [link for link in page.links if "page=1" in link]
    assert back == "/dead-letters?page=1&reason=not_performed"
    assert len(client.get(back).rows) == 50
    nearest = client.get("/dead-letters", reason="not_performed", page=3)
    assert [cells[1] for cells in nearest.rows] == ["m-50"]
    form = client.get("/dead-letters/decide", **ALL, action="reject")
    (more,) = [link for link in form.links if "page=2" in link]
    assert [cells[0] for cells in client.get(more).rows] == ["m-50"]


@pytest.mark.parametrize("begin", [rejected, lambda stack: start(stack, "m-1")])
def test_what_reads_only_shows_every_view_and_offers_no_change(
    machine: Stack, console: Open, begin: Callable[[Stack], None]
) -> None:
    entry = unstart(machine, "{")
    begin(machine)
    client = console(machine, read_only=True)
    paths = ["/", "/waiting", "/stack", "/dead-letters", "/unstarted", "/messages", "/audit"]
    paths += ["/message?id=m-1", "/message/now?id=m-1", "/message/log?id=m-1", "/jobs"]
    paths += ["/message?id=nobody", f"/unstarted/entry?entry={entry}"]
    for path in paths:
        answer = client.get(path)
        assert (answer.status, answer.problems, answer.actions) == (200, [], []), path
        assert "is not called" not in answer.text, path
        assert "checkbox" not in answer.text, path
        assert set(re.findall(r'method="post" hx-post="([^"]*)"', answer.text)) <= {"/scan"}, path
    assert len(client.get("/unstarted").rows) == 1


def test_a_stack_that_takes_nothing_or_fails_is_not_said_to_run_well(
    machine: Stack, console: Open
) -> None:
    templates = console(machine, reads=False).context.templates
    template = templates.get_template("stack.html.j2")
    pause = Pause("2026-01-31T09:30:00.000Z", "me", "")
    on, off = ((EventSourceMapping("1", "starter", state),) for state in ("Enabled", "Disabled"))
    empty = Depth(0, 0, 0, None)
    queues = dict.fromkeys(("requests", "unstarted", "dead_letters"), empty)
    outage = Executions(Count(0), Count(60), Count(0))
    aborted = Executions(Count(0), Count(0), Count(1))
    for status, sentence in (
        (Status("actonce", None, off, queues), ["stopped", "nobody"]),
        (Status("actonce", pause, off, queues), ["paused", "nobody"]),
        (Status("actonce", None, on, queues, executions=outage), ["running", "the provider"]),
        (Status("actonce", None, on, queues, executions=aborted), ["running", "a person"]),
    ):
        shown = template.render(status=Cached(status, datetime.now(UTC), None))
        facts = re.sub(r'title="[^"]*"', "", shown)
        pattern = r">(running|stopped|paused|nobody|a person|the provider)|^ *(running)"
        found = re.findall(pattern, facts, re.MULTILINE)
        assert ["".join(one) for one in found] == sentence
        assert ('href="/messages?status=aborted"' in shown) is (status.executions is aborted)


# ------------------------------------------------------------------ deciding


ODD = "It's; `odd` $x"


@pytest.mark.parametrize(
    ("name", "action", "kind", "meant"),
    [
        ("dead_letters", "resolve", {"reason": "not_performed", "error": ODD}, ["m-0", "m-1"]),
        ("unstarted", "send-back", {}, ["u-0", "u-1"]),
    ],
)
def test_the_command_that_is_shown_does_the_same_and_nothing_to_what_came_later(
    machine: Stack,
    console: Open,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    name: str,
    action: str,
    kind: dict[str, str],
    meant: list[str],
) -> None:
    for number, error in enumerate((ODD, ODD, "another")):
        dead(machine, f"m-{number}", number, error=error)
    unstart(machine, '{"message_id": "u-0"}')
    unstart(machine, '{"message_id": "u-1"}', "too_large")
    client = console(machine)
    dead(machine, "later", 9, error=ODD)
    unstart(machine, '{"message_id": "later"}')
    path = f"/{name.replace('_', '-')}/decide"
    (command,) = client.get(path, **ALL, **kind, action=action).commands
    monkeypatch.setattr(bulk, "find_stack", lambda *_, **__: machine)
    monkeypatch.setattr("sys.argv", [*shlex.split(command), "--dry-run", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert found["action"] == action
    assert sorted(one["message_id"] for one in found[name]) == meant


def test_the_command_of_one_message_is_of_that_one_whatever_its_id(
    machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected(machine, "--all")
    rejected(machine, "m-1")
    client = console(machine)
    entry = next(one.entry for one in client.letters.entries if one.message_id == "--all")
    form: dict[str, Any] = {"scope": "ticked", "entry": entry}
    (command,) = client.get("/dead-letters/decide", **form, action="reject").commands
    monkeypatch.setattr(bulk, "find_stack", lambda *_, **__: machine)
    monkeypatch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None)
    assert [decision_on(machine, one) for one in ("--all", "m-1")] == ["reject", None]


def start(stack: Stack, message_id: str, body: str = "a body") -> None:
    """Have an execution begin, which waits."""
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.outputs["ProcessMessageArn"],
        name=message_id,
        input=json.dumps({"message_id": message_id, "body": body}),
    )


# ------------------------------------------------------------------ messages


def test_every_term_and_reason_is_explained(machine: Stack, console: Open) -> None:
    rejected(machine)
    unstart(machine, "{")
    page = html.unescape(console(machine).get("/").text)
    for meaning in TERMS.values():
        assert meaning in page
    for meaning in (letters.EXPLANATIONS["rejected"], deliveries.EXPLANATIONS["not_json"]):
        assert f'title="{meaning[0].upper()}{meaning[1:]}."' in page


def test_an_id_is_found_whatever_is_in_it_and_none_is_empty(machine: Stack, console: Open) -> None:
    client = console(machine)
    for name in ("m-1", "a/../b?c&d=e#f", "ü €", HOSTILE_SENT.strip()):
        assert "unseen-yet" in client.get("/message", id=name).text, name
    for path in ("/message", "/message/now", "/message/log"):
        assert client.get(f"{path}?id=").status == client.get(path).status == 404


def test_nothing_that_a_message_brings_is_more_than_text(machine: Stack, console: Open) -> None:
    for hostile in (MARKUP, HOSTILE_SENT):
        dead(machine, hostile, error=hostile, cause=hostile)
        post(machine, hostile, error=hostile, cause=hostile, execution_name=hostile)
        unstart(machine, hostile, detail=hostile)
    client = console(machine)
    paths = [
        *("/", "/waiting", "/dead-letters", "/unstarted", "/messages"),
        *(f"/unstarted/entry?entry={entry.entry}" for entry in client.unstarted.entries),
        *(f"/message?id={quote(text)}" for text in (MARKUP, HOSTILE_SENT)),
        f"/dead-letters?reason={quote(MARKUP)}&error={quote(HOSTILE_SENT)}",
        f"/dead-letters/decide?scope=all&action=retry&reason={quote(MARKUP)}",
        "/dead-letters/decide?scope=all&action=retry",
        "/unstarted/decide?scope=all&action=discard",
    ]
    for path in paths:
        answer = client.get(path)
        assert answer.status in (200, 410, 422), path
        assert not re.search(rf"<img|<b>|{777 * 777}", answer.text), path
        assert not forbidden(answer.text), path


# ------------------------------------------------------------------ what fails


def test_a_fault_of_a_view_is_told_and_the_others_go_on(
    machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret of the message")

    client = console(machine)
    monkeypatch.setattr(message, "read_story", broken)
    answer = client.get("/message", id="m-1")
    assert (answer.status, "ZeroDivisionError" in answer.problems[0]) == (500, True)
    assert "a secret" not in answer.text
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert client.get("/").status == 200
