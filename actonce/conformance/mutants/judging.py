"""Judging mutants by the walk alone: does any schedule end otherwise than with what ships?

First what ships is walked, every schedule of every cell, and it is kept how its schedules ended,
for each thing that was picked and each thing that went wrong, and which statements and states were
run. Then a mutant is walked in every cell that runs what it changes, with every schedule, up to the
first one by which it is noticed:

- it ends worse than any schedule of what ships with the same things picked and gone wrong, or
- the code breaks, never ends, or writes down what is not true, or
- it takes longer (undisturbed, also in steps), or
- it leaves behind what no such schedule of what ships does: other effects, rows, dead letters,
  refusals.
"""

import gc
import hashlib
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any

from actonce.conformance import suite
from actonce.conformance.hazards import SCENARIOS, Scenario
from actonce.conformance.mutants.code import mutants_of, probed
from actonce.conformance.mutants.definition import mutants_of_definition, recorded
from actonce.conformance.mutants.mutant import Mutant, Place
from actonce.conformance.process import NotKnownHere
from actonce.conformance.stage import Stage, Way
from actonce.conformance.trial import run_trial
from actonce.conformance.verdict import Verdict, left_behind
from actonce.conformance.ways.known import WAYS

Cell = tuple[str, str]
"""The names of a way and of a hazard."""

TRIED = (
    "deduplication.start",
    "deduplication.executions",
    "deduplication.fingerprints",
    "deduplication.memory",
    "deduplication.unstarted",
    "deduplication.message",
    "actonce_message.execution_input",
    "actonce_message.strict_json",
    "actonce_message.identity",
    "deduplication.delivery",
    "effect",
    "time_allowed",
    "invoked_effect",
    "locking.once",
    "locking.ledger",
    "locking.lease",
    "locking.row_locks",
    "locking.rows",
    "locking.consumer",
    "locking.dead_letters",
    "locking.idempotent",
)
"""The modules that mutants are made of, beside the definition."""

WAYS_TRIED = (
    "step-functions",
    "step-functions-fifo",
    "step-functions-booking",
    "ledger",
    "ledger-fenced-fifo",
    "ledger-idempotent",
    "ledger-idempotent-blind",
    "ledger-invoking",
    "lease",
    "ledger-worker",
    "ledger-worker-fenced",
    "lease-worker-fenced",
)
"""The ways that run them all."""

NOT_TRIED = {
    "deduplication/batch.py": "threads and an event loop, which a walk has not: its consumer has "
    "one delivery at a time. `tests/unit/test_batch.py` holds it, and a group's order.",
    "deduplication/delivery_record.py": "what is logged decides nothing; "
    "`tests/unit/test_delivery_record.py`.",
    "deduplication/patience.py, coming_back.py, pace.py": "they decide when, and not what; "
    "`tests/unit/test_patience.py`, `test_coming_back.py`, `test_pace.py`.",
    "deduplication/from_environment.py": "it puts together what is tried here.",
    "invoked_effect.py client_config": "the settings of a client; the walk's own waits as long "
    "(`tests/conformance/test_services.py`).",
    "locking/host.py, attempt.py, deduplication/refusal.py": "they decide nothing.",
    "time_allowed.py end_process_in, lease.py heartbeats_in_a_thread": "timers and threads; a "
    "walk has its own. `tests/unit/test_time_allowed.py`, `tests/unit/locking/test_locks.py`.",
    "lease.py seconds_for_a_takeover": "a sum that the template repeats; `tests/test_template.py`.",
    "message.py MessageReader.read_whole, identity.py execution_name_of_stored": "for the command "
    "line; its tests.",
    "strict_json.py, what its expressions and tables of characters take": "no mutants are made of "
    "texts; property tests hold them (`tests/unit/test_strict_json.py`).",
    "process_message.asl.json, how long between two retries": "it decides when, and not what.",
}
"""What no mutants are made of, and why."""

_OF_A_HOST = frozenset({"zombie", "long-zombie", "late-answer", "late-takeover"})
"""Those that a host differs in from Lambda: a worker's ways are tried against these."""

_OF_A_FIFO_QUEUE = frozenset(
    {"texts", "poison", "conflict", "group-order", "crash", "again-later", "resend-later"}
)
"""Those that a FIFO queue differs in from a standard one; its ways are tried against these."""

_OF_AN_INVOKED_FUNCTION = frozenset(
    {"no-clear-yes", "not-looked-up", "crash", "effect-unheard", "services-fail", "poison"}
)
"""Those that a function which the consumer calls differs in from an effect of its own."""

_OF_THE_EXAMPLE = frozenset({"again-later"})
"""Where its effect, which could check a fence, stands behind executions, which have none."""

_TELLING = {
    "functions/deduplication/message.py": ("texts",),
    "functions/actonce_message/execution_input.py": ("texts",),
    "functions/actonce_message/strict_json.py": ("texts",),
    "functions/actonce_message/identity.py": ("texts",),
    "functions/deduplication/delivery.py": ("texts",),
    "functions/deduplication/unstarted.py": ("texts",),
    "functions/locking/dead_letters.py": ("texts",),
    "functions/effect.py": ("by-hand", "texts"),
    "functions/time_allowed.py": ("by-hand", "cold-start"),
}
"""Where to look first."""

