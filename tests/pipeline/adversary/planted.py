"""Files in which a second effect hides, each in another way; many are judged by one audit.

Of each case three messages went well, but that the second effect of `twice`, and the only one of
`late`, are in a file of their own. Whatever a case does to that file, the second effect is told or
the file is named; and `late` is never a lost message.
"""

import bz2
import gzip
import json
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.judging.verdict_names import ALARMS
from tests.pipeline.nights import audited, rows_of, said
from tests.pipeline.streams_on_disk import DAY, at, effect, line_of, performed, write

READ = {"alarm"}
UNREAD = {"unread"}
BOTH = READ | UNREAD


@dataclass(frozen=True, slots=True)
class Planted:
    """A case among those below a root; its number is in its messages' ids, and in each path.

    Attributes:
        stream: of its file.
        day: of its folder.
        lines: of the file; None: the effects that hide.
    """

    root: Path
    number: int
    stream: str = "effects"
    day: str = DAY
    lines: bytes | None = None

    def id(self, name: str) -> str:
        """A message's id: no other case's."""
        return f"c{self.number}-{name}"

    def path(self, name: str, folder: str = "{stream}/dt={day}") -> Path:
        """A file's, whose folder is made."""
        next_day = date.fromisoformat(self.day) + timedelta(days=1)
        folder = folder.format(stream=self.stream, day=self.day, next_day=next_day)
        of_case = self.root / folder / self.id("files")
        of_case.mkdir(parents=True, exist_ok=True)
        return of_case / name

    def hidden(self) -> bytes:
        """The lines of the file."""
        if self.lines is not None:
            return self.lines
        effects = (effect(self.id(name), at(70), "another") for name in ("twice", "late"))
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
        (READ, PACK, "gzip", ("a.jsonl.gz", "a.jsonl", "a")),
        (READ, lambda s: PACK(PACK(s)), "gzip twice", ("a.gz", "a")),
        (READ, lambda s: PACK(s[:40]) + PACK(s[40:]), "two members", ("a.gz", "a")),
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
    "in the next day's folder": (READ, within("{stream}/dt={next_day}")),
    "in a folder behind a link": (READ, behind_a_link),
    "a broken link": (UNREAD, lambda case: case.path("a").symlink_to(case.root / "nowhere")),
    "a link in a circle": (UNREAD, lambda case: case.path("a").symlink_to(case.root / case.stream)),
    "no UTF-8 in its name": (UNREAD, no_utf8_in_its_name),
    **{
        f"in {folder}": (UNREAD, within(folder))
        for folder in (
            "{stream}/dt={day}/_hidden", "{stream}/dt={day}/AWSDynamoDB/1/data",
            "sent/dt={day}", "sent/dt={day}/{stream}/dt={day}",
        )
    },
}  # fmt: skip
ASTRAY: Cases = {
    f"in {folder}": (UNREAD, within(folder))
    for folder in (
        "{stream}", "{stream}/day=1", "{stream}/dt=2026-02-30", "messages", "quarantine",
        "lost+found",
    )
}  # fmt: skip
"""Where no day is told, so that anything may be in them."""
DISGUISED: Cases = {
    f"{what} as Parquet": (UNREAD, content(change, "a.parquet"))
    for what, change in (("text", bytes), ("gzip", PACK))
}
"""What Spark's own reader tells of."""
CASES = ENCODED | NAMED | PLACED | ASTRAY
GROUPS: Mapping[str, Cases] = {
    "read": {name: case for name, case in CASES.items() if case[0] == READ},
    "named": {name: case for name, case in (CASES | DISGUISED).items() if case[0] != READ},
}
"""Apart, because of what is not read nothing is certain."""


@contextmanager
def planted(cases: Cases) -> Iterator[dict[str, Planted]]:
    """The cases' files below one root, beside what went well."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "records"
        found = {name: Planted(root, number) for number, name in enumerate(cases)}
        records = performed("last", 86_000, "2026-02-01")
        for case in found.values():
            records += performed(case.id("well")) + performed(case.id("twice"))
            records += [r for r in performed(case.id("late")) if r[0] != "effects"]
        write(root, records)
        for name, case in found.items():
            cases[name][1](case)
        yield found


def audited_cases(spark: SparkSession, cases: Cases) -> dict[str, set[str]]:
    """What one audit finds of each of the cases, and says again by what it has cached."""
    with planted(cases) as of, pytest.MonkeyPatch.context() as patch:
        root = next(iter(of.values())).root
        out = root.parent / "out"
        patch.setattr("actonce_pipeline.audit.reading.quarantine.MAX_EXAMPLES", 10_000)
        summary, rows = audited(spark, root, out), rows_of(out)
        assert said(audited(spark, root, out)) == said(summary)
        assert rows_of(out) == rows
    unread = [example["file"] for example in summary["quarantine"]["examples"]]
    alarms = {row["message_id"]: row["verdict"] for row in rows if row["verdict"] in ALARMS}
    return {name: _found(case, alarms, unread) for name, case in of.items()}


def _found(case: Planted, alarms: Mapping[str, str], unread: list[str]) -> set[str]:
    of_case = {key: alarm for key, alarm in alarms.items() if key.startswith(case.id(""))}
    words = {"alarm"} if of_case == {case.id("twice"): "performed_again"} else {*of_case.values()}
    return words | {"unread" for file in unread if case.id("files") in file}
