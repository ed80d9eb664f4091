"""Seeded records of many messages, with the verdict that each was planted for.

    python -m lab.bench.records FOLDER [--messages N] [--seed N] [--days N]

Knows nothing of the audit: what a verdict looks like in the streams is told here once more. About
6.4 events come from one message; duplicates are skewed, most messages have none and a few hundreds.
"""

import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer

Numbers = npt.NDArray[np.int64]

FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY_MS = 86_400_000
QUIET_MS = 2 * 3_600_000  # nothing new at the end of the last day, so that silence can be told

PLANS = {
    "performed": "performed_once",
    "performed_exported_twice": "performed_once",
    "performed_found": "performed_once",
    "performed_again": "performed_again",
    "lost_effect": "lost",
    "lost_silent": "lost",
    "lost_timed_out": "lost",
    "conflict_refused": "conflict",
    "conflict_accepted": "conflict",
    "refused": "refused",
    "awaiting": "awaiting_decision",
    "posted_again": "awaiting_decision",
    "rejected": "rejected",
    "resolved": "resolved",
    "in_flight": "in_flight",
}
"""How a message is planted, and the verdict that it deserves."""

_NAMES = list(PLANS)
_NO_SEPARATOR = pa.scalar("", pa.large_string())
_PLAIN = 0.97  # share of messages that are simply performed


@dataclass(frozen=True, slots=True)
class Records:
    """The streams as tables (`at`: timestamp in ms), and the truth: `message_id`, `verdict`."""

    streams: dict[str, pa.Table]
    truth: pa.Table

    @property
    def events(self) -> int:
        """Rows of all streams."""
        return sum(table.num_rows for table in self.streams.values())


def generate(messages: int, seed: int = 1, days: int = 1, first: int = 0) -> Records:
    """Make the records of so many messages; every plan occurs if there are 15 or more.

    Message ids count from `first`, so that many files can be made one after another.
    """
    random = np.random.default_rng(seed)
    planted = max(len(PLANS), int(messages * (1 - _PLAIN)))
    plan = np.zeros(messages, dtype=np.int64)
    plan[:planted] = np.arange(planted) % len(PLANS)
    random.shuffle(plan)
    born = random.integers(0, days * DAY_MS - QUIET_MS, messages)
    return _Story(random, plan, born, days, first).told()


