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
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

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

FIRST = date(2026, 1, 1)
DAYS_APART = 4
"""From the first day of a world to that of the next."""
WRONG = ("nothing", "again", "again a day later", "lost", "lost in silence", "never delivered",
         "conflict", "rejected and performed", "nobody asked")  # fmt: skip


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
        return frozenset({f"{self.prefix}wrong"} if self.wrong in _LOST else ())

    def plant(self, root: Path) -> None:
        """Write its files and change them."""
        random = Random(self.seed)
        files = _written(self, root, random)
        MUTATIONS[self.mutation](self, root, files, random)
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
        bad, last = name("wrong"), at(500, one)
        match self.wrong:
            case "again":
                found += [*performed(bad, 500, one), effect(bad, at(600, one), "second")]
            case "again a day later":
                found += [*performed(bad, 500, one), effect(bad, at(600, two), "second")]
            case "lost":
                found += [r for r in performed(bad, 500, one) if r[0] != "effects"]
            case "lost in silence":
                found += [sent(bad, last), delivery(bad, last)]
            case "never delivered":
                found += [sent(bad, last)]
            case "conflict":
                other = delivery(bad, at(700, one), "suppressed", None, FINGERPRINTS[1])
                found += [*performed(bad, 500, one), other]
            case "rejected and performed":
                found += performed(bad, 500, one)[:3]
                found += [dead_letter(bad, at(510, one)), dead_letter(bad, at(600, one), "reject")]
                found += [execution(bad, at(601, one), "FAILED", None, "RejectedByOperator")]
                found += [effect(bad, at(700, one), "after all")]
            case "nobody asked":
                found += [effect(bad, last, "ghost")]
        return found


_LOST = frozenset({"lost", "lost in silence", "never delivered"})


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

Mutation = Callable[[World, Path, list[Path], Random], None]
MUTATIONS: dict[str, Mutation] = {}
UNPLACED = {"misplaced", "misplaced copy"}
"""Whose files tell neither stream nor day, so that anything may be in them."""


def _mutation(name: str) -> Callable[[Mutation], Mutation]:
    def register(mutation: Mutation) -> Mutation:
        MUTATIONS[name] = mutation
        return mutation

    return register


