"""Folders of records whose truth is known, each with something that hides in it.

A case plants healthy records, does one thing to them, and says how the audit has to end: which
exit status, and which messages are lost. `status` 1 are alarms, 3 is "could not be judged whole".
"""

import bz2
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipeline.audit.judging.verdict_names import ALARMS
from pipeline.errors import CannotAudit
from tests.pipeline.judge import Record
from tests.pipeline.nights import Row, audited, settled, verdicts_of
from tests.pipeline.streams_on_disk import (
    DAY,
    FINGERPRINTS,
    at,
    dead_letter,
    delivery,
    effect,
    execution,
    file_of,
    line_of,
    named,
    performed,
    put,
    sent,
    write,
)

NEXT_DAY = "2026-02-01"
DAY_AFTER = "2026-02-02"
MIDNIGHT_MS = 1_769_817_600_000  # DAY's
HEALTHY = ("one", "two", "three")
LAST = performed("last", 80_000)
NEXT = performed("next", 5, NEXT_DAY)
UNREAD = "could not be read"

Plant = Callable[[Path], Any]
"""Makes the records below a root."""


@dataclass(frozen=True, slots=True)
class Case:
    """One planted folder.

    Attributes:
        status: the exit status that is right.
        plant: makes the folder.
        says: a part of the sentence.
        lost: the messages that are lost.
        verdicts: of some messages.
        asked: arguments of `requested`.
    """

    status: int
    plant: Plant
    says: str = ""
    lost: tuple[str, ...] = ()
    verdicts: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)

    def audited(self, spark: SparkSession, root: Path, out: Path) -> Row:
        """The summary of an audit of the folder, or what it was refused with."""
        try:
            return audited(spark, settled(root), out, **self.asked)
        except CannotAudit as error:
            return {"exit_status": 2, "sentence": str(error)}

    def found(self, summary: Row, out: Path) -> Row:
        """What the audit says, as far as the case knows what is right."""
        verdicts, sentence = verdicts_of(out), summary["sentence"]
        return {
            "status": summary["exit_status"],
            "says": self.says if self.says in sentence else sentence,
            "lost": sorted(key for key, verdict in verdicts.items() if verdict == "lost"),
            "verdicts": {key: verdicts.get(key) for key in self.verdicts},
        }

    def right(self) -> Row:
        """What `found` has to be."""
        lost = sorted(self.lost)
        return {"status": self.status, "says": self.says, "lost": lost, "verdicts": self.verdicts}


def lines(*records: Record) -> bytes:
    """The records' lines."""
    return "".join(line_of(*record) + "\n" for record in records).encode()


def healthy(root: Path, *more: Record) -> Path:
    """Three messages that went well, and whatever else."""
    well = [r for n, name in enumerate(HEALTHY) for r in performed(name, 60.0 * n)]
    return write(root, [*well, *more])


def well(*more: Record, files: Iterable[Any] = (), gone: Iterable[Any] = ()) -> Plant:
    """The healthy records and others, with more files (as `put` has them), without others."""

    def plant(root: Path) -> None:
        healthy(root, *more)
        for file in files:
            put(root, *file)
        for file in gone:
            file_of(root, *file).unlink()

    return plant


def effects(name: str, content: bytes, *more: Record) -> Plant:
    """The healthy records, and one more file of effects."""
    return well(*more, files=[("effects", name, content)])


AGAIN = effect("one", at(70), "appointment-again")
SECOND = lines(AGAIN)
"""A second effect."""


def _behind_a_link(root: Path) -> None:
    healthy(root)
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "more.jsonl").write_bytes(SECOND)
    (root / "effects" / f"dt={DAY}" / "more").symlink_to(elsewhere)


def _day_behind_a_link(root: Path) -> None:
    healthy(root, AGAIN)
    day = root / "effects" / f"dt={DAY}"
    day.rename(root.parent / "moved")
    day.symlink_to(root.parent / "moved")


def _link(name: str, to: str) -> Plant:
    return lambda root: (healthy(root) / "effects" / name).symlink_to(root / to)


def _named_as_results_are(root: Path) -> None:
    healthy(root)
    for name in ("messages", "days", "quarantine"):
        put(root, name, "records.jsonl", SECOND)


def _quarantine_of_one_s_own(root: Path) -> None:
    healthy(root)
    (root / "quarantine").mkdir()
    (root / "quarantine" / "part-0.json").write_bytes(SECOND)
    (root / "summary.json").write_text('{"exit_status": 0}')


