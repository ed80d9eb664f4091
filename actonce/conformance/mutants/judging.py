"""Judging mutants by the walk alone: does one end worse than what ships, in any cell?

A mutant is walked against every hazard of the ways that run its code, those with few schedules
first, and no further than to its first violation: an end worse than any that what ships has there,
or code that breaks, never ends, or writes down what is not true.
"""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from actonce.conformance import page, suite
from actonce.conformance.hazards import SCENARIOS, Scenario
from actonce.conformance.mutants.code import mutants_of
from actonce.conformance.mutants.definition import FILE, mutants_of_definition
from actonce.conformance.mutants.mutant import Mutant
from actonce.conformance.process import NotKnownHere
from actonce.conformance.stage import Way
from actonce.conformance.trial import run_trial
from actonce.conformance.verdict import Verdict
from actonce.conformance.ways.known import WAYS
from actonce.conformance.world import World

Cell = tuple[Way, Scenario]

_EXECUTIONS = ("step-functions",)
_LEDGERS = ("ledger", "ledger-worker")
_LEASES = ("lease", "lease-worker-fenced")
_LOCKS = ("ledger", "lease", "ledger-worker", "lease-worker-fenced")

RUN_BY: Mapping[str, Sequence[str]] = {
    "locking.once": _LOCKS,
    "locking.ledger": _LEDGERS,
    "locking.lease": _LEASES,
    "locking.row_locks": _LOCKS,
    "locking.rows": _LOCKS,
    "locking.consumer": _LOCKS,
    "locking.dead_letters": ("ledger",),
    "deduplication.start": _EXECUTIONS,
    "deduplication.executions": _EXECUTIONS,
    "deduplication.fingerprints": _EXECUTIONS,
    "deduplication.memory": ("step-functions", "ledger", "lease"),
    "deduplication.unstarted": ("step-functions", "step-functions-fifo", "ledger"),
    "time_allowed": _EXECUTIONS,
    "effect": ("ledger", "ledger-worker-fenced", "step-functions"),
}
"""The modules that are tried, and the ways of the table that run them."""

NOT_TRIED = {
    "deduplication/message.py, strict_json.py, identity.py, delivery.py": "what a body is read as; "
    "the walk sends a handful of bodies, and property tests try the rest.",
    "deduplication/batch.py, delivery_record.py": "a walk's consumer has one delivery at a time, "
    "and what is logged decides nothing.",
    "deduplication/patience.py, coming_back.py, pace.py": "they decide when, and not what.",
    "deduplication/apart.py, apart_process.py, from_environment.py": "a process beside the "
    "starter's, which runs what is tried here; tests kill it.",
    "locking/idempotent.py": "no way of the table goes through it; it calls what is tried here.",
    "locking/host.py, attempt.py, deduplication/refusal.py": "they decide nothing.",
    "time_allowed.py end_process_in, lease.py heartbeats_in_a_thread": "timers and threads; a "
    "walk has its own.",
    "lease.py seconds_for_a_takeover, effect.py _small": "sums and sizes that unit tests hold.",
    "process_message.asl.json, how long between two retries": "it decides when, and not what.",
}
"""What no mutants are made of, and why."""

_ORDER = (
    "again-later",
    "crash-after-effect",
    "resend-later",
    "clock-ahead",
    "clock-behind",
    "poison",
    "resend-91-days",
    "short-history",
    "conflict",
    "twice-at-once",
    "resend-5-minutes",
    "effect-unheard",
    "crash",
    "effect-late",
    "margin",
    "services-fail",
    "unclear",
    "row-of-before",
    "tried-again",
    "closed",
    "cold-start",
    "given-up",
    "late-takeover",
    "long-effect",
    "zombie",
    "late-answer",
    "group-order",
    "aborted-redriven",
    "deployed-between",
    "another-memory",
)
"""The hazards that a mutant is tried against, short and telling ones first."""

