"""What every engine is asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

Form = Literal["parquet", "jsonl"]
ENDINGS: Final[dict[Form, str]] = {"parquet": ".parquet", "jsonl": ".jsonl.gz"}
STREAMS = ("sent", "deliveries", "executions", "effects", "dead_letters")


@dataclass(frozen=True, slots=True)
class Task:
    """The records to judge.

    Attributes:
        root: of the streams, as `lab.bench.records` writes them.
        cores: how many to use.
        form: of the files.
    """

    root: Path
    cores: int
    form: Form = "parquet"

    def files(self, stream: str) -> list[str]:
        """The files of a stream."""
        return sorted(str(file) for file in self.root.glob(f"{stream}/*/*{ENDINGS[self.form]}"))

    @property
    def newest_ms(self) -> int:
        """The end of the last day: what silence is measured against, as in the audit."""
        last = max(path.name.removeprefix("dt=") for path in self.root.glob("*/dt=*"))
        day = date.fromisoformat(last) + timedelta(days=1)
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


_HEADER: Final = ("stream", "version", "at", "message_id")
LINES: Final = {
    "sent": (*_HEADER, "sqs_message_id"),
    "deliveries": (*_HEADER, "sqs_message_id", "end", "reason", "fingerprint"),
    "executions": (*_HEADER, "status", "outcome", "error"),
    "dead_letters": (*_HEADER, "event", "decision", "reason"),
}
"""The fields of the lines, all texts; effects are items of a DynamoDB export."""
ITEM: Final = ("message_id", "appointment_id", "booked_at")

Run = Callable[[Path], None]
"""Judges once: writes a row per message id, as Parquet, into a folder that does not exist yet."""

Engine = Callable[[Task], AbstractContextManager[Run]]
"""What is inside the context is ready: imported, started, connected."""
