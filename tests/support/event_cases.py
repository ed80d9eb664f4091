"""What each event of events/ does to a fresh stack; events/README.md says it to people."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).resolve().parents[2] / "events"


def read_event(name: str) -> dict[str, Any]:
    """The event in a file of events/, by its name without `.json`."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return event


@dataclass(frozen=True, slots=True)
class StarterCase:
    """An event for StarterFunction.

    Attributes:
        event: its name.
        started: how many executions there are in the end.
        suppressed: how many of its records only found an execution.
        refused: the reasons in UnstartedQueue, sorted.
        fingerprint_row: the item, in events/rows/, that must be in the Fingerprints table before.
        parameters: the stack's, of where the id and the content are.
    """

    event: str
    started: int = 0
    suppressed: int = 0
    refused: tuple[str, ...] = ()
    fingerprint_row: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.event


STARTER_CASES = [
    StarterCase("one_message", started=1),
    StarterCase("batch", started=10),
    StarterCase("mixed_batch", started=2, suppressed=1, refused=("no_message_id", "not_json")),
    StarterCase("not_json", refused=("not_json",) * 5),
    StarterCase("no_message_id", refused=("no_message_id",) * 8),
    StarterCase("too_large", refused=("too_large",)),
    StarterCase("conflict_pair", started=1, refused=("conflict",)),
    StarterCase(
        "too_old_to_tell", refused=("too_old_to_tell",), fingerprint_row="rows/too_old_to_tell"
    ),
    StarterCase("other_memory", refused=("other_memory",), fingerprint_row="rows/other_memory"),
    StarterCase("odd_ids", started=9),
    StarterCase("fifo_groups", started=4),
    StarterCase("integer_id", started=1, refused=("conflict",)),
    StarterCase(
        "sns",
        started=1,
        suppressed=1,
        parameters={
            "MESSAGE_ID_FROM": "body:MessageAttributes.request_id.Value",
            "CONTENT_FROM": "Message",
        },
    ),
    StarterCase(
        "sns_raw",
        started=1,
        suppressed=1,
        parameters={"MESSAGE_ID_FROM": "attribute:request_id"},
    ),
    StarterCase(
        "s3",
        started=1,
        suppressed=1,
        refused=("no_message_id",),
        parameters={
            "MESSAGE_ID_FROM": "body:join(',', Records[].join('/', "
            "[s3.bucket.name, s3.object.key, s3.object.sequencer]))",
            "CONTENT_FROM": "Records[].s3.object",
        },
    ),
    StarterCase(
        "eventbridge",
        started=1,
        suppressed=1,
        parameters={"MESSAGE_ID_FROM": "body:detail.request_id", "CONTENT_FROM": "detail"},
    ),
]

DUPLICATES = ["duplicate_sent_again", "duplicate_delivered_again"]
"""Of `one_message`: events that start nothing once it has been handled."""

EFFECT_EVENTS = [
    "effect_perform",
    "effect_find",
    "effect_find_nothing",
    "effect_perform_rejected",
    "effect_perform_closed_book",
]
