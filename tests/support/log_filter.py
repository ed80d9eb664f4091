"""Which lines of a log a subscription's filter pattern lets through, as CloudWatch Logs decides it.

Source: "Filter pattern syntax", Amazon CloudWatch Logs User Guide. Of patterns for JSON:
comparisons by `=` and `!=`, joined by `&&` or by `||`. What else a pattern may hold is refused.
"""

import json
import re
from fnmatch import fnmatchcase
from typing import Any

_COMPARISON = re.compile(r'\$\.([\w.]+)\s*(!?=)\s*(?:"([^"*]*)"|([\w.*-]+))')


def lets_through(pattern: str, line: str) -> bool:
    """Whether a line of a log goes to whom the subscription is for."""
    inner = re.fullmatch(r"\s*\{(.*)\}\s*", pattern)
    assert inner, f"{pattern} is no pattern for JSON"
    try:
        parsed = json.loads(line)
    except ValueError:
        return False
    joined = set(re.findall(r"&&|\|\|", inner[1]))
    assert len(joined) <= 1, f"{pattern} mixes && with ||"
    answers = [_holds(part, parsed) for part in re.split(r"&&|\|\|", inner[1])]
    return any(answers) if joined == {"||"} else all(answers)


def _holds(comparison: str, line: Any) -> bool:
    """A field that is not there is neither equal to a value nor different from it."""
    found = _COMPARISON.fullmatch(comparison.strip())
    assert found, f"{comparison} is not understood here"
    path, operator, quoted, bare = found.groups()
    for name in path.split("."):
        if not isinstance(line, dict) or line.get(name) is None:
            return False
        line = line[name]
    text = line if isinstance(line, str) else json.dumps(line)
    is_equal = text == quoted if bare is None else fnmatchcase(text, bare)
    return is_equal is (operator == "=")
