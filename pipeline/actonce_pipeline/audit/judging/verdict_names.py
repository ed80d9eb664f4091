"""The verdicts' names, for who has no Spark, too; `verdicts` says what each of them is."""

from typing import Final

VERDICTS: Final = (
    "performed_once",
    "performed_again",
    "lost",
    "contradiction",
    "conflict",
    "refused",
    "awaiting_decision",
    "rejected",
    "resolved",
    "in_flight",
)
ALARMS: Final = {
    "performed_again": "acted on more than once",
    "lost": "lost",
    "contradiction": "in contradiction",
    "conflict": "in conflict",
}
"""The verdicts that are alarms, the worst first, and what their messages are."""
