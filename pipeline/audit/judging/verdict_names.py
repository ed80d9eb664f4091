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
ALARMS: Final = ("performed_again", "lost", "contradiction", "conflict")