class _Story:
    """Collects the columns of every stream, many messages at a time."""

    def __init__(
        self, random: np.random.Generator, plan: Numbers, born: Numbers, days: int, first: int
    ) -> None:
        self._first = first
        self._random = random
        self._plan = plan
        self._born = born
        self._end = days * DAY_MS - 1000
        self._prints = _hex(random.bytes(32 * len(plan)), 64)
        self._other_prints = _hex(random.bytes(32 * len(plan)), 64)
        self._parts: dict[str, list[dict[str, Any]]] = {}

    def told(self) -> Records:
        everyone = np.arange(len(self._plan))
        self._sent_and_delivered(everyone)
        self._executed()
        self._decided()
        base = int(FIRST_DAY.timestamp() * 1000)
        streams = {}
        for stream, parts in self._parts.items():
            columns: dict[str, Any] = {}
            for name in parts[0]:
                values = [part[name] for part in parts]
                if name == "message":
                    columns["message_id"] = _ids(np.concatenate(values) + self._first)
                elif name == "at":
                    moments = np.minimum(np.concatenate(values), self._end) + base
                    columns["at"] = pa.array(moments).cast(pa.timestamp("ms", "UTC"))
                else:
                    columns[name] = pa.concat_arrays(values)
            streams[stream] = pa.table(columns)
        verdicts = pa.array([PLANS[name] for name in _NAMES])
        truth = {
            "message_id": _ids(everyone + self._first),
            "verdict": verdicts.take(pa.array(self._plan)),
        }
        return Records(streams, pa.table(truth))

    def _are(self, *plans: str) -> Numbers:
        return np.flatnonzero(np.isin(self._plan, [_NAMES.index(plan) for plan in plans]))

    def _after(self, who: Numbers, low: int, high: int) -> Numbers:
        return np.asarray(self._born[who] + self._random.integers(low, high, len(who)))

    def _add(self, stream: str, who: Numbers, at: Numbers, **columns: Any) -> None:
        texts = {
            name: pa.repeat(pa.scalar(value, pa.large_string()), len(who))
            if value is None or isinstance(value, str)
            else value
            for name, value in columns.items()
        }
        self._parts.setdefault(stream, []).append({"message": who, "at": at, **texts})

    def _sent_and_delivered(self, everyone: Numbers) -> None:
        self._sent(everyone, self._born)
        # Zipf: about a quarter sent again, a few messages very often.
        again = np.repeat(everyone, np.minimum(self._random.zipf(2.6, len(everyone)) - 1, 500))
        again = again[
            ~np.isin(self._plan[again], [_NAMES.index(p) for p in ("refused", "lost_silent")])
        ]
        later = np.exp(self._random.uniform(np.log(500), np.log(3 * DAY_MS), len(again))).astype(
            np.int64
        )
        self._sent(again, self._born[again] + later)
        started = self._are(*(plan for plan in PLANS if plan not in {"refused", "lost_silent"}))
        self._delivered(started, self._after(started, 20, 80), "started", self._prints)
        self._delivered(again, self._born[again] + later + 90, "suppressed", self._prints)
        refused = self._are("refused")
        self._delivered(refused, self._after(refused, 20, 80), "refused", None, "too_large")
        conflict = self._are("conflict_refused")
        self._delivered(
            conflict, self._after(conflict, 200, 90_000), "refused", self._other_prints, "conflict"
        )
        twice = self._are("conflict_accepted")
        self._delivered(twice, self._after(twice, 200, 90_000), "suppressed", self._other_prints)

    def _sent(self, who: Numbers, at: Numbers) -> None:
        self._add("sent", who, at, sqs_message_id=_hex(self._random.bytes(16 * len(who)), 32))

    def _delivered(
        self,
        who: Numbers,
        at: Numbers,
        end: str,
        prints: pa.Array | None,
        reason: str | None = None,
    ) -> None:
        fingerprint = None if prints is None else prints.take(pa.array(who))
        self._add(
            "deliveries", who, at,
            sqs_message_id=_hex(self._random.bytes(16 * len(who)), 32),
            end=end, reason=reason, fingerprint=fingerprint,
        )  # fmt: skip

    def _executed(self) -> None:
        ran = self._are(*(plan for plan in PLANS if plan not in {"refused", "lost_silent"}))
        self._status(ran, self._after(ran, 80, 100), "RUNNING")
        done = self._are(
            "performed", "performed_exported_twice", "performed_again", "lost_effect",
            "conflict_refused", "conflict_accepted",
        )  # fmt: skip
        at = self._after(done, 400, 9_000)
        self._status(done, at, "SUCCEEDED", "performed")
        kept = self._plan[done] != _NAMES.index("lost_effect")
        done, at = done[kept], at[kept]
        appointments = _hex(self._random.bytes(16 * len(done)), 32)
        self._effect(done, at - 50, appointments)
        twice = np.flatnonzero(self._plan[done] == _NAMES.index("performed_exported_twice"))
        self._effect(done[twice], at[twice] - 50, appointments.take(pa.array(twice)))
        again = self._are("performed_again")
        self._effect(
            again, self._after(again, 500, 60_000), _hex(self._random.bytes(16 * len(again)), 32)
        )
        found = self._are("performed_found")
        self._effect(
            found, self._after(found, 300, 900), _hex(self._random.bytes(16 * len(found)), 32)
        )
        self._status(found, self._after(found, 30_000, 31_000), "SUCCEEDED", "found")
        late = self._are("lost_timed_out")
        self._status(late, self._after(late, 60_000, 61_000), "TIMED_OUT")

    def _decided(self) -> None:
        for plan, decision in (
            ("awaiting", None), ("posted_again", "retry"), ("rejected", "reject"),
            ("resolved", "resolve"),
        ):  # fmt: skip
            who = self._are(plan)
            self._dead_letter(who, self._after(who, 9_000, 10_000), "posted", None)
            if decision is not None:
                self._dead_letter(who, self._after(who, 60_000, 90_000), "decided", decision)
        who = self._are("posted_again")
        self._dead_letter(who, self._after(who, 99_000, 100_000), "posted", None)
        who = self._are("rejected")
        self._status(who, self._after(who, 90_001, 90_100), "FAILED", error="RejectedByOperator")
        who = self._are("resolved")
        self._status(who, self._after(who, 90_001, 90_100), "SUCCEEDED", "resolved")

    def _status(
        self, who: Numbers, at: Numbers, status: str, outcome: str | None = None,
        error: str | None = None,
    ) -> None:  # fmt: skip
        self._add("executions", who, at, status=status, outcome=outcome, error=error)

    def _effect(self, who: Numbers, at: Numbers, appointments: pa.Array) -> None:
        self._add(
            "effects", who, at,
            appointment_id=pc.binary_join_element_wise(
                pa.scalar("appointment-", pa.large_string()), appointments, _NO_SEPARATOR
            ),
        )  # fmt: skip

    def _dead_letter(self, who: Numbers, at: Numbers, event: str, decision: str | None) -> None:
        self._add("dead_letters", who, at, event=event, decision=decision, reason="rejected")


