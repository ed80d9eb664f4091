"""What an `s3://` URI names."""

import re
from typing import Final

from actonce.terminal.errors import UsageError

_BUCKET: Final = re.compile(r"s3[an]?://(?P<bucket>[^/]+)/(?P<prefix>(?:.+/)?)")


def bucket_and_prefix(uri: str) -> tuple[str, str]:
    """The bucket and the prefix, empty or with a slash at its end, of `s3://bucket/prefix/`.

    Spark's `s3a://` names the same.

    Raises:
        UsageError: it is none.
    """
    match = _BUCKET.fullmatch(uri if uri.endswith("/") else f"{uri}/")
    if match is None:
        raise UsageError(f"{uri} names no bucket: write s3://bucket/ or s3://bucket/prefix/.")
    return match["bucket"], match["prefix"]