_OF_A_HOST = frozenset({"zombie", "late-answer", "late-takeover"})
"""Those that a host differs in from Lambda: a worker's ways are tried against these."""
_OF_THE_STARTER = frozenset({"another-memory"})
_OF_EXECUTIONS = frozenset({"aborted-redriven", "deployed-between", "unclear", "cold-start"})

MOST_RUNS = 400
"""Schedules of a cell after which a mutant's walk is given up, without a violation."""
MOST_SECONDS = 10
"""Of the processor, after which a walk that never ends is ended."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a mutant: by which hazard it was noticed, and how; `""`: by none."""

    mutant: Mutant
    hazard: str
    how: str

    @property
    def is_noticed(self) -> bool:
        """Whether the walk noticed it."""
        return bool(self.hazard)


class _Noticed(Exception):
    """A schedule ended worse than it may."""


class _NeverEnds(BaseException):
    """No `Exception`, which the code under test would take for a service's failure."""


def all_mutants() -> list[Mutant]:
    """Those of the modules in `RUN_BY`, and the definition's."""
    return [*(one for name in RUN_BY for one in mutants_of(name)), *mutants_of_definition()]


def judge(mutants: Sequence[Mutant]) -> Iterator[Judged]:
    """Judge one after the other, in this process."""
    for mutant in mutants:
        yield _judge(mutant)


def _judge(mutant: Mutant) -> Judged:
    for way, hazard in _cells(mutant.file):
        how = _violation(mutant, way, hazard)
        if how:
            return Judged(mutant, f"{way.name}, {hazard.name}", how)
    return Judged(mutant, "", "")


@cache
def _cells(file: str) -> tuple[Cell, ...]:
    """The cells that a file's mutants are walked in, short walks first."""
    names: Sequence[str] = _EXECUTIONS
    spared = _OF_THE_STARTER
    if file != FILE:
        module = file.removeprefix("functions/").removesuffix(".py").replace("/", ".")
        names = RUN_BY[module]
        spared = _OF_EXECUTIONS if module.startswith("deduplication") else frozenset()
    ways = {way.name: way for way in WAYS}
    hazards = {one.name: one for one in SCENARIOS}
    return tuple(
        (ways[way], hazards[hazard])
        for hazard in _ORDER
        if hazard not in spared
        for way in names
        if suite.is_published(ways[way], hazards[hazard])
        and (hazard in _OF_A_HOST or ways[way].ends_at is not None)
    )


@cache
def _published() -> Mapping[tuple[str, str], page.Cell]:
    return page.cells(page.PAGE.read_text())


def _worst(way: Way, hazard: Scenario) -> Verdict:
    """What the published table says."""
    return _published()[way.name, hazard.name].worst


def _violation(mutant: Mutant, way: Way, hazard: Scenario) -> str:
    worst, plain = _worst(way, hazard), _undisturbed(way, hazard)
    runs = 0

    def look(verdict: Verdict, world: World) -> None:
        nonlocal runs
        runs += 1
        if verdict > worst:
            raise _Noticed(_words(verdict))
        if runs == 1 and (world.steps > plain[0] or world.now > plain[1]):
            raise _Noticed("takes longer undisturbed")

    try:
        with mutant.applied() as definition, _within(MOST_SECONDS):
            run_trial(way, hazard, definition=definition, look=look, most_runs=MOST_RUNS)
    except _Noticed as noticed:
        return str(noticed)
    except _NeverEnds:
        return "never ends"
    except (Exception, NotKnownHere) as error:  # noqa: BLE001 - whatever a mutant does
        return f"breaks: {type(error).__name__}"
    return ""


@cache
def _undisturbed(way: Way, hazard: Scenario) -> tuple[int, int]:
    """Steps, and milliseconds, that the first run takes as it ships: nothing goes wrong in it."""
    found: list[tuple[int, int]] = []

    def look(_: Verdict, world: World) -> None:
        found.append((world.steps, world.now))

    run_trial(way, hazard, look=look, most_runs=1)
    return found[0]


def _words(verdict: Verdict) -> str:
    return "out of order" if verdict.is_out_of_order else verdict.kind.name.lower()


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def over(*_: Any) -> None:
        raise _NeverEnds

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
