"""`actonce audit --list`: the ids behind a number of the page."""

import json
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from actonce.cli.audit import audit as audit_command
from actonce.records.audit_listing import message_ids
from actonce.terminal.errors import Failed, UsageError
from actonce_pipeline.audit.job import audit
from tests.pipeline.nights import requested
from tests.pipeline.streams_on_disk import DAY, EFFECTS, at, delivery, performed, sent, write

NEXT_DAY = "2026-02-01"


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two performed on two days, one of them delivered again, and one lost."""
    root = write(
        tmp_path_factory.mktemp("records"),
        [
            *performed("one"),
            delivery("one", at(9), "suppressed"),
            *performed("two", 5, NEXT_DAY),
            sent("lost", at(1)),
        ],
    )
    audit(spark, requested(str(root), effects=EFFECTS))
    return root


def ids(root: Path, number: str, *days: date) -> list[str]:
    span = (days[0], days[-1]) if days else None
    return message_ids(str(root / "audit"), number, span)


def test_each_number_s_ids_are_as_many_as_the_number(audited: Path) -> None:
    assert ids(audited, "performed_once") == ["one", "two"]
    for day, name in ((DAY, "one"), (NEXT_DAY, "two")):
        assert ids(audited, "performed_once", date.fromisoformat(day)) == [name]
    assert ids(audited, "suppressed") == ["one"]
    assert ids(audited, "lost") == ["lost"]


def test_the_command_prints_an_id_a_line_and_audits_nothing(
    audited: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = audited / "audit" / "summary.json"
    before = page.stat().st_mtime_ns
    audit_command(str(audited), list_="performed_once")
    assert capfd.readouterr().out == "one\ntwo\n"
    audit_command(str(audited), list_="lost", json=True)
    assert json.loads(capfd.readouterr().out) == {"number": "lost", "message_ids": ["lost"]}
    assert page.stat().st_mtime_ns == before


def test_what_is_no_result_of_an_audit_is_told(tmp_path: Path) -> None:
    for place in (str(tmp_path), "s3://bucket/audit"):
        with pytest.raises(UsageError):
            message_ids(place, "lost", None)
    with pytest.raises(UsageError, match="holds no summary"):
        audit_command(str(tmp_path), list_="lost")
    with pytest.raises(UsageError, match="one of performed_once, "):
        message_ids(str(tmp_path), "performed", None)
    result = tmp_path / "audit"
    (result / "messages" / f"day={DAY}").mkdir(parents=True)
    (result / "summary.json").write_text(
        '{"exit_status": 2, "sentence": "It has not come to its end."}'
    )
    with pytest.raises(Failed, match="not come to its end"):
        audit_command(str(tmp_path), list_="lost")
    (result / "messages" / f"day={DAY}" / "part.parquet").write_text("no parquet")
    (result / "summary.json").write_text('{"verdicts": {}}')
    with pytest.raises(Failed, match="cannot be read"):
        audit_command(str(tmp_path), list_="lost")
