"""Records that do not say the message's id themselves."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from tests.pipeline.nights import audited, verdicts_of
from tests.pipeline.streams_on_disk import at, delivery, performed, put, sent, write


def event(name: str, status: str, **detail: object) -> bytes:
    """Of EventBridge, as a line; of the morning of the day."""
    ended = None if status == "RUNNING" else 1_769_818_501_000
    times = {"startDate": 1_769_818_500_000, "stopDate": ended}
    return json.dumps(
        {"detail-type": "x", "detail": {"name": name, "status": status, **times, **detail}}
    ).encode()


def test_each_record_is_of_the_message_that_it_means(spark: SparkSession, tmp_path: Path) -> None:
    named = [one for one in performed("large") if one[0] != "executions"]
    failing = [delivery("failing", at(n), "failed", None, None) for n in range(3)]
    nobodys = delivery(None, at(9), "failed", None, None)
    never = [sent(one, at(5)) for one in ("never", "sha256-1", "a:b")]
    never.append(sent(None, at(5), "q-9"))
    records = [*named, sent("failing", at(0)), *failing, nobodys, *never]
    root = write(tmp_path, [*records, *performed("last", 80_000)])
    events = [event("large", status, input=None) for status in ("RUNNING", "SUCCEEDED")]
    put(root, "executions", "events.jsonl", b"\n".join(events))
    summary = audited(spark, root)
    verdicts = dict.fromkeys(("large", "last"), "performed_once")
    verdicts |= {"failing": "refused", "sqs:q-1": "refused"}
    verdicts |= dict.fromkeys(("never", "sha256-1"), "lost")
    assert verdicts_of(root / "audit") == verdicts | {"sqs:q-9": "lost", "a:b": "lost"}
    assert (summary["quarantine"]["lines"], summary["totals"]["failed"]) == (0, 4)

    put(root, "executions", "hashed.jsonl", event(f"sha256-{'0' * 64}", "SUCCEEDED", input=None))
    summary = audited(spark, root)
    assert summary["quarantine"]["by_reason"] == {"hashed_id": 1}
    may_have_run = dict.fromkeys(("sqs:q-9", "a:b"), "in_flight")
    assert verdicts_of(root / "audit") == verdicts | may_have_run
