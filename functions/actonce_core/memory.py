"""Who wrote a row of the Fingerprints table."""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
"""A row as DynamoDB gives it: `{attribute: {type: value}}`."""


def way_of(row: Row) -> str | None:
    """`ledger` or `lease`, whichever wrote the row last; None: neither."""
    return str(row["memory"]["S"]) if "status" in row else None
