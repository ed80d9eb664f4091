"""From a file to rows: what each of its records says of its message, or what is wrong with it.

A line is a plain record, or AWS's envelope around it: a Logs subscription's batch of lines, an
EventBridge event, an item of a DynamoDB export. Firehose may put several on one line.

Invariant: whatever a file holds becomes a row, or is a row that says where it is and why it was not
read; a gzip file that is not whole is set aside whole.
"""

import gzip
import hashlib
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from pyspark import cloudpickle

from actonce_core import strict_json
from actonce_core.execution import MAX_MESSAGE_ID_BYTES
from pipeline.audit.reading.listing import EXPORT_MANIFEST, PLACE
from pipeline.audit.reading.passed_over import is_book, is_control_message
from pipeline.audit.reading.places import HERE
from pipeline.audit.reading.streams import (
    KNOWN_VERSION,
    OPERATOR_REJECTED,
    REFUSED,
    Code,
)

COLUMNS: Final = {
    "message_id": "string",
    "at": "bigint",
    "code": "int",
    "f1": "bigint",
    "f2": "bigint",
    "stream": "string",
    "what": "string",
    "sqs_message_id": "string",
    "source": "string",
    "folder": "string",
    "file": "string",
    "line": "bigint",
    "problem": "string",
}
"""Of a row: the message's id (null: the record tells none), its own time in ms, one of `Code`, two
numbers (a delivery's fingerprint, an effect's identity), a few words for a person, SQS's id (null:
not told), whose it is (one of `KINDS`, and a name; null: not told), and the day of its folder. Only
of what was not read: the file, the line from 1 on (null: the whole file), and why; nothing of the
line itself, which may hold anything."""

Row = tuple[Any, ...]
"""The values of `COLUMNS`."""

Facts = tuple[str | None, int | None, int | None, int | None, str | None]
"""Of a record: message id, code (null: a value that nobody knows), two numbers, words."""

_GZIP: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_PIECE: Final = 2**20
_LOG_GROUP: Final = "\0logGroup"  # beside the fields of a line that came in a batch of Logs

