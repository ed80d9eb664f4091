"""A queue is read once for however many tabs, and again while somebody looks; forms keep theirs."""

import threading
from collections.abc import Callable

import pytest

from actonce.console.jobs import Job
from actonce.console.queue_cache import (
    FRESH_SECONDS,
    PAUSE,
    QueueCache,
    QueueState,
)
from actonce.messages.filters import Listing
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.console.conftest import Open
from tests.console.stacks import rejected, unstart
from tests.support.queues import decide_shown, post
from tests.support.waiting import dead

Tell = Callable[[int], None]
NOTHING: Listing[str] = Listing([], 0)


def test_however_many_ask_one_reads_and_once_more_if_something_was_done_meanwhile() -> None:
    began, go_on = threading.Event(), threading.Event()
    found = iter([Listing(["before"], 0), Listing(["after"], 0)])

    def slowly(tell: Tell) -> Listing[str]:
        tell(3)
        began.set()
        assert go_on.wait(30)
        return next(found)

    queue = QueueCache(slowly)
    for _ in range(20):
        queue.scan()
    assert began.wait(30)
    assert queue.state == QueueState(NOTHING, reading=3)
    for _ in range(3):
        queue.scan(after_this=True)
    go_on.set()
    queue.wait(30)
    assert queue.state.listing.entries == ["after"]
    assert next(found, None) is None
    assert queue.state.reading is None


ONE = Listing(["a"], 0)


@pytest.mark.parametrize(
    ("answer", "took", "looks"),
    [
        # When a page looks, and how often the queue was read then.
        (ONE, 0, [(0, 1), (9, 1), (10, 2), (15, 2), (20, 3)]),
        (Failed("No leave to read."), 0, [(0, 1), (9, 1), (10, 2), (19, 2)]),
        # Reading hides messages from others: of a long queue it begins a while after it has ended.
        (ONE, 10, [(0, 1), (29, 1), (30, 2), (59, 2), (60, 3)]),
    ],
    ids=["short", "failed", "long"],
)
def test_a_queue_is_read_again_while_somebody_looks_and_a_third_of_the_time_at_most(
    answer: Listing[str] | Failed, took: float, looks: list[tuple[float, int]]
) -> None:
    assert (FRESH_SECONDS, PAUSE) == (10, 2)
    clock, readings = [0.0], []

    def read(_: Tell) -> Listing[str]:
        readings.append(clock[0])
        clock[0] += took
        if isinstance(answer, Failed):
            raise answer
        return answer

    queue = QueueCache(read, clock=lambda: clock[0])
    for clock[0], expected in looks:
        for _ in range(3):  # tabs
            queue.refresh(30)
        assert len(readings) == expected, readings


def test_while_a_job_receives_of_a_queue_it_is_not_read() -> None:
    busy, readings = [True], []

    def read(_: Tell) -> Listing[str]:
        readings.append(1)
        return ONE

    queue = QueueCache(read, lambda: busy[0])
    queue.refresh(30)
    assert readings == []
    busy[0] = False
    queue.refresh(30)
    assert readings == [1]


def test_what_is_no_letter_and_older_letters_are_counted(machine: Stack, console: Open) -> None:
    dead(machine, "m-1", 1)
    post(machine, "m-1", 2)
    dead(machine, "m-2", 3)
    machine.sqs.send_message(QueueUrl=machine.dead_letter_queue, MessageBody="somebody else's")
    client = console(machine)
    found = [(letter.message_id, len(letter.older)) for letter in client.letters.entries]
    assert found == [("m-1", 1), ("m-2", 0)]
    assert client.context.letters.state.messages == 4, "else an empty list would not be called sure"
    assert client.context.count("dead-letters") == 4, "nothing stays hidden"


# ------------------------------------------------------------------ what is new


def test_what_was_decided_elsewhere_is_gone_and_what_is_new_is_there_although_the_count_is_equal(
    machine: Stack, console: Open
) -> None:
    rejected(machine, "m-a")
    sent_back = unstart(machine, '{"message_id": "u-a"}')
    client = console(machine)
    for path in ("/", "/dead-letters", "/unstarted", "/messages"):
        assert "-a" in client.get(path).text, path
    assert decide_shown(machine, "m-a", "reject", "by the command line").decided
    rejected(machine, "m-b")
    machine.sqs.purge_queue(QueueUrl=machine.unstarted_queue)
    entry = unstart(machine, '{"message_id": "u-b"}', "too_large")
    client.expire()
    first = client.get("/waiting")
    assert [cells[-1] for cells in first.rows] == ["m-b", "u-b"]
    assert [cells[0] for cells in first.rows] == ["refused by the function", "too large"]
    assert [cells[1] for cells in client.get("/dead-letters").rows] == ["m-b"]
    assert [cells[1] for cells in client.get("/unstarted").rows] == ["u-b"]
    assert client.get("/unstarted/entry", entry=sent_back).status == 404
    assert client.get("/unstarted/entry", entry=entry).status == 200
    rows = {cells[0]: cells[1] for cells in client.get("/messages").rows}
    assert rows["m-a"] == "rejected by hand"
    assert rows["m-b"].startswith("waiting for decision refused by the function")
    assert client.get("/message", id="m-a").actions == []
    assert "reject" in client.get("/message", id="m-b").actions


def test_the_form_of_a_message_page_stays_where_another_reader_holds_its_letter(
    machine: Stack, console: Open
) -> None:
    rejected(machine)
    client = console(machine)
    form = client.get("/message/now", id="m-1").fields
    held = machine.sqs.receive_message(QueueUrl=machine.dead_letter_queue)["Messages"]
    client.read_queues()
    assert client.letters.entries == []
    assert client.get("/message/now", id="m-1").fields == form
    machine.sqs.delete_message(
        QueueUrl=machine.dead_letter_queue, ReceiptHandle=held[0]["ReceiptHandle"]
    )
    client.read_queues()
    assert "key" not in client.get("/message/now", id="m-1").fields, "it is gone"


def test_a_key_is_of_one_queues_forms(machine: Stack, console: Open) -> None:
    rejected(machine)
    unstart(machine, "{")
    client = console(machine)
    for path, action, other, others in (
        ("/dead-letters", "reject", "/unstarted", "discard"),
        ("/unstarted", "discard", "/dead-letters", "reject"),
    ):
        (key,) = client.get(f"{path}/decide", action=action, scope="all").fields["key"]
        for ask in (client.get, client.post):
            answer = ask(f"{other}/decide", action=others, key=key, note="why")
            assert (answer.status, len(answer.problems)) == (410, 1), answer.problems


def test_of_two_clicks_at_once_neither_says_that_nothing_was_done(
    machine: Stack, console: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected(machine)
    client = console(machine)
    form = {"key": client.get("/message/now", id="m-1").fields["key"], "action": "retry"}
    looks, jobs = iter(["the first click"]), client.context.jobs
    look = jobs.begun_with

    def look_and_be_overtaken(key: str) -> Job | None:
        begun = look(key)
        if next(looks, None):
            client.post("/dead-letters/decide", **form)
        return begun

    monkeypatch.setattr(jobs, "begun_with", look_and_be_overtaken)
    assert client.post("/dead-letters/decide", **form).headers.get("location") == "/jobs/1"
