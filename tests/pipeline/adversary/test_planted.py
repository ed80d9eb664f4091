"""Files in which an effect hides, each in another way: it is read, or the file is named."""

import bz2
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.records import rows_of
from tests.pipeline.streams_on_disk import DAY, EFFECTS, at, effect, line_of, performed, write

NEXT_DAY = date.fromisoformat(DAY) + timedelta(days=1)
READ = {"read"}
UNREAD = {"unread"}
BOTH = READ | UNREAD


@dataclass(frozen=True, slots=True)
class Planted:
    """A case among those below a root; its number is in its messages' ids, and in each path."""

    root: Path
    number: int

    def id(self, name: str) -> str:
        """A message's id: no other case's."""
        return f"c{self.number}-{name}"

    def path(self, name: str, folder: str = f"effects/dt={DAY}") -> Path:
        """A file's, whose folder is made."""
        of_case = self.root / folder / self.id("files")
        of_case.mkdir(parents=True, exist_ok=True)
        return of_case / name

    def hidden(self) -> bytes:
        """The lines of the file: effects of two messages."""
        effects = (effect(self.id(name), at(70), "another") for name in ("one", "two"))
        return "".join(f"{line_of(*one)}\n" for one in effects).encode()


Plant = Callable[[Planted], Any]
Cases = dict[str, tuple[set[str], Plant]]
"""What has to be found of a case, and how its file is written."""


def content(change: Callable[[bytes], bytes], name: str = "hidden.jsonl") -> Plant:
    return lambda case: case.path(name).write_bytes(change(case.hidden()))


def text(change: Callable[[str], str]) -> Plant:
    return content(lambda lines: change(lines.decode()).encode())


def encoded(encoding: str) -> Plant:
    return content(lambda lines: lines.decode().encode(encoding))


def joined(between: str) -> Plant:
    """Its lines on one line."""
    return text(lambda lines: between.join(lines.splitlines()))


def within(folder: str) -> Plant:
    return lambda case: case.path("hidden.jsonl", folder).write_bytes(case.hidden())


def no_utf8_in_its_name(case: Planted) -> None:
    Path(os.fsdecode(os.fsencode(case.path("a")) + b"\xff.jsonl")).write_bytes(case.hidden())


def behind_a_link(case: Planted) -> None:
    away = case.root.parent / case.id("away")
    away.mkdir()
    (away / "hidden.jsonl").write_bytes(case.hidden())
    case.path("more").symlink_to(away)


def trial_of_logs(lines: bytes) -> bytes:
    trial = {"messageType": "CONTROL_MESSAGE", "logEvents": [{"message": lines.decode()}]}
    return json.dumps(trial).encode()


