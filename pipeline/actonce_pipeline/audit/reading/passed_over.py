"""What is not read, and not counted as unread: all of it. None of it can hold an effect.

Empty marks have no content; an export's checksums are shorter than an effect; the results' folder
is the audit's own, and no stream's; a control message of CloudWatch's says so in each line.
Blank lines are the rest. Items of others in the effects' table are counted: `Code.OF_ANOTHER`.
"""

import re
from typing import Any, Final

from actonce_pipeline.audit.reading.storage import ListedFile

HIDDEN: Final = re.compile(r"(^|/)[_.]")
HALF_COPIED: Final = "._COPYING_"  # what Hadoop is still writing, and hides
_CHECKSUMS: Final = re.compile(
    r"effects/dt=[^/]+/(.+/)?AWSDynamoDB/[^/]+/manifest-(summary|files)\.(md5|checksum)$", re.DOTALL
)
_LONGEST_CHECKSUM: Final = 64
_CONTROL: Final = re.compile(r"CWL CONTROL MESSAGE[^{}]*")


def is_file_passed_over(one: ListedFile, results: str | None) -> bool:
    """Whether a file is; `results`: the results' folder, from the root on (None: elsewhere)."""
    if results is not None and one.below.startswith(results):
        return True
    if one.problem:
        return False
    if one.size == 0 and (HIDDEN.search(one.below) or one.below.endswith("_$folder$")):
        return True
    return one.size <= _LONGEST_CHECKSUM and bool(_CHECKSUMS.match(one.below))


def is_control_message(batch: dict[str, Any]) -> bool:
    """Whether CloudWatch Logs only tries whether the subscription's destination is there."""
    events = batch.get("logEvents")
    return (
        batch.get("messageType") == "CONTROL_MESSAGE"
        and isinstance(events, list)
        and all(
            isinstance(event, dict) and _CONTROL.fullmatch(str(event.get("message")))
            for event in events
        )
    )
