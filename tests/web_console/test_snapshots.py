"""One reader of a queue for however many tabs, and what it found."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from actonce.console import snapshots as module
from actonce.console.snapshots import KEPT, SMALL, Found, Reader, Standing
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.cli.test_deciding import dead, post
from tests.web_console.conftest import Open

Tell = Callable[[int], None]


def read(reader: Reader[str]) -> None:
    reader.look()
    reader.wait(30)


def test_however_many_ask_one_reads() -> None:
    began, go_on = threading.Event(), threading.Event()
    reads = []

    def slowly(tell: Tell) -> Found[str]:
        reads.append(1)
        tell(3)
        began.set()
        assert go_on.wait(30)
        return Found(["a"], 0, 0)

    reader = Reader(slowly)
    for _ in range(20):
        reader.look()
    assert began.wait(30)
    assert reader.standing() == Standing(None, 3, None)
    go_on.set()
    reader.wait(30)
    assert (len(reads), reader.standing().reading) == (1, None)
    assert reader.latest is not None
    assert reader.latest.entries == ["a"]


def test_what_was_done_while_somebody_read_is_read_once_more() -> None:
    began, go_on = threading.Event(), threading.Event()
    found = iter([Found(["before"], 0, 0), Found(["after"], 0, 0)])

    def slowly(_: Tell) -> Found[str]:
        began.set()
        assert go_on.wait(30)
        return next(found)

    reader = Reader(slowly)
    reader.look()
    assert began.wait(30)
    for _ in range(3):
        reader.look(after_this=True)
    go_on.set()
    reader.wait(30)
    assert reader.latest is not None
    assert (reader.latest.number, reader.latest.entries) == (2, ["after"])
    assert next(found, None) is None


def test_what_somebody_looks_at_is_kept_and_the_oldest_is_forgotten() -> None:
    reader: Reader[str] = Reader(lambda _: Found([], 0, 0))
    for _ in range(KEPT + 2):
        read(reader)
    assert [number for number in range(1, KEPT + 5) if reader.kept(number)] == list(
        range(3, KEPT + 3)
    )


def test_of_long_queues_fewer_snapshots_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    reader = Reader(lambda _: Found(["a"] * 6, 0, 0))
    for _ in range(4):
        read(reader)
    assert [number for number in range(1, 5) if reader.kept(number)] == [3, 4]


def test_a_read_that_fails_is_told_and_what_was_read_before_stays() -> None:
    answers: Iterator[Found[str] | Failed] = iter(
        [Found(["a"], 0, 0), Failed("No leave to read."), Found(["b"], 0, 0)]
    )

    def read_or_fail(_: Tell) -> Found[str]:
        answer = next(answers)
        if isinstance(answer, Failed):
            raise answer
        return answer

    reader = Reader(read_or_fail)
    read(reader)
    read(reader)
    assert reader.standing().error == "No leave to read."
    assert reader.latest is not None
    assert reader.latest.entries == ["a"]
    read(reader)
    assert not reader.standing().error
    assert reader.latest.number == 2


def counted(reader: Reader[str], messages: int) -> None:
    """What follows when the queue is counted now."""
    reader.look_if_changed(messages, datetime.now(UTC))
    reader.wait(30)


def test_only_a_small_queue_that_has_changed_is_read_again() -> None:
    reads = []

    def count(_: Tell) -> Found[str]:
        reads.append(1)
        return Found(["a", "b"], 1, 0)

    reader = Reader(count)
    for messages, expected in ((3, 1), (3, 1), (4, 2), (2, 3), (SMALL + 1, 3)):
        counted(reader, messages)
        assert len(reads) == expected, messages


def test_what_another_reader_held_is_looked_for_until_it_is_seen() -> None:
    answers = iter([Found(["a"], 0, 2), Found(["a", "b"], 0, 1), Found(["a", "b", "c"], 0, 0)])
    reader = Reader(lambda _: next(answers))
    for expected in (1, 2, 3, 3):
        counted(reader, 3)
        assert reader.latest is not None
        assert len(reader.latest.entries) == expected
    assert next(answers, None) is None


def test_after_a_read_that_failed_the_queue_is_read_again() -> None:
    answers: Iterator[Found[str] | Failed] = iter(
        [Found(["a"], 0, 0), Failed("No leave to read."), Found(["a"], 0, 0)]
    )

    def read_or_fail(_: Tell) -> Found[str]:
        answer = next(answers)
        if isinstance(answer, Failed):
            raise answer
        return answer

    reader = Reader(read_or_fail)
    read(reader)
    read(reader)
    assert reader.standing().error
    counted(reader, SMALL + 1)
    assert reader.standing().error, "a long queue is read if somebody asks"
    counted(reader, 1)
    assert not reader.standing().error
    counted(reader, 1)
    assert next(answers, None) is None


def test_a_queue_is_read_once_for_each_count_however_often_a_page_asks() -> None:
    """Else what others held, or could not be read, would be hidden from them all the time."""
    reads = []

    def held(_: Tell) -> Found[str]:
        reads.append(1)
        if len(reads) % 2:
            raise Failed("No leave to read.")
        return Found(["a"], 0, 1)

    reader = Reader(held)
    read(reader)
    read(reader)
    before = datetime.now(UTC) - timedelta(seconds=1)
    for _ in range(5):
        reader.look_if_changed(5, before)
        reader.wait(30)
    assert len(reads) == 2
    at = datetime.now(UTC)
    for _ in range(5):
        reader.look_if_changed(5, at)
        reader.wait(30)
    assert len(reads) == 3


def test_what_is_no_letter_and_older_letters_are_counted_and_nothing_stays_hidden(
    ledger: Stack, console: Open
) -> None:
    dead(ledger, "m-1", 1)
    post(ledger, "m-1", 2)
    dead(ledger, "m-2", 3)
    ledger.sqs.send_message(QueueUrl=ledger.dead_letter_queue, MessageBody="somebody else's")
    _, desk = console(ledger)
    desk.letters.look()
    desk.letters.wait(30)
    latest = desk.letters.latest
    assert latest is not None
    assert [letter.newest.message_id for letter in latest.entries] == ["m-1", "m-2"]
    assert [len(letter.older) for letter in latest.entries] == [1, 0]
    assert latest.messages == 4, "else it would be read again and again"
    counted = desk.watched.counts.seen().value
    assert counted is not None
    assert counted["dead_letters"] == 4
