"""Log lines that a terminal can be shown: `aws logs tail` prints them as they are.

Ids and errors are written by others. JSON escapes ESC by itself, but not what Powertools leaves
legible with every other letter: the C1 controls, and the characters that turn a line around.
"""

import json
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger


def logger() -> Logger:
    """The functions' structured logger."""
    return Logger(json_serializer=log_line)


def log_line(record: Mapping[str, Any]) -> str:
    """A record as JSON on one line, legible where every character can be seen, else in ASCII.

    Parsed, both are the same record. What is not JSON's is written as its text.
    """
    line = json.dumps(record, ensure_ascii=False, default=str, separators=(",", ":"))
    if line.isprintable():
        return line
    line = json.dumps(record, default=str, separators=(",", ":"))
    return line.replace("\x7f", "\\u007f")
