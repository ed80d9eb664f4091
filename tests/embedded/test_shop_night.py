"""The night of a team's own table: the gift shop, nested as in examples/audited."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from tests.embedded import command_line
from tests.embedded.test_audit_night import (
    JOB_SECONDS,
    Notifications,
    execution_of,
    notifications,
    scheduled_input,
    start,
    summary_of,
)
from tests.embedded.test_gift_shop import order, outcome_of, outputs, shop_of
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support import java

__all__ = ["notifications"]

pytestmark = [pytest.mark.embedded, pytest.mark.long, java.needed]

AUDITED = (PROJECT / "examples" / "audited" / "template.yaml").read_text()


def with_audit(shop: str) -> str:
    """The shop's template with what docs/daily-audit.md says to add."""
    parameters, *_ = AUDITED.partition("Parameters:\n")[2].partition("  PythonRuntime:\n")
    resources = "  Records:\n" + AUDITED.partition("  Records:\n")[2].partition("# By these")[0]
    outputs = AUDITED.partition("\nOutputs:\n")[2]
    shop = shop.replace("Parameters:\n", f"Parameters:\n{parameters}", 1)
    shop = shop.replace("\nOutputs:\n", f"\n{resources}\nOutputs:\n{outputs}", 1)
    return shop.replace("../../", "actonce/")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[State, Stack]]:
    paths = shop_of("gift_shop", tmp_path_factory.mktemp("shop"), audit=True)
    template = paths.stack / "template.yaml"
    template.write_text(with_audit(template.read_text()))
    try:
        yield lifecycle.up(paths, lambda _: None)
    finally:
        lifecycle.down(paths)


@pytest.fixture(scope="module")
def stack(shop: tuple[State, Stack]) -> Stack:
    return shop[1]


def exported(stack: Stack, table: str, day: str) -> dict[str, bytes]:
    """The files that DynamoDB exports of a table."""
    lines = [
        {"Keys": {name: item[name] for name in ("order_id", "card_id")}, "NewImage": item}
        for item in stack.dynamodb.scan(TableName=table, ConsistentRead=True)["Items"]
    ]
    folder = f"effects/dt={day}/until-24-00/AWSDynamoDB"
    return {
        f"{folder}/data/a.json.gz": gzip.compress("\n".join(map(json.dumps, lines)).encode()),
        f"{folder}/1-a/manifest-summary.json": json.dumps({"tableArn": table}).encode(),
    }


def unloaded(order_id: str, card: str, at: datetime) -> bytes:
    """A file as a warehouse unloads it."""
    sink = pa.BufferOutputStream()
    times = pa.array([at], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"order_id": [order_id], "sent_at": times, "effect_id": [card]}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.fixture(scope="module")
def records(
    shop: tuple[State, Stack], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The records of a day, and the day, on which two orders got a second card each.

    One was sent behind the shop's back, and is in its table; the other is in a file only.
    """
    state, stack = shop
    table = outputs(state)["GiftCardsTableName"]
    for name in ("once", "twice", "unloaded"):
        order(state, order_id=name, amount=5)
    assert {outcome_of(stack, name) for name in ("once", "twice", "unloaded")} == {"performed"}
    (card,) = stack.dynamodb.query(
        TableName=table,
        KeyConditionExpression="order_id = :order",
        ExpressionAttributeValues={":order": {"S": "twice"}},
    )["Items"]
    stack.dynamodb.put_item(TableName=table, Item=card | {"card_id": {"S": "card-by-hand"}})
    # The shop keeps its customers in this table, too.
    customer = {"order_id": {"S": "customer-1"}, "card_id": {"S": "customer"}}
    stack.dynamodb.put_item(TableName=table, Item=customer)
    at = datetime.fromisoformat(card["sent_at"]["S"]).astimezone(UTC)
    day, root = at.date().isoformat(), tmp_path_factory.mktemp("records")
    collected = ["--stream", "deliveries", "--stream", "executions", "--to", str(root)]
    days = ["--from", str(at.date() - timedelta(days=1)), "--until", day]
    answer = command_line.run(state, "collect", *days, *collected)
    assert answer.returncode == 0, answer.stderr
    files = exported(stack, table, day) | {
        f"effects/dt={day}/0000_part_00.parquet": unloaded("unloaded", "another card", at)
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root, day


def check(summary: dict[str, Any]) -> None:
    """Check that it tells both second cards, and that nothing was left out."""
    alarms = {one["message_id"]: one["verdict"] for one in summary["alarms"]}
    assert alarms == dict.fromkeys(("twice", "unloaded"), "performed_again")
    assert "Of 3 messages, 2 acted on more than once." in summary["sentence"]
    assert summary["quarantine"]["lines"] == 0
    assert summary["notes"] == [
        "Items of the effects table without sent_at, which are not counted as effects: 1."
    ]


def test_the_night_tells_each_second_card(
    shop: tuple[State, Stack], records: tuple[Path, str], notifications: Notifications
) -> None:
    (state, stack), (root, day) = shop, records
    for file in root.rglob("*"):
        if file.is_file():
            key, bucket = str(file.relative_to(root)), stack.outputs["RecordsBucketName"]
            stack.aws.client("s3").upload_file(str(file), bucket, key)
    code = f"s3://{stack.outputs['AuditBucketName']}/code/"
    packed = command_line.run(state, "audit", "package", "--to", code)
    assert packed.returncode == 0, packed.stderr

    night = datetime.fromisoformat(day) + timedelta(days=1, hours=3)
    start(stack, "fired", scheduled_input(stack, night))
    ended = wait_for_execution(stack, execution_of(stack, f"audit-{day}"), JOB_SECONDS)

    assert (ended["status"], ended["error"]) == ("FAILED", "Alarms"), ended
    check(summary_of(stack))
    subject = f"ActOnce audit of {day}: ALARM"
    message = wait_until(
        lambda: next((m for m in notifications() if m["Subject"] == subject), None)
    )
    assert message is not None
    assert "2 acted on more than once" in ended["cause"]
    assert ended["cause"] in message["Message"]


def test_actonce_audit_reads_by_the_attributes_of_the_stack(
    shop: tuple[State, Stack], records: tuple[Path, str], tmp_path: Path
) -> None:
    (state, _), (root, _) = shop, records
    answer = command_line.run(state, "audit", str(root), "--out", str(tmp_path), "--json")
    assert answer.returncode == 1, answer.stderr
    check(json.loads(answer.stdout))