def _plain(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def _some(files: list[Path], random: Random) -> Path:
    """A file that says something."""
    return random.choice([path for path in files if _plain(path)])


@_mutation("none")
def _(*_: Any) -> None:
    pass


def _moved(root: Path, path: Path, random: Random) -> Path:
    stream, day, name = path.relative_to(root).parts
    other_stream = random.choice([one for one in STREAMS if one != stream])
    other_day = random.choice([
        (date.fromisoformat(day[3:]) + timedelta(days=days)).isoformat() for days in (-1, 1, 2)
    ])  # fmt: skip
    return random.choice([
        root / stream / f"dt={other_day}" / f"moved-{name}",
        root / other_stream / day / f"moved-{name}",
        root / stream / day / "deeper" / "and" / name,
        root / stream / day / "_hidden" / name,
        root / stream / day / f".{name}",
        root / stream / day.replace("dt=", "day=") / name,
        root / stream / day.replace("dt=2026-", "dt=2026-00-") / name,
        root / stream / f"moved-{day[3:]}-{name}",
        root / stream / day / other_stream / day / name,
    ])  # fmt: skip


def _move(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    path.rename(to)


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(path.read_bytes())


@_mutation("moved")
def _(_world: World, root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    _move(path, _moved(root, path, random))


@_mutation("copied")
def _(_world: World, root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    _copy(path, _moved(root, path, random))


def _astray(root: Path, path: Path, random: Random) -> Path:
    folder = random.choice(("messages", "quarantine", "errors", "days/day=1", "lost+found"))
    return root / folder / f"{random.randrange(10**9)}-{path.name}"


@_mutation("misplaced")
def _(_: World, root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    _move(path, _astray(root, path, random))


@_mutation("misplaced copy")
def _(_: World, root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    _copy(path, _astray(root, path, random))


@_mutation("behind a link")
def _(world: World, root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    away = root.parent / f"away-{world.number}"
    if random.random() < 0.5:
        _move(path, away / path.name)
        path.symlink_to(away / path.name)
    else:
        path.parent.rename(away)
        path.parent.symlink_to(away)


@_mutation("a broken link")
def _(world: World, root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    path.unlink()
    path.symlink_to(root.parent / f"nowhere-{world.number}")


@_mutation("cut")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        path.write_bytes(content[: random.randint(1, len(content) - 1)])
        return
    ends = {match.start() for match in re.finditer(rb"\n", content)}
    # At a line's end nothing tells that there was more.
    places = [n for n in range(1, len(content)) if n not in ends and n - 1 not in ends]
    path.write_bytes(content[: random.choice(places)])


@_mutation("encoded otherwise")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    text = _plain(path).decode()
    records = text.splitlines()
    content = random.choice([
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
    path.write_bytes(content if path.suffix == ".jsonl" else gzip.compress(content))


@_mutation("compressed otherwise")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    text = _plain(path)
    packed = gzip.compress(text)
    content, ending = random.choice([
        (gzip.compress(packed), ".gz"), (gzip.compress(packed), ".jsonl"), (packed, ".jsonl"),
        (gzip.compress(packed), ""), (packed + packed, ".jsonl"), (text, ".gz"), (text, ""),
        (bz2.compress(text), ".jsonl.bz2"), (lzma.compress(text), ".xz"), (packed, ".jsonl.zst"),
        (zlib.compress(text), ".jsonl"), (bz2.compress(text), ".jsonl"), (packed, ".parquet"),
        (gzip.compress(gzip.compress(packed)), ".gz"), (packed + b"\0\0", ".gz"),
        (gzip.compress(text[: len(text) // 2]) + gzip.compress(text[len(text) // 2 :]), ".gz"),
    ])  # fmt: skip
    path.unlink()
    path.with_name(f"packed{ending}").write_bytes(content)


@_mutation("renamed")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    names = [
        b"records", b"records.txt", b"records.JSONL", b"records.parquet", b"records.csv",
        b"_records.jsonl", b".records.jsonl", b"10:00.jsonl", b"\xff\xfe.jsonl", b"a\nb.jsonl",
        b"a\\b.jsonl", b"summary.json", b"report.html", b"_SUCCESS", b"manifest-files.json",
        b".part-0.jsonl.crc", "\u202eé [1]{2}*?.jsonl".encode(), b"dt=2026-01-01", b"%41%0a.gz",
    ]  # fmt: skip
    to = os.fsencode(path.parent) + b"/" + random.choice(names)
    path.rename(os.fsdecode(to))


@_mutation("a clock that is wrong")
def _(_world: World, root: Path, files: list[Path], random: Random) -> None:
    stream = random.choice(STREAMS)
    shift = timedelta(seconds=random.choice((-1, 1, 30, -86_400, 86_400, -3 * 86_400, 10**8)))
    for path in files:
        if path.relative_to(root).parts[0] == stream:
            text = _plain(path).decode()
            shifted = _TIME.sub(lambda match: _shifted(match[0], shift), text).encode()
            path.write_bytes(shifted if path.suffix == ".jsonl" else gzip.compress(shifted))


_TIME = re.compile(r"2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _shifted(time: str, by: timedelta) -> str:
    moment = datetime.fromisoformat(time) + by
    return moment.isoformat(timespec="milliseconds")[:23] + "Z"


@_mutation("a unit that is wrong")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    text = _plain(path).decode()
    odd = random.choice([
        "0000-01-01T00:00:00.000Z", "1769817600000", "2026-13-01T00:00:00.000Z",
        "+58000-01-01T00:00:00.000Z", "2026-01-31 00:00:00", "1970-01-21T00:00:00.000Z",
    ])  # fmt: skip
    path.write_bytes(_zip(path, _TIME.sub(odd, text).encode()))


def _zip(path: Path, content: bytes) -> bytes:
    return content if path.suffix == ".jsonl" else gzip.compress(content)


@_mutation("a stream's day gone")
def _(world: World, root: Path, files: list[Path], random: Random) -> None:
    stream, day = (
        random.choice(("sent", "deliveries", "executions", "effects")),
        random.choice(world.days),
    )
    for path in files:
        if path.relative_to(root).parts[:2] == (stream, f"dt={day}"):
            path.unlink()


@_mutation("a day gone")
def _(world: World, _root: Path, files: list[Path], random: Random) -> None:
    day = random.choice(world.days)
    for path in files:
        if f"dt={day}" in path.parts:
            path.unlink()


@_mutation("a file emptied")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = random.choice([one for one in files if one.suffix == ".gz"] or files)
    path.write_bytes(b"")
    if path.suffix != ".gz":
        path.rename(path.with_name("nothing.parquet"))


@_mutation("a line spoiled")
def _(_: World, _root: Path, files: list[Path], random: Random) -> None:
    path = _some(files, random)
    content = bytearray(_plain(path))
    kind = random.randrange(4)
    starts = [0, *(m.end() for m in re.finditer(rb"\n", bytes(content)))][:-1]
    start = random.choice(starts)
    end = content.index(b"\n", start)
    if kind == 0:
        content[start] = ord("x")
    elif kind == 1:
        content[start + 5 : start + 6] = b"\xff"
    elif kind == 2:
        del content[end - 1 : end + 1]
    else:
        content[start:end] = b'{"stream": "none"}'
    path.write_bytes(_zip(path, bytes(content)))


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
