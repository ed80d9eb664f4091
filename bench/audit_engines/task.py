"""What every engine is asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

STREAMS = ("sent", "deliveries", "executions", "effects", "dead_letters")


@dataclass(frozen=True, slots=True)
class Task:
    """The records to judge.

    Attributes:
        root: of the streams, Parquet as `bench.records` writes it.
        cores: how many to use.
    """

    root: Path
    cores: int

    def files(self, stream: str) -> list[str]:
        """The files of a stream."""
        return sorted(str(file) for file in self.root.glob(f"{stream}/*/*.parquet"))

    @property
    def newest_ms(self) -> int:
        """The end of the last day: what silence is measured against, as in the audit."""
        last = max(path.name.removeprefix("dt=") for path in self.root.glob("*/dt=*"))
        day = date.fromisoformat(last) + timedelta(days=1)
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


Run = Callable[[Path], None]
"""Judges once: writes a row per message id, as Parquet, into a folder that does not exist yet."""

Engine = Callable[[Task], AbstractContextManager[Run]]
"""What is inside the context is ready: imported, started, connected."""
