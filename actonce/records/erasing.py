"""Taking a message's content out of the records in the bucket, so that they say the same of it.

Only three streams hold more of a message than its id and what became of it: `executions`, whose
events have the body, the effect's answer and the text of an exception; `dead_letters`, where a
person wrote a note; `effects`, whose exported items are the effect's own.

Invariant: what the audit judges by stays, so that no message is lost, or acted on twice, by it.
"""

import contextlib
import gzip
import io
import json
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import IO, TYPE_CHECKING, Any, Final, Literal, cast

from botocore.exceptions import ClientError

from actonce.terminal import output as console
from actonce.terminal.errors import Failed
from actonce_core import strict_json
from actonce_core.execution import execution_name
from actonce_core.histories.events import json_object
from actonce_core.transient import error_code

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_GZIP: Final = b"\x1f\x8b"
_JUDGED: Final = ("message_id", "appointment_id", "booked_at")  # of an exported item


@dataclass(frozen=True, slots=True)
class HoldingFile:
    """A file of records, and what it holds of a message.

    Attributes:
        key: of the object.
        version: S3's ETag of what was read.
        lines: how many hold content of the message.
        unread: how many may hold it, and are no JSON; the whole file, which is no gzip, is one.
    """

    key: str
    version: str
    lines: int
    unread: int


def held(s3: "S3Client", bucket: str, message_id: str, since: date | None) -> list[HoldingFile]:
    """The files that hold content of a message, or may; read line by line.

    Args:
        s3: a client.
        bucket: of the records.
        message_id: as the stack's tables keep it.
        since: no record of the message is in a folder of before; None: that is not known.
    """
    keys, found = list(_keys(s3, bucket, since)), []
    with console.progress("Reading records", len(keys)) as bar:
        for number, key in enumerate(keys, 1):
            one = _copied(s3, bucket, key, message_id)
            found += [one] if one.lines or one.unread else []
            bar.update(number)
    return found


def erase(s3: "S3Client", bucket: str, keys: Sequence[str], message_id: str) -> int:
    """Write files anew without the message's content; how many lines are other ones now.

    Whoever reads one meanwhile has the old file or the new one, whole. Repeated, it changes
    nothing. The new one is written to a temporary file here first, and none is held in memory.

    Raises:
        Failed: somebody else wrote a file at the same time; it is theirs.
    """
    lines = 0
    with console.progress("Erasing", len(keys)) as bar:
        for number, key in enumerate(keys, 1):
            with tempfile.TemporaryFile() as new:
                one = _copied(s3, bucket, key, message_id, new)
                if one.lines:
                    new.seek(0)
                    _replace(s3, bucket, one, new)
            lines += one.lines
            bar.update(number)
    return lines


def _replace(s3: "S3Client", bucket: str, one: HoldingFile, new: IO[bytes]) -> None:
    try:
        s3.put_object(Bucket=bucket, Key=one.key, Body=new, IfMatch=one.version)
    except ClientError as error:
        if error_code(error) not in ("PreconditionFailed", "ConditionalRequestConflict"):
            raise
        raise Failed(
            f"s3://{bucket}/{one.key} was written by another at this moment; what was erased "
            "before it stays erased. Give the same command again."
        ) from error


def _keys(s3: "S3Client", bucket: str, since: date | None) -> Iterator[str]:
    pages = s3.get_paginator("list_objects_v2")
    for stream in ("executions", "dead_letters", "effects"):
        for page in pages.paginate(Bucket=bucket, Prefix=f"{stream}/"):
            for one in page.get("Contents", []):
                day = re.search(r"/dt=(\d{4}-\d\d-\d\d)/", one["Key"])
                if since is None or day is None or day[1] >= since.isoformat():
                    yield one["Key"]


def _copied(
    s3: "S3Client", bucket: str, key: str, message_id: str, new: IO[bytes] | None = None
) -> HoldingFile:
    """What a file holds of the message as yet; without that, and packed alike, it goes to `new`."""
    answer = s3.get_object(Bucket=bucket, Key=key)
    told: Counter[str] = Counter()
    with contextlib.ExitStack() as opened:
        body = cast("io.RawIOBase", answer["Body"])
        source: io.BufferedReader[io.RawIOBase] | gzip.GzipFile = opened.enter_context(
            io.BufferedReader(body)
        )
        to: IO[bytes] | gzip.GzipFile | None = new
        if source.peek(len(_GZIP)).startswith(_GZIP):
            source = gzip.GzipFile(fileobj=source)
            if new is not None:
                to = opened.enter_context(gzip.GzipFile("", "wb", fileobj=new, mtime=0))
        try:
            for line, what in without_content(source, message_id):
                told[what] += 1
                if to is not None:
                    to.write(line)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return HoldingFile(key, answer["ETag"], 0, 1)
    return HoldingFile(key, answer["ETag"], told["erased"], told["unread"])


def without_content(
    records: Iterable[bytes], message_id: str
) -> Iterator[tuple[bytes, Literal["kept", "erased", "unread"]]]:
    """Lines of records without a message's content, and what became of each.

    One that may be of the message and is no strict JSON is `unread`, and as it was.
    """
    name = execution_name(message_id)
    # A name is the same text however JSON writes it; an id that is no name may be written in more
    # than one way, and no line can be passed over by its text.
    sign = name.encode() if name == message_id else b""
    for line in records:
        if sign not in line:
            yield line, "kept"
            continue
        try:
            values = list(_values(line.decode("utf-8-sig")))
            erased = [_erased(value, message_id, name) for value in values]
        except (ValueError, RecursionError):
            yield line, "unread"
            continue
        if erased == values:
            yield line, "kept"
        else:
            end = b"\n" if line.endswith(b"\n") else b""
            yield b"".join(json.dumps(one).encode() for one in erased) + end, "erased"


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a line, on which Firehose may put several; strict, as the audit's are."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        _, end = decoder.raw_decode(rest)
        yield strict_json.parse(rest[:end])
        rest = rest[end:].lstrip()


def _erased(value: Any, message_id: str, name: str) -> Any:
    """A record without content, if it is the message's; else as it is."""
    if not isinstance(value, dict):
        return value
    detail = value.get("detail")
    if isinstance(detail, dict) and detail.get("name") == name:
        return value | {"detail": _of_event(detail)}
    if value.get("stream") == "dead_letters" and value.get("execution_name") == name:
        return value | {"note": None}
    for image in ("Item", "NewImage", "OldImage"):
        item = value.get(image)
        if isinstance(item, dict) and item.get("message_id") == {"S": message_id}:
            value = value | {image: {one: item[one] for one in _JUDGED if one in item}}
    return value


def _of_event(detail: dict[str, Any]) -> dict[str, Any]:
    """A status change: of the input its message's id is left, of the output the outcome."""
    erased = detail | ({"cause": None} if detail.get("cause") else {})
    for field, judged in (("input", "message_id"), ("output", "outcome")):
        if detail.get(field):
            told = json_object(detail[field])
            erased[field] = json.dumps({judged: told[judged]} if judged in told else {})
    return erased
