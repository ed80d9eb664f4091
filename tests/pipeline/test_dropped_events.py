"""A night over status changes that EventBridge has lost: what the histories say stands for them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from moto import mock_aws
from pyspark.sql import SparkSession

from actonce_core.histories import reading
from tests.functions.test_execution_records import Night
from tests.pipeline.nights import audited, verdicts_of
from tests.pipeline.streams_on_disk import performed, write
from tests.support.histories import listed, started

BEGAN = datetime(2026, 1, 31, 10, tzinfo=UTC)
ENDED = BEGAN + timedelta(seconds=1)


def test_an_open_execution_is_not_lost_and_one_that_failed_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = tmp_path / "records", tmp_path / "out"
    # The start of the one is lost, and the end of the other.
    dropped = [*performed("open", 36_000)[:2], *performed("failed", 36_000)[:3]]
    write(root, [*performed("one"), *dropped])
    record(root, monkeypatch)
    audited(spark, root, out)
    assert verdicts_of(out) == {"open": "in_flight", "failed": "lost", "one": "performed_once"}


def record(root: Path, patch: pytest.MonkeyPatch) -> None:
    """The night's look at Step Functions, and its files."""
    patch.setattr(reading, "HISTORIES_IN_FLIGHT", 1)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "x")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        night = Night()
        night.lists(RUNNING=[listed("open", BEGAN)], FAILED=[listed("failed", BEGAN, ENDED)])
        night.tells("open", started("open"), start=BEGAN)
        ended = ("ExecutionFailed", {"error": "Bug"})
        night.tells("failed", started("failed"), ended, start=BEGAN)
        night.record()
        for key in night.keys():  # noqa: SIM118 - it is no dict
            file = root / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(night.content(key))
