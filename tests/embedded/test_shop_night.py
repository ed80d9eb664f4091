"""The night of a team's own table: the gift shop, nested as in examples/audited."""

import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from tests import java
from tests.embedded import command_line
from tests.embedded.test_audit_night import (
    JOB_SECONDS,
    Told,
    execution_of,
    scheduled_input,
    start,
    summary_of,
    told,
)
from tests.embedded.test_gift_shop import order, outcome_of, outputs, shop_of
from tests.embedded.waiting import wait_for_execution, wait_until

__all__ = ["told"]

pytestmark = [pytest.mark.embedded, pytest.mark.long, java.needed]

AUDITED = (PROJECT / "examples" / "audited" / "template.yaml").read_text()


def with_audit(shop: str) -> str:
    """The shop's template with what docs/daily-audit.md says to add."""
    parameters, *_ = AUDITED.partition("Parameters:\n")[2].partition("  PythonRuntime:\n")
    resources = "  Records:\n" + AUDITED.partition("  Records:\n")[2].partition("# By these")[0]
    told = AUDITED.partition("\nOutputs:\n")[2]
    shop = shop.replace("Parameters:\n", f"Parameters:\n{parameters}", 1)
    shop = shop.replace("\nOutputs:\n", f"\n{resources}\nOutputs:\n{told}", 1)
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


def export(stack: Stack, table: str, day: str) -> None:
    """Put what DynamoDB exports of a table into the records' bucket."""
    lines = [
        {"Keys": {name: item[name] for name in ("order_id", "card_id")}, "NewImage": item}
        for item in stack.dynamodb.scan(TableName=table, ConsistentRead=True)["Items"]
    ]
    data = gzip.compress("".join(f"{json.dumps(one)}\n" for one in lines).encode())
    folder = f"effects/dt={day}/until-24-00/AWSDynamoDB"
    for key, body in (
        (f"{folder}/data/a.json.gz", data),
        (f"{folder}/1-a/manifest-summary.json", json.dumps({"tableArn": table}).encode()),
    ):
        stack.aws.client("s3").put_object(
            Bucket=stack.outputs["RecordsBucketName"], Key=key, Body=body
        )


def test_the_night_tells_a_second_card_that_was_sent_behind_the_shops_back(
    shop: tuple[State, Stack], told: Told, tmp_path: Path
) -> None:
    state, stack = shop
    table = outputs(state)["GiftCardsTableName"]
    for name in ("once", "twice"):
        order(state, order_id=name, amount=5)
    assert {outcome_of(stack, name) for name in ("once", "twice")} == {"performed"}
    (card,) = stack.dynamodb.query(
        TableName=table,
        KeyConditionExpression="order_id = :order",
        ExpressionAttributeValues={":order": {"S": "twice"}},
    )["Items"]
    stack.dynamodb.put_item(TableName=table, Item=card | {"card_id": {"S": "card-by-hand"}})
    # In a table that the shop keeps customers in, too.
    customer = {"order_id": {"S": "customer-1"}, "card_id": {"S": "customer"}}
    stack.dynamodb.put_item(TableName=table, Item=customer)
    day = datetime.fromisoformat(card["sent_at"]["S"]).astimezone(UTC).date().isoformat()
    export(stack, table, day)
    collected = ["--stream", "deliveries", "--stream", "executions"]
    days = ["--from", str(date.fromisoformat(day) - timedelta(days=1)), "--until", day]
    answer = command_line.run(state, "collect", *days, *collected, "--to", str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    for file in tmp_path.rglob("*.gz"):
        key, bucket = str(file.relative_to(tmp_path)), stack.outputs["RecordsBucketName"]
        stack.aws.client("s3").upload_file(str(file), bucket, key)
    code = f"s3://{stack.outputs['AuditBucketName']}/code/"
    packed = command_line.run(state, "audit", "package", "--to", code)
    assert packed.returncode == 0, packed.stderr

    night = datetime.fromisoformat(day) + timedelta(days=1, hours=3)
    start(stack, "fired", scheduled_input(stack, "scheduled", night))
    ended = wait_for_execution(stack, execution_of(stack, f"audit-{day}"), JOB_SECONDS)

    assert (ended["status"], ended["error"]) == ("FAILED", "Alarms"), ended
    assert re.search("Of 2 messages, 1 acted on more than once", ended["cause"])
    summary = summary_of(stack)
    alarms = [(one["message_id"], one["verdict"]) for one in summary["alarms"]]
    assert alarms == [("twice", "performed_again")]
    assert summary["quarantine"]["lines"] == 0
    assert summary["notes"] == [
        "Items of the effects table without sent_at, which are taken for no effects: 1."
    ]
    subject = f"ActOnce audit of {day}: ALARM"
    message = wait_until(lambda: next((m for m in told() if m["Subject"] == subject), None))
    assert message is not None
    assert ended["cause"] in message["Message"]
