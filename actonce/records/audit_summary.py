"""The audit's `summary.json`, read from where an audit wrote it: a folder, or a bucket."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError

from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from actonce.terminal.s3_uri import bucket_and_prefix
from actonce_core.records import timestamp
from actonce_core.transient import error_code
from actonce_pipeline.audit.reading.effects import parse_time
from actonce_pipeline.audit.reading.storage import place
from actonce_pipeline.audit.request import Status

SEVERITIES: Final[Mapping[Any, str]] = {
    int(status): status.name.lower().replace("_", " ") for status in Status
}
"""What each `exit_status` of an audit is called."""

_NAME: Final = "summary.json"


def read_summary(results: str, aws: Aws | None) -> dict[str, Any] | None:
    """The summary of an audit; None: there is none.

    Args:
        results: the audit's results, a folder or `s3://bucket/prefix/`.
        aws: that has the bucket; None: it is a folder.

    Raises:
        Failed: there is one that cannot be read.
    """
    text = place(None, results).read(_NAME) if aws is None else _in_bucket(results, aws)
    if text is None:
        return None
    try:
        summary = json.loads(text)
    except ValueError as error:
        raise Failed(f"{_NAME} of {results} is no JSON ({error}): run the audit again.") from error
    if not isinstance(summary, dict):
        raise Failed(f"{_NAME} of {results} is no summary: run the audit again.")
    return summary


def _in_bucket(results: str, aws: Aws) -> str | None:
    bucket, prefix = bucket_and_prefix(results)
    try:
        answer = aws.client("s3").get_object(Bucket=bucket, Key=prefix + _NAME)
    except ClientError as error:
        if error_code(error) in {"NoSuchKey", "NoSuchBucket"}:
            return None
        raise
    return str(answer["Body"].read(), "utf-8", "replace")


def has_ended(summary: Mapping[str, Any]) -> bool:
    """Whether the audit has come to its end; else it has a sentence, and nothing of the records."""
    return summary.get("exit_status") != Status.NOT_AUDITED


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
        results = f"{own}/"
    elif bucket is not None:
        results = f"s3://{bucket}/audit/"
    else:
        return None
    summary = read_summary(results, None if own is not None else stack.aws)
    if summary is None:
        return None
    made, created = parse_time(summary.get("generated_at")), stack.created_at()
    if made is None:
        raise Failed(f"The audit in {results} does not say when it was made: run the audit again.")
    if made < created:
        raise Failed(
            f"The audit in {results} is another stack's: it was made at {timestamp(made)}, before "
            f"this stack ({timestamp(created)}). Run the audit again."
        )
    return results, summary


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
