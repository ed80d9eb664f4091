"""A queue is read once for however many tabs, and what was found is kept."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from actonce.console import queue_scans as module
from actonce.console.answers import ViewRequest
from actonce.console.queue_scans import KEPT, SMALL, QueueScans, ScanState, first_number
from actonce.messages.filters import Listing
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.support.queues import dead, post
from tests.web_console.conftest import Open

Tell = Callable[[int], None]


def scan(scans: QueueScans[str]) -> None:
    scans.scan()
    scans.wait(30)


@pytest.fixture(autouse=True)
def _counted_from_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "first_number", lambda: 1)


class Reads:
    """Finds one after the other, and the last one again and again."""

    def __init__(self, *answers: Listing[str] | Failed) -> None:
        self._answers = list(answers)
        self.number = 0

    def __call__(self, _: Tell) -> Listing[str]:
        answer = self._answers[min(self.number, len(self._answers) - 1)]
        self.number += 1
        if isinstance(answer, Failed):
            raise answer
        return answer


def test_no_console_counts_its_snapshots_from_where_another_did() -> None:
    """A tab of a console that has ended decides on nothing that it did not show."""
    numbers = {first_number() for _ in range(9)}
    assert len(numbers) == 9
    # Each of them is a number to whoever asks for it by its address.
    assert {
        ViewRequest({"snapshot": [str(one)]}, by_script=False).number("snapshot") for one in numbers
    } == numbers


def test_however_many_ask_one_reads_and_once_more_if_something_was_done_meanwhile() -> None:
    began, go_on = threading.Event(), threading.Event()
    found = iter([Listing(["before"], 0), Listing(["after"], 0)])

    def slowly(tell: Tell) -> Listing[str]:
        tell(3)
        began.set()
        assert go_on.wait(30)
        return next(found)

    scans = QueueScans(slowly)
    for _ in range(20):
        scans.scan()
    assert began.wait(30)
    assert scans.state() == ScanState(None, 3, None)
    for _ in range(3):
        scans.scan(after_this=True)
    go_on.set()
    scans.wait(30)
    assert scans.latest is not None
    assert (scans.latest.number, scans.latest.entries) == (2, ["after"])
    assert next(found, None) is None
    assert scans.state().reading is None


def test_what_somebody_looks_at_is_kept_and_of_long_queues_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scans: QueueScans[str] = QueueScans(lambda _: Listing(["a"] * 6, 0))
    for most, expected in ((40_000, range(3, KEPT + 3)), (10, range(KEPT + 2, KEPT + 4))):
        monkeypatch.setattr(module, "MOST_ENTRIES", most)
        while scans.snapshot(expected[-1]) is None:
            scan(scans)
        kept = [number for number in range(1, KEPT + 5) if scans.snapshot(number)]
        assert kept == list(expected)


def test_what_a_decision_is_asked_about_is_kept_however_often_the_queue_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scans: QueueScans[str] = QueueScans(lambda _: Listing(["a"] * 6, 0))
    for _ in range(3 * KEPT):
        scan(scans)
        assert scans.latest is not None
        scans.pin(scans.latest)
    for _ in range(KEPT):
        scan(scans)
    pinned = [n for n in range(1, 3 * KEPT + 1) if scans.snapshot(n)]
    assert pinned == list(range(2 * KEPT + 1, 3 * KEPT + 1))
    monkeypatch.setattr(module, "MOST_ENTRIES", 14)
    last = scans.snapshot(pinned[-1])
    assert last is not None
    scans.pin(last)
    assert [n for n in pinned if scans.snapshot(n)] == pinned[-2:]


FAILED = Failed("No leave to read.")


@pytest.mark.parametrize(
    ("answers", "counted"),
    [
        # How many messages the queue has, one count after the other, and how often it was read.
        ([Listing(["a", "b"], 0, 1)], [(3, 1), (3, 1), (4, 2), (2, 3), (SMALL + 1, 3)]),
        # What another reader held is looked for until it is seen.
        ([Listing("a", 2), Listing("ab", 1), Listing("abc", 0)], [(3, 1), (3, 2), (3, 3), (3, 3)]),
        # And what failed until it does not; a long queue is read if somebody asks.
        ([Listing(["a"], 0), FAILED, Listing(["b"], 0)], [(1, 1), (2, 2), (SMALL + 1, 2), (1, 3)]),
    ],
    ids=["changed", "held", "failed"],
)  # fmt: skip
def test_only_a_small_queue_that_may_have_changed_is_read_again(
    answers: list[Listing[str] | Failed], counted: list[tuple[int, int]]
) -> None:
    read = Reads(*answers)
    scans = QueueScans(read)
    for messages, expected in counted:
        scans.scan_if_changed(messages, datetime.now(UTC))
        scans.wait(30)
        assert read.number == expected, messages


def test_a_queue_is_read_once_for_each_count_however_often_a_page_asks() -> None:
    """Else what others held, or could not be read, would be hidden from them all the time."""
    read = Reads(Listing(["a"], 1))
    scans = QueueScans(read)
    scan(scans)
    for at, expected in ((datetime.now(UTC) - timedelta(seconds=60), 1), (datetime.now(UTC), 2)):
        for _ in range(5):
            scans.scan_if_changed(5, at)
            scans.wait(30)
        assert read.number == expected


def test_what_is_no_letter_and_older_letters_are_counted(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1", 1)
    post(ledger, "m-1", 2)
    dead(ledger, "m-2", 3)
    ledger.sqs.send_message(QueueUrl=ledger.dead_letter_queue, MessageBody="somebody else's")
    client = console(ledger)
    found = [(letter.message_id, len(letter.older)) for letter in client.letters.entries]
    assert found == [("m-1", 1), ("m-2", 0)]
    assert client.letters.messages == 4, "else it would be read again and again"
    assert client.context.count("dead_letters") == 4, "nothing stays hidden"