def _no_utf8_in_a_name(root: Path) -> None:
    healthy(root)
    folder = root / "effects" / f"dt={DAY}"
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_bytes(SECOND)


def _late_message(root: Path) -> None:
    healthy(root, *NEXT)
    for stream, record in performed("tardy", 300):
        put(root, stream, "late.jsonl", lines((stream, record)), NEXT_DAY)
    both = lines(*(effect("tardy", at(400 + n), f"appointment-{n}") for n in range(2)))
    put(root, "effects", "later.jsonl", both, NEXT_DAY)


def _ahead(root: Path) -> None:
    healthy(root)
    ahead = [effect(name, at(9, "2026-02-05"), f"appointment-{name}") for name in HEALTHY]
    file_of(root, "effects").write_bytes(lines(*ahead))


def _sent_in_part(root: Path) -> None:
    healthy(root, *[r for n in range(30) for r in performed(f"m{n}", 6_000 + n)])
    kept = file_of(root, "sent").read_text().splitlines()[:4]
    file_of(root, "sent").write_text("\n".join(kept) + "\n")


def _halved(record: Record) -> bytes:
    """Its line, with one half of a pair of surrogates for each A of an id, and another for B."""
    return lines(record).replace(b"-A", rb"-\ud800").replace(b"-B", rb"-\uDFFF")


def _half_surrogates(root: Path) -> None:
    healthy(root, *LAST)
    for stream, record in performed("odd-A", 900):
        put(root, stream, "odd-a.jsonl", _halved((stream, record)))
    put(root, "sent", "odd-b.jsonl", _halved(sent("odd-B", at(900))))
    put(root, "deliveries", "odd-b.jsonl", _halved(delivery("odd-B", at(900))))


def _half_surrogates_in_envelopes(root: Path) -> None:
    healthy(root)
    for name in ("odd-A", "odd-B"):
        told = _halved(sent(name, at(900))).decode()
        put(root, "executions", f"{name}.jsonl", event(name[-1], "RUNNING", input=told))
        batch = {"messageType": "DATA_MESSAGE", "logEvents": [
            {"message": lines(delivery(name, at(900))).decode()}]}  # fmt: skip
        put(root, "deliveries", f"{name}.jsonl", _halved(("sent", batch)))


def _whole_surrogates(root: Path) -> None:
    healthy(root)
    for n, odd in enumerate((rb"?\ud83d\ude00", rb"\\ud83d", rb"\\\ud83d\ude00?", b"\\u00e4?")):
        for stream, record in performed("odd-A", 900 + n):
            put(root, stream, f"{n}.jsonl", lines((stream, record)).replace(b"odd-A", odd))


def _restored(root: Path) -> None:
    healthy(root, *GONE, *LAST)
    for file in root.rglob("*.jsonl"):
        os.utime(file, (0, 0))


def event(name: str, status: str, start: int = MIDNIGHT_MS + 900_200, **detail: Any) -> bytes:
    """Of EventBridge, as a line."""
    end = start + 300 if status != "RUNNING" else None
    told = {"name": name, "status": status, "startDate": start, "stopDate": end, **detail}
    return json.dumps({"detail-type": "x", "detail": told}).encode() + b"\n"


def _told_by_events(name: str, *events: bytes) -> Plant:
    """A message whose execution only events tell of."""
    others = [r for r in performed(name, 900) if r[0] != "executions"]
    return well(*others, *LAST, files=[("executions", "events.jsonl", b"".join(events))])


def _fifo(root: Path) -> None:
    write(root, [
        (stream, record | ({"message_id": None} if stream == "sent" else {})
         | ({"sqs_message_id": f"q-{n}"} if "sqs_message_id" in record else {}))
        for n, name in enumerate(HEALTHY)
        for stream, record in performed(name, 60.0 * n)
    ])  # fmt: skip


def _spoiled_effects(root: Path) -> None:
    healthy(root, *LAST)
    file_of(root, "effects").write_bytes(b"\x00garbage\n")


def _spoiled_effect(root: Path) -> None:
    healthy(root, *LAST)
    text = file_of(root, "effects").read_text().splitlines()
    file_of(root, "effects").write_text("\n".join([text[0][:-7], *text[1:]]) + "\n")


def _failed(sqs_id: str) -> list[Record]:
    told = delivery(None, "", "failed", None, None)[1] | {"sqs_message_id": sqs_id}
    return [("deliveries", told | {"at": at(100 + n)}) for n in range(3)]


