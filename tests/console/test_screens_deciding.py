"""What a page asks before anything is decided, sent back or discarded, and what it does then."""

import json
from pathlib import Path
from typing import Any

import pytest

from actonce.stack.clients import Stack
from tests.console.client import Answer, Client, console_of
from tests.console.conftest import Open, Screen
from tests.console.stacks import rejected, retried_by_a_colleague, unstart
from tests.support.queues import bodies_left, ids_left
from tests.support.waiting import dead, decision_on

pytestmark = pytest.mark.usefixtures("one_reader")

DECIDE, OF_UNSTARTED = "/dead-letters/decide", "/unstarted/decide"
GONE = "Nothing was done: this console no longer has what that page showed. Open it again, and deci"
NOT_THERE = "Nothing was done: what you chose is not in the queue now, or another reader holds it."
NO_NOTE = "Say why: whoever reads the history later needs a note."
NO_FUNCTION = "LookupError: No function is named to look it up (FindFunctionArn)"


def confirmation(client: Client, action: str, path: str = DECIDE, **more: Any) -> Answer:
    """The page that shows what would be done."""
    return client.get(path, **({"scope": "all", "action": action} | more))


def ends(client: Client) -> dict[str, int]:
    """How many of the newest job ended how."""
    return dict(client.context.jobs.all()[0].progress().results_by_end)


# ---------------------------------------------------------------- what is refused


def test_what_is_missing_is_said_and_nothing_is_decided(machine: Stack, console: Open) -> None:
    dead(machine, "m-1")
    client = console(machine)
    key = confirmation(client, "reject").fields["key"]
    for ask, form, status, sentence in (
        (client.post, {"key": key, "note": "  "}, 422, NO_NOTE),
        (client.post, {"key": key, "note": "x" * 1001}, 422, "1,000 characters at most: 1,001 c"),
        (client.post, {"key": key, "action": "", "note": "why"}, 422, "Choose what to do: retry, "),
        (client.post, {"key": "another", "note": "why"}, 410, GONE),
        (client.get, {"scope": "ticked"}, 422, "Nothing is ticked. Tick some, or choose all."),
        (client.get, {"scope": "ticked", "entry": "another"}, 410, NOT_THERE),
        (client.get, {"key": "another"}, 410, GONE),
    ):
        answer = ask(DECIDE, **({"action": "reject"} | form))
        assert (answer.status, len(answer.problems)) == (status, 1), form
        assert sentence in answer.problems[0]
    assert (client.context.jobs.all(), decision_on(machine, "m-1")) == ([], None)


# ---------------------------------------------------------------- one, by its page


def test_the_page_of_a_message_decides_the_letter_that_it_showed_and_no_other(
    machine: Stack, console: Open, screen: Screen
) -> None:
    rejected(machine)
    client = console(machine)
    screen("message_rejected", client, "/message?id=m-1")
    shown = client.open("/message?id=m-1")
    retried_by_a_colleague(machine)
    assert client.send(DECIDE, shown, action="retry").headers["location"] == "/jobs/1"
    assert decision_on(machine, "m-1") == "retry"
    assert ends(client) == {"failed": 1}
    now = client.open("/message?id=m-1")
    assert "(Unclear: 'timed out'), and the look-up gave no answer." in now.text.replace(
        "&#39;", "'"
    )
    assert now.actions == ["retry", "perform", "resolve", "reject"]
    client.send(DECIDE, now, action="reject", note="now it is seen")
    assert decision_on(machine, "m-1") == "reject"


def test_a_letter_that_was_not_read_is_decided_on_once_it_is(machine: Stack, console: Open) -> None:
    client = console(machine)
    rejected(machine)
    client.expire(queues=False)
    page = client.open("/message?id=m-1")
    assert any(one.startswith("Its dead letter was not found, and you") for one in page.words)
    assert page.actions == []
    assert page.commands[0] == "actonce dead-letters show --stack-name actonce m-1"
    assert client.send("/scan", page).headers["location"] == "/message?id=m-1"
    assert client.get("/message/now", id="m-1").actions == ["reject", "retry", "resolve"]


def test_what_nothing_can_look_up_is_performed_on_a_persons_word_and_not_retried(
    machine: Stack, console: Open, screen: Screen
) -> None:
    del machine.outputs["FindFunctionArn"]
    dead(machine, "m-1", reason="outcome_unknown", error="Unclear", cause=NO_FUNCTION)
    client = console(machine)
    screen("message_unknown", client, "/message?id=m-1")
    assert client.open("/dead-letters").actions == ["perform", "resolve", "reject"]
    refused = confirmation(client, "retry")
    why = (
        "No function can look it up (FindFunctionArn is not set), so a retry would end as the same"
    )
    assert (refused.status, refused.problems[0].startswith(why)) == (422, True)
    screen("decide_perform", client, f"{DECIDE}?scope=all&action=perform")
    page = confirmation(client, "perform")
    for action, note, sentence in (("retry", "", why), ("perform", " ", NO_NOTE)):
        answer = client.send(DECIDE, page, action=action, note=note)
        assert (answer.status, answer.problems[0].startswith(sentence)) == (422, True)
    client.send(DECIDE, page, note="nothing in the journal")
    screen("job", client, "/jobs/1")
    assert decision_on(machine, "m-1") == "perform"


