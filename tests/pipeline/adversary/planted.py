"""Folders of records whose truth is known, each with something that hides in it.

A case plants healthy records, does one thing to them, and says how the audit has to end: which
exit status, and which messages are lost. `status` 1 are alarms, 3 is "could not be judged whole".
"""

import bz2
import gzip
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lab.bench.records import generate, write_parquet
from tests.pipeline.judge import Record
from tests.pipeline.streams_on_disk import (
    DAY,
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
    write,
)

NEXT_DAY = "2026-02-01"
DAY_AFTER = "2026-02-02"
HEALTHY = ("one", "two", "three")
LATE = at(86_399.9)


@dataclass(frozen=True, slots=True)
class Case:
    """One planted folder.

    Attributes:
        plant: makes the records below a root.
        status: the exit status that is right.
        lost: the messages that are lost.
        asked: arguments of `requested`.
        says: a part of the sentence.
        verdicts: of some messages.
    """

    plant: Callable[[Path], Any]
    status: int
    lost: frozenset[str] = frozenset()
    asked: dict[str, Any] = field(default_factory=dict)
    says: str = ""
    verdicts: dict[str, str] = field(default_factory=dict)


CASES: dict[str, Case] = {}


def case(
    name: str,
    status: int,
    *,
    lost: tuple[str, ...] = (),
    says: str = "",
    verdicts: dict[str, str] | None = None,
    **asked: Any,
) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    """Register the case that a function plants."""

    def register(plant: Callable[[Path], Any]) -> Callable[[Path], Any]:
        assert name not in CASES
        CASES[name] = Case(plant, status, frozenset(lost), asked, says, verdicts or {})
        return plant

    return register


def healthy(root: Path, *more: Record, day: str = DAY) -> Path:
    """Three messages that went well, and whatever else."""
    well = [r for n, name in enumerate(HEALTHY) for r in performed(name, 60.0 * n, day)]
    return write(root, [*well, *more])


def two_days(root: Path, *more: Record) -> Path:
    """The same, and a message on the next day."""
    return healthy(root, *performed("next", 5, NEXT_DAY), *more)


def file_of(root: Path, stream: str, day: str = DAY) -> Path:
    """The stream's file of the day."""
    return root / stream / f"dt={day}" / "records.jsonl"


def put(root: Path, stream: str, name: str, content: bytes, day: str = DAY) -> Path:
    """One more file."""
    path = root / stream / f"dt={day}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def lines(*records: Record) -> bytes:
    """The records' lines."""
    return "".join(line_of(*record) + "\n" for record in records).encode()


def again(message_id: str = "one", seconds: float = 70.0, day: str = DAY) -> Record:
    """A second effect."""
    return effect(message_id, at(seconds, day), "appointment-again")


# ------------------------------------------------------------------ 1: two readers, one account


@case("logs that Firehose gzipped twice, under .gz", 1)
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "twice.json.gz", gzip.compress(gzip.compress(lines(again()))))


@case("logs gzipped twice beside a truly bad line", 1, says="1 line or file could not be read")
def _(root: Path) -> None:
    healthy(root)
    bad = b"no record\n" + lines(again())
    put(root, "effects", "twice.json.gz", gzip.compress(gzip.compress(bad)))


@case("gzip under .jsonl", 1)
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "packed.jsonl", gzip.compress(lines(again())))


@case("a carriage return inside a line", 1)
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "cr.jsonl", lines(again()).replace(b'"Item": {', b'"Item":\r{'))


@case("a carriage return inside a line, beside a bad one", 1, says="1 line or file could not")
def _(root: Path) -> None:
    healthy(root)
    content = lines(again()).replace(b'"Item": {', b'"Item":\r{') + b"no record\n"
    put(root, "effects", "cr.jsonl", content)


@case("carriage returns between records", 1)
def _(root: Path) -> None:
    healthy(root)
    both = lines(effect("one", at(0.4), "appointment-one"), again()).replace(b"\n", b"\r")
    put(root, "effects", "mac.jsonl", both)


