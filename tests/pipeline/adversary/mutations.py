"""Small worlds of records with a known truth, and one thing done to the files of each.

A world lives on two days of its own. Many are judged by one audit, side by side: what is found of
one is told from the others' by its message ids, its days and its files. Between two worlds lie days
on which every stream was there and said nothing.
"""

import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pipeline.audit.judging.verdict_names import ALARMS
from tests.pipeline.adversary.planted import HISTORIES
from tests.pipeline.judge import Record
from tests.pipeline.streams_on_disk import (
    DAY,
    STREAMS,
    at,
    dead_letter,
    delivery,
    effect,
    line_of,
    performed,
    sent,
)

FIRST = date(2026, 1, 1)
DAYS_APART = 4
"""From the first day of a world to that of the next."""
A_DAY_LATER = "a second effect a day later"
WRONG = (
    "nothing",
    A_DAY_LATER,
    *(name for name, (verdict, _) in HISTORIES.items() if verdict in ALARMS),
)


@dataclass(frozen=True, slots=True)
class World:
    """Records of two days, what is wrong with them, and what was done to their files.

    Attributes:
        number: among the worlds that are judged together.
        wrong: one of `WRONG`.
        mutation: one of `MUTATIONS`.
        seed: of every choice.
    """

    number: int
    wrong: str
    mutation: str
    seed: int

    @property
    def days(self) -> tuple[str, str]:
        """Its two days."""
        first = FIRST + timedelta(days=DAYS_APART * self.number)
        return first.isoformat(), (first + timedelta(days=1)).isoformat()

    @property
    def prefix(self) -> str:
        """Of its messages' ids."""
        return f"w{self.number}-"

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.wrong == "nothing"

    @property
    def lost(self) -> frozenset[str]:
        """The ids of messages that are lost."""
        is_lost = HISTORIES.get(self.wrong, ("",))[0] == "lost"
        return frozenset({f"{self.prefix}wrong"} if is_lost else ())

    def plant(self, root: Path) -> None:
        """Write its files and change them."""
        random = Random(self.seed)
        files = _written(self, root, random)
        MUTATIONS[self.mutation](Files(self, root, files, random))
        # Where nothing happened there is a file without lines, and not no file. Before the first
        # of all too: records that begin with a world's second day do not tell that it had a first.
        for offset in (-1, *range(2, DAYS_APART)):
            day = (date.fromisoformat(self.days[0]) + timedelta(days=offset)).isoformat()
            for stream in STREAMS:
                empty = root / stream / f"dt={day}" / "nothing.jsonl"
                empty.parent.mkdir(parents=True, exist_ok=True)
                empty.touch()

    def records(self, random: Random) -> list[Record]:
        """Everything that was recorded."""
        one, two = self.days
        name = self.prefix.__add__
        found: list[Record] = []
        for n in range(random.randint(2, 4)):
            found += performed(name(f"m{n}"), random.uniform(0, 80_000), random.choice((one, two)))
        found += [
            *performed(name("twice"), 100, one),
            delivery(name("twice"), at(200, two), "suppressed"),
        ]
        found += [
            sent(name("big"), at(5, one)),
            delivery(name("big"), at(6, one), "refused", "too_large"),
        ]
        found += [*performed(name("waits"), 300, one)[:3], dead_letter(name("waits"), at(310, one))]
        found += performed(name("last"), 86_000, two)
        bad = name("wrong")
        if self.wrong == A_DAY_LATER:
            return [*found, *performed(bad, 500, one), effect(bad, at(600, two), "second")]
        for stream, record in HISTORIES.get(self.wrong, ("", []))[1]:
            time = record["at"].replace(DAY, one)
            found.append((stream, record | {"message_id": bad, "at": time}))
        return found


def _written(world: World, root: Path, random: Random) -> list[Path]:
    """Each stream's day in one to three files, of any form."""
    lines: dict[tuple[str, str], list[str]] = {
        (stream, day): [] for stream in STREAMS for day in world.days
    }
    for stream, record in world.records(random):
        lines[stream, record["at"][:10]].append(line_of(stream, record) + "\n")
    files = []
    for (stream, day), of_day in lines.items():
        folder = root / stream / f"dt={day}"
        folder.mkdir(parents=True, exist_ok=True)
        parts = random.randint(1, 3)
        for part in range(parts):
            text = "".join(of_day[part::parts]).encode()
            if not text and part:
                continue
            form = random.choice((".jsonl", ".jsonl.gz", ""))
            path = folder / f"{world.prefix}part-{part}{form}"
            path.write_bytes(text if form == ".jsonl" else gzip.compress(text, mtime=0))
            files.append(path)
    return files


# ------------------------------------------------------------------------ what is done to a file


