"""Deliveries that may be what ends the starter, handled in a process of their own.

A delivery that was received often has failed often, and nobody knows why: a service was out, or the
message itself ends the process that handles it, with everything that came along. So it is handled
in a child process, side by side with others of its kind. Where the child ends, each that was in it
is tried once more, alone. What then ends the child again is to blame, and is handed on to
UnstartedQueue; weather in the child is weather, and comes back.

    delivery ──▶ child, with others ──▶ its end
                     │ the child ended
                     ▼
                 child, alone ──▶ its end
                     │ the child ended again
                     ▼
                 UnstartedQueue (`ended_the_starter`)

Invariants: the child is alive between invocations and idle; it never outlasts this process, for it
ends when its standard input does. The child cannot take this process along by memory
(`apart_process`), nor by time: it is killed in time for an answer.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import IO, Any

from deduplication.delivery import Delivery
from deduplication.executions import Start
from deduplication.message import Message
from deduplication.patience import ANSWER_SECONDS, CALL_SECONDS, Invocation, OutOfTime, Patience
from deduplication.refusal import Reason, Refusal
from deduplication.start import End
from deduplication.unstarted import UnstartedQueue

SUSPECT_AFTER = 3
"""Receives after which a delivery is handled apart."""

_HANDING_ON_SECONDS = CALL_SECONDS + ANSWER_SECONDS + 1
"""Kept at an invocation's end, so that what the child was killed for can be handed on."""

_SHORTEST_SECONDS = 15.0
"""An invocation of fewer has no time for another process; template.yaml allows none below 20."""

_LONG_TO_READ_SECONDS = 5.0
"""What is read for so long, when the child's time is over, is why. A hostile one takes one or two,
on the smallest share of a CPU."""

OUT_OF_MEMORY = 86
"""Exit status of a child that ran out of memory."""

_MODULE = "deduplication.apart_process"


class FailedApart(Exception):
    """The child's handler raised; `told` is how a log names it."""

    def __init__(self, told: str, comes_back_after: float | None) -> None:
        super().__init__(told)
        self.told = told
        self.comes_back_after = comes_back_after


class EndedWhileActing(Exception):
    """The delivery ended the child after it was read; whether it acted is for its lock to tell."""


class _Ended(Exception):
    """The child ended before the delivery did."""

    def __init__(self, how: str, *, was_late: bool, read_for: float | None, was_read: bool) -> None:
        super().__init__(how)
        self.how = how
        self.was_late = was_late
        self.read_for = read_for
        self.was_read = was_read


class _NotUp(Exception):
    """The child ended, or its time was over, before it was ready for anything."""


@dataclass(slots=True)
class _Waiting:
    """A delivery that is in the child."""

    end: "Future[End]" = field(default_factory=Future)
    is_read: bool = False


