"""examples/restore puts the rows back that a restored table has forgotten, and changes no other."""

import json
import runpy
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws

from actonce.stack.embedded_folder import PROJECT
from tests.support.deliveries import delivery
from tests.support.moto_aws import MotoAws
from tests.support.tables import make_table

SINCE = "2026-01-01T00:00:00Z"
RESTORED = "restored"
Row = dict[str, Any]


@pytest.fixture
def aws() -> Iterator[MotoAws]:
    with mock_aws(config={"lambda": {"use_docker": False}}):
        made = MotoAws.create({"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}})
        make_table(made.dynamodb, RESTORED, "message_id")
        yield made


@pytest.fixture
def restore(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs the script for a function with these variables."""

    def run(variables: dict[str, str], effects: str = "", key: str = "message_id") -> None:
        role = boto3.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")
        boto3.client("lambda").create_function(
            FunctionName="starter",
            Role=role["Role"]["Arn"],
            Code={"ZipFile": b""},
            Runtime="python3.13",
            Handler="starter.handler",
            Environment={"Variables": {"CONTENT_FROM": "", **variables}},
        )
        table = effects or aws.appointments_table
        monkeypatch.setattr(sys, "argv", ["restore", RESTORED, SINCE, "starter", table, key])
        runpy.run_path(str(PROJECT / "examples" / "restore" / "restore.py"))

    return run


def put(aws: MotoAws, table: str, row: Row) -> Row:
    aws.dynamodb.put_item(TableName=table, Item=row)
    return row


def row_of(aws: MotoAws, table: str, message_id: str) -> Row:
    key = {"message_id": {"S": message_id}}
    return dict(aws.dynamodb.get_item(TableName=table, Key=key).get("Item", {}))


def of(message_id: str, **more: str) -> Row:
    return {"message_id": {"S": message_id}} | {name: {"S": text} for name, text in more.items()}


def of_starter(aws: MotoAws) -> dict[str, str]:
    return {"FINGERPRINTS_TABLE": aws.fingerprints_table, "STATE_MACHINE_ARN": aws.state_machine}


def test_an_id_with_an_execution_gets_its_row_again_and_one_with_an_effect_alone_is_known(
    aws: MotoAws, restore: Callable[..., None]
) -> None:
    starter = aws.starter(now=datetime.now(UTC))
    for name in ("kept", "since", "again"):
        starter.start_message(delivery(json.dumps({"message_id": name, "content": "one"})))
    was = {name: row_of(aws, aws.fingerprints_table, name) for name in ("kept", "since", "again")}
    put(aws, RESTORED, was["kept"])
    for name in was:
        aws.dynamodb.delete_item(TableName=aws.fingerprints_table, Key={"message_id": {"S": name}})
    # Taken since for another: what the execution had is put in its place.
    put(aws, aws.fingerprints_table, was["again"] | of("again", fingerprint="f", first_seen="9"))
    put(aws, aws.appointments_table, of("old", appointment_id="appointment-1"))

    restore(of_starter(aws))

    for name, row in was.items():
        now = row_of(aws, aws.fingerprints_table, name)
        assert now.pop("first_seen")["S"] >= row.pop("first_seen")["S"][:10]
        assert now == row
    assert row_of(aws, aws.fingerprints_table, "old")["fingerprint"] == {"S": "restored"}


def test_a_first_attempt_that_had_only_begun_gets_an_execution_and_ids_are_told_by_the_effects(
    aws: MotoAws, restore: Callable[..., None]
) -> None:
    of_attempt = {"status": "IN_PROGRESS", "stage": "released", "updated": "1"}
    put(aws, RESTORED, of("begun", **of_attempt))
    put(aws, RESTORED, of("done", **of_attempt))
    done = put(aws, aws.fingerprints_table, of("done", status="COMPLETE", updated="2"))

    make_table(aws.dynamodb, "orders", "id")
    for number, item in enumerate(({"other": {"S": "a counter"}}, {"order": {"N": "1E+3"}})):
        put(aws, "orders", {"id": {"S": f"o-{number}"}} | item)

    # What a lease of an earlier release wrote there is no starter's.
    leased = put(aws, RESTORED, of("leased", status="IN_PROGRESS", updated="1", memory="lease"))

    restore(of_starter(aws), "orders", "order")

    assert row_of(aws, aws.fingerprints_table, "leased") == leased

    assert row_of(aws, aws.fingerprints_table, "1000")["fingerprint"] == {"S": "restored"}
    begun = of("begun", **of_attempt | {"stage": "started"})
    assert row_of(aws, aws.fingerprints_table, "begun") == begun
    assert row_of(aws, aws.fingerprints_table, "done") == done