def _by_hand() -> bytes:
    runs = (execution("x", at(100), "RUNNING"), execution("x", at(101), "FAILED", None, "Error"))
    return lines(*[(stream, record | {"message_id": None}) for stream, record in runs])


GONE = (sent("gone", at(100)), delivery("gone", at(100.1)))
ACR = SECOND.replace(b'"NewImage": {', b'"NewImage":\r{')
BOTH = lines(effect("one", at(0.4), "appointment-one"), AGAIN)
HASHED = f"sha256-{hashlib.sha256(b'a name with blanks').hexdigest()}"
LIKE_A_HASH = "sha256-" + "0" * 64 + "\n"
LATE = [sent("late", at(86_399.9)), delivery("late", at(86_399.9))]
NO_UTF8 = [
    ("effects", f"{n}.jsonl",
     lines(effect("odd-?", at(1), f"appointment-{n}")).replace(b"?", byte))
    for n, byte in enumerate((b"\xff", b"\xfe"))
]  # fmt: skip


def _decided(decision: str, *end: str | None) -> list[Record]:
    """Begun, a dead letter, and how a person's decision ended it."""
    return [
        *performed("", 2000)[:3], dead_letter("", at(2010)), dead_letter("", at(2100), decision),
        execution("", at(2101), *end),  # type: ignore[arg-type]
    ]  # fmt: skip


REJECTED = _decided("reject", "FAILED", None, "RejectedByOperator")
RESOLVED = _decided("resolve", "SUCCEEDED", "resolved")
HISTORIES: dict[str, tuple[str, list[Record]]] = {
    "rejected, and an effect afterwards": ("contradiction", [*REJECTED, effect("", at(2200))]),
    "resolved, and an effect afterwards": ("contradiction", [*RESOLVED, effect("", at(2200))]),
    "resolved because it had happened": ("performed_once", [*RESOLVED, effect("", at(2005))]),
    "two executions performed it, and there is one effect": ("contradiction", [
        *performed("", 2000), execution("", at(2009), "RUNNING"),
        execution("", at(2010), "SUCCEEDED", "performed")]),
    "the same end told twice is one": ("performed_once", [
        *performed("", 2000), performed("", 2000)[-1]]),
    "a second execution that found the effect": ("performed_once", [
        *performed("", 2000), execution("", at(2009), "RUNNING"),
        execution("", at(2010), "SUCCEEDED", "found")]),
    "a second effect": ("performed_again", [
        *performed("", 2000), effect("", at(2100), "second")]),
    "an effect that nobody asked for": ("contradiction", [effect("", at(2000), "ghost")]),
    "well, and once in conflict": ("conflict", [
        *performed("", 2000), delivery("", at(2010), "suppressed", None, FINGERPRINTS[1])]),
    "a duplicate of a message from before the records began": ("in_flight", [
        sent("", at(2000)), delivery("", at(2001), "suppressed")]),
    "deliveries that failed, and lie in UnstartedQueue": ("refused", [
        sent("", at(2000)), *(delivery("", at(2001 + n), "failed", None, None) for n in range(3))]),
    "a message lost beside all that": ("lost", [sent("", at(2000)), delivery("", at(2001))]),
    "never delivered": ("lost", [sent("", at(2000))]),
    "an execution that performed, and no effect": ("lost", [
        r for r in performed("", 2000) if r[0] != "effects"]),
    "an execution by hand with an id, which failed": ("in_flight", [
        execution("", at(2000), "RUNNING"), execution("", at(2001), "FAILED")]),
}  # fmt: skip
"""What one message's records say, and its verdict."""


def _of_one(verdict: str, history: list[Record]) -> Case:
    """A message among healthy ones. Only who started one by hand knows what became of it."""
    by_hand = all(stream == "executions" for stream, _ in history)
    return Case(
        3 if by_hand else int(verdict in ALARMS),
        well(*named({"odd": history}), *LAST),
        lost=("odd",) if verdict == "lost" else (),
        verdicts={"odd": verdict},
    )