@case("a byte order mark", 1)
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "windows.jsonl", b"\xef\xbb\xbf" + lines(again()))


@case("another encoding", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "utf16.jsonl", lines(again()).decode().encode("utf-16"))


@case("another compression", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "records.jsonl.bz2", bz2.compress(lines(again())))


@case("a truncated gzip", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    packed = gzip.compress(lines(*[again(f"k{n}") for n in range(50)]))
    put(root, "effects", "half.jsonl.gz", packed[: len(packed) // 2])


# ---------------------------------------------------------------- 2: arrival is not occurrence


@case(
    "an effect of an earlier day in today's folder", 1, says="audit 2026-01-31 again", day=NEXT_DAY
)
def _(root: Path) -> None:
    two_days(root)
    put(root, "effects", "late.jsonl", lines(again()), NEXT_DAY)


@case("the same, judged on the earlier day", 1, day=DAY)
def _(root: Path) -> None:
    two_days(root)
    put(root, "effects", "late.jsonl", lines(again()), NEXT_DAY)


@case("a whole message of an earlier day in today's folder", 1, says="again", day=NEXT_DAY)
def _(root: Path) -> None:
    two_days(root)
    for stream, record in [*performed("tardy", 300), again("tardy", 400)]:
        put(root, stream, "late.jsonl", lines((stream, record)), NEXT_DAY)
    put(root, "effects", "late.jsonl", lines(again("tardy", 400), again("tardy", 300)), NEXT_DAY)
    put(root, "effects", "later.jsonl", lines(effect("tardy", at(500), "other")), NEXT_DAY)


@case("a clock that runs ahead", 3, says="could not be read", as_of=f"{NEXT_DAY}T00:00:00Z")
def _(root: Path) -> None:
    healthy(root)
    ahead = lines(*[effect(name, at(9, "2026-02-05"), f"appointment-{name}") for name in HEALTHY])
    file_of(root, "effects").write_bytes(ahead)


# ------------------------------------------------------------------------- 3: files passed over


@case("a folder behind a link", 1)
def _(root: Path) -> None:
    healthy(root)
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "more.jsonl").write_bytes(lines(again()))
    (root / "effects" / f"dt={DAY}" / "more").symlink_to(elsewhere)


@case("a day's folder behind a link", 1)
def _(root: Path) -> None:
    healthy(root, again())
    day = root / "effects" / f"dt={DAY}"
    day.rename(root.parent / "moved")
    day.symlink_to(root.parent / "moved")


@case("a broken link", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    (root / "effects" / f"dt={DAY}" / "more.jsonl").symlink_to(root / "nowhere")


@case("a link in a circle", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    (root / "effects" / "circle").symlink_to(root / "effects")


@case("an empty Parquet file is no stream", 3, says="effects is missing")
def _(root: Path) -> None:
    healthy(root)
    file_of(root, "effects").unlink()
    put(root, "effects", "records.parquet", b"")


@case("a hidden file", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", ".records.jsonl", lines(again()))


@case("a folder of no day", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "records.jsonl", lines(again()), "2026-02-30")


@case("a misnamed folder named as the results are", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    for name in ("messages", "days", "quarantine"):
        (root / name / f"dt={DAY}").mkdir(parents=True)
        (root / name / f"dt={DAY}" / "records.jsonl").write_bytes(lines(again()))


@case("a stream's day below another's", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    put(root, "deliveries", f"effects/dt={DAY}/records.jsonl", lines(again()))


# --------------------------------------------------------------------- 4: days nobody looked at


@case("a day without any file", 3, says="nothing was looked at", day=NEXT_DAY)
def _(root: Path) -> None:
    healthy(root)


@case("a day far outside", 3, says="nothing was looked at", day="2031-07-01")
def _(root: Path) -> None:
    healthy(root)


@case("a part of what was sent", 3, says="sent is there in part only")
def _(root: Path) -> None:
    more = [r for n in range(30) for r in performed(f"m{n}", 6_000 + n)]
    healthy(root, *more)
    kept = file_of(root, "sent").read_text().splitlines()[:4]
    file_of(root, "sent").write_text("\n".join(kept) + "\n")


@case("a day missing between two others", 3, says=f"{NEXT_DAY}: no stream has a file")
def _(root: Path) -> None:
    healthy(root, *performed("later", 5, DAY_AFTER))


@case("a limit before everything", 2, as_of="2026-01-01T00:00:00Z")
def _(root: Path) -> None:
    healthy(root)


@case("a limit before the last of the days", 3, says="is after", since=DAY, until=NEXT_DAY,
      as_of=f"{NEXT_DAY}T00:00:00Z")  # fmt: skip
def _(root: Path) -> None:
    two_days(root)


@case("effects missing on the day after", 3, says="may have been repeated", day=DAY)
def _(root: Path) -> None:
    two_days(root)
    file_of(root, "effects", NEXT_DAY).unlink()


@case("sent missing on one of two days", 3, says=f"{NEXT_DAY}: sent is missing")
def _(root: Path) -> None:
    two_days(root)
    file_of(root, "sent", NEXT_DAY).unlink()


@case("a stream that nobody records is no gap", 0)
def _(root: Path) -> None:
    two_days(root)
    for day in (DAY, NEXT_DAY):
        file_of(root, "sent", day).unlink()
    file_of(root, "dead_letters").unlink()


# --------------------------------------------------------------------------- 5: no witness


@case("neither deliveries nor executions", 3, says="deliveries is missing")
def _(root: Path) -> None:
    healthy(root)
    for stream in ("deliveries", "executions"):
        file_of(root, stream).unlink()


for _stream in ("deliveries", "executions", "effects"):

    @case(f"no {_stream}", 3, says=f"{_stream} is missing")
    def _(root: Path, stream: str = _stream) -> None:
        healthy(root)
        file_of(root, stream).unlink()


# ------------------------------------------------------------------------- 6: contradictions


def _began(name: str, start: float = 300.0) -> list[Record]:
    return [
        r
        for r in performed(name, start)
        if r[0] not in {"effects"} and "SUCCEEDED" not in r[1].values()
    ]


@case("rejected, and an effect afterwards", 1, verdicts={"odd": "contradiction"})
def _(root: Path) -> None:
    healthy(
        root, *_began("odd"), dead_letter("odd", at(310)), dead_letter("odd", at(400), "reject"),
        execution("odd", at(401), "FAILED", None, "RejectedByOperator"), effect("odd", at(500)),
    )  # fmt: skip


@case("resolved, and an effect afterwards", 1, verdicts={"odd": "contradiction"})
def _(root: Path) -> None:
    healthy(
        root, *_began("odd"), dead_letter("odd", at(310)), dead_letter("odd", at(400), "resolve"),
        execution("odd", at(401), "SUCCEEDED", "resolved"), effect("odd", at(500)),
    )  # fmt: skip


@case("resolved because it had happened", 0, verdicts={"odd": "performed_once"})
def _(root: Path) -> None:
    healthy(
        root, *_began("odd"), effect("odd", at(305)), dead_letter("odd", at(310)),
        dead_letter("odd", at(400), "resolve"), execution("odd", at(401), "SUCCEEDED", "resolved"),
    )  # fmt: skip


@case("two executions performed it, and there is one effect", 1, verdicts={"one": "contradiction"})
def _(root: Path) -> None:
    healthy(
        root, execution("one", at(3), "RUNNING"), execution("one", at(4), "SUCCEEDED", "performed")
    )


@case("the same end told twice is one", 0)
def _(root: Path) -> None:
    healthy(root, execution("one", at(0.5), "SUCCEEDED", "performed"))


@case("a second execution that found the effect", 0)
def _(root: Path) -> None:
    healthy(root, execution("one", at(3), "RUNNING"), execution("one", at(4), "SUCCEEDED", "found"))


@case("an effect that nobody asked for", 1, verdicts={"ghost": "contradiction"})
def _(root: Path) -> None:
    healthy(root, effect("ghost", at(500), "appointment-ghost"))


# ------------------------------------------------------------------------ 7: what lines hold

for _name, _between in {
    "nothing": "", "a blank": " ", "a comma": ",", "a semicolon": ";", "brackets": "],[",
    "a bracket": "]", "a no-break space": "\u00a0", "a NUL": "\0", "a form feed": "\f",
}.items():  # fmt: skip

    @case(
        f"two objects joined by {_name}", 1 if _name in {"nothing", "a blank", "a form feed"} else 3
    )
    def _(root: Path, between: str = _between) -> None:
        healthy(root)
        both = (line_of(*effect("one", at(0.4), "appointment-one")), line_of(*again()))
        put(root, "effects", "joined.jsonl", (between.join(both) + "\n").encode())


for _stream, _other in (
    ("sent", "effects"), ("sent", "deliveries"), ("deliveries", "effects"),
    ("effects", "deliveries"), ("executions", "effects"), ("dead_letters", "effects"),
):  # fmt: skip

    @case(f"a Parquet file of {_other} among {_stream}", 3, says="could not be read")
    def _(root: Path, stream: str = _stream, other: str = _other) -> None:
        healthy(root)
        records = generate(15, seed=1)
        write_parquet(records, root.parent / "parquet")
        (file,) = (root.parent / "parquet" / other).rglob("*.parquet")
        put(root, stream, "strange.parquet", file.read_bytes())


@case("bytes that are no UTF-8 in two ids", 3, says="2 lines or files could not be read")
def _(root: Path) -> None:
    healthy(root)
    for n, byte in enumerate((b"\xff", b"\xfe")):
        record = lines(effect("odd-?", at(1), f"appointment-{n}")).replace(b"?", byte)
        put(root, "effects", f"{n}.jsonl", record)


def _halved(record: Record) -> bytes:
    """Its line, with one half of a pair of surrogates for each A of an id, and another for B."""
    return lines(record).replace(b"-A", rb"-\ud800").replace(b"-B", rb"-\uDFFF")


@case("half surrogates in two ids, of which one is lost", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root, *performed("last", 80_000))
    for stream, record in performed("odd-A", 900):
        with file_of(root, stream).open("ab") as file:
            file.write(_halved((stream, record)))
    put(root, "sent", "odd.jsonl", _halved(sent("odd-B", at(900))))
    put(root, "deliveries", "odd.jsonl", _halved(delivery("odd-B", at(900))))


@case("half surrogates in two ids of events and of Logs", 3, says="4 lines or files could not")
def _(root: Path) -> None:
    healthy(root)
    for name in ("odd-A", "odd-B"):
        detail = {"name": name[-1], "status": "RUNNING", "startDate": MS + 900_000,
                  "input": _halved(sent(name, at(900))).decode()}  # fmt: skip
        event = json.dumps({"detail-type": "x", "detail": detail}).encode()
        put(root, "executions", f"{name}.jsonl", event)
        batch = {"messageType": "DATA_MESSAGE", "logEvents": [
            {"message": lines(delivery(name, at(900))).decode()}]}  # fmt: skip
        put(root, "deliveries", f"{name}.jsonl", _halved(("sent", batch)))


@case("half surrogates in the identities of two effects", 3, says="2 lines or files could not")
def _(root: Path) -> None:
    healthy(root)
    both = [effect("one", at(70), f"again-{half}") for half in "AB"]
    put(root, "effects", "odd.jsonl", b"".join(map(_halved, both)))


@case("whole pairs of surrogates, question marks and backslashes", 0)
def _(root: Path) -> None:
    healthy(root)
    for n, odd in enumerate((rb"?\ud83d\ude00", rb"\\ud83d", rb"\\\ud83d\ude00?", b"\\u00e4?")):
        for stream, record in performed("odd-A", 900 + n):
            with file_of(root, stream).open("ab") as file:
                file.write(lines((stream, record)).replace(b"odd-A", odd))


# ----------------------------------------------------------------------------- 8: old files


@case("a restored archive whose files are older than what they tell", 1, lost=("gone",))
def _(root: Path) -> None:
    healthy(root, sent("gone", at(100)), delivery("gone", at(100.1)), *performed("last", 80_000))
    for file in root.rglob("*.jsonl"):
        os.utime(file, (0, 0))


# ----------------------------------------------------------------------- what must not be lost


@case("a duplicate of a message from before the records began", 0)
def _(root: Path) -> None:
    healthy(
        root, sent("old", at(600)), delivery("old", at(601), "suppressed"), *performed("z", 80_000)
    )


@case("sent without an id, as for a FIFO queue", 0)
def _(root: Path) -> None:
    write(
        root,
        [
            (stream, record | {"message_id": None} if stream == "sent" else record)
            for n, name in enumerate(HEALTHY)
            for stream, record in _with_sqs_id(performed(name, 60.0 * n), f"q-{n}")
        ],
    )


def _with_sqs_id(records: list[Record], sqs_id: str) -> list[Record]:
    return [
        (stream, record | {"sqs_message_id": sqs_id} if "sqs_message_id" in record else record)
        for stream, record in records
    ]


@case("sent without an id, and not delivered", 1, lost=("sqs:q-9",))
def _(root: Path) -> None:
    healthy(root, sent(None, at(100), "q-9"), *performed("last", 80_000))


@case("an event without its input", 0)
def _(root: Path) -> None:
    healthy(root)
    name = f"sha256-{hashlib.sha256(b'a name with blanks').hexdigest()}"
    odd = [r for r in performed("a name with blanks", 900) if r[0] != "executions"]
    for stream, record in odd:
        put(root, stream, "odd.jsonl", lines((stream, record)))
    events = "".join(
        json.dumps({
            "version": "0", "detail-type": "Step Functions Execution Status Change",
            "detail": {"name": name, "status": status, "startDate": MS + 900_200,
                       "stopDate": MS + 900_500 if status != "RUNNING" else None,
                       "input": None, "output": None},
        }) + "\n"
        for status in ("RUNNING", "SUCCEEDED")
    )  # fmt: skip
    put(root, "executions", "events.jsonl", events.encode())
    put(root, "sent", "z.jsonl", lines(sent("z", at(80_000))))
    put(root, "deliveries", "z.jsonl", lines(delivery("z", at(80_000))))
    put(root, "executions", "z.jsonl", lines(execution("z", at(80_000), "RUNNING")))


MS = 1_769_817_600_000  # DAY's midnight


@case("a message at the end of the day whose next day is missing", 3,
      as_of=f"{NEXT_DAY}T12:00:00Z", since=DAY, until=DAY)  # fmt: skip
def _(root: Path) -> None:
    healthy(root, sent("late", LATE), delivery("late", LATE), execution("late", LATE, "RUNNING"))
    # Its execution is not recorded, nor is anything of the next day.
    healthy(root, sent("late", LATE), delivery("late", LATE))


@case("effects that cannot be read", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root, *performed("last", 80_000))
    file_of(root, "effects").write_bytes(b"\x00garbage\n")


@case("one effect that cannot be read", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root, *performed("last", 80_000))
    text = file_of(root, "effects").read_text().splitlines()
    file_of(root, "effects").write_text("\n".join([text[0][:-7], *text[1:]]) + "\n")


@case("deliveries that failed, and lie in UnstartedQueue", 0, verdicts={"failing": "refused"})
def _(root: Path) -> None:
    failing = [delivery("failing", at(100 + n), "failed", None, None) for n in range(3)]
    healthy(root, sent("failing", at(99)), *failing, *performed("last", 80_000))


@case("deliveries that failed before their id was read", 0)
def _(root: Path) -> None:
    failing = [
        delivery(None, at(100 + n), "failed", None, None)[1] | {"sqs_message_id": "q-77"}
        for n in range(3)
    ]
    healthy(
        root, sent("failing", at(99), "q-77"), *[("deliveries", one) for one in failing],
        *performed("last", 80_000),
    )  # fmt: skip


@case("an execution that somebody started by hand", 0)
def _(root: Path) -> None:
    healthy(root)
    by_hand = [
        execution("x", at(100), "RUNNING")[1] | {"message_id": None},
        execution("x", at(101), "FAILED", None, "States.Runtime")[1] | {"message_id": None},
    ]
    put(root, "executions", "hand.jsonl", lines(*[("executions", one) for one in by_hand]))


@case("an execution by hand with an id, which failed", 3)
def _(root: Path) -> None:
    healthy(root, execution("hand", at(100), "RUNNING"), execution("hand", at(101), "FAILED"))


@case("an id that looks like a hash but for a line end", 0)
def _(root: Path) -> None:
    name = "sha256-" + "0" * 64 + "\n"
    healthy(root, *[r for r in performed(name, 900) if r[0] != "executions"])
    started = {"name": "x", "status": "RUNNING", "startDate": MS + 900_200,
               "input": json.dumps({"message_id": name})}  # fmt: skip
    ended = started | {"status": "SUCCEEDED", "stopDate": MS + 900_500,
                       "output": json.dumps({"outcome": "performed"})}  # fmt: skip
    events = [{"detail-type": "Step Functions Execution Status Change", "detail": d}
              for d in (started, ended)]  # fmt: skip
    content = "".join(json.dumps(one) + "\n" for one in events).encode()
    put(root, "executions", "events.jsonl", content)


@case("a message lost beside all that", 1, lost=("gone",))
def _(root: Path) -> None:
    healthy(root, sent("gone", at(100)), delivery("gone", at(100.1)), *performed("last", 80_000))


@case("an execution that performed, and no effect", 1, lost=("gone",))
def _(root: Path) -> None:
    healthy(root, *[r for r in performed("gone", 300) if r[0] != "effects"])


# --------------------------------------------------------------------- one bad thing, no end

for _name, _time in {
    "year 0": "0000-01-01T00:00:00.000Z", "year 9999": "9999-12-31T23:59:59.999Z",
}.items():  # fmt: skip

    @case(f"a time of {_name}", 3, says="1 line or file could not be read")
    def _(root: Path, time: str = _time) -> None:
        healthy(root)
        put(root, "deliveries", "odd.jsonl", lines(delivery("odd", time)))


for _name, _factor in {"microseconds": 1_000, "nanoseconds": 1_000_000}.items():

    @case(f"times of events in {_name}", 3, says="1 line or file could not be read")
    def _(root: Path, factor: int = _factor) -> None:
        healthy(root)
        detail = {"name": "odd", "status": "RUNNING", "startDate": MS * factor, "input": "{}"}
        put(
            root,
            "executions",
            "odd.jsonl",
            json.dumps({"detail-type": "x", "detail": detail}).encode(),
        )


@case("a Parquet file with times in nanoseconds", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    records = generate(15, seed=1).streams["effects"]
    odd = records.set_column(0, "at", records["at"].cast(pa.timestamp("ns", "UTC")))
    names = [name if name != "at" else "at" for name in odd.column_names]
    sink = pa.BufferOutputStream()
    pq.write_table(odd.rename_columns(names), sink)
    put(root, "effects", "nano.parquet", sink.getvalue().to_pybytes())


@case("a colon in a name", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "10:00.jsonl", lines(again()))


@case("bytes that are no UTF-8 in a name", 3, says="could not be read")
def _(root: Path) -> None:
    healthy(root)
    folder = root / "effects" / f"dt={DAY}"
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_bytes(lines(again()))


@case("a line end in a name", 1)
def _(root: Path) -> None:
    healthy(root)
    put(root, "effects", "a\nb.jsonl", lines(again()))


@case("well", 0)
def _(root: Path) -> None:
    two_days(root)


@case("well, and once in conflict", 1, verdicts={"odd": "conflict"})
def _(root: Path) -> None:
    other = delivery("odd", at(305), "suppressed", None, FINGERPRINTS[1])
    healthy(root, *performed("odd", 300), other)


assert set(STREAMS) == {"sent", "deliveries", "executions", "effects", "dead_letters"}
