"""Deliveries that end the process that handles them are found, and harm no others."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from deduplication import apart
from deduplication.apart import (
    Apart,
    EndedWhileActing,
    FailedApart,
    end_of,
    told_of,
)
from deduplication.delivery import Delivery
from deduplication.delivery_record import error_name
from deduplication.executions import Start
from deduplication.message import Message
from deduplication.patience import Invocation, OutOfTime, Patience
from deduplication.refusal import Reason, Refusal
from deduplication.start import End
from tests.unit import apart_handlers
from tests.unit.samples import delivery

HANDLERS = "tests.unit.apart_handlers"


class Unstarted:
    """Keeps what is handed on."""

    def __init__(self) -> None:
        self.kept: dict[str, Refusal] = {}

    def hand_on(self, delivery: Delivery, refusal: Refusal) -> None:
        self.kept[delivery.sqs_message_id] = refusal


class Way:
    """A way to the child, and what came of it."""

    def __init__(self, folder: Path) -> None:
        self.unstarted = Unstarted()
        self.file = folder / "started"
        self.invocation = Invocation()
        self.here: list[Delivery] = []
        self._open: list[Apart] = []

    def apart(self, handler: str = f"{HANDLERS}:handler:handle", **more: Any) -> Apart:
        made = Apart(
            handler,
            self.unstarted,  # type: ignore[arg-type]
            invocation=self.invocation,
            patience=Patience(self.invocation.seconds_left),
            handle_here=self._handle_here,
            **more,
        )
        self._open.append(made)
        return made

    def _handle_here(self, delivery: Delivery) -> End:
        self.here.append(delivery)
        return End(Start.STARTED, None)

    def started(self) -> list[str]:
        return [line.split()[0] for line in self.file.read_text().splitlines()]

    def processes(self) -> set[str]:
        return {line.split()[1] for line in self.file.read_text().splitlines()}

    def close(self) -> None:
        for one in self._open:
            one.close()


@pytest.fixture
def way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    monkeypatch.setenv(apart_handlers.STARTED, str(tmp_path / "started"))
    made = Way(tmp_path)
    made.file.touch()
    yield made
    made.close()


def side_by_side(made: Apart, deliveries: list[Delivery]) -> list[End | Exception]:
    def one(delivery: Delivery) -> End | Exception:
        try:
            return made.handle(delivery)
        except Exception as error:  # noqa: BLE001 - it is looked at
            return error

    with ThreadPoolExecutor(10) as threads:
        return list(threads.map(one, deliveries))


def neighbours(number: int) -> list[Delivery]:
    return [delivery({"message_id": f"n-{n}"}, sqs_message_id=f"n-{n}") for n in range(number)]


def test_deliveries_are_handled_in_one_other_process_which_is_kept(way: Way) -> None:
    made = way.apart()
    for _ in range(2):
        ends = side_by_side(made, neighbours(3))
        assert [end.outcome for end in ends if isinstance(end, End)] == [Start.STARTED] * 3
    assert len(way.processes()) == 1
    assert str(os.getpid()) not in way.processes()


def test_a_delivery_on_its_way_to_a_child_that_ends_is_told_so(
    way: Way, wait_for: Callable[[Callable[[], bool]], None]
) -> None:
    made = way.apart()
    side_by_side(made, neighbours(1))
    assert made._child is not None
    child: Any = made._child

    class Meanwhile:
        """Between what is known of the delivery, and its line, the child ends."""

        def __enter__(self) -> None:
            child._process.kill()
            wait_for(lambda: child._in.closed)

        def __exit__(self, *_: object) -> None:
            pass

    child._writing = Meanwhile()
    with pytest.raises(apart._Ended, match="SIGKILL"):
        child.handle(delivery({"message_id": "late"}), None)


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("killed", "it was ended by SIGKILL"),
        ("exits", "it ended with status 3"),
        ("memory", "it ran out of memory"),
    ],
)
def test_what_ends_the_child_is_set_apart_and_its_nine_neighbours_are_acted_on_once(
    way: Way, what: str, how: str
) -> None:
    poison = delivery({"message_id": "poison", "reading": what}, sqs_message_id="poison")
    ends = side_by_side(way.apart(), [*neighbours(4), poison, *neighbours(9)[4:]])
    others = ends[:4] + ends[5:]
    assert [end.outcome if isinstance(end, End) else end for end in others] == [Start.STARTED] * 9
    assert sorted(set(way.started())) == [f"n-{n}" for n in range(9)]
    refusal = Refusal(
        Reason.ENDED_THE_STARTER, f"Alone in a process of its own, it ended that: {how}."
    )
    assert ends[4] == End(refusal, None)
    assert way.unstarted.kept == {"poison": refusal}
    # And the next child serves as the first did.
    assert side_by_side(way.apart(), neighbours(1)) == [
        End(Start.STARTED, Message("n-0", "0" * 64, ""))
    ]


def test_three_that_end_the_child_are_all_set_apart(way: Way) -> None:
    poison = [
        delivery({"message_id": f"p-{n}", "reading": "exits"}, sqs_message_id=f"p-{n}")
        for n in range(3)
    ]
    side_by_side(way.apart(), [*poison, *neighbours(2)])
    assert set(way.unstarted.kept) == {"p-0", "p-1", "p-2"}
    assert set(way.started()) == {"n-0", "n-1"}


def test_weather_in_the_child_is_weather(way: Way) -> None:
    throttled, later, unreadable = side_by_side(
        way.apart(),
        [
            delivery({"message_id": "a", "then": "throttled"}),
            delivery({"message_id": "b", "then": "later"}),
            delivery({"message_id": "c", "reading": "raises"}),
        ],
    )
    assert isinstance(throttled, FailedApart)
    assert error_name(throttled) == "ClientError: ThrottlingException"
    assert throttled.comes_back_after is None
    assert isinstance(later, FailedApart)
    assert later.comes_back_after == 7.0
    assert isinstance(unreadable, FailedApart)
    assert error_name(unreadable) == "ValueError"
    assert way.unstarted.kept == {}


def test_what_takes_all_the_time_to_read_is_set_apart_and_the_others_come_back(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of three seconds' length here, and without what an invocation keeps for its end.
    monkeypatch.setattr(apart, "_LONG_TO_READ_SECONDS", 0.5)
    monkeypatch.setattr(apart, "_HANDING_ON_SECONDS", 10.0)
    made = way.apart()
    side_by_side(made, neighbours(1))  # the child is up
    way.invocation.ends_in(13.0)
    way.invocation.length = 30  # of which so much is left
    poison = delivery({"message_id": "poison", "reading": "endless"}, sqs_message_id="poison")
    begun = time.monotonic()
    ends = side_by_side(made, [poison, *neighbours(3)])
    assert time.monotonic() - begun < 13.0, "the child was killed in time for the answer"
    assert [*way.unstarted.kept] == ["poison"]
    assert way.unstarted.kept["poison"].reason is Reason.ENDED_THE_STARTER
    # Whoever came before it in the child is started; nobody else is to blame.
    assert all(isinstance(end, End | OutOfTime) for end in ends[1:])
    way.invocation.ends_in(None)
    assert not any(isinstance(end, Exception) for end in side_by_side(made, neighbours(3)))


def test_what_hangs_after_it_was_read_comes_back(way: Way) -> None:
    made = way.apart()
    side_by_side(made, neighbours(1))
    way.invocation.ends_in(apart._HANDING_ON_SECONDS + 0.5)
    way.invocation.length = 30
    (end,) = side_by_side(made, [delivery({"message_id": "a", "then": "endless"})])
    assert isinstance(end, OutOfTime)
    assert way.unstarted.kept == {}


def test_without_time_nothing_is_begun(way: Way) -> None:
    way.invocation.ends_in(apart._HANDING_ON_SECONDS - 1)
    way.invocation.length = 30
    (end,) = side_by_side(way.apart(), neighbours(1))
    assert isinstance(end, OutOfTime)
    assert way.started() == []


def test_what_may_have_acted_is_left_to_its_lock(way: Way) -> None:
    made = way.apart(may_have_acted=True)
    acting = delivery({"message_id": "a", "then": "killed"}, sqs_message_id="a")
    reading = delivery({"message_id": "b", "reading": "killed"}, sqs_message_id="b")
    ends = side_by_side(made, [acting, reading])
    assert isinstance(ends[0], EndedWhileActing)
    assert [*way.unstarted.kept] == ["b"]


def test_where_no_child_can_be_had_it_is_handled_here(way: Way) -> None:
    (end,) = side_by_side(way.apart(f"{HANDLERS}:broken:handle"), neighbours(1))
    assert isinstance(end, End)
    assert [one.sqs_message_id for one in way.here] == ["n-0"]


def test_an_invocation_too_short_for_another_process_handles_it_itself(way: Way) -> None:
    way.invocation.ends_in(8)  # as the embedded AWS's consumer has it
    (end,) = side_by_side(way.apart(), neighbours(1))
    assert isinstance(end, End)
    assert [one.sqs_message_id for one in way.here] == ["n-0"]


def test_turns_are_waited_for_here(way: Way) -> None:
    turns: list[str] = []
    side_by_side(way.apart(hold=lambda: turns.append("turn")), neighbours(3))
    assert turns == ["turn"] * 3


def test_the_child_ends_with_its_input_whatever_it_is_doing(
    way: Way, wait_for: Callable[[Callable[[], bool]], None]
) -> None:
    made = way.apart()
    side_by_side(made, neighbours(1))
    (pid,) = way.processes()
    with ThreadPoolExecutor(1) as threads:
        end = threads.submit(side_by_side, made, [delivery({"message_id": "a", "then": "endless"})])
        wait_for(lambda: made._child is not None and bool(made._child._waiting))
        assert made._child is not None
        child, way.invocation = made._child, Invocation()
        made._invocation.ends_in(0)  # so that nobody begins anew
        made._invocation.length = 30
        child.close()
        assert isinstance(end.result()[0], OutOfTime)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    "end",
    [
        End(Start.STARTED, Message("m é", "f" * 64, "")),
        End(Start.SUPPRESSED, None),
        End(Refusal(Reason.CONFLICT, "so", "m"), Message("m", "f" * 64, "")),
        End(Refusal(Reason.NOT_JSON, "so"), None),
    ],
)
def test_an_end_is_told_whole(end: End) -> None:
    assert end_of(told_of(end)) == end
