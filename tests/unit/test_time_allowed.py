"""How long an invocation may act; what ends a process is tried on processes."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actonce_core.effect import NotPerformed, answer
from actonce_core.time_allowed import TimeNotKnown, seconds_left

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"
EVENT = {"operation": "perform", "message": {"message_id": "m-1", "body": {}}}


@pytest.mark.parametrize(
    ("configured", "remaining", "expected"),
    [
        (15, 14.9, None),  # as the execution assumes: Lambda ends it
        (10, 9.9, None),  # lowered since
        (15, None, None),
        (120, 120, 15),  # raised since
        (120, 119, 14),  # a second was over when the handler began
        (120, 100, -5),  # a cold start that took too long was repeated, and that took 20 s
        (120, 2, -103),
        (120, 121, 15),  # Lambda's clock and the machine's are a little apart
        (15, 120, 15),  # raised by hand, and not in the template
        (15, 14, None),
    ],
)
def test_it_may_act_for_as_long_as_its_execution_assumes(
    configured: float | None, remaining: float | None, expected: float | None
) -> None:
    assert seconds_left(15, configured, remaining) == expected


@pytest.mark.parametrize(
    ("configured", "remaining", "lacks"),
    [
        (120, None, "context"),
        (None, 120, "EFFECT_TIMEOUT_SECONDS"),
        (None, 14, "EFFECT_TIMEOUT_SECONDS"),  # of 120, after a long cold start, or of 15
        (None, None, "EFFECT_TIMEOUT_SECONDS"),
    ],
)
def test_what_is_lacking_to_know_its_time_is_named(
    configured: float | None, remaining: float | None, lacks: str
) -> None:
    with pytest.raises(TimeNotKnown, match=lacks):
        seconds_left(15, configured, remaining)


class Clock:
    """Stands in for Lambda's context object, and for what ends the process."""

    def __init__(self, remaining: float = 120) -> None:
        self.remaining = remaining
        self.told: list[float | None] = []

    def get_remaining_time_in_millis(self) -> int:
        return round(self.remaining * 1000)

    def end_in(self, seconds: float | None) -> None:
        self.told.append(seconds)


class Step:
    """An effect that notes what the clock had been told when it was at work."""

    def __init__(self, clock: Clock, error: Exception | None = None) -> None:
        self.clock = clock
        self.error = error
        self.told: list[float | None] | None = None

    def perform(self, _: dict[str, Any]) -> dict[str, Any]:
        self.told = list(self.clock.told)
        if self.error is not None:
            raise self.error
        return {}

    def find(self, _: str) -> dict[str, Any] | None:
        self.told = list(self.clock.told)
        return None


def perform(step: Step, **more: Any) -> None:
    answer(step, EVENT | more, context=step.clock, end_in=step.clock.end_in)


def test_the_process_is_to_end_while_it_performs_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EFFECT_TIMEOUT_SECONDS", "120")
    step = Step(Clock(119))

    perform(step, allowed_seconds=15)

    assert step.told == [14]
    assert step.clock.told == [14, None]


def test_it_is_not_to_end_any_more_when_the_effect_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EFFECT_TIMEOUT_SECONDS", "120")
    step = Step(Clock(), NotPerformed("closed"))

    with pytest.raises(NotPerformed):
        perform(step, allowed_seconds=15)

    assert step.clock.told == [15, None]


def test_nothing_is_performed_when_the_time_was_over_before_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EFFECT_TIMEOUT_SECONDS", "120")
    step = Step(Clock(105))

    with pytest.raises(NotPerformed, match="over before it began"):
        perform(step, allowed_seconds=15)

    assert (step.told, step.clock.told) == (None, [])


def test_nothing_is_performed_where_the_time_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EFFECT_TIMEOUT_SECONDS", raising=False)
    step = Step(Clock())

    with pytest.raises(NotPerformed, match="EFFECT_TIMEOUT_SECONDS"):
        perform(step, allowed_seconds=15)

    assert (step.told, step.clock.told) == (None, [])


def test_nothing_is_to_end_where_lambda_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EFFECT_TIMEOUT_SECONDS", "15")
    step = Step(Clock(15))

    perform(step, allowed_seconds=15)

    assert step.clock.told == []


def test_an_execution_that_says_nothing_is_not_bounded_and_a_look_up_never_is() -> None:
    step = Step(Clock())

    perform(step)
    perform(step, allowed_seconds=None)
    perform(step, operation="find", allowed_seconds=15)

    assert step.clock.told == []


@pytest.mark.parametrize("allowed", ["15", True, [15]])
def test_what_is_no_number_is_no_event(allowed: Any) -> None:
    step = Step(Clock())

    with pytest.raises(ValueError, match="allowed_seconds"):
        perform(step, allowed_seconds=allowed)
    assert step.told is None


# --------------------------------------------------------------------------- processes

_PROCESS = """\
import ctypes, os, signal, time
from actonce_core.effect import answer

class Effect:
    def find(self, message_id): return None
    def perform(self, request):
        {during}
        print("acted", flush=True)
        return {{}}

class Context:
    def get_remaining_time_in_millis(self): return 60_000

event = {{"operation": "perform", "message": {{"message_id": "m", "body": 1}}, "allowed_seconds": {seconds}}}
answer(Effect(), event, context=Context())
print("answered", signal.getitimer(signal.ITIMER_REAL)[0], flush=True)
{after}
"""  # noqa: E501 - a program

_TOO_LONG = 60
_ENDED = {-signal.SIGALRM, 1}  # the kernel's alarm and the watchdog have the same time
# C code that does not give the interpreter's lock away, so that no thread of Python's could act.
_HOLDS_THE_LOCK = f"ctypes.PyDLL(None).sleep({_TOO_LONG})"


def run(seconds: float, during: str, after: str = "") -> subprocess.CompletedProcess[str]:
    program = _PROCESS.format(seconds=seconds, during=during, after=after)
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(FUNCTIONS), "EFFECT_TIMEOUT_SECONDS": "60"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("during", [f"time.sleep({_TOO_LONG})", _HOLDS_THE_LOCK])
def test_a_process_that_overruns_is_ended(during: str) -> None:
    ended = run(2, during)

    assert ended.returncode in _ENDED
    assert ended.stdout == ""


@pytest.mark.parametrize("during", [f"time.sleep({_TOO_LONG})", _HOLDS_THE_LOCK])
def test_the_kernels_alarm_is_enough(during: str) -> None:
    ended = run(2, f"import faulthandler; faulthandler.cancel_dump_traceback_later(); {during}")

    assert (ended.returncode, ended.stdout) == (-signal.SIGALRM, "")


@pytest.mark.parametrize("uses", ["signal.alarm(0)", "signal.signal(signal.SIGALRM, lambda *_: 0)"])
def test_an_effect_that_uses_the_alarm_itself_is_ended_all_the_same(uses: str) -> None:
    ended = run(2, f"{uses}; {_HOLDS_THE_LOCK}; time.sleep({_TOO_LONG})")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Timeout" in ended.stderr


def test_a_process_that_stood_still_past_its_time_does_not_go_on() -> None:
    wake = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import os,time; time.sleep(2.5); os.kill('+str(os.getpid())+', 18)'])"  # noqa: E501 - a program
    ended = run(2, f"{wake}; os.kill(os.getpid(), signal.SIGSTOP)")

    assert ended.returncode in _ENDED
    assert ended.stdout == ""


def test_a_process_that_has_answered_lives_on() -> None:
    ended = run(2, "pass", after="time.sleep(2.2); print('lives')")

    assert ended.returncode == 0
    assert ended.stdout.split() == ["acted", "answered", "0.0", "lives"]
