"""Files in which an effect hides, each in another way: it is read, or the file is named."""

import bz2
import gzip
import json
import lzma
import os
import zlib
from pathlib import Path

import pytest

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.records import rows_of
from tests.pipeline.streams_on_disk import DAY, EFFECTS, at, effect, line_of, put

READ, UNREAD = {"read"}, {"unread"}
BOTH = READ | UNREAD
LINES = [line_of(*effect(name, at(70))) for name in ("one", "two")]
TEXT = "".join(f"{line}\n" for line in LINES)
BYTES = TEXT.encode()
TRIAL = {"messageType": "CONTROL_MESSAGE", "logEvents": [{"message": TEXT}]}
PACKED = gzip.compress(BYTES, mtime=0)
TWICE = gzip.compress(PACKED, mtime=0)

ENCODED: dict[str, tuple[set[str], str | bytes]] = {
    "as it is": (READ, TEXT),
    "a byte order mark": (READ, b"\xef\xbb\xbf" + BYTES),
    "carriage returns and line feeds": (READ, TEXT.replace("\n", "\r\n")),
    "carriage returns between records": (READ, TEXT.replace("\n", "\r")),
    "carriage returns inside a line": (READ, TEXT.replace('": ', '":\r')),
    "blank lines": (READ, TEXT.replace("\n", "\n\n")),
    "a bad line between": (BOTH, b"no record\n" + BYTES),
    "the last line is cut": (BOTH, BYTES[:-9]),
    "a byte that is no UTF-8": (BOTH, BYTES + b'{"\xff": 1}\n'),
    "nothing but garbage": (UNREAD, b"\x00garbage\n"),
    "an array": (UNREAD, f"[{','.join(LINES)}]"),
    "texts in an array": (UNREAD, json.dumps(LINES)),
    "backwards": (UNREAD, BYTES[::-1]),
    "a trial of Logs": (UNREAD, json.dumps(TRIAL)),
    **{f"in {one}": (UNREAD, TEXT.encode(one)) for one in ("utf-16", "utf-16-le", "utf-32")},
    **{f"joined by {one!r}": (READ, one.join(LINES)) for one in ("", " ", "\x0b")},
    **{
        f"joined by {one!r}": (UNREAD, one.join(LINES))
        for one in (",", ";", "],[", "\0", "\u00a0", "\u2028", "}{")
    },
}
NAMED: list[tuple[set[str], str | bytes, str]] = [
    *((READ, PACKED, name) for name in ("a.jsonl.gz", "a.jsonl")),
    *((READ, TWICE, name) for name in ("a.gz", "a")),
    (READ, gzip.compress(BYTES[:40], mtime=0) + gzip.compress(BYTES[40:], mtime=0), "a"),
    *((READ, TEXT, name) for name in ("a", "a.JSONL", "10:00.jsonl", "a\nb", "a\\b", "%41%0a")),
    (READ, TEXT, "\u202e [1]{2}*?.jsonl"),
    (BOTH, gzip.compress(gzip.compress(b"no record\n" + BYTES, mtime=0), mtime=0), "a.gz"),
    *((UNREAD, PACKED[:-9], name) for name in ("a.gz", "a")),
    (READ, PACKED + b"\0\0", "a.gz"),
    (UNREAD, PACKED + b"more", "a.gz"),
    *((UNREAD, TEXT, name) for name in ("a.gz", "dt=2026-01-01", "_a.jsonl", ".a.jsonl")),
    *((UNREAD, bz2.compress(BYTES), name) for name in ("a.bz2", "a.jsonl")),
    (UNREAD, lzma.compress(BYTES), "a.xz"),
    (UNREAD, zlib.compress(BYTES), "a.jsonl"),
    (UNREAD, TEXT, os.fsdecode(b"\xff.jsonl")),
]
PLACED = {
    "effects/dt=2026-02-01": READ,
    **dict.fromkeys(
        (
            f"effects/dt={DAY}/_hidden", f"effects/dt={DAY}/AWSDynamoDB/1/data", f"sent/dt={DAY}",
            f"sent/dt={DAY}/effects/dt={DAY}", "effects", "effects/day=1", "effects/dt=2026-02-30",
            "messages", "quarantine", "lost+found",
        ),
        UNREAD,
    ),
}  # fmt: skip
CASES = [
    *((found, f"effects/dt={DAY}", "hidden.jsonl", content) for found, content in ENCODED.values()),
    *((found, f"effects/dt={DAY}", name, content) for found, content, name in NAMED),
    *((found, folder, "hidden.jsonl", TEXT) for folder, found in PLACED.items()),
]


def found_in(root: Path) -> set[str]:
    """Without Spark, which reads the lines by the same functions."""
    listing = list_records(None, str(root))
    by = Attributes.of_output(EFFECTS)
    rows = [row for file in listing.files for row in rows_of(file.path, attributes=by)]
    is_unread = bool(listing.unread) or any(row.problem for row in rows)
    read = {row.message_id for row in rows if not row.problem}
    assert {"one", "two"} <= read or is_unread
    return {*["read"] * ("one" in read), *["unread"] * is_unread}


@pytest.mark.parametrize(("found", "folder", "name", "content"), CASES)
def test_each_file_is_read_or_named(
    tmp_path: Path, found: set[str], folder: str, name: str, content: str | bytes
) -> None:
    put(tmp_path, "deliveries", "none.jsonl")
    file = tmp_path / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert found_in(tmp_path) == found


def test_a_link_is_followed_to_a_file_and_named_to_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "records"
    put(tmp_path / "away", "effects", "hidden.jsonl", BYTES)
    put(root, "deliveries", "none.jsonl")
    day = root / "effects" / f"dt={DAY}"
    day.mkdir(parents=True)
    (day / "here.jsonl").symlink_to(tmp_path / "away" / "effects" / f"dt={DAY}" / "hidden.jsonl")
    assert found_in(root) == READ
    (day / "gone").symlink_to(tmp_path / "nowhere")
    assert found_in(root) == BOTH
    for name in ("gone", "here.jsonl"):
        (day / name).unlink()
    (day / "all").symlink_to(tmp_path / "away" / "effects" / f"dt={DAY}")
    assert found_in(root) == UNREAD
