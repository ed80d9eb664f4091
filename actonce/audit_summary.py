"""The audit's `summary.json`, read from where an audit wrote it: a folder, or a bucket."""

import json
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError

from actonce.errors import Failed, WrongUse
from actonce.s3_uri import bucket_and_prefix
from actonce.target import find_aws
from actonce.whereabouts import Chosen

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
    text = _from_bucket(results, at) if "://" in results else _from_folder(Path(results))
    if text is None:
        raise WrongUse(f"{results} holds no {_NAME}: name the folder that an audit wrote.")
    try:
        summary = json.loads(text)
    except ValueError as error:
        raise Failed(f"{_NAME} of {results} is no JSON ({error}): run the audit again.") from error
    if not isinstance(summary, dict):
        raise Failed(f"{_NAME} of {results} is no summary: run the audit again.")
    return summary


def _from_folder(folder: Path) -> bytes | None:
    try:
        return (folder / _NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _from_bucket(uri: str, at: Chosen) -> bytes | None:
    bucket, prefix = bucket_and_prefix(uri)
    try:
        answer = find_aws(at).client("s3").get_object(Bucket=bucket, Key=prefix + _NAME)
    except ClientError as error:
        if error.response["Error"]["Code"] in {"NoSuchKey", "NoSuchBucket"}:
            return None
        raise
    content: bytes = answer["Body"].read()
    return content
