"""The audit's `summary.json`, read from where an audit wrote it: a folder, or a bucket."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from actonce.messages.own_effects import moment
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_aws
from actonce.terminal.errors import Failed, WrongUse
from actonce.terminal.s3_uri import bucket_and_prefix
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NOT_AUDITED: Final = 2
"""`exit_status` of an audit that has not come to its end: its summary has a sentence, and no days,
verdicts or alarms."""

SEVERITIES: Final[Mapping[Any, str]] = {
    0: "clean",
    1: "alarms",
    NOT_AUDITED: "not audited",
    3: "not whole",
    4: "on trust",
}
"""What each `exit_status` of an audit is called; see `pipeline.audit.request.Status`."""

_NAME: Final = "summary.json"
_NOT_CHOSEN: Final = Chosen()


def read_summary(results: str, at: Chosen = _NOT_CHOSEN) -> dict[str, Any]:
    """The summary of an audit.

    Args:
        results: the audit's results, a folder or `s3://bucket/prefix/`.
        at: where the bucket is.

    Raises:
        WrongUse: there is none.
        Failed: there is one that cannot be read.
    """
    if "://" in results:
        summary = of_bucket(find_aws(at).client("s3"), results)
    else:
        summary = of_folder(Path(results))
    if summary is None:
        raise WrongUse(f"{results} holds no {_NAME}: name the folder that an audit wrote.")
    return summary


def has_ended(summary: Mapping[str, Any]) -> bool:
    """Whether the audit has come to its end, and so says anything of the records."""
    return summary.get("exit_status") != NOT_AUDITED


def of_folder(folder: Path) -> dict[str, Any] | None:
    """The summary of an audit in a folder; None: there is none.

    Raises:
        Failed: there is one that cannot be read.
    """
    try:
        text = (folder / _NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _parsed(text, str(folder))


def of_bucket(s3: "S3Client", uri: str) -> dict[str, Any] | None:
    """The summary of an audit below `s3://bucket/prefix/`; None: there is none.

    Raises:
        WrongUse: the URI names no bucket.
        Failed: there is one that cannot be read.
    """
    bucket, prefix = bucket_and_prefix(uri)
    try:
        answer = s3.get_object(Bucket=bucket, Key=prefix + _NAME)
    except ClientError as error:
        if error.response["Error"]["Code"] in {"NoSuchKey", "NoSuchBucket"}:
            return None
        raise
    return _parsed(answer["Body"].read(), uri)


def last_of(stack: Stack, own: Path | None) -> tuple[str, dict[str, Any]] | None:
    """The place of a stack's last audit, and its summary; None: there is none.

    A summary does not say whose it is: it is the stack's where it lies in the stack's own bucket or
    in the folder that is said to be, and was made after the stack was.

    Args:
        stack: whose.
        own: the folder of an audit's results that are of this stack; None: what its daily audit
            left counts.

    Raises:
        Failed: there is one that cannot be read, does not say when it was made, or was made before
            the stack.
        ClientError: AWS says no.
    """
    bucket = stack.outputs.get("AuditBucketName")
    if own is not None:
        place, summary = f"{own}/", of_folder(own)
    elif bucket is not None:
        place = f"s3://{bucket}/audit/"
        summary = of_bucket(stack.aws.client("s3"), place)
    else:
        return None
    if summary is None:
        return None
    made, created = moment(summary.get("generated_at")), stack.created_at()
    if made is None:
        raise Failed(f"The audit in {place} does not say when it was made: run the audit again.")
    if made < created:
        raise Failed(
            f"The audit in {place} is another stack's: it was made at {timestamp(made)}, before "
            f"this stack ({timestamp(created)}). Run the audit again."
        )
    return place, summary


def of_demo(stack: Stack) -> Path | None:
    """Where the results of the demo's audit are, if it is of what runs now."""
    paths = Paths.default()
    if stack.aws.endpoint_url is None:
        return None
    results = paths.records / "audit"
    try:
        is_of_now = (results / "summary.json").stat().st_mtime > paths.state.stat().st_mtime
    except OSError:
        return None
    return results if is_of_now else None


def _parsed(text: bytes, where: str) -> dict[str, Any]:
    try:
        summary = json.loads(text)
    except ValueError as error:
        raise Failed(f"{_NAME} of {where} is no JSON ({error}): run the audit again.") from error
    if not isinstance(summary, dict):
        raise Failed(f"{_NAME} of {where} is no summary: run the audit again.")
    return summary
