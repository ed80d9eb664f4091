"""A consumer's machine whose time a test moves, and a lease on it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from actonce_core.locking.lease import Host, Lease
from tests.support.moto_aws import MotoAws

BEGIN = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
LOCK_TIMEOUT = 60.0
_numbers = count(1)


@dataclass
class Machine:
    """One machine. `now`: its time, in seconds."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def lease(self, aws: MotoAws) -> Lease:
        """A lease whose heart does not beat."""
        host = Host(
            clock=lambda: BEGIN + timedelta(seconds=self.now),
            monotonic=lambda: self.now,
            sleep=self._sleep,
            new_id=lambda: f"id-{next(_numbers)}",
        )
        return Lease(
            aws.dynamodb,
            aws.lease_table,
            straggler_seconds=20,
            host=host,
            start_heartbeats=lambda _beat, _seconds: lambda: None,
        )

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
