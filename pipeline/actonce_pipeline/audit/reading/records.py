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
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from actonce_core import strict_json
from actonce_core.execution import HASHED_NAME
from actonce_pipeline.audit.reading import effects
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import CLOCKS_DIFFER_MS, EXPORT_MANIFEST, PLACE
from actonce_pipeline.audit.reading.passed_over import is_control_message
from actonce_pipeline.audit.reading.row import Row
from actonce_pipeline.audit.reading.storage import HERE
from actonce_pipeline.audit.reading.streams import KNOWN_VERSION, OPERATOR_REJECTED, REFUSED, Code
from actonce_pipeline.audit.times import DAY_MS

_CLOSED_PERFORMED: Final = int(Code.CLOSED_PERFORMED)
_PERFORMED: Final = "performed"


_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"  # under another name
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_PIECE: Final = 2**20
_LOG_GROUP: Final = "\0logGroup"  # beside the fields of a line that came in a batch of Logs

# Where one object ends and the next begins. Inside a JSON string no quotation mark is bare, and
# after a string's end no letter follows, so this is never inside a record.
_SEAM: Final = re.compile(r'(?<=\})\s*(?=\{\s*"[A-Za-z][A-Za-z_-]*"\s*:)', re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_EARLIEST_MS: Final = 946_684_800_000  # 2000; an earlier time is none, or in other units
_WORDS: Final = 500  # characters of what a record says
_EXPORTED: Final = int(Code.EXPORTED)
_OF_ANOTHER: Final = int(Code.OF_ANOTHER)


class BadRecord(Exception):
    """What is wrong with a record, in a word."""


def rows_of(
    path: str, content: bytes | None = None, *, attributes: Attributes | None = None
) -> Iterator[Row]:
    """The rows of a file.

    Args:
        path: as it is listed: its folders tell the stream and the day.
        content: of the file; None: it is a file here.
        attributes: the attributes of an effect that a team keeps; None: nobody says.
    """
    stream, folder = _placed(path)

    def opened() -> BinaryIO:
        here = Path(path.removeprefix(HERE))
        return here.open("rb") if content is None else io.BytesIO(content)

    if broken := _broken(path, opened):
        yield _unread(path, None, broken)
        return
    # What arrived on a day happened before its end.
    too_late = _milliseconds(f"{folder}T00:00:00Z") + DAY_MS + CLOCKS_DIFFER_MS
    is_manifest = stream == "effects" and EXPORT_MANIFEST.match(path) is not None
    with opened() as source:
        for number, raw in enumerate(_unpacked(source), 1):
            line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            try:
                objects = _objects(line.decode("utf-8"))
            except UnicodeDecodeError:
                yield _unread(path, number, "not_utf8")
                continue
            for value in objects:
                try:
                    row = (
                        _row_of_manifest(folder, value)
                        if is_manifest
                        else _row_of(stream, folder, too_late, value, attributes)
                    )
                except BadRecord as problem:
                    row = _unread(path, number, str(problem))
                if row is not None:
                    yield row
                    if row.description == _PERFORMED and row.stream == "deliveries":
                        # A first attempt's end stands for what an execution says of its own.
                        yield row._replace(code=_CLOSED_PERFORMED, identity=None)


def rows_of_line(
    path: str, line: str | None, problem: str | None, *, attributes: Attributes | None
) -> Iterator[Row]:
    """The row of what `parquet.lines_of` tells."""
    if line is None:
        yield _unread(path, None, problem)
        return
    for row in rows_of(path, line.encode(), attributes=attributes):
        yield row._replace(line=None)


def _placed(path: str) -> tuple[str, str]:
    """The stream and the day of a file that is listed."""
    place = re.search(PLACE, path)
    assert place  # noqa: S101
    return place[1], place[2]


def _unread(path: str, line: int | None, problem: str | None) -> Row:
    stream, folder = _placed(path)
    return Row(stream=stream, folder=folder, file=path, line=line, problem=problem)


def _row_of_manifest(folder: str, value: Any) -> Row | None:
    """Whose an export is; None: it does not say. A record among what it says is none."""
    if not isinstance(value, dict) or value.keys() & {*_ITEM, "stream"}:
        raise BadRecord("not_a_record")
    if (table := _text(value, "tableArn")) is None:
        return None
    return Row(code=_EXPORTED, stream="effects", source=f"table {table}", folder=folder)


class _Form(NamedTuple):
    """What a stream's records say.

    Attributes:
        tells: fields whose values say what happened; a record has the first of them.
        codes: by their values, or by the first one alone.
        beside: fields that are shown, too.
    """

    tells: tuple[str, ...]
    codes: Mapping[tuple[str, ...], int]
    beside: tuple[str, ...] = ()


_FORMS: Final = {
    "sent": _Form((), {(): int(Code.SENT)}),
    "deliveries": _Form(
        ("end", "reason"),
        {
            ("started",): int(Code.STARTED),
            (_PERFORMED,): int(Code.STARTED),  # and what `rows_of` adds
            ("suppressed",): int(Code.SUPPRESSED),
            ("failed",): int(Code.FAILED),
            **{("refused", reason): code for reason, code in REFUSED.items()},
        },
    ),
    "executions": _Form(
        ("status", "outcome", "error"),
        {
            ("RUNNING",): int(Code.RUNNING),
            ("SUCCEEDED",): int(Code.CLOSED_FOUND),
            ("SUCCEEDED", "performed"): int(Code.CLOSED_PERFORMED),
            ("SUCCEEDED", "resolved"): int(Code.CLOSED_RESOLVED),
            ("FAILED",): int(Code.CLOSED_FAILED),
            ("FAILED", OPERATOR_REJECTED): int(Code.CLOSED_REJECTED),
            ("TIMED_OUT",): int(Code.CLOSED_FAILED),
            ("ABORTED",): int(Code.CLOSED_FAILED),
        },
    ),
    "effects": _Form((), {(): int(Code.EFFECT)}),
    "dead_letters": _Form(
        ("event", "decision"),
        {
            ("posted",): int(Code.POSTED),
            ("decided", "retry"): int(Code.DECIDED_RETRY),
            ("decided", "perform"): int(Code.DECIDED_RETRY),
            ("decided", "resolve"): int(Code.DECIDED_RESOLVE),
            ("decided", "reject"): int(Code.DECIDED_REJECT),
        },
        ("reason", "error", "note", "decided_by"),
    ),
}


def _row_of(
    stream: str, folder: str, too_late: int, value: Any, attributes: Attributes | None
) -> Row:
    """The row of a value.

    Raises:
        BadRecord: it is no record.
    """
    record = _plain(stream, value, attributes)
    if record is None:
        return Row(code=_OF_ANOTHER, stream=stream, folder=folder)
    form = _FORMS[stream]
    texts = tuple(_texts(record, form.tells))
    if form.tells and not _text(record, form.tells[0]):
        raise BadRecord("missing_field")
    code = form.codes.get(texts, form.codes.get(texts[:1]))
    message_id, identity = _id_of(stream, record, code), _identity_of(stream, record, code)
    at = _milliseconds(record["at"])
    if not _EARLIEST_MS <= at < too_late:
        raise BadRecord("impossible_time")
    if code is None:
        raise BadRecord("unknown_value")
    description = " ".join((*texts, *_texts(record, form.beside)))
    if stream in _UNSAID:
        description = _text(record, "effect_id") or _UNSAID[stream]
    return Row(
        message_id=message_id,
        at=at,
        code=code,
        identity=identity,
        description=description[:_WORDS],
        stream=stream,
        source=_source(record),
        folder=folder,
    )


_UNSAID: Final = {"sent": "accepted by SQS", "effects": "an effect"}
_ACCEPTED: Final = (int(Code.STARTED), int(Code.SUPPRESSED))
_FAILED: Final = int(Code.FAILED)


def _id_of(stream: str, record: dict[str, Any], code: int | None) -> str | None:
    """Which message it is of; that of a message without an id of its own is known by SQS's.

    Only an execution may have none, which somebody started by hand.
    """
    message_id, sqs_id = _text(record, "message_id"), _text(record, "sqs_message_id")
    is_unsaid = code == _FAILED and "message_id" not in record  # by an earlier release
    if message_id is not None or stream == "executions" or is_unsaid:
        return message_id
    if stream not in ("sent", "deliveries") or code in _ACCEPTED or sqs_id is None:
        raise BadRecord("missing_field")
    return f"sqs:{sqs_id}"


def _identity_of(stream: str, record: dict[str, Any], code: int | None) -> int | None:
    """A number for what is compared within one message: a delivery's content, or which effect.

    Comparing numbers is cheap. Of the two texts that one message may have, one in 2**64 gives the
    same. Nobody gains by looking for such a pair: the starter has compared whole fingerprints.
    """
    text = None
    if code in _ACCEPTED:
        if (text := _text(record, "fingerprint")) is None:
            raise BadRecord("missing_field")
        if len(text) != 64:
            raise BadRecord("wrong_type")
    elif stream == "effects":
        text = _text(record, "effect_id")
    if not text:
        return None
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _source(record: dict[str, Any]) -> str | None:
    """Whose a record is: its stack's state machine, or its log group."""
    if (group := _text(record, _LOG_GROUP)) is not None:
        return f"log group {group}"
    name = _text(record, "source") or _text(record, "stateMachineArn")
    return None if name is None else f"stack {name}"


def _broken(path: str, opened: Callable[[], BinaryIO]) -> str | None:
    """Why the file is set aside; reads a compressed one to its end."""
    try:
        with opened() as source:
            if source.read(len(_PARQUET)) == _PARQUET:
                return "unknown_format"
            source.seek(0)
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


def _plain(stream: str, value: Any, attributes: Attributes | None) -> dict[str, Any] | None:
    """The plain record, out of whichever envelope; None: another writer's, and no effect.

    Raises:
        BadRecord: it is none.
    """
    if not isinstance(value, dict):
        raise BadRecord("corrupt_line")
    own_stream = value.get("stream")
    if stream == "effects" and own_stream is None:
        return _of_effect(value, attributes)
    if stream == "executions" and "detail-type" in value:
        return _of_event(value.get("detail"))
    if own_stream != stream:
        raise BadRecord("not_a_record")
    if str(value.get("version")) != KNOWN_VERSION:
        raise BadRecord("unknown_version")
    if value.get("at") is None:
        raise BadRecord("missing_field")
    return value


_ITEM: Final = frozenset({"Metadata", "Keys", "NewImage", "OldImage", "Item"})
"""What a line of a DynamoDB export has."""


def _of_effect(value: dict[str, Any], attributes: Attributes | None) -> dict[str, Any] | None:
    """Of a DynamoDB export, or a line as a team writes it; an effect has a time."""
    if attributes is None or attributes.time is None:
        raise BadRecord("attributes_unknown")
    if value.keys() - _ITEM:
        if attributes.time not in value:
            raise BadRecord("missing_field")
        effect_id = _as_text(value.get(attributes.own_id))
        return _effect_of(value[attributes.time], value.get(attributes.key), effect_id)
    if "Item" in value:
        raise BadRecord("full_export")  # it has no Keys, which tell one effect from another
    keys, item = value.get("Keys"), value.get("NewImage") or value.get("OldImage")
    if not item:
        raise BadRecord("deleted_effect" if keys else "not_a_record")
    if not isinstance(item, dict) or not isinstance(keys, dict):
        raise BadRecord("wrong_type")
    try:
        time = effects.plain_attribute(item.get(attributes.time))
        key = None if time is None else effects.plain_attribute(item.get(attributes.key))
        effect_id = effects.effect_id_of(keys, attributes.key)
    except ValueError:
        raise BadRecord("wrong_type") from None
    return _effect_of(time, key, effect_id)


def _effect_of(time: Any, key: Any, effect_id: str | None) -> dict[str, Any] | None:
    if time is None:
        return None
    if (at := effects.parse_time(time)) is None:
        raise BadRecord("wrong_type")
    if not (message_id := _as_text(key)):
        raise BadRecord("missing_field")
    return {"message_id": message_id, "effect_id": effect_id, "at": (at - _EPOCH) // _MILLISECOND}


def _as_text(value: Any) -> str | None:
    """An id, which is a text or a number."""
    if isinstance(value, Decimal):
        return effects.exactly(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise BadRecord("wrong_type")
    if isinstance(value, float) and abs(value) < 2**53 and value.is_integer():
        value = int(value)  # as pandas has it of a column that is not always filled
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _of_event(detail: Any) -> dict[str, Any]:
    """Of EventBridge; where it left out a large input, the execution's name tells the id."""
    if not isinstance(detail, dict):
        raise BadRecord("not_a_record")
    status, given, output = (_text(detail, name) for name in ("status", "input", "output"))
    at = detail.get("stopDate")
    if status == "RUNNING":
        at = detail.get("redriveDate") or detail.get("startDate")
    message_id = _text(detail, "name")
    if given is None and HASHED_NAME.fullmatch(message_id or ""):
        raise BadRecord("hashed_id")
    if given is not None:
        try:
            parsed = strict_json.parse(given)
        except strict_json.NotJson:
            raise BadRecord("corrupt_line") from None
        own_id = parsed.get("message_id") if isinstance(parsed, dict) else None
        message_id = own_id if isinstance(own_id, str) else None
    fields = {"at": at, "message_id": message_id, "outcome": _outcome(output)}
    return detail | fields | {"source": None}


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


def _texts(record: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    """The fields that there are."""
    return (text for name in names if (text := _text(record, name)))