# ---------------------------------------------------------------- many


def test_only_what_was_ticked_is_decided_once(machine: Stack, console: Open) -> None:
    for n in range(3):
        dead(machine, f"m-{n}", n)
    client = console(machine)
    ticked = [one.entry for one in client.letters.entries if one.message_id != "m-1"]
    form = confirmation(client, "reject", scope="ticked", entry=ticked).fields | {"note": "closed"}
    assert client.post(DECIDE, **form).headers["location"] == "/jobs/1"
    client.finish()
    again = client.post(DECIDE, {"hx-request": "true"}, **form)
    assert again.headers["hx-redirect"] == "/jobs/1"
    assert (len(client.context.jobs.all()), ids_left(machine)) == (1, ["m-1"])


def test_a_whole_group_is_decided_and_nothing_that_came_later(
    machine: Stack, console: Open
) -> None:
    for n in range(12):
        dead(machine, f"m-{n}", n)
    dead(machine, "other", 20, reason="rejected", error="Rejected")
    client = console(machine)
    group = {"reason": "not_performed", "error": "NotPerformed"}
    page = confirmation(client, "resolve", **group)
    assert "Resolve 12 dead letters?" in page.words
    assert [cells[0] for cells in page.rows] == [f"m-{n}" for n in range(12)]
    (command,) = page.commands
    kind = "--reason not_performed --error NotPerformed --before "
    assert command.startswith(f"actonce dead-letters resolve --all {kind}")
    dead(machine, "later", 30)
    client.read_queues()
    client.send(DECIDE, page, note="by telephone")
    decisions = [decision_on(machine, name) for name in ("m-7", "other", "later")]
    assert decisions == ["resolve", None, None]
    assert (ends(client), len(client.get("/jobs/1").rows)) == ({"decided": 12}, 12)
    assert [cells[1] for cells in client.get("/dead-letters").rows] == ["other", "later"]
    assert ids_left(machine) == ["later", "other"]


def test_how_the_stack_is_is_looked_at_again_after_a_decision(
    machine: Stack, console: Open, screen: Screen
) -> None:
    dead(machine, "m-1")
    client = console(machine)
    screen("stack", client, "/stack")
    client.send(DECIDE, confirmation(client, "reject"), note="closed")
    assert "| Waits for | nobody | Waiting for decision | 0 |" in client.open("/stack").words[1]


# ---------------------------------------------------------------- what could not be started


def test_what_could_not_be_started_is_sent_back(
    machine: Stack, console: Open, screen: Screen
) -> None:
    body = '{"message_id": "m-1"}'
    entry = unstart(machine, body, "received_too_often")
    client = console(machine)
    assert client.get("/unstarted/entry", entry=entry).actions == ["send-back", "discard"]
    assert client.open("/unstarted").actions == ["send-back", "discard"]
    screen("send_back", client, f"{OF_UNSTARTED}?scope=all&action=send-back")
    client.send(OF_UNSTARTED, confirmation(client, "send-back", OF_UNSTARTED), note="")
    assert "1 of 1 finished: 1 sent back" in client.get("/jobs/1").words
    assert bodies_left(machine, machine.requests_queue) == [body]
    assert client.get("/unstarted/entry", entry=entry).status == 404


@pytest.fixture
def garbage(machine: Stack) -> Stack:
    for n in range(3):
        unstart(machine, f"garbage {n}")
    return machine


def test_what_cannot_be_written_to_a_file_is_not_discarded(garbage: Stack, tmp_path: Path) -> None:
    client = console_of(garbage, tmp_path / "no such folder")
    page = confirmation(client, "discard", OF_UNSTARTED)
    client.send(OF_UNSTARTED, page, note="a scanner")
    job = client.get("/jobs/1")
    assert "0 of 3 ended early" in job.words
    (problem,) = job.problems
    assert problem.startswith(f"{tmp_path}/no such folder/discarded-")
    assert "cannot be written: No such file or directory" in problem
    assert "The other 3 wait as before." in problem
    assert len(bodies_left(garbage, garbage.unstarted_queue)) == 3


def test_what_is_discarded_is_written_to_a_file_first_and_the_file_is_named(
    garbage: Stack, console: Open, screen: Screen, tmp_path: Path
) -> None:
    client = console(garbage)
    screen("discard", client, f"{OF_UNSTARTED}?scope=all&action=discard")
    client.send(OF_UNSTARTED, confirmation(client, "discard", OF_UNSTARTED), note="a scanner")
    screen("job_discarded", client, "/jobs/1")
    (file,) = tmp_path.iterdir()
    bodies = sorted(json.loads(line)["body"] for line in file.read_text().splitlines())
    assert (bodies, client.unstarted.entries) == (["garbage 0", "garbage 1", "garbage 2"], [])
