"""Messages that some records know by SQS's id, or by the hash that names the execution, only."""

import hashlib
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.reading.events import SCHEMA, has_unresolved_ids
from actonce_pipeline.audit.reading.row import Row
from actonce_pipeline.audit.reading.streams import Code
from tests.pipeline.judge import Record
from tests.pipeline.nights import audited, verdicts_of
from tests.pipeline.streams_on_disk import (
    at,
    delivery,
    effect,
    execution,
    performed,
    put,
    sent,
    write,
)

BLANKS = "a name with blanks"
HASHED = f"sha256-{hashlib.sha256(BLANKS.encode()).hexdigest()}"
LIKE_A_HASH = f"sha256-{'0' * 64}\n"


def of_sqs(record: Record, sqs_id: str, **more: object) -> Record:
    return record[0], record[1] | {"sqs_message_id": sqs_id} | more


def event(name: str, status: str, **detail: object) -> bytes:
    """Of EventBridge, as a line; of the morning of the day."""
    ended = None if status == "RUNNING" else 1_769_818_501_000
    times = {"startDate": 1_769_818_500_000, "stopDate": ended}
    return json.dumps(
        {"detail-type": "x", "detail": {"name": name, "status": status, **times, **detail}}
    ).encode()


def test_each_record_is_of_the_message_that_it_means(spark: SparkSession, tmp_path: Path) -> None:
    fifo = [
        of_sqs(sent(None, at(100)), "q-5"),
        of_sqs(delivery("fifo", at(100)), "q-5"),
        execution("fifo", at(101), "RUNNING"),
        effect("fifo", at(102), "a"),
    ]
    failing = [of_sqs(delivery(None, at(n), "failed", None, None), "q-7") for n in range(3)]
    named = [
        one for key in (BLANKS, LIKE_A_HASH) for one in performed(key) if one[0] != "executions"
    ]
    unsent = performed("unsent", 3_000)[1:]
    records = [
        *(*fifo, *named, *unsent, *failing, sent("failing", at(0), "q-7")),
        *(sent(None, at(5), "q-9"), *performed("last", 80_000)),
    ]
    root = write(tmp_path, records)
    text = json.dumps({"message_id": LIKE_A_HASH})
    events = [
        line
        for status in ("RUNNING", "SUCCEEDED")
        for line in (event(HASHED, status, input=None), event("x", status, input=text))
    ]
    put(root, "executions", "events.jsonl", b"\n".join(events))
    summary = audited(spark, root)
    well = dict.fromkeys(("fifo", BLANKS, LIKE_A_HASH, "unsent", "last"), "performed_once")
    assert verdicts_of(root / "audit") == well | {"failing": "refused", "sqs:q-9": "lost"}
    assert summary["quarantine"]["lines"] == 0
    assert any("sent lacks 1 message that came" in one for one in summary["cannot_judge"])


@pytest.mark.parametrize(
    ("name", "codes", "unresolved"),
    [
        ("sqs:q-1", [Code.SENT], True),
        (HASHED, [Code.RUNNING], True),
        (HASHED, [Code.STARTED, Code.RUNNING], False),
        ("sqs:q-1", [Code.SENT, Code.STARTED], False),
    ],
)
def test_a_name_is_looked_up_that_is_no_message_s_own(
    spark: SparkSession, name: str, codes: list[Code], unresolved: bool
) -> None:
    rows = [Row(name, 1, int(code)) for code in codes]
    assert has_unresolved_ids(spark.createDataFrame(rows, SCHEMA)) == unresolved
