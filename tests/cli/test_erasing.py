"""Erasing the content of one message, on moto: what may be erased, and what that leaves."""

import gzip
import hashlib
import json
import tracemalloc
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from moto.stepfunctions.models import stepfunctions_backends

from actonce.operate.erasing import look
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce_core.locking.locks import Completed, Ledger, Outcome
from pipeline.audit.results.digests import Chain, following
from tests.cli.conftest import Actonce
from tests.support.queues import row
from tests.support.stacks import (
    TABLE,
    deployed,
    with_executions,
    with_outputs,
    with_table,
)

ID = "order-17"
DAY = "2026-01-31"
SECRET = "Zoë Example"


def records(*names: str) -> bytes:
    """A status change of each execution, with its input."""
    told = {"status": "RUNNING", "input": json.dumps({"message_id": ID, "body": SECRET})}
    events = ({"detail-type": "x", "detail": {"name": name} | told} for name in names)
    return gzip.compress("".join(json.dumps(one) + "\n" for one in events).encode(), mtime=0)


def put(stack: Stack, key: str, content: bytes) -> None:
    stack.aws.client("s3").put_object(Bucket="records", Key=key, Body=content)


def kept(stack: Stack, key: str) -> bytes:
    content: bytes = stack.aws.client("s3").get_object(Bucket="records", Key=key)["Body"].read()
    return content


FILE = f"executions/dt={DAY}/one.gz"


@pytest.fixture
def ended(moto_stack: Stack) -> Stack:
    """A message that was aborted too long ago to be continued, with records in a bucket."""
    stack = with_executions(with_table(deployed(moto_stack)), ID)
    stack.stepfunctions.stop_execution(executionArn=stack.execution_arn(ID))
    (machine,) = stepfunctions_backends["123456789012"]["us-east-1"].state_machines
    machine.executions[0].stop_date = datetime.now(UTC) - timedelta(days=14.1)
    row = {"message_id": ID, "fingerprint": "f", "first_seen": f"{DAY}T09:30:00.000Z"}
    row |= {"memory": stack.state_machine}
    stack.dynamodb.put_item(TableName=TABLE, Item={k: {"S": v} for k, v in row.items()})
    stack.aws.client("s3").create_bucket(Bucket="records")
    put(stack, FILE, records(ID, "another"))
    return with_outputs(stack, RecordsBucketName="records")


def test_what_was_judged_is_another_file_then_until_that_is_accepted(
    ended: Stack, actonce: Actonce
) -> None:
    told = {"path": FILE, "size": 1, "sha256": hashlib.sha256(kept(ended, FILE)).hexdigest()}
    days = {date.fromisoformat(DAY): {"files": [told], "verdicts": {}}}
    name, text, _ = following(Chain(), "then", "s3://records/", days)
    put(ended, f"audit/{name}", text.encode())
    stack = with_outputs(ended, RecordsBucketName="records", AuditBucketName="records")
    verify = ("audit", "verify", "s3://records/audit/")
    assert actonce(*verify, stack=stack).status == 0
    erased = actonce("erase", ID, "--yes", stack=stack)
    assert f"actonce {' '.join(verify)} --accept" in erased.out.replace("\n", " ")
    assert actonce(*verify, stack=stack).status == 1
    assert actonce(*verify, "--accept", "--yes", stack=stack).status == 0
    assert actonce(*verify, stack=stack).status == 0


def test_a_file_is_never_held_whole(ended: Stack) -> None:
    size = 40_000_000
    own, other = gzip.decompress(records(ID)), b'{"of": "another"}'.ljust(999) + b"\n"
    plain = f"executions/dt={DAY}/plain"
    put(ended, FILE, gzip.compress(own + other * (size // 1000), mtime=0))
    put(ended, plain, own + other)
    tracemalloc.start()
    try:
        assert look(ended, ID).run() == 2
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < size / 4
    assert look(ended, ID).records == []
    changed, untouched = kept(ended, plain).splitlines(keepends=True)
    assert (SECRET.encode() in changed, untouched) == (False, other)
    assert gzip.decompress(kept(ended, FILE)) == changed + other * (size // 1000)


def test_how_far_it_is_is_shown(ended: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ended, f"effects/dt={DAY}/none", b"")
    told: list[Any] = []

    @contextmanager
    def progress(text: str, total: int) -> Any:
        told.append((text, total))
        yield type("Bar", (), {"update": lambda _, done: told.append(done)})()

    monkeypatch.setattr(console, "progress", progress)
    look(ended, ID).run()
    (_, both), *reading, (_, one), done = told
    assert (both, reading, one, done) == (2, [1, 2], 1, 1)


def test_a_row_without_content_still_stops_a_duplicate(ledger: Stack) -> None:
    locks = Ledger(ledger.dynamodb, TABLE, straggler_seconds=1, clock_skew_seconds=1)
    stack = deployed(ledger)
    attempt: Any = locks.acquire_processing_lock(ID, 60.0, fingerprint="f")
    locks.mark_message_processed(attempt, Outcome.PERFORMED, {"for": SECRET})
    before = row(ledger, ID)
    assert look(stack, ID).run() == 0
    assert row(ledger, ID) == {name: before[name] for name in before if name != "effect"}
    assert locks.acquire_processing_lock(ID, 60.0, fingerprint="f") == Completed(
        Outcome.PERFORMED, None
    )
