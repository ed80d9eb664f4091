"""A consumer's machine whose time a test moves, and the two ways of locking on it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from actonce_core.locking.locks import Host, Lease, Ledger, ProcessingLocks
from tests.support.moto_aws import MotoAws

BEGIN = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
LOCK_TIMEOUT = 60.0
SKEW = 300.0
_numbers = count(1)


@dataclass
class Machine:
    """One machine.

    `ahead`: how far its wall clock is, in seconds; `now`: its monotonic time; `ids`: the next ones;
    `while_asleep`: what happens meanwhile.
    """

    ahead: float = 0.0
    now: float = 0.0
    slept: list[float] = field(default_factory=list)
    beats: list[Callable[[], bool]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    while_asleep: Callable[[], object] = lambda: None

    def host(self) -> Host:
        return Host(
            clock=lambda: BEGIN + timedelta(seconds=self.now + self.ahead),
            monotonic=lambda: self.now,
            sleep=self._sleep,
            new_id=lambda: self.ids.pop(0) if self.ids else f"id-{next(_numbers)}",
        )

    def ledger(self, aws: MotoAws) -> Ledger:
        return Ledger(
            aws.dynamodb,
            aws.ledger_table,
            straggler_seconds=20,
            clock_skew_seconds=SKEW,
            host=self.host(),
        )

    def lease(self, aws: MotoAws) -> Lease:
        return Lease(
            aws.dynamodb,
            aws.ledger_table,
            straggler_seconds=20,
            host=self.host(),
            start_heartbeats=self._start_heartbeats,
        )

    def locks(self, way: str, aws: MotoAws) -> ProcessingLocks:
        return self.ledger(aws) if way == "ledger" else self.lease(aws)

    def beat(self) -> None:
        """Every heartbeat of this machine, now."""
        for beat in list(self.beats):
            beat()

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        self.while_asleep()

    def _start_heartbeats(self, beat: Callable[[], bool], _: float) -> Callable[[], None]:
        self.beats.append(beat)
        return lambda: self.beats.remove(beat)