KINDS: Final = ("stack", "log group", "table")
"""What a source names."""
# Where one object ends and the next begins. Inside a JSON string no quotation mark is bare, and
# after a string's end no letter follows, so this is never inside a record.
_SEAM: Final = re.compile(r'(?<=\})\s*(?=\{\s*"[A-Za-z][A-Za-z_-]*"\s*:)', re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)", re.ASCII)
_HASHED_ID: Final = re.compile(r"sha256-[0-9a-f]{64}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_EARLIEST_MS: Final = 946_684_800_000  # 2000; an earlier time is none, or in other units
_DAY_MS: Final = 86_400_000
_CLOCKS_DIFFER_MS: Final = 3_600_000
_WORDS: Final = 500  # characters of what a record says
_QUARANTINED: Final = int(Code.QUARANTINED)


class BadRecord(Exception):
    """What is wrong with a record, in a word."""


def rows_of(path: str, content: bytes | None = None) -> Iterator[Row]:
    """The rows of a file.

    Args:
        path: as it is listed: its folders tell the stream and the day.
        content: of the file; None: it is a file here.
    """
    place = re.search(PLACE, path)
    assert place  # it is listed  # noqa: S101
    stream, folder = place.groups()

    def unread(line: int | None, problem: str) -> Row:
        told = (folder, path, line, problem)
        return (None, None, _QUARANTINED, None, None, stream, None, None, None, *told)

    def opened() -> BinaryIO:
        here = Path(path.removeprefix(HERE))
        return here.open("rb") if content is None else io.BytesIO(content)

    if broken := _broken(path, opened):
        yield unread(None, broken)
        return
    # What arrived on a day happened before its end.
    too_late = _milliseconds(f"{folder}T00:00:00Z") + _DAY_MS + _CLOCKS_DIFFER_MS
    is_manifest = stream == "effects" and EXPORT_MANIFEST.match(path) is not None
    with opened() as source:
        for number, raw in enumerate(_unpacked(source), 1):
            line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            try:
                objects = _objects(line.decode("utf-8"))
            except UnicodeDecodeError:
                yield unread(number, "not_utf8")
                continue
            for value in objects:
                try:
                    row = (
                        _row_of_manifest(folder, value)
                        if is_manifest
                        else _row_of(stream, folder, too_late, value)
                    )
                except BadRecord as problem:
                    row = unread(number, str(problem))
                if row is not None:
                    yield row


_READ: Final = (None, None, None)  # file, line and problem of a record


def _row_of_manifest(folder: str, value: Any) -> Row | None:
    """Whose an export is; None: it does not say. A record among what it says is none."""
    if not isinstance(value, dict) or value.keys() & {"Item", "NewImage", "Keys", "stream"}:
        raise BadRecord("not_a_record")
    if (table := _text(value, "tableArn")) is None:
        return None
    row = (None, None, int(Code.EXPORTED), None, None, "effects", None, None)
    return (*row, f"table {table}", folder, *_READ)


def _row_of(stream: str, folder: str, too_late: int, value: Any) -> Row | None:
    """The row of a value; None: it is no record, and nothing is wrong.

    Raises:
        BadRecord: something is.
    """
    record = _plain(stream, value)
    if record is None:
        return None
    message_id, code, f1, f2, what = _TELLS[stream](record)
    at = _milliseconds(record["at"])
    if not _EARLIEST_MS <= at < too_late:
        raise BadRecord("impossible_time")
    if code is None:
        raise BadRecord("unknown_value")
    sqs_id = _text(record, "sqs_message_id")
    told = (stream, what and what[:_WORDS], sqs_id, _source(record), folder, *_READ)
    return (message_id, at, code, f1, f2, *told)


def _source(record: dict[str, Any]) -> str | None:
    """Whose a record is: its stack's state machine, or what stands for it; or its log group."""
    if (group := _text(record, _LOG_GROUP)) is not None:
        return f"log group {group}"
    name = _text(record, "source") or _text(record, "stateMachineArn")
    return None if name is None else f"stack {name}"


def _broken(path: str, opened: Callable[[], BinaryIO]) -> str | None:
    """Why the file is set aside; reads a compressed one to its end."""
    try:
        with opened() as source:
            unpacked = _unpacked(source)
            if not isinstance(unpacked, gzip.GzipFile):
                named_gzip = path.lower().endswith(".gz")
                return "not_gzip" if named_gzip and source.seek(0, io.SEEK_END) else None
            while unpacked.read(_PIECE):
                pass
    except EOFError:
        return "truncated_gzip"
    except (gzip.BadGzipFile, zlib.error):
        return "corrupt_gzip"
    except OSError:  # it went after it was listed
        return "unreadable_file"
    return None


def _unpacked(source: BinaryIO) -> BinaryIO:
    """What is in a file, compressed or not; Firehose compresses what Logs had compressed before."""
    for _ in range(2):
        begins = source.read(len(_GZIP))
        source.seek(0)
        if begins != _GZIP:
            break
        source = cast("BinaryIO", gzip.GzipFile(fileobj=source, mode="rb"))
    return source


def _objects(text: str) -> Iterator[Any]:
    """The values of a text; None stands for what is no strict JSON.

    It holds one, several objects, or a batch of Logs.
    """
    if not text or text.isspace():
        return
    try:
        value = strict_json.parse(text)
    except strict_json.NotJson:
        first, *others = _SEAM.split(text)
        if not others:
            yield None
            return
        for piece in (first, *others):
            yield from _objects(piece)
        return
    if isinstance(value, dict) and "logEvents" in value:
        yield from _logged(value)
    else:
        yield value


def _logged(batch: dict[str, Any]) -> Iterator[Any]:
    """The values of a batch of Logs, each with its group's name."""
    if is_control_message(batch):
        return
    events, group = batch["logEvents"], batch.get("logGroup")
    if batch.get("messageType") != "DATA_MESSAGE" or not isinstance(events, list):
        yield batch
        return
    for event in events:
        message = event.get("message") if isinstance(event, dict) else None
        if not isinstance(message, str):
            yield {}
            continue
        for line in _objects(message):
            yield line | {_LOG_GROUP: group} if isinstance(line, dict) else line


def _plain(stream: str, value: Any) -> dict[str, Any] | None:
    """The plain record, out of whichever envelope; None: it is none, and nothing is wrong.

    Raises:
        BadRecord: it is none.
    """
    if not isinstance(value, dict):
        raise BadRecord("corrupt_line")
    told = value.get("stream")
    if stream == "effects" and told is None:
        return _of_item(value)
    if stream == "executions" and "detail-type" in value:
        return _of_event(value.get("detail"))
    if told != stream:
        raise BadRecord("not_a_record")
    if str(value.get("version")) != KNOWN_VERSION:
        raise BadRecord("unknown_version")
    if value.get("at") is None:
        raise BadRecord("missing_field")
    return value


def _of_item(value: dict[str, Any]) -> dict[str, Any] | None:
    """Of a DynamoDB export."""
    item = value.get("Item") or value.get("NewImage")
    texts = {name: _in_item(item or value.get("Keys"), name) for name in _ITEM}
    if is_book(texts["message_id"], texts["effect_id"]):
        return None
    if not item:
        raise BadRecord("deleted_effect" if value.get("Keys") else "not_a_record")
    return texts


_ITEM: Final = {"message_id": "message_id", "effect_id": "appointment_id", "at": "booked_at"}


def _in_item(item: Any, name: str) -> str | None:
    attribute = item.get(_ITEM[name]) if isinstance(item, dict) else None
    if attribute is not None and not isinstance(attribute, dict):
        raise BadRecord("wrong_type")
    return _text(attribute or {}, "S")


def _of_event(detail: Any) -> dict[str, Any]:
    """Of EventBridge.

    Without its input it still tells the id: the execution is named by it, or by its hash.
    """
    if not isinstance(detail, dict):
        raise BadRecord("not_a_record")
    status, given, output = (_text(detail, name) for name in ("status", "input", "output"))
    at = detail.get("stopDate")
    if status == "RUNNING":
        at = detail.get("redriveDate") or detail.get("startDate")
    message_id = _text(detail, "name")
    if given is not None:
        try:
            parsed = strict_json.parse(given)
        except strict_json.NotJson:
            raise BadRecord("corrupt_line") from None
        told = parsed.get("message_id") if isinstance(parsed, dict) else None
        message_id = _stored(told) if isinstance(told, str) else None
    told = {"at": at, "message_id": message_id, "outcome": _outcome(output)}
    return detail | told | {"source": None}


def _outcome(output: str | None) -> Any:
    """Of an execution's output, which holds what the effect answered: any JSON, strict or not."""
    try:
        ended = json.loads(output or "null")
        outcome = ended.get("outcome") if isinstance(ended, dict) else None
        str(outcome).encode("utf-8")
    except UnicodeEncodeError:
        raise BadRecord("corrupt_line") from None
    except (ValueError, RecursionError):
        return None
    return outcome


def _stored(message_id: str) -> str:
    """A message id as every other record has it: itself, or its hash beyond a key's length."""
    told = message_id.encode("utf-8")
    if len(told) <= MAX_MESSAGE_ID_BYTES and not _HASHED_ID.fullmatch(message_id):
        return message_id
    return f"sha256-{hashlib.sha256(told).hexdigest()}"


def _milliseconds(at: Any) -> int:
    if type(at) is int:  # of an event
        return at
    if not isinstance(at, str) or not _TIME.fullmatch(at):
        raise BadRecord("wrong_type")
    try:
        return (datetime.fromisoformat(at) - _EPOCH) // _MILLISECOND
    except ValueError:
        raise BadRecord("wrong_type") from None


def _text(record: dict[str, Any], name: str) -> str | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise BadRecord("wrong_type")
    return value


def _needed(record: dict[str, Any], *names: str) -> None:
    if any(_text(record, name) is None for name in names):
        raise BadRecord("missing_field")


def _words(record: dict[str, Any], *names: str) -> str:
    return " ".join(text for name in names if (text := _text(record, name)))


def _id_or_sqs_id(record: dict[str, Any]) -> str | None:
    """A message without an id of its own is known by SQS's."""
    message_id = _text(record, "message_id")
    sqs_id = _text(record, "sqs_message_id")
    return f"sqs:{sqs_id}" if message_id is None and sqs_id is not None else message_id


def _numbers(text: str) -> tuple[int, int]:
    """Two numbers in place of a text: comparing them is cheap.

    Two texts that give the same are as unlikely as two with the same 128 bits of a hash.
    """
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
    return int.from_bytes(digest[:8], signed=True), int.from_bytes(digest[8:], signed=True)


def _sent(record: dict[str, Any]) -> Facts:
    message_id = _id_or_sqs_id(record)
    if message_id is None:
        raise BadRecord("missing_field")
    return message_id, int(Code.SENT), None, None, "accepted by SQS"


_ENDS: Final = {
    "started": int(Code.STARTED),
    "suppressed": int(Code.SUPPRESSED),
    "failed": int(Code.FAILED),
}
_REASONS: Final = {reason: int(code) for reason, code in REFUSED.items()}


def _delivery(record: dict[str, Any]) -> Facts:
    _needed(record, "end")
    end, what = record["end"], _words(record, "end", "reason")
    if end in ("started", "suppressed"):
        _needed(record, "message_id", "fingerprint")
        if len(record["fingerprint"]) != 64:
            raise BadRecord("wrong_type")
        return record["message_id"], _ENDS[end], *_numbers(record["fingerprint"]), what
    message_id, code = _id_or_sqs_id(record), _ENDS.get(end)
    if end == "refused":
        _needed(record, "reason")
        if message_id is None:
            raise BadRecord("missing_field")
        code = _REASONS.get(record["reason"])
    return message_id, code, None, None, what


_CLOSED: Final = {
    "performed": int(Code.CLOSED_PERFORMED),
    "found": int(Code.CLOSED_FOUND),
    "resolved": int(Code.CLOSED_RESOLVED),
    "rejected": int(Code.CLOSED_REJECTED),
    "dead_letter": int(Code.ROW_DEAD_LETTER),
}
_STATUSES: Final = {
    "RUNNING": int(Code.RUNNING),
    **dict.fromkeys(("FAILED", "TIMED_OUT", "ABORTED"), int(Code.CLOSED_FAILED)),
}


def _execution(record: dict[str, Any]) -> Facts:
    status, outcome = _text(record, "status"), _text(record, "outcome")
    code = _STATUSES.get(status or "")
    if status == "SUCCEEDED":
        told = outcome if outcome in ("performed", "resolved") else "found"
        code = _CLOSED[told]
    elif status == "FAILED" and record.get("error") == OPERATOR_REJECTED:
        code = _CLOSED["rejected"]
    what = _words(record, "status", "outcome", "error")
    return _text(record, "message_id"), code, None, None, what  # of no message: started by hand


def _row(record: dict[str, Any]) -> Facts:
    _needed(record, "message_id")
    status, outcome = _text(record, "status"), _text(record, "outcome")
    code = _CLOSED.get(outcome or "") if status == "COMPLETE" else None
    if status == "IN_PROGRESS":
        code = int(Code.ROW_IN_PROGRESS)
    return record["message_id"], code, None, None, _words(record, "status", "outcome")


def _effect(record: dict[str, Any]) -> Facts:
    """Its number is compared inside one message only: is this the same effect, exported again?

    Without a name of its own there is no telling, and no number.
    """
    _needed(record, "message_id")
    effect_id = _text(record, "effect_id") or _text(record, "appointment_id")
    if effect_id is None and "stream" not in record:  # an item always has one
        raise BadRecord("missing_field")
    number = _numbers(effect_id)[0] if effect_id else None
    return record["message_id"], int(Code.EFFECT), number, None, effect_id or "an effect"


_DECISIONS: Final = {
    "retry": int(Code.DECIDED_RETRY),
    "perform": int(Code.DECIDED_RETRY),
    "resolve": int(Code.DECIDED_RESOLVE),
    "reject": int(Code.DECIDED_REJECT),
}


def _dead_letter(record: dict[str, Any]) -> Facts:
    _needed(record, "message_id")
    event, decision = _text(record, "event"), _text(record, "decision")
    code = _DECISIONS.get(decision or "") if event == "decided" else None
    if event == "posted":
        code = int(Code.POSTED)
    what = _words(record, "event", "decision", "reason", "error", "note", "decided_by")
    return record["message_id"], code, None, None, what


_TELLS: Final[dict[str, Callable[[dict[str, Any]], Facts]]] = {
    "sent": _sent,
    "deliveries": _delivery,
    "executions": _execution,
    "rows": _row,
    "effects": _effect,
    "dead_letters": _dead_letter,
}

# Workers get these functions themselves, so that a server needs nothing of this project installed.
for _module in (__name__, strict_json.__name__):
    cloudpickle.register_pickle_by_value(sys.modules[_module])  # type: ignore[no-untyped-call]
