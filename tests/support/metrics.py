"""The metrics of ActOnce's own that docs/observability.md tells."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "observability.md"

Metric = tuple[str, str, frozenset[str]]
"""Name, unit, dimensions."""

_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]+) \|", re.MULTILINE)


def reported_metrics() -> set[Metric]:
    """Of the page's table."""
    return {
        (name, unit, frozenset(re.findall(r"`(\w+)`", dimensions)))
        for name, unit, dimensions in _ROW.findall(PAGE.read_text("utf-8"))
    }
