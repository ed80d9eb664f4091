"""A queue is read once for however many tabs, and what was found is kept."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from actonce.console import queue_scans as module
from actonce.console.queue_scans import KEPT, SMALL, QueueScans, ScanState
from actonce.messages.filters import Listing
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.support.queues import dead, post
from tests.web_console.asking import read_queues
from tests.web_console.conftest import Open

Tell = Callable[[int], None]


def scan(scans: QueueScans[str]) -> None:
    scans.scan()
    scans.wait(30)


def answering(*answers: Listing[str] | Failed) -> QueueScans[str]:
    """Scans that find one after the other, and no more."""
    rest = list(answers)

    def read(_: Tell) -> Listing[str]:
        answer = rest.pop(0)
        if isinstance(answer, Failed):
            raise answer
        return answer

    return QueueScans(read)


def test_however_many_ask_one_reads() -> None:
    began, go_on = threading.Event(), threading.Event()
    reads = []

    def slowly(tell: Tell) -> Listing[str]:
        reads.append(1)
        tell(3)
        began.set()
        assert go_on.wait(30)
        return Listing(["a"], 0)

    scans = QueueScans(slowly)
    for _ in range(20):
        scans.scan()
    assert began.wait(30)
    assert scans.state() == ScanState(None, 3, None)
    go_on.set()
    scans.wait(30)
    assert (len(reads), scans.state().reading) == (1, None)
    assert scans.latest is not None
    assert scans.latest.entries == ["a"]


def test_what_was_done_while_somebody_read_is_read_once_more() -> None:
    began, go_on = threading.Event(), threading.Event()
    found = iter([Listing(["before"], 0), Listing(["after"], 0)])

    def slowly(_: Tell) -> Listing[str]:
        began.set()
        assert go_on.wait(30)
        return next(found)

    scans = QueueScans(slowly)
    scans.scan()
    assert began.wait(30)
    for _ in range(3):
        scans.scan(after_this=True)
    go_on.set()
    scans.wait(30)
    assert scans.latest is not None
    assert (scans.latest.number, scans.latest.entries) == (2, ["after"])
    assert next(found, None) is None


def test_what_somebody_looks_at_is_kept_and_of_long_queues_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scans: QueueScans[str] = QueueScans(lambda _: Listing(["a"] * 6, 0))
    for _ in range(KEPT + 2):
        scan(scans)
    kept = [number for number in range(1, KEPT + 5) if scans.snapshot(number)]
    assert kept == list(range(3, KEPT + 3))
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    scan(scans)
    kept = [number for number in range(1, KEPT + 5) if scans.snapshot(number)]
    assert kept == [KEPT + 2, KEPT + 3]


def counted(scans: QueueScans[str], messages: int) -> None:
    """What follows when the queue is counted now."""
    scans.scan_if_changed(messages, datetime.now(UTC))
    scans.wait(30)


def test_only_a_small_queue_that_has_changed_is_read_again() -> None:
    reads = []

    def read(_: Tell) -> Listing[str]:
        reads.append(1)
        return Listing(["a", "b"], 0, 1)

    scans = QueueScans(read)
    for messages, expected in ((3, 1), (3, 1), (4, 2), (2, 3), (SMALL + 1, 3)):
        counted(scans, messages)
        assert len(reads) == expected, messages


def test_what_another_reader_held_is_looked_for_until_it_is_seen() -> None:
    scans = answering(Listing(["a"], 2), Listing(["a", "b"], 1), Listing(["a", "b", "c"], 0))
    for expected in (1, 2, 3, 3):
        counted(scans, 3)
        assert scans.latest is not None
        assert len(scans.latest.entries) == expected


def test_a_scan_that_fails_is_told_what_was_read_before_stays_and_it_is_read_again() -> None:
    failed = Failed("No leave to read.")
    scans = answering(Listing(["a"], 0), failed, Listing(["b"], 0))
    scan(scans)
    scan(scans)
    counted(scans, SMALL + 1)  # a long queue is read if somebody asks
    assert scans.state().error == str(failed)
    assert scans.latest is not None
    assert scans.latest.entries == ["a"]
    counted(scans, 1)
    assert (scans.state().error, scans.latest.number) == (None, 2)


def test_a_queue_is_read_once_for_each_count_however_often_a_page_asks() -> None:
    """Else what others held, or could not be read, would be hidden from them all the time."""
    reads = []

    def held(_: Tell) -> Listing[str]:
        reads.append(1)
        return Listing(["a"], 1)

    scans = QueueScans(held)
    scan(scans)
    before, after = datetime.now(UTC) - timedelta(seconds=60), datetime.now(UTC)
    for at, expected in ((before, 1), (after, 2)):
        for _ in range(5):
            scans.scan_if_changed(5, at)
            scans.wait(30)
        assert len(reads) == expected


def test_what_is_no_letter_and_older_letters_are_counted(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1", 1)
    post(ledger, "m-1", 2)
    dead(ledger, "m-2", 3)
    ledger.sqs.send_message(QueueUrl=ledger.dead_letter_queue, MessageBody="somebody else's")
    _, context = console(ledger)
    read_queues(context)
    latest = context.letters.latest
    assert latest is not None
    assert [letter.message_id for letter in latest.entries] == ["m-1", "m-2"]
    assert [len(letter.older) for letter in latest.entries] == [1, 0]
    assert latest.messages == 4, "else it would be read again and again"
    assert context.count("dead_letters") == 4, "nothing stays hidden"