TAKES_LONGEST = frozenset({"any-two"})
"""Left out: walking it takes longer than all else together."""
_HAS_LIKES = frozenset(
    {
        ("step-functions", "another-memory"),
        ("lease", "given-up"),
        ("lease-worker-fenced", "late-takeover"),
    }
)
"""Cells that take long, and are much like another one that is walked."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a mutant.

    Attributes:
        name, file, where, change: the mutant's.
        cell: by which it was noticed; None: by none.
        how: it was.
        cells: how many were walked.
        is_cut: there are more that run it.
    """

    name: str
    file: str
    where: str
    change: str
    cell: Cell | None
    how: str = ""
    cells: int = 0
    is_cut: bool = False

    @property
    def is_noticed(self) -> bool:
        """Whether the walk noticed it."""
        return self.cell is not None


Key = tuple[tuple[int, ...], tuple[str, ...]]
"""What was picked, and what went wrong. A walk keeps moments apart that differ in these."""


@dataclass(slots=True)
class _Ends:
    """How the schedules of one key ended."""

    worst: Verdict
    latest: int
    left_behind: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class AsItShips:
    """A cell, walked with what ships.

    Attributes:
        ends: by key.
        steps, time: of the first run, in which nothing goes wrong; milliseconds.
        places: what was run.
        schedules, seconds: what the walk took, of a processor.
    """

    ends: dict[Key, _Ends] = field(default_factory=dict)
    steps: int = 0
    time: int = 0
    places: frozenset[Place] = frozenset()
    schedules: int = 0
    seconds: float = 0.0

    @property
    def worst(self) -> Verdict:
        """Of all."""
        return max(one.worst for one in self.ends.values())


class _Noticed(Exception):
    """A schedule ended as it may not."""


class _NeverEnds(BaseException):
    """No `Exception`, which the code under test would take for a service's failure."""


def all_mutants() -> list[Mutant]:
    """Those of the modules in `TRIED`, and the definition's."""
    return [*(one for name in TRIED for one in mutants_of(name)), *mutants_of_definition()]


def all_cells() -> list[Cell]:
    """Those that mutants are walked in."""
    return [
        (way.name, hazard.name)
        for way, hazard in suite.published()
        if way.name in WAYS_TRIED
        and hazard.name not in TAKES_LONGEST
        and (way.name, hazard.name) not in _HAS_LIKES
        and (hazard.name in _OF_A_HOST or way.ends_at is not None)
        and (hazard.name in _OF_A_FIFO_QUEUE or not way.is_fifo)
        and (hazard.name in _OF_AN_INVOKED_FUNCTION or not way.invokes)
        and (hazard.name in _OF_THE_EXAMPLE or way.effect is None)
    ]


class Judge:
    """Judges mutants in this process.

    Args:
        known: cells that have been walked with what ships; others are when they are needed.
        cells: that mutants are walked in.
        seconds: of a processor, after which no further cell is begun for a mutant; None: all are.
    """

    def __init__(
        self,
        known: Mapping[Cell, AsItShips] | None = None,
        cells: Iterable[Cell] | None = None,
        seconds: float | None = None,
    ) -> None:
        self._seconds = seconds
        self._known = dict(known or {})
        self._cells = list(all_cells() if cells is None else cells)
        self._tried: Counter[tuple[str, Cell]] = Counter()
        self._noticed: Counter[tuple[str, Cell]] = Counter()

    def judge(self, mutant: Mutant) -> Judged:
        """Walk it until it is noticed; first the cells that notice most of its file in a second."""
        walked = 0
        began = time.process_time()
        for cell in sorted(self._cells, key=partial(self._yields, mutant.file), reverse=True):
            as_it_ships = self._as_it_ships(cell)
            if not _runs(mutant, as_it_ships):
                continue
            if self._seconds is not None and time.process_time() - began > self._seconds:
                return _judged(mutant, None, "", walked, is_cut=True)
            walked += 1
            self._tried[mutant.file, cell] += 1
            how = _violation(mutant, cell, as_it_ships)
            if how:
                self._noticed[mutant.file, cell] += 1
                return _judged(mutant, cell, how, walked)
        return _judged(mutant, None, "", walked)

    def _yields(self, file: str, cell: Cell) -> float:
        tells = 20 if cell[1] in _TELLING.get(file, ()) else 1
        share = (self._noticed[file, cell] + tells) / (self._tried[file, cell] + 2)
        known = self._known.get(cell)
        return share / (0.05 + known.seconds) if known else 0.0

    def _as_it_ships(self, cell: Cell) -> AsItShips:
        if cell not in self._known:
            self._known[cell] = as_it_ships(cell)
        return self._known[cell]


def _judged(
    mutant: Mutant, cell: Cell | None, how: str, walked: int, *, is_cut: bool = False
) -> Judged:
    return Judged(mutant.name, mutant.file, mutant.where, mutant.change, cell, how, walked, is_cut)


