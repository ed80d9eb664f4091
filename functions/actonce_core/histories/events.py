"""Events of GetExecutionHistory, and their contents."""

import json
from collections.abc import Mapping
from typing import Any

Event = Mapping[str, Any]
"""An event of GetExecutionHistory."""


def details(event: Event) -> Mapping[str, Any]:
    """An event's details (`taskFailedEventDetails` or the like), of which it has one at most."""
    for name, value in event.items():
        if name.endswith("EventDetails"):
            return value  # type: ignore[no-any-return]
    return {}


def json_object(text: Any) -> dict[str, Any]:
    """A JSON object; empty for anything else."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
