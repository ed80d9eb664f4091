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
    FINGERPRINTS,
    STREAMS,
    at,
    dead_letter,
    delivery,
    effect,
    execution,
    line_of,
    performed,
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
                place = root / stream / f"dt={folder}" / name
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("a", encoding="utf-8") as file:
                    file.write("".join(f"{line}\n" for line in lines))

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
        """One message's records; those after the last day are left out."""
        stories = STORIES + UNDER_OTHER_NAMES if self.names else STORIES
        message = Message(name, number, self._random)
        last = day(self.days - 1)
        records = self._random.choice(stories)(message)
        return (record for record in records if str(record[1]["at"])[:10] <= last)


class Message:
    """A message that begins at some second of a day."""

    def __init__(self, name: str, number: int, random: Random) -> None:
        self.name, self.random = name, random
        self._number, self._second = number, random.uniform(0, 86_000)
        self.later = random.randint(1, 6)
        self.performed = performed(name, self._second, day(number))
        self.began = self.performed[:3]

    def at(self, days: int = 0, seconds: float = 0.0) -> str:
        """A time so much after its beginning."""
        return at(min(self._second + seconds, 86_399.0), day(self._number + days))

    def effect(self, days: int, seconds: float, prefix: str = "appointment") -> Record:
        """Of its own."""
        return effect(self.name, self.at(days, seconds), f"{prefix}-{self.name}")

    def ran(self, days: int, outcome: str) -> list[Record]:
        """From the start to a good end."""
        return [
            execution(self.name, self.at(days, 2), "RUNNING"),
            self.effect(days, 3),
            execution(self.name, self.at(days, 4), "SUCCEEDED", outcome),
        ]


def _well(of: Message) -> list[Record]:
    return of.performed


def _came_again(of: Message) -> list[Record]:
    again = [
        sent(of.name, of.at(of.later)),
        delivery(of.name, of.at(of.later, 0.1), "suppressed"),
    ]
    return [*of.performed, *again[of.random.randrange(2) :]]


def _redriven(of: Message) -> list[Record]:
    return [
        *of.began,
        dead_letter(of.name, of.at(0, 9)),
        dead_letter(of.name, of.at(of.later, 1), "retry"),
        *of.ran(of.later, "performed"),
    ]


def _decided(of: Message) -> list[Record]:
    ends = {
        "reject": ("FAILED", None, "RejectedByOperator"),
        "resolve": ("SUCCEEDED", "resolved", None),
    }
    decision = of.random.choice(sorted(ends))
    return [
        *of.began,
        dead_letter(of.name, of.at(0, 9)),
        dead_letter(of.name, of.at(of.later, 1), decision),
        execution(of.name, of.at(of.later, 2), *ends[decision]),
    ]


def _acted_on_again(of: Message) -> list[Record]:
    return [*of.performed, of.effect(of.later, 5, "again")]


def _lost_or_redriven(of: Message) -> list[Record]:
    failed = execution(of.name, of.at(0, 60), "FAILED", None, "Broken")
    return [*of.began, failed, *(of.ran(of.later, "found") if of.random.random() < 0.5 else [])]


def _with_another_content(of: Message) -> list[Record]:
    other = delivery(of.name, of.at(of.later), "suppressed", None, FINGERPRINTS[1])
    return [*of.performed, other]


def _refused(of: Message) -> list[Record]:
    return [
        sent(of.name, of.at()),
        delivery(of.name, of.at(0, 1), "refused", "too_large"),
    ]


def _in_part(of: Message) -> list[Record]:
    return of.performed[of.random.randrange(1, 4) :]


STORIES = (
    _well, _well, _well, _came_again, _redriven, _decided, _acted_on_again, _lost_or_redriven,
    _with_another_content, _refused, _in_part,
)  # fmt: skip


def _under(sqs_id: str, record: Record) -> Record:
    return record[0], record[1] | {"sqs_message_id": sqs_id}


def _sqs_id(of: Message) -> str:
    """Its own mostly; of two messages with one neither is known by it."""
    return f"q-{of.name if of.random.random() < 0.8 else of.random.randrange(5)}"


def _sent_nameless(of: Message) -> list[Record]:
    sqs_id = _sqs_id(of)
    begun = _under(sqs_id, delivery(of.name, of.at(0, 1)))
    return [sent(None, of.at(), sqs_id), begun, *of.ran(0, "performed")]


def _failed_before_it_was_read(of: Message) -> list[Record]:
    sqs_id = _sqs_id(of)
    failed = delivery(None, of.at(0, 0.5), "failed", None, None)
    later = delivery(of.name, of.at(of.later), "suppressed")
    return [*_sent_nameless(of), _under(sqs_id, failed), _under(sqs_id, later)]


def _failed_days_later(of: Message) -> list[Record]:
    sqs_id = _sqs_id(of)
    failed = delivery(None, of.at(of.later), "failed", None, None)
    begun = _under(sqs_id, delivery(of.name, of.at(0, 1)))
    return [sent(of.name, of.at(), sqs_id), begun, *of.ran(0, "found"), _under(sqs_id, failed)]


def _run_without_its_input(of: Message) -> list[Record]:
    """Its execution is named by the hash of its id, and days later its end tells no more."""
    hashed = f"sha256-{hashlib.sha256(of.name.encode()).hexdigest()}"
    return [
        sent(of.name, of.at()),
        delivery(of.name, of.at(0, 1)),
        execution(hashed, of.at(0, 2), "RUNNING"),
        of.effect(of.later, 1),
        execution(hashed, of.at(of.later, 2), "SUCCEEDED", "performed"),
    ]


UNDER_OTHER_NAMES = (
    _sent_nameless, _failed_before_it_was_read, _failed_days_later, _run_without_its_input,
)  # fmt: skip