def write_jsonl(records: Records, root: Path, name: str = "records") -> None:
    """One gzip file of lines per stream and day, as the parts write them."""
    for folder, table in _by_day(records, root):
        line = _LINES.get(folder.parent.name, _plain_line(folder.parent.name))
        times = pc.strftime(table["at"], "%Y-%m-%dT%H:%M:%SZ").to_pylist()
        names = [name for name in table.column_names if name != "at"]
        rows = zip(*(table[name].to_pylist() for name in names), strict=True)
        text = io.StringIO()
        for time, row in zip(times, rows, strict=True):
            text.write(json.dumps(line(time, dict(zip(names, row, strict=True)))) + "\n")
        packed = gzip.compress(text.getvalue().encode("utf-8"), 1, mtime=0)
        (folder / f"{name}.jsonl.gz").write_bytes(packed)


def _plain_line(stream: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    return lambda time, row: {"stream": stream, "version": 1, "at": time, **row}


def _effect_line(time: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "Item": {
            "message_id": {"S": row["message_id"]},
            "appointment_id": {"S": row["appointment_id"]},
            "practice": {"S": "main"},
            "slot": {"N": "1"},
            "booked_at": {"S": time},
            "request": {"S": "{}"},
        }
    }


_LINES = {"effects": _effect_line}


def _by_day(records: Records, root: Path) -> Iterator[tuple[Path, pa.Table]]:
    days = sorted(
        {day for t in records.streams.values() for day in pc.unique(_days(t)).to_pylist()}
    )
    for stream, table in records.streams.items():
        of = _days(table)
        for day in days:
            folder = root / stream / f"dt={day}"
            folder.mkdir(parents=True, exist_ok=True)
            yield folder, table.filter(pc.equal(of, day)) if len(days) > 1 else table


def _days(table: pa.Table) -> Any:
    return table["at"].cast(pa.date32())


def _ids(numbers: Numbers) -> pa.Array:
    digits = (numbers[:, None] // 10 ** np.arange(9, -1, -1)) % 10 + ord("0")
    return _fixed(np.insert(digits.astype(np.uint8), [0], list(b"m-"), axis=1))


def _hex(data: bytes, width: int) -> pa.Array:
    nibbles = np.frombuffer(data, np.uint8)
    table = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = np.stack([table[nibbles >> 4], table[nibbles & 15]], axis=1)
    return _fixed(text.reshape(-1, width))


def _fixed(characters: npt.NDArray[np.uint8]) -> pa.Array:
    """Strings of one length each, without a Python object for any."""
    count, width = characters.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    return pa.LargeStringArray.from_buffers(count, buffers[1], buffers[2])


def truth_of(folder: Path) -> Path:
    """Where the verdicts are that were planted: beside the records, of which they are none."""
    return folder.with_name(f"{folder.name}-truth.parquet")


def main(
    folder: Path,
    messages: Annotated[int, typer.Option(min=15)] = 100_000,
    seed: int = 1,
    days: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Write the streams under FOLDER, and the planted verdicts beside it, FOLDER-truth.parquet."""
    records = generate(messages, seed, days)
    write_jsonl(records, folder)
    pq.write_table(records.truth, truth_of(folder))
    print(f"{records.events:,} events of {messages:,} messages")


if __name__ == "__main__":
    typer.run(main)