@dataclass(frozen=True, slots=True)
class Files:
    """A world's files, and the chance by which something is done to them."""

    world: World
    root: Path
    all: list[Path]
    random: Random

    def some(self) -> Path:
        """One that says something."""
        return self.random.choice([path for path in self.all if _plain(path)])

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Change the content of one, however it is compressed."""
        path = self.some()
        path.write_bytes(_zip(path, change(_plain(path))))

    def astray(self, path: Path) -> Path:
        """Where it would tell neither stream nor day."""
        folder = self.random.choice(
            ("messages", "quarantine", "errors", "days/day=1", "lost+found")
        )
        return self.root / folder / f"{self.random.randrange(10**9)}-{path.name}"

    def elsewhere(self, path: Path) -> Path:
        """Another place of some kind."""
        stream, day, name = path.relative_to(self.root).parts
        other_stream = self.random.choice([one for one in STREAMS if one != stream])
        days = self.random.choice((-1, 1, 2))
        other_day = (date.fromisoformat(day[3:]) + timedelta(days=days)).isoformat()
        return self.root / self.random.choice((
            f"{stream}/dt={other_day}/moved-{name}",
            f"{other_stream}/{day}/moved-{name}",
            f"{stream}/{day}/deeper/and/{name}",
            f"{stream}/{day}/_hidden/{name}",
            f"{stream}/{day}/.{name}",
            f"{stream}/{day.replace('dt=', 'day=')}/{name}",
            f"{stream}/{day.replace('dt=2026-', 'dt=2026-00-')}/{name}",
            f"{stream}/moved-{day[3:]}-{name}",
            f"{stream}/{day}/{other_stream}/{day}/{name}",
        ))  # fmt: skip


def _plain(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def _zip(path: Path, content: bytes) -> bytes:
    return content if path.suffix == ".jsonl" else gzip.compress(content)


def _put(files: Files, place: Callable[[Files, Path], Path], *, moved: bool) -> None:
    path = files.some()
    to = place(files, path)
    to.parent.mkdir(parents=True, exist_ok=True)
    (path.rename if moved else partial(shutil.copyfile, path))(to)


def _behind_a_link(files: Files) -> None:
    path = files.some()
    away = files.root.parent / f"away-{files.world.number}"
    if files.random.random() < 0.5:
        away.mkdir()
        path.rename(away / path.name)
        path.symlink_to(away / path.name)
    else:
        path.parent.rename(away)
        path.parent.symlink_to(away)


def _broken_link(files: Files) -> None:
    path = files.some()
    path.unlink()
    path.symlink_to(files.root.parent / f"nowhere-{files.world.number}")


def _cut(files: Files) -> None:
    path = files.some()
    content = path.read_bytes()
    # At a line's end nothing tells that there was more.
    ends = {match.start() for match in re.finditer(rb"\n", content)}
    packed = content.startswith(b"\x1f\x8b")
    places = [n for n in range(1, len(content)) if packed or not {n, n - 1} & ends]
    path.write_bytes(content[: files.random.choice(places)])


def _encoded_otherwise(files: Files) -> None:
    def change(content: bytes) -> bytes:
        text = content.decode()
        records = text.splitlines()
        return files.random.choice([
            text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-8-sig"),
            text.encode("utf-32"), text.encode("utf-7").replace(b"+", b"+-"),
            text.replace("\n", "\r\n").encode(), text.replace("\n", "\r").encode(),
            text.replace('": ', '":\r').encode(), text.replace("\n", "\n\n").encode(),
            text.replace("\n", "\u2028").encode(), text.replace("\n", "\x85").encode(),
            *(between.join(records).encode()
              for between in (" ", "", ",", ",\n", ";", "],[", "]", "\x0b", "\0", "\u00a0", "}{")),
            ("[" + ",".join(records) + "]").encode(),
            ("[\n" + ",\n".join(records) + "\n]").encode(),
            json.dumps(records).encode(), (text + "\0" * 7).encode(), text.encode()[::-1],
        ])  # fmt: skip

    files.rewrite(change)


def _compressed_otherwise(files: Files) -> None:
    path = files.some()
    text = _plain(path)
    packed = gzip.compress(text)
    content, ending = files.random.choice([
        (gzip.compress(packed), ".gz"), (gzip.compress(packed), ".jsonl"), (packed, ".jsonl"),
        (gzip.compress(packed), ""), (packed + packed, ".jsonl"), (text, ".gz"), (text, ""),
        (bz2.compress(text), ".jsonl.bz2"), (lzma.compress(text), ".xz"), (packed, ".jsonl.zst"),
        (zlib.compress(text), ".jsonl"), (bz2.compress(text), ".jsonl"), (packed, ".parquet"),
        (gzip.compress(gzip.compress(packed)), ".gz"), (packed + b"\0\0", ".gz"),
        (gzip.compress(text[: len(text) // 2]) + gzip.compress(text[len(text) // 2 :]), ".gz"),
    ])  # fmt: skip
    path.unlink()
    path.with_name(f"packed{ending}").write_bytes(content)


def _renamed(files: Files) -> None:
    path = files.some()
    names = [
        b"records", b"records.txt", b"records.JSONL", b"records.parquet", b"records.csv",
        b"_records.jsonl", b".records.jsonl", b"10:00.jsonl", b"\xff\xfe.jsonl", b"a\nb.jsonl",
        b"a\\b.jsonl", b"summary.json", b"report.html", b"_SUCCESS", b"manifest-files.json",
        b".part-0.jsonl.crc", "\u202e [1]{2}*?.jsonl".encode(), b"dt=2026-01-01", b"%41%0a.gz",
    ]  # fmt: skip
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/" + files.random.choice(names)))


_TIME = re.compile(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _clock_that_is_wrong(files: Files) -> None:
    stream = files.random.choice(STREAMS)
    seconds = files.random.choice((-1, 1, 30, -86_400, 86_400, -3 * 86_400, 10**8))

    def shifted(time: re.Match[str]) -> str:
        moment = datetime.fromisoformat(time[0]) + timedelta(seconds=seconds)
        return moment.isoformat(timespec="milliseconds")[:23] + "Z"

    for path in files.all:
        if path.relative_to(files.root).parts[0] == stream:
            path.write_bytes(_zip(path, _TIME.sub(shifted, _plain(path).decode()).encode()))


def _unit_that_is_wrong(files: Files) -> None:
    odd = files.random.choice([
        "0000-01-01T00:00:00.000Z", "1769817600000", "2026-13-01T00:00:00.000Z",
        "+58000-01-01T00:00:00.000Z", "2026-01-31 00:00:00", "1970-01-21T00:00:00.000Z",
    ])  # fmt: skip
    files.rewrite(lambda content: _TIME.sub(odd, content.decode()).encode())


def _day_gone_of(files: Files, *streams: str) -> None:
    day = f"dt={files.random.choice(files.world.days)}"
    for path in files.all:
        stream, of_day, _ = path.relative_to(files.root).parts
        if stream in streams and of_day == day:
            path.unlink()


def _file_emptied(files: Files) -> None:
    path = files.random.choice([one for one in files.all if one.suffix == ".gz"] or files.all)
    path.write_bytes(b"")
    if path.suffix != ".gz":
        path.rename(path.with_name("nothing.parquet"))


def _line_spoiled(files: Files) -> None:
    def change(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        number = files.random.randrange(len(lines))
        line = lines[number]
        lines[number] = files.random.choice([
            b"x" + line[1:], line[:5] + b"\xff" + line[6:], line[:-2], b'{"stream": "none"}\n',
        ])  # fmt: skip
        return b"".join(lines)

    files.rewrite(change)


MUTATIONS: dict[str, Callable[[Files], Any]] = {
    "none": lambda _: None,
    "moved": partial(_put, place=Files.elsewhere, moved=True),
    "copied": partial(_put, place=Files.elsewhere, moved=False),
    "misplaced": partial(_put, place=Files.astray, moved=True),
    "misplaced copy": partial(_put, place=Files.astray, moved=False),
    "behind a link": _behind_a_link,
    "a broken link": _broken_link,
    "cut": _cut,
    "encoded otherwise": _encoded_otherwise,
    "compressed otherwise": _compressed_otherwise,
    "renamed": _renamed,
    "a clock that is wrong": _clock_that_is_wrong,
    "a unit that is wrong": _unit_that_is_wrong,
    "a stream's day gone": lambda files: _day_gone_of(
        files, files.random.choice(("sent", "deliveries", "executions", "effects"))
    ),
    "a day gone": lambda files: _day_gone_of(files, *STREAMS),
    "a file emptied": _file_emptied,
    "a line spoiled": _line_spoiled,
}
UNPLACED = {"misplaced", "misplaced copy"}
"""Whose files tell neither stream nor day, so that anything may be in them."""


def touched(world: World, path: str) -> bool:
    """Whether a file is the world's: by its name, or by the day of its folder."""
    return f"{world.prefix}part-" in path or any(f"dt={day}/" in path for day in world.days)


def days_named(sentence: str) -> Iterator[date]:
    """The days that a sentence begins with."""
    match = re.match(r"(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?:", sentence)
    if match:
        since = date.fromisoformat(match[1])
        for n in range((date.fromisoformat(match[2] or match[1]) - since).days + 1):
            yield since + timedelta(days=n)