PACK = gzip.compress
ENCODED: Cases = {
    "as it is": (READ, content(lambda lines: lines)),
    "a byte order mark": (READ, content(lambda lines: b"\xef\xbb\xbf" + lines)),
    "carriage returns and line feeds": (READ, text(lambda s: s.replace("\n", "\r\n"))),
    "carriage returns between records": (READ, text(lambda s: s.replace("\n", "\r"))),
    "carriage returns inside a line": (READ, text(lambda s: s.replace('": ', '":\r'))),
    "blank lines": (READ, text(lambda s: s.replace("\n", "\n\n"))),
    "a bad line between": (BOTH, content(lambda lines: b"no record\n" + lines)),
    "the last line is cut": (BOTH, content(lambda lines: lines[:-9])),
    "a byte that is no UTF-8": (BOTH, content(lambda lines: lines + b'{"\xff": 1}\n')),
    "nothing but garbage": (UNREAD, content(lambda _: b"\x00garbage\n")),
    "an array": (UNREAD, text(lambda s: f"[{','.join(s.splitlines())}]")),
    "texts in an array": (UNREAD, text(lambda s: json.dumps(s.splitlines()))),
    "backwards": (UNREAD, content(lambda lines: lines[::-1])),
    "a trial of Logs": (UNREAD, content(trial_of_logs)),
    **{f"in {one}": (UNREAD, encoded(one)) for one in ("utf-16", "utf-16-le", "utf-32")},
    **{f"joined by {one!r}": (READ, joined(one)) for one in ("", " ", "\x0b")},
    **{
        f"joined by {one!r}": (UNREAD, joined(one))
        for one in (",", ";", "],[", "\0", "\u00a0", "\u2028", "}{")
    },
}
NAMED: Cases = {
    f"{what} under {name}": (found, content(change, name))
    for found, change, what, names in (
        (READ, PACK, "gzip", ("a.jsonl.gz", "a.jsonl")),
        (READ, lambda s: PACK(PACK(s)), "gzip twice", ("a.gz", "a")),
        (READ, lambda s: PACK(s[:40]) + PACK(s[40:]), "two members", ("a",)),
        (READ, lambda s: s, "text", ("a", "a.txt", "a.JSONL", "10:00.jsonl", "a\nb", "a\\b")),
        (READ, lambda s: s, "text", ("\u202e [1]{2}*?.jsonl", "%41%0a")),
        (BOTH, lambda s: PACK(PACK(b"no record\n" + s)), "gzip twice, a bad line", ("a.gz",)),
        (UNREAD, lambda s: PACK(s)[:-9], "half a gzip", ("a.gz", "a")),
        (READ, lambda s: PACK(s) + b"\0\0", "padded gzip", ("a.gz",)),
        (UNREAD, lambda s: PACK(s) + b"more", "gzip and more", ("a.gz",)),
        (UNREAD, lambda s: s, "text", ("a.gz", "dt=2026-01-01", "_a.jsonl", ".a.jsonl", ".a.crc")),
        (UNREAD, bz2.compress, "bzip2", ("a.bz2", "a.jsonl")),
        (UNREAD, lzma.compress, "xz", ("a.xz",)),
        (UNREAD, zlib.compress, "zlib", ("a.jsonl",)),
    )
    for name in names
}
PLACED: Cases = {
    "in the next day's folder": (READ, within(f"effects/dt={NEXT_DAY}")),
    "in a folder behind a link": (READ, behind_a_link),
    "a broken link": (UNREAD, lambda case: case.path("a").symlink_to(case.root / "nowhere")),
    "a link in a circle": (UNREAD, lambda case: case.path("a").symlink_to(case.root / "effects")),
    "no UTF-8 in its name": (UNREAD, no_utf8_in_its_name),
    **{
        f"in {folder}": (UNREAD, within(folder))
        for folder in (
            f"effects/dt={DAY}/_hidden", f"effects/dt={DAY}/AWSDynamoDB/1/data",
            f"sent/dt={DAY}", f"sent/dt={DAY}/effects/dt={DAY}", "effects", "effects/day=1",
            "effects/dt=2026-02-30", "messages", "quarantine", "lost+found",
        )
    },
}  # fmt: skip
CASES = ENCODED | NAMED | PLACED


def test_each_file_is_read_or_named(tmp_path: Path) -> None:
    """Without Spark, which reads the lines by the same functions."""
    root = write(tmp_path / "records", performed("m"))
    cases = {name: Planted(root, number) for number, name in enumerate(CASES)}
    for name, case in cases.items():
        CASES[name][1](case)
    listing = list_records(None, str(root))
    rows = [
        (file.path, row)
        for file in listing.files
        for row in rows_of(file.path, named=Attributes.of_output(EFFECTS))
    ]
    found = {}
    for name, case in cases.items():
        lines = [row for path, row in rows if case.id("files") in path]
        read = {row.message_id for row in lines if not row.problem}
        unread = any(row.problem for row in lines)
        unread |= any(case.id("files") in one.path for one in listing.unread)
        assert {case.id("one"), case.id("two")} <= read or unread, name
        found[name] = {*["read"] * (case.id("one") in read), *["unread"] * unread}
    assert {name: words for name, words in found.items() if words != CASES[name][0]} == {}
