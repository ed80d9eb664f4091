"""What waits in the queues, by kind and in lists, and how the stack and its last audit are."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.console import queue_cache
from actonce.stack.clients import Stack
from actonce_core.records import timestamp
from tests.console.client import Answer, Client
from tests.console.conftest import Open, Screen
from tests.console.stacks import rejected, unstart
from tests.support.queues import hold
from tests.support.stacks import deployed, forbid
from tests.support.waiting import dead

pytestmark = pytest.mark.usefixtures("one_reader")

EMPTY = ("No message waits for a decision", "UnstartedQueue is empty")
RELY_ON_NOTHING = (
    "Rely on nothing below: the stack that this console was started for was deleted or"
)
UNDECIDED = "Messages that wait for a decision"


def denied(client: Client, service: str, operation: str = "*") -> None:
    """To the console alone."""
    forbid(client.context.stack, service, operation)


def empty(page: Answer) -> list[str]:
    """What it says of each queue that it is empty: `✓` for sure, or as far as it was read."""
    return [
        "✓" if one.startswith("✓") else one.partition(", ")[2].partition(" at ")[0]
        for one in page.words
        if any(sentence in one for sentence in EMPTY)
    ]


AS_FAR = "as far as it was read"


# ---------------------------------------------------------------- on the first page


def test_what_waits_is_grouped_the_longest_waiting_first(
    machine: Stack, console: Open, screen: Screen
) -> None:
    screen("nothing_waits", console(machine), "/")
    for n in range(3):
        dead(machine, f"m-{n}", n, reason="rejected", error="Rejected")
    dead(machine, "m-9", 9)
    unstart(machine, "{")
    screen("waiting", console(machine), "/")


def test_a_stack_that_was_deleted_or_replaced_is_not_said_to_be_clear(
    machine: Stack, console: Open
) -> None:
    client = console(machine)
    machine.aws.client("cloudformation").delete_stack(StackName=machine.name)
    client.expire()
    page = client.open("/")
    assert page.problems[0].startswith(RELY_ON_NOTHING)
    assert empty(page) == [AS_FAR, AS_FAR]
    rejected(machine)
    client.read_queues()
    deployed(machine, machine.outputs)
    client.expire()
    (problem,) = client.open("/").problems
    assert problem.startswith(RELY_ON_NOTHING)
    page = client.open("/dead-letters/decide?scope=all&action=reject")
    refused = client.send("/dead-letters/decide", page, note="of which stack?")
    (problem,) = refused.problems
    assert (refused.status, client.context.jobs.all()) == (410, [])
    assert problem.startswith(
        "Nothing was done: the stack that this console was started for was de"
    )


def test_what_another_reader_holds_is_not_taken_for_nothing(machine: Stack, console: Open) -> None:
    client = console(machine, reads=False)
    dead(machine, "m-1")
    hold(machine, machine.dead_letter_queue)
    client.read_queues()
    for path in ("/dead-letters", "/"):
        page = client.open(path)
        assert "Another reader holds 1 more of this queue, so they are missing here." in page.words
        assert empty(page) == ([AS_FAR, "✓"] if path == "/" else [])
        assert page.sure == (path == "/")


def test_what_cannot_be_read_is_not_taken_for_nothing(machine: Stack, console: Open) -> None:
    client = console(machine)
    assert empty(client.open("/")) == ["✓", "✓"]
    machine.sqs.delete_queue(QueueUrl=machine.dead_letter_queue)
    client.read_queues()
    listed, first = client.open("/dead-letters"), client.open("/")
    for page in (listed, first):
        assert "(AWS.SimpleQueueService.NonExistentQueue)" in page.problems[0]
        assert "The stack, or a part of it, may be gone: actonce status looks." in page.problems[0]
    assert listed.sure == 0
    assert listed.words[-1].startswith("Nothing of this kind was found (read at ")
    assert empty(first) == [AS_FAR, "✓"]
    never_read = console(machine, reads=False).get("/dead-letters")
    assert "The queue has not been read yet. Look again </dead-letters>" in never_read.words


# ---------------------------------------------------------------- lists


def test_a_list_is_read_again_when_it_is_due_and_before_that_says_how_old_it_is(
    machine: Stack, console: Open, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = console(machine)
    assert client.open("/unstarted").sure == 1
    unstart(machine, "{")
    client.expire()
    screen("unstarted", client, "/unstarted")
    unstart(machine, "{", "too_large")
    client.expire(queues=False)

    def ages(path: str) -> list[str]:
        page = client.open(path)
        assert [one for one in page.words if "| not json" in one or "| a detail |" in one]
        return [one for one in page.words if " has " in one and " now" in one]

    (listed,), (first,) = ages("/unstarted"), ages("/")
    assert listed.startswith("The queue had 1 messages when it was read, ")
    assert listed.endswith(" ago, and has 2 now. Look again on the first page </>")
    assert first.endswith(" ago; the queue has 2 messages now. Look again.")
    monkeypatch.setattr(queue_cache, "OLD", timedelta())
    assert len(ages("/unstarted?reason=not_json")) == 1
    assert [one.partition("; ")[2] for one in ages("/")] == [
        "the queue has 0 messages now. Look again.",
        "the queue has 2 messages now. Look again.",
    ]


@pytest.mark.parametrize(
    ("name", "kind", "action", "actions"),
    [
        ("dead_letters", "reason=rejected", "reject", ["reject", "retry", "resolve"]),
        ("unstarted", "reason=conflict", "discard", ["discard", "send-back"]),
    ],
)
def test_what_is_advised_on_a_kind_stands_above_its_list_and_is_offered_first(
    machine: Stack,
    console: Open,
    screen: Screen,
    name: str,
    kind: str,
    action: str,
    actions: list[str],
) -> None:
    rejected(machine)
    dead(machine, "m-3", reason="outcome_unknown")
    unstart(machine, '{"message_id": "m-2"}', "conflict")
    client, path = console(machine), f"/{name.replace('_', '-')}"
    screen(
        f"{name}_of_a_kind",
        client,
        f"{path}?{kind}",
        f"{path}/decide?scope=all&{kind}&action={action}",
    )
    assert client.get(f"{path}?{kind}").actions == actions
    every = {"dead_letters": ["retry", "perform", "resolve", "reject"]}
    assert client.get(path).actions == every.get(name, ["send-back", "discard"])
    assert client.get("/message", id="m-1").actions == ["reject", "retry", "resolve"]


def test_a_kind_without_a_name_is_not_all_kinds(machine: Stack, console: Open) -> None:
    dead(machine, "named")
    dead(machine, "nameless", 1, error="")
    client, kind = console(machine), "reason=not_performed&error="
    assert [cells[1] for cells in client.open(f"/dead-letters?{kind}").rows] == ["nameless"]
    page = client.open(f"/dead-letters/decide?scope=all&{kind}&action=retry")
    assert "Retry 1 dead letter?" in page.words
    assert "Why? (optional) The note stays in each execution's history." in page.words
    assert [cells[0] for cells in page.rows] == ["nameless"]
    (command,) = page.commands
    assert " --all --reason not_performed --error '' --before " in command


def test_where_no_command_does_the_same_none_is_shown(machine: Stack, console: Open) -> None:
    dead(machine, "m-1", reason="of another version", error="E")
    dead(machine, "m-2", 1, error="E\u202e")
    client = console(machine)
    none = "No command does the same: with --all it would act on messages that were not shown here,"
    for kind, message_id in (("reason=of+another+version", "m-1"), ("error=E%E2%80%AE", "m-2")):
        page = client.open(f"/dead-letters/decide?scope=all&{kind}&action=reject")
        assert [cells[0] for cells in page.rows] == [message_id]
        assert page.commands == []
        assert any(one.startswith(none) for one in page.words)
    assert "E\\u202e" in page.rows[0]
    dead(machine, "m-3", 2)
    hold(machine, machine.dead_letter_queue, 1)
    client.read_queues()
    every = client.open("/dead-letters/decide?scope=all&action=reject")
    assert [one.split()[-1] for one in every.commands] == ["m-2", "m-3"]
    assert all(" reject --letter " in one for one in every.commands)


# ---------------------------------------------------------------- stopped before it was decided


# ---------------------------------------------------------------- the last audit

AUDIT: dict[str, Any] = {
    "version": 1,
    "sentence": "Of 3 messages, 1 acted on again, 1 lost.",
    "exit_status": 1,
    "from": "2026-01-31",
    "to": "2026-01-31",
    "days": [{"day": "2026-01-31", "verdicts": {"performed_again": 1, "lost": 1}}],
    "alarms": [{"message_id": "m-1", "verdict": "performed_again", "timeline": []}],
}
NOT_ENDED = "The audit that began has not come to its end."


def test_the_audit_that_is_at_hand_is_shown(
    machine: Stack, console: Open, screen: Screen, tmp_path: Path
) -> None:
    client = console(machine, audit=tmp_path)
    assert client.open("/audit").words[1].startswith("There is no audit of this stack yet.")

    def audited(**summary: Any) -> None:
        at = timestamp(machine.created_at() + timedelta(seconds=1))
        (tmp_path / "summary.json").write_text(json.dumps({"generated_at": at} | summary))

    audited(**AUDIT)
    screen("audit", client, "/audit")
    audited(version=1, sentence=NOT_ENDED, exit_status=2, records="records/")
    words = client.open("/audit").words
    assert words[1] == f"not audited {NOT_ENDED}"
    assert words[2].startswith("So it says nothing of any message. It is still running, or it was")
    (tmp_path / "summary.json").write_text("{")
    broken = client.open("/audit")
    assert (broken.status, "summary.json of" in broken.problems[0]) == (502, True)
    audited(**AUDIT | {"generated_at": "2026-01-31T10:00:00Z"})
    other = client.open("/audit")
    sentence = (
        f"The audit in {tmp_path}/ is another stack's: it was made at 2026-01-31T10:00:00.000Z, b"
    )
    assert (other.status, other.problems[0].startswith(sentence)) == (502, True)
