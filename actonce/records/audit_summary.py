"""The audit's `summary.json`, read from where an audit wrote it: a folder, or a bucket."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from actonce.records.record_places import place
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_aws
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.records import timestamp
from pipeline.audit.reading.effects import moment
from pipeline.audit.reading.places import is_uri

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
    summary = summary_in(results, find_aws(at) if is_uri(results) else None)
    if summary is None:
        raise WrongUse(f"{results} holds no {_NAME}: name the folder that an audit wrote.")
    return summary


def summary_in(results: str, aws: Aws | None) -> dict[str, Any] | None:
    """The summary of an audit in a folder, or below `s3://bucket/prefix/`; None: there is none.

    Args:
        results: the folder's name.
        aws: where the bucket is; None: it is a folder here.

    Raises:
        WrongUse: the URI names no bucket.
        Failed: there is one that cannot be read.
    """
    text = place(results, aws).read(_NAME)
    if text is None:
        return None
    try:
        summary = json.loads(text)
    except ValueError as error:
        raise Failed(f"{_NAME} of {results} is no JSON ({error}): run the audit again.") from error
    if not isinstance(summary, dict):
        raise Failed(f"{_NAME} of {results} is no summary: run the audit again.")
    return summary


def has_ended(summary: Mapping[str, Any]) -> bool:
    """Whether the audit has come to its end, and so says anything of the records."""
    return summary.get("exit_status") != NOT_AUDITED


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
    summary = summary_in(results, stack.aws)
    if summary is None:
        return None
    made, created = moment(summary.get("generated_at")), stack.created_at()
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
