"""Seeded days of records as nights find them: late, twice, across days, under other names.

Each line knows in which night's folders it is found first, so that nights can be played one after
another over the same records.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

from tests.pipeline.judge import Record
from tests.pipeline.streams_on_disk import (
    ENDS,
    KINDS,
    STREAMS,
    at,
    delivery,
    execution,
    line_of,
    performed,
    put,
    sent,
)

FIRST = date(2026, 1, 5)


def day(number: int) -> str:
    """The day of a number, from 0."""
    return (FIRST + timedelta(days=number)).isoformat()


@dataclass(slots=True)
class Weeks:
    """Records of many days.

    Attributes:
        days: how many.
        a_day: messages that begin on each.
        seed: of every choice.
        names: also messages that are known by SQS's id or by a hash only.
        spoiled: also lines that are no records.
    """

    days: int
    a_day: int
    seed: int
    names: bool = False
    spoiled: bool = False
    _random: Random = field(init=False)
    _files: dict[tuple[int, str, str, str], list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        for number in range(self.days):
            for stream in STREAMS:
                self._files[number, stream, day(number), "records.jsonl"] = []
            for n in range(self.a_day):
                for record in self._history(f"m-{number}-{n}", number):
                    self._place(*record)
            if self.spoiled and self._random.random() < 0.5:
                stream = self._random.choice(STREAMS)
                name = self._random.choice(("records.jsonl", "spoiled.jsonl"))
                self._files.setdefault((number, stream, day(number), name), []).append("no record")

    def arrive(self, root: Path, night: int) -> None:
        """Put what is found first in the night after day `night` below the root."""
        for (when, stream, folder, name), lines in self._files.items():
            if when == night:
                path = root / stream / f"dt={folder}" / name
                there = path.read_bytes() if path.exists() else b""
                put(
                    root,
                    stream,
                    name,
                    there + "".join(f"{line}\n" for line in lines).encode(),
                    folder,
                )

    def _place(self, stream: str, record: dict[str, object]) -> None:
        """Into a folder, on a night: mostly those of its day, sometimes later ones, or both."""
        own = (datetime.fromisoformat(str(record["at"])).date() - FIRST).days
        chance = self._random.random()
        later = min(self.days - 1, own + self._random.randint(1, 3))
        places = [(own, own, "records.jsonl")]
        if chance < 0.03:  # it arrives late, in the folder of the day on which it arrives
            places = [(later, later, "late.jsonl")]
        elif chance < 0.033:  # it is put into its own day's folder, nights later
            places = [(later, own, f"put-{later}.jsonl")]
        elif chance < 0.06:  # it comes twice
            places.append((later, later, "again.jsonl"))
        for night, folder, name in places:
            if night < self.days:
                lines = self._files.setdefault((night, stream, day(folder), name), [])
                lines.append(line_of(stream, record))

    def _history(self, name: str, number: int) -> Iterator[Record]:
        """One message's records, from its day on; those after the last day are left out.

        Half of them went well. Whatever else is recorded of it need make no sense.
        """
        random, last = self._random, day(self.days - 1)
        second = random.uniform(0, 86_000)
        records = performed(name, second, day(number)) if random.random() < 0.5 else []
        more = random.choice((0, 0, 1, 2) if records else (1, 2, 3, 5))
        for one in random.choices(self._kinds(name), k=more):
            moment = at(random.uniform(second, 86_399), day(number + random.randint(0, 6)))
            records.append((one[0], one[1] | {"at": moment}))
        return (record for record in records if str(record[1]["at"])[:10] <= last)

    def _kinds(self, name: str) -> list[Record]:
        """A record of each kind, without its time."""
        kinds = [(stream, record | {"message_id": name}) for stream, record in KINDS]
        if self.names:
            # SQS's id is its own mostly; of two messages with one neither is known by it.
            own = self._random.random() < 0.8
            sqs_id = f"q-{name if own else self._random.randrange(5)}"
            hashed = f"sha256-{hashlib.sha256(name.encode()).hexdigest()}"
            deliveries = (
                delivery(None, "", "failed", None, None),
                delivery(name, ""),
                delivery(name, "", "suppressed"),
            )
            kinds += [
                sent(None, "", sqs_id),
                *((stream, one | {"sqs_message_id": sqs_id}) for stream, one in deliveries),
                *(execution(hashed, "", *end) for end in ENDS),
            ]
        return kinds
