"""Taking a message's content out of the records in the bucket, so that they say the same of it.

Only three streams hold more of a message than its id and what became of it: `executions`, whose
events have the body, the effect's answer and the text of an exception; `dead_letters`, where a
person wrote a note; `effects`, whose exported items are the effect's own.

Invariant: what the audit judges by stays, so that no message is lost, or acted on twice, by it.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

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
class Held:
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


def held(s3: "S3Client", bucket: str, message_id: str, since: date | None) -> list[Held]:
    """The files that hold content of a message, or may.

    Args:
        s3: a client.
        bucket: of the records.
        message_id: as the stack's tables keep it.
        since: no record of the message is in a folder of before; None: that is not known.
    """
    read = (_read(s3, bucket, key, message_id)[1] for key in _keys(s3, bucket, since))
    return [one for one in read if one.lines or one.unread]


def erase(s3: "S3Client", bucket: str, key: str, message_id: str) -> int:
    """Write one file anew without the message's content; how many lines are other ones now.

    Whoever reads it meanwhile has the old file or the new one, whole. Repeated, it changes nothing.

    Raises:
        Failed: somebody else wrote the file at the same time; it is theirs.
    """
    content, one = _read(s3, bucket, key, message_id)
    if one.lines:
        try:
            s3.put_object(Bucket=bucket, Key=key, Body=content, IfMatch=one.version)
        except ClientError as error:
            if error_code(error) not in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise
            raise Failed(
                f"s3://{bucket}/{key} was written by another at this moment; what was erased "
                "before it stays erased. Give the same command again."
            ) from error
    return one.lines


def _keys(s3: "S3Client", bucket: str, since: date | None) -> Iterator[str]:
    pages = s3.get_paginator("list_objects_v2")
    for stream in ("executions", "dead_letters", "effects"):
        for page in pages.paginate(Bucket=bucket, Prefix=f"{stream}/"):
            for one in page.get("Contents", []):
                day = re.search(r"/dt=(\d{4}-\d\d-\d\d)/", one["Key"])
                if since is None or day is None or day[1] >= since.isoformat():
                    yield one["Key"]


def _read(s3: "S3Client", bucket: str, key: str, message_id: str) -> tuple[bytes, Held]:
    """A file as it is without the message's content, and what it holds as yet."""
    answer = s3.get_object(Bucket=bucket, Key=key)
    content, version = answer["Body"].read(), answer["ETag"]
    packed = content.startswith(_GZIP)
    try:
        plain = gzip.decompress(content) if packed else content
    except (OSError, EOFError, zlib.error):
        return content, Held(key, version, 0, 1)
    plain, lines, unread = without_content(plain, message_id)
    if lines:
        content = gzip.compress(plain, mtime=0) if packed else plain
    return content, Held(key, version, lines, unread)


def without_content(records: bytes, message_id: str) -> tuple[bytes, int, int]:
    """Lines of records without a message's content.

    Returns:
        The lines; how many of them are other ones; how many may be of the message, and were left
        as they are, because they are no strict JSON.
    """
    name = execution_name(message_id)
    # A name is the same text however JSON writes it; an id that is no name may be written in more
    # than one way, and no line can be passed over by its text.
    sign = name.encode() if name == message_id else b""
    if sign not in records:
        return records, 0, 0
    lines, changed, unread = records.split(b"\n"), 0, 0
    for number, line in enumerate(lines):
        if sign not in line:
            continue
        try:
            values = list(_values(line.decode("utf-8-sig")))
            erased = [_erased(value, message_id, name) for value in values]
        except (ValueError, RecursionError):
            unread += 1
            continue
        if erased != values:
            changed += 1
            lines[number] = b"".join(json.dumps(one).encode() for one in erased)
    return b"\n".join(lines), changed, unread


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