def _runs(mutant: Mutant, cell: AsItShips) -> bool:
    if mutant.places:
        return not mutant.places.isdisjoint(cell.places)
    return any(file == mutant.file for file, *_ in cell.places)


def _of(cell: Cell) -> tuple[Way, Scenario]:
    (way,) = (one for one in WAYS if one.name == cell[0])
    (hazard,) = (one for one in SCENARIOS if one.name == cell[1])
    return way, hazard


def as_it_ships(cell: Cell) -> AsItShips:
    """Walk every schedule of a cell with what ships."""
    found = AsItShips()
    way, hazard = _of(cell)
    definition, entered = recorded()

    def look(verdict: Verdict, stage: Stage) -> None:
        world = stage.world
        if not found.ends:
            found.steps, found.time = world.steps, world.last_step_at
        ends = found.ends.setdefault(_key(stage), _Ends(verdict, world.last_step_at))
        ends.worst = max(ends.worst, verdict)
        ends.latest = max(ends.latest, world.last_step_at)
        ends.left_behind.add(_left_behind(stage))

    began = time.process_time()
    with probed(TRIED) as run:
        trial = run_trial(way, hazard, definition=definition, look=look, by_hazard=True)
    found.places = frozenset(run | entered)
    found.schedules, found.seconds = trial.schedules, time.process_time() - began
    return found


def _key(stage: Stage) -> Key:
    return stage.world.picked, stage.world.befell


def _left_behind(stage: Stage) -> bytes:
    return hashlib.blake2b(repr(left_behind(stage)).encode(), digest_size=8).digest()


def _violation(mutant: Mutant, cell: Cell, as_it_ships: AsItShips) -> str:
    way, hazard = _of(cell)
    worst_of_all = as_it_ships.worst
    runs = 0

    def look(verdict: Verdict, stage: Stage) -> None:
        nonlocal runs
        runs += 1
        world = stage.world
        ends = as_it_ships.ends.get(_key(stage))
        if verdict > (ends.worst if ends else worst_of_all):
            raise _Noticed(_words(verdict))
        if runs == 1 and (world.steps > as_it_ships.steps or world.last_step_at > as_it_ships.time):
            raise _Noticed("takes longer undisturbed")
        if ends is None:  # what ships cannot go wrong in this way
            return
        if world.last_step_at > ends.latest:
            raise _Noticed("takes longer")
        if _left_behind(stage) not in ends.left_behind:
            raise _Noticed("leaves something else behind")

    most_runs = 3 * as_it_ships.schedules + 100
    try:
        with mutant.applied() as definition, _within(10 + 5 * as_it_ships.seconds):
            run_trial(
                way, hazard, definition=definition, look=look, by_hazard=True, most_runs=most_runs
            )
    except _Noticed as noticed:
        return str(noticed)
    except _NeverEnds:
        return "never ends"
    except (Exception, NotKnownHere) as error:  # noqa: BLE001 - whatever a mutant does
        return f"breaks: {type(error).__name__}"
    finally:
        gc.enable()
    return ""


def _words(verdict: Verdict) -> str:
    return "out of order" if verdict.is_out_of_order else verdict.kind.name.lower()


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def over(*_: Any) -> None:
        raise _NeverEnds

    # The second one for what waits for a lock that nobody gives back.
    timers = (
        (signal.SIGVTALRM, signal.ITIMER_VIRTUAL, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, 60 + 20 * seconds),
    )
    before = [signal.signal(number, over) for number, *_ in timers]
    for _, timer, after in timers:
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


# ------------------------------------------------------------------ side by side

_here: dict[str, Any] = {}
_CONTEXT = get_context("spawn")  # not forked: a greenlet's stack is not to be inherited


def walk_what_ships(processes: int) -> dict[Cell, AsItShips]:
    """Walk every cell with what ships, side by side."""
    cells = all_cells()
    with ProcessPoolExecutor(processes, _CONTEXT) as pool:
        return dict(zip(cells, pool.map(as_it_ships, cells), strict=True))


def judge_all(
    names: Sequence[str],
    known: Mapping[Cell, AsItShips],
    *,
    processes: int,
    seconds: float | None = None,
) -> Iterator[Judged]:
    """Judge the mutants of these names side by side, and tell of each in their order.

    Args:
        names: of the mutants.
        known: what `walk_what_ships` found.
        processes: side by side.
        seconds: see `Judge`.
    """
    begin = (known, seconds)
    with ProcessPoolExecutor(processes, _CONTEXT, initializer=_begin, initargs=begin) as pool:
        yield from pool.map(_judge_named, names)


def _begin(known: Mapping[Cell, AsItShips], seconds: float | None) -> None:
    _here["judge"] = Judge(known, seconds=seconds)
    _here["mutants"] = {one.name: one for one in all_mutants()}


def _judge_named(name: str) -> Judged:
    judged: Judged = _here["judge"].judge(_here["mutants"][name])
    return judged