class _Child:
    """One process, and what is in it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._writing = threading.Lock()
        self._knowing = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = 0
        self._reading: tuple[int, float] | None = None
        self._was_late = False
        self._ended: str | None = None
        self.came_up = False
        self.is_settled = threading.Event()
        threading.Thread(target=self._listen, name="apart", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        return self._ended is None

    def kill(self) -> None:
        """Its time is over."""
        self._was_late = True
        self._process.kill()

    def close(self) -> None:
        """Let it end, as it does with this process."""
        with contextlib.suppress(OSError):
            self._in.close()
        self._process.wait(10)

    def handle(self, delivery: Delivery, seconds: float | None) -> End:
        """What the child makes of the delivery.

        Raises:
            _Ended: the child ended first.
            FailedApart: what its handler raised.
        """
        waiting = _Waiting()
        with self._knowing:
            if self._ended is not None:
                raise _Ended(self._ended, was_late=self._was_late, read_for=None, was_read=False)
            self._numbers += 1
            number = self._numbers
            self._waiting[number] = waiting
        told = {"number": number, "seconds": seconds, "record": delivery.as_record()}
        line = json.dumps(told).encode() + b"\n"
        # A child that has ended is told by the end of its output, also to those who write to it;
        # ValueError: its input has been closed since.
        with contextlib.suppress(OSError, ValueError), self._writing:
            self._in.write(line)
            self._in.flush()
        return waiting.end.result()

    @property
    def _in(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        return self._process.stdin

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(ValueError):  # a line that was not finished
            for line in self._process.stdout:
                self._hear(json.loads(line))
        self._process.stdout.close()
        self._process.kill()  # whatever it was, it is not heard any more
        how = _how(self._process.wait())
        with self._knowing:
            self._ended = how
            left, self._waiting = self._waiting, {}
        with contextlib.suppress(OSError):
            self._in.close()
        for number, waiting in left.items():
            read_for = None
            if self._reading is not None and self._reading[0] == number:
                read_for = time.monotonic() - self._reading[1]
            waiting.end.set_exception(
                _Ended(how, was_late=self._was_late, read_for=read_for, was_read=waiting.is_read)
            )
        self.is_settled.set()

    def _hear(self, told: dict[str, Any]) -> None:
        if "ready" in told:
            self.came_up = True
            self.is_settled.set()
        elif "reading" in told:
            self._reading = (told["reading"], time.monotonic())
        elif "read" in told:
            self._reading = None
            with self._knowing:
                self._waiting[told["read"]].is_read = True
        else:
            with self._knowing:
                waiting = self._waiting.pop(told["number"])
            if self._reading is not None and self._reading[0] == told["number"]:
                self._reading = None  # it could not be read
            if "failed" in told:
                waiting.end.set_exception(FailedApart(told["failed"], told["comes_back_after"]))
            else:
                waiting.end.set_result(end_of(told))


class Apart:
    """Handles deliveries in a child process.

    Args:
        handler: `module:factory:method`; the child calls the factory, and the method with each
            delivery.
        unstarted: for what ends the child.
        patience: for handing that on.
        invocation: how long there is.
        handle_here: handles a delivery in this process, where no child can be had.
        hold: waits for a start's turn; None: there are no turns.
        may_have_acted: what was read, and ended the child, may have had its effect, which its lock
            knows; so it is not handed on.
    """

    def __init__(  # noqa: PLR0913 - all but the first two have names
        self,
        handler: str,
        unstarted: UnstartedQueue,
        *,
        invocation: Invocation,
        patience: Patience,
        handle_here: Callable[[Delivery], End],
        hold: Callable[[], None] | None = None,
        may_have_acted: bool = False,
    ) -> None:
        self._handler = handler
        self._unstarted = unstarted
        self._patience = patience
        self._invocation = invocation
        self._handle_here = handle_here
        self._hold = hold
        self._may_have_acted = may_have_acted
        self._gate = _Gate()
        self._starting = threading.Lock()
        self._child: _Child | None = None

    def handle(self, delivery: Delivery) -> End:
        """Bring one delivery to its end, as `handle_delivery` of `Batch` does.

        Raises:
            Exception: its end is open; it is not to be acknowledged.
        """
        length = self._invocation.length
        if length is not None and length < _SHORTEST_SECONDS:
            return self._handle_here(delivery)
        if self._hold is not None:
            self._hold()
        try:
            with self._gate.with_others():
                return self._tried(delivery)
        except _NotUp:
            # As if there were nothing of all this; what it ends then, the queue has an end for.
            return self._handle_here(delivery)
        except _Ended as ended:
            return self._late(delivery, ended) if ended.was_late else self._alone(delivery)

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.close()

    def _alone(self, delivery: Delivery) -> End:
        try:
            with self._gate.alone():
                return self._tried(delivery)
        except _NotUp as error:
            raise OutOfTime("there was no second process for it") from error
        except _Ended as ended:
            if ended.was_late:
                return self._late(delivery, ended)
            return self._set_apart(
                delivery, ended, f"Alone in a process of its own, it ended that: {ended.how}."
            )

    def _tried(self, delivery: Delivery) -> End:
        left = self._invocation.seconds_left()
        if left is None:
            return self._running(None).handle(delivery, None)
        if left <= _HANDING_ON_SECONDS:
            raise OutOfTime("no time is left in this invocation")
        child = self._running(left - _HANDING_ON_SECONDS)
        left = max(self._invocation.seconds_left() or 0, _HANDING_ON_SECONDS)
        clock = threading.Timer(left - _HANDING_ON_SECONDS, child.kill)
        clock.daemon = True
        clock.start()
        try:
            # Its own patience ends before, and needs no time for an answer.
            return child.handle(delivery, left - _HANDING_ON_SECONDS + ANSWER_SECONDS)
        finally:
            clock.cancel()

    def _running(self, seconds: float | None) -> _Child:
        """The child, ready; started if there is none.

        Raises:
            OutOfTime: it was not ready in time.
            _NotUp: it ended, or could not even be started.
        """
        with self._starting:
            child = self._child
            if child is None or not child.is_alive:
                command = [sys.executable, "-P", "-S", "-m", _MODULE, self._handler]
                environment = {
                    name: value for name, value in os.environ.items() if name != "STARTS_PER_SECOND"
                }
                environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
                environment.setdefault("MALLOC_ARENA_MAX", "1")
                try:
                    child = self._child = _Child(command, environment)
                except OSError as error:
                    raise _NotUp from error
            if not child.is_settled.wait(seconds):
                raise OutOfTime("the process for it was not ready in time")
            if not child.came_up:
                raise _NotUp
            return child

    def _late(self, delivery: Delivery, ended: _Ended) -> End:
        if (ended.read_for or 0) < _LONG_TO_READ_SECONDS:
            raise OutOfTime("the process for it had no more time") from ended
        return self._set_apart(
            delivery,
            ended,
            f"In a process of its own, it was read for {ended.read_for:.0f} s, and not to its end.",
        )

    def _set_apart(self, delivery: Delivery, ended: _Ended, detail: str) -> End:
        if self._may_have_acted and ended.was_read:
            raise EndedWhileActing(ended.how) from ended
        refusal = Refusal(Reason.ENDED_THE_STARTER, detail)
        self._patience(lambda: self._unstarted.hand_on(delivery, refusal))
        return End(refusal, None)


class _Gate:
    """Many at once, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0

    @contextlib.contextmanager
    def with_others(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._inside >= 0)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._inside == 0)
            self._inside = -1
        try:
            yield
        finally:
            with self._changed:
                self._inside = 0
                self._changed.notify_all()


def _how(status: int) -> str:
    if status == OUT_OF_MEMORY:
        return "it ran out of memory"
    if status < 0:
        return f"it was ended by {signal.Signals(-status).name}"
    return f"it ended with status {status}"


def told_of(end: End) -> dict[str, Any]:
    """An end as the child tells it; the message's input stays there."""
    told: dict[str, Any] = {}
    if isinstance(end.outcome, Refusal):
        told["refused"] = [str(end.outcome.reason), end.outcome.detail, end.outcome.message_id]
    else:
        told["outcome"] = str(end.outcome)
    if end.message is not None:
        told["message"] = [end.message.message_id, end.message.fingerprint]
    return told


def end_of(told: dict[str, Any]) -> End:
    """The end that `told_of` told; its message has no input."""
    outcome: Start | Refusal
    if "refused" in told:
        reason, detail, message_id = told["refused"]
        outcome = Refusal(Reason(reason), detail, message_id)
    else:
        outcome = Start(told["outcome"])
    if "message" not in told:
        return End(outcome, None)
    message_id, fingerprint = told["message"]
    return End(outcome, Message(message_id, fingerprint, execution_input=""))
