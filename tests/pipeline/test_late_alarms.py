"""What a day's records say of messages that began earlier."""

from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.audit.job import audit
from pipeline.audit.request import Request, requested
from tests.pipeline.streams_on_disk import DAY, at, effect, performed, write

NEXT_DAY = "2026-02-01"
A_WEEK_LATER = "2026-02-07"


def test_an_effect_repeated_days_later_is_an_alarm_on_the_day_that_it_happened(
    spark: SparkSession, tmp_path: Path
) -> None:
    again = effect("old", at(9, A_WEEK_LATER), "appointment-again")
    write(tmp_path, [*performed("old"), *performed("new", 5, A_WEEK_LATER), again])

    on_that_day = audit(spark, requested(str(tmp_path), day=A_WEEK_LATER))
    on_its_own = audit(spark, requested(str(tmp_path), day=DAY))
    of_all = audit(spark, Request(str(tmp_path), str(tmp_path / "audit")))

    assert on_that_day["verdicts"]["performed_again"] == 0
    assert on_that_day["late_alarms"] == [DAY]
    assert on_that_day["exit_status"] == 1
    assert on_that_day["sentence"] == (
        "Of 1 message, none is known to be acted on twice or lost. "
        f"A message that began earlier has an alarm: audit {DAY} again."
    )
    # A day's own alarms are its verdicts.
    for summary in (on_its_own, of_all):
        assert summary["verdicts"]["performed_again"] == 1
        assert summary["late_alarms"] == []


def test_an_old_alarm_that_nothing_touches_is_not_told_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    again = effect("old", at(9, NEXT_DAY), "appointment-again")
    write(tmp_path, [*performed("old"), again, *performed("new", 5, A_WEEK_LATER)])

    summary = audit(spark, requested(str(tmp_path), day=A_WEEK_LATER))

    assert summary["late_alarms"] == []
    assert summary["exit_status"] == 0