CASES = {
    **{name: _of_one(*history) for name, history in HISTORIES.items()},
    # ------------------------------------------------------------ two readers, one account
    "logs that Firehose gzipped twice, under .gz":
        Case(1, effects("twice.json.gz", gzip.compress(gzip.compress(SECOND)))),
    "logs gzipped twice beside a truly bad line":
        Case(1, effects("2.json.gz", gzip.compress(gzip.compress(b"no record\n" + SECOND))),
             "1 line or file could not be read"),
    "gzip under .jsonl": Case(1, effects("packed.jsonl", gzip.compress(SECOND))),
    "a carriage return inside a line": Case(1, effects("cr.jsonl", ACR)),
    "a carriage return inside a line, beside a bad one":
        Case(1, effects("cr.jsonl", ACR + b"no record\n"), "1 line or file could not"),
    "carriage returns between records":
        Case(1, effects("mac.jsonl", BOTH.replace(b"\n", b"\r"))),
    "a byte order mark": Case(1, effects("windows.jsonl", b"\xef\xbb\xbf" + SECOND)),
    "another encoding":
        Case(3, effects("utf16.jsonl", SECOND.decode().encode("utf-16")), UNREAD),
    "another compression": Case(3, effects("records.jsonl.bz2", bz2.compress(SECOND)), UNREAD),
    "a truncated gzip": Case(3, effects("half.jsonl.gz", gzip.compress(50 * SECOND)[:99]), UNREAD),
    "a Parquet file": Case(3, effects("strange.parquet", b"PAR1"), UNREAD),
    # ------------------------------------------------------------ arrival is not occurrence
    "an effect of an earlier day in today's folder":
        Case(1, well(*NEXT, files=[("effects", "late.jsonl", SECOND, NEXT_DAY)]),
             "audit 2026-01-31 again", asked={"day": NEXT_DAY}),
    "the same, judged on the earlier day":
        Case(1, well(*NEXT, files=[("effects", "late.jsonl", SECOND, NEXT_DAY)]),
             asked={"day": DAY}),
    "a whole message of an earlier day in today's folder":
        Case(1, _late_message, "again", asked={"day": NEXT_DAY}),
    "a clock that runs ahead":
        Case(3, _ahead, UNREAD, asked={"as_of": f"{NEXT_DAY}T00:00:00Z"}),
    # ------------------------------------------------------------ files passed over
    "a folder behind a link": Case(1, _behind_a_link),
    "a day's folder behind a link": Case(1, _day_behind_a_link),
    "a broken link": Case(3, _link(f"dt={DAY}/more.jsonl", "nowhere"), UNREAD),
    "a link in a circle": Case(3, _link("circle", "effects"), UNREAD),
    "an empty Parquet file is no stream":
        Case(3, well(files=[("effects", "records.parquet", b"")], gone=[["effects"]]),
             "effects is missing"),
    "an export that has not ended":
        Case(3, effects("AWSDynamoDB/1/data/x.jsonl", SECOND), "has no manifest-summary.json"),
    "a hidden file": Case(3, effects(".records.jsonl", SECOND), UNREAD),
    "a file named as another's checksum": Case(3, effects(".records.jsonl.crc", SECOND), UNREAD),
    "a quarantine that no audit wrote": Case(3, _quarantine_of_one_s_own, UNREAD),
    "an effect in a message of Logs that is only a trial":
        Case(3, effects("control.jsonl", json.dumps({
            "messageType": "CONTROL_MESSAGE", "logEvents": [{"message": SECOND.decode()}],
        }).encode()), UNREAD),
    "an effect in an export's list of files":
        Case(3, well(files=[
            ("effects", "AWSDynamoDB/1/manifest-summary.json", b"{}"),
            ("effects", "AWSDynamoDB/1/manifest-files.json", SECOND),
        ]), UNREAD),
    "records of two stacks":
        Case(2, well(files=[("executions", "others.jsonl", b"".join(
            event(name, "RUNNING", stateMachineArn=arn, input="{}")
            for name, arn in (("a", "arn:1"), ("b", "arn:2"))
        ))]), "two stacks"),
    "a folder of no day":
        Case(3, well(files=[("effects", "records.jsonl", SECOND, "2026-02-30")]), UNREAD),
    "a misnamed folder named as the results are": Case(3, _named_as_results_are, UNREAD),
    "a stream's day below another's":
        Case(3, well(files=[("deliveries", f"effects/dt={DAY}/x.jsonl", SECOND)]), UNREAD),
    "a colon in a name": Case(1, effects("10:00.jsonl", SECOND)),
    "bytes that are no UTF-8 in a name": Case(3, _no_utf8_in_a_name, UNREAD),
    "a line end in a name": Case(1, effects("a\nb.jsonl", SECOND)),
    # ------------------------------------------------------------ days nobody looked at
    "a day without any file": Case(3, well(), "nothing was looked at", asked={"day": NEXT_DAY}),
    "a day far outside": Case(3, well(), "nothing was looked at", asked={"day": "2031-07-01"}),
    "a part of what was sent": Case(3, _sent_in_part, "sent is there in part only"),
    "a day missing between two others":
        Case(3, well(*performed("later", 5, DAY_AFTER)), f"{NEXT_DAY}: no stream has a file"),
    "a limit before everything": Case(2, well(), asked={"as_of": "2026-01-01T00:00:00Z"}),
    "a limit before the last of the days":
        Case(3, well(*NEXT), "is after",
             asked={"since": DAY, "until": NEXT_DAY, "as_of": f"{NEXT_DAY}T00:00:00Z"}),
    "effects missing on the day after":
        Case(3, well(*NEXT, gone=[("effects", NEXT_DAY)]), "may have been repeated",
             asked={"day": DAY}),
    "sent missing on one of two days":
        Case(3, well(*NEXT, gone=[("sent", NEXT_DAY)]), f"{NEXT_DAY}: sent is missing"),
    "a stream that nobody records is no gap":
        Case(0, well(*NEXT, gone=[["sent"], ("sent", NEXT_DAY), ["dead_letters"]])),
    # ------------------------------------------------------------ no witness
    "neither deliveries nor executions":
        Case(3, well(gone=[["deliveries"], ["executions"]]), "deliveries is missing"),
    **{
        f"no {stream}": Case(3, well(gone=[[stream]]), f"{stream} is missing")
        for stream in ("deliveries", "executions", "effects")
    },
    # ------------------------------------------------------------ what lines hold
    "bytes that are no UTF-8 in two ids":
        Case(3, well(files=NO_UTF8), "2 lines or files could not be read"),
    "half surrogates in two ids, of which one is lost": Case(3, _half_surrogates, UNREAD),
    "half surrogates in two ids of events and of Logs":
        Case(3, _half_surrogates_in_envelopes, "4 lines or files could not"),
    "half surrogates in the identities of two effects":
        Case(3, effects("odd.jsonl", b"".join(
            _halved(effect("one", at(70), f"again-{half}")) for half in "AB"
        )), "2 lines or files could not"),
    "whole pairs of surrogates, question marks and backslashes": Case(0, _whole_surrogates),
    **{
        f"a time of {name}":
            Case(3, well(files=[("deliveries", "odd.jsonl", lines(delivery("odd", time)))]),
                 "1 line or file could not be read")
        for name, time in (("year 0", "0000-01-01T00:00:00.000Z"),
                           ("year 9999", "9999-12-31T23:59:59.999Z"))
    },
    **{
        f"times of events in {unit}":
            Case(3, well(files=[("executions", "odd.jsonl",
                                 event("odd", "RUNNING", MIDNIGHT_MS * factor, input="{}"))]),
                 "1 line or file could not be read")
        for unit, factor in (("microseconds", 1_000), ("nanoseconds", 1_000_000))
    },
    "effects that cannot be read": Case(3, _spoiled_effects, UNREAD),
    "one effect that cannot be read": Case(3, _spoiled_effect, UNREAD),
    # ------------------------------------------------------------ what must not be lost, or is
    "well": Case(0, well(*NEXT)),
    "a restored archive whose files are older than what they tell":
        Case(1, _restored, lost=("gone",)),
    "sent without an id, as for a FIFO queue": Case(0, _fifo),
    "sent without an id, and not delivered":
        Case(1, well(sent(None, at(100), "q-9"), *LAST), lost=("sqs:q-9",)),
    "an event without its input":
        Case(0, _told_by_events("a name with blanks", *(
            event(HASHED, status, input=None, output=None) for status in ("RUNNING", "SUCCEEDED")
        ))),
    "an id that looks like a hash but for a line end":
        Case(0, _told_by_events(LIKE_A_HASH, *(
            event("x", status, input=json.dumps({"message_id": LIKE_A_HASH}),
                  output=json.dumps({"outcome": "performed"}))
            for status in ("RUNNING", "SUCCEEDED")
        ))),
    "a message that crosses midnight, as of the day's end":
        Case(0, well(*performed("across", 86_399.5)[:3], *NEXT), verdicts={"across": "in_flight"},
             asked={"day": DAY, "as_of": f"{NEXT_DAY}T00:00:00Z"}),
    "a message at the end of the day whose next day is missing":
        Case(3, well(*LATE),
             asked={"as_of": f"{NEXT_DAY}T12:00:00Z", "since": DAY, "until": DAY}),
    "deliveries that failed before their id was read":
        Case(0, well(sent("failing", at(99), "q-77"), *_failed("q-77"), *LAST)),
    "an execution that somebody started by hand":
        Case(0, well(files=[("executions", "hand.jsonl", _by_hand())])),
}  # fmt: skip
