"""What is judged where a stream is missing or could not be read."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Row, SparkSession

from actonce_pipeline.audit.horizon import Horizon
from actonce_pipeline.audit.judging.verdicts import Coverage, per_message, with_verdicts
from actonce_pipeline.audit.reading.streams import HASHED_IDS, REFUSED, STREAMS, Code
from actonce_pipeline.audit.times import DAY_MS, Interval, midnight

DAY: Final = date(2026, 1, 31)
NEXT: Final = DAY + timedelta(days=1)
NOON: Final = midnight(DAY) + DAY_MS // 2
OVER: Final = midnight(NEXT)
NONE: Final[dict[str, list[Interval]]] = {stream: [] for stream in (*STREAMS, HASHED_IDS)}
WHOLE: Final = Coverage(DAY - timedelta(days=200), NEXT, NONE, NONE)
NOW: Final = Horizon(OVER, OVER)


def without(*streams: str) -> Coverage:
    """Streams that are missing on the day."""
    missing = NONE | {stream: [(DAY, DAY)] for stream in streams}
    return replace(WHOLE, missing=missing)


def unread(stream: str, day: date = DAY) -> Coverage:
    """Of a stream, something of a day could not be read."""
    return replace(WHOLE, unread=NONE | {stream: [(day, day)]})


RESTORED: Final = replace(NOW, silence=NOON)
MORNING: Final = replace(NOW, over=midnight(DAY))
STARTED, FAILED, DONE = Code.STARTED, Code.CLOSED_FAILED, Code.CLOSED_PERFORMED

CASES: dict[str, tuple[Coverage, Horizon, list[int], tuple[str, bool]]] = {
    "started, and no more": (WHOLE, NOW, [STARTED], ("lost", True)),
    "its day not over": (WHOLE, MORNING, [STARTED, FAILED], ("in_flight", True)),
    "failing, its day not over": (WHOLE, MORNING, [Code.FAILED], ("in_flight", True)),
    "failing, given up": (WHOLE, NOW, [Code.FAILED], ("refused", True)),
    "silent no longer than files are old": (WHOLE, RESTORED, [STARTED], ("in_flight", True)),
    "no executions": (without("executions"), NOW, [STARTED], ("in_flight", False)),
    "no deliveries": (without("deliveries"), NOW, [Code.SENT], ("in_flight", False)),
    "deliveries unread": (unread("deliveries"), NOW, [Code.SENT], ("in_flight", False)),
    "deliveries unread a day later": (
        unread("deliveries", NEXT), NOW, [Code.SENT], ("in_flight", False)
    ),
    "effects unread": (unread("effects"), NOW, [STARTED, FAILED], ("in_flight", False)),
    "failed, deliveries unread": (unread("deliveries"), NOW, [STARTED, FAILED], ("lost", True)),
    "no effects, done": (without("effects"), NOW, [STARTED, DONE], ("performed_once", False)),
    "no effects, one": (without("effects"), NOW, [STARTED, Code.EFFECT], ("performed_once", False)),
    "no effects, rejected": (
        without("effects"), NOW, [STARTED, Code.CLOSED_REJECTED], ("rejected", True)
    ),
    "no effects, done and rejected": (
        without("effects"), NOW, [STARTED, DONE, Code.DECIDED_REJECT], ("performed_once", False)
    ),
    "no effects, waits": (
        without("effects"), NOW, [STARTED, Code.POSTED], ("awaiting_decision", True)
    ),
    "no effects, failed": (without("effects"), NOW, [STARTED, FAILED], ("in_flight", False)),
    "no effects, silent": (without("effects"), NOW, [STARTED], ("in_flight", False)),
    "asked for, unread": (unread("deliveries"), NOW, [Code.EFFECT], ("performed_once", False)),
    "asked for by none": (WHOLE, NOW, [Code.EFFECT], ("contradiction", True)),
    "suppressed alone": (WHOLE, NOW, [Code.SUPPRESSED], ("in_flight", True)),
    "refused": (WHOLE, NOW, [REFUSED["too_large"]], ("refused", True)),
}  # fmt: skip
"""What there was of the records, up to when, a message's codes, and what is right of it."""


def test_what_was_not_seen_is_not_guessed(spark: SparkSession) -> None:
    records = [
        (key, NOON + number, int(code), 1)
        for key, (_, _, codes, _) in CASES.items()
        for number, code in enumerate(codes)
    ]
    names = "message_id string, at bigint, code int, identity bigint"
    numbers = per_message(spark.createDataFrame(records, names).coalesce(1), None)
    of = {row["message_id"]: row for row in numbers.collect()}
    together: dict[str, list[str]] = {}  # each plan costs more than its messages
    for key, (coverage, horizon, *_) in CASES.items():
        together.setdefault(repr((coverage, horizon)), []).append(key)
    found: list[Row] = []
    for keys in together.values():
        coverage, horizon, *_ = CASES[keys[0]]
        messages = spark.createDataFrame([of[key] for key in keys], numbers.schema).coalesce(1)
        found += with_verdicts(messages, coverage, horizon).collect()
    assert {row["message_id"]: (row["verdict"], row["judged"]) for row in found} == {
        key: right for key, (*_, right) in CASES.items()
    }
