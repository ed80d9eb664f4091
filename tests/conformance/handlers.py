"""Consumers with one known mistake each, and the same without it."""

import json
from typing import Any

from botocore.exceptions import ClientError

from lab.conformance.queues import Record
from lab.conformance.stage import CONSUMER_TIMEOUT, Handler, Stage, Way


class InProgressError(Exception):
    """Somebody else is at work."""


def _request(record: Record) -> dict[str, Any]:
    body = json.loads(record["body"])
    return {"message_id": body["message_id"], "body": record["body"]}


def _naive_ledger(stage: Stage) -> Handler:
    """As it is often written: read, decide, write; status and time-out in the row."""
    dynamodb = stage.dynamodb

    def handle(record: Record) -> None:
        request = _request(record)
        key = {"message_id": {"S": request["message_id"]}}
        now = int(stage.world.wall().timestamp())
        row = dynamodb.get_item(TableName="ledger", Key=key, ConsistentRead=True).get("Item")
        if row is not None:
            is_running = now - int(row["updated"]["N"]) < CONSUMER_TIMEOUT // 1000
            if row["status"]["S"] == "COMPLETE" or is_running:
                return  # a duplicate: there is nothing to do
        started = {"status": {"S": "IN_PROGRESS"}, "updated": {"N": str(now)}}
        dynamodb.put_item(TableName="ledger", Item=key | started)
        try:
            stage.effect.perform(request)
        except Exception:
            dynamodb.delete_item(TableName="ledger", Key=key)  # so that it is tried again
            raise
        done = {"status": {"S": "COMPLETE"}, "updated": {"N": str(now)}}
        dynamodb.put_item(TableName="ledger", Item=key | done)

    return handle


def _releasing(*, only_its_own: bool) -> Way:
    """Claims conditionally, and releases in `finally` what is not complete, its own or not."""

    def build(stage: Stage) -> Handler:
        def handle(record: Record) -> None:
            request = _request(record)
            key = {"message_id": {"S": request["message_id"]}}
            mine = {"attempt_id": {"S": stage.world.new_id()}}
            is_done = False
            try:
                _claim(stage, key | mine | {"status": {"S": "IN_PROGRESS"}})
                stage.effect.perform(request)
                is_done = True
            finally:
                if not is_done:
                    _release(stage, key, mine["attempt_id"] if only_its_own else None)
            stage.dynamodb.put_item(
                TableName="ledger", Item=key | mine | {"status": {"S": "COMPLETE"}}
            )

        return handle

    return Way("releasing", "a lock that is released", build)


def _claim(stage: Stage, item: dict[str, Any]) -> None:
    try:
        stage.dynamodb.put_item(
            TableName="ledger",
            Item=item,
            ConditionExpression="attribute_not_exists(message_id)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        raise InProgressError from error


def _release(stage: Stage, key: dict[str, Any], attempt_id: dict[str, Any] | None) -> None:
    condition: dict[str, Any] = {}
    if attempt_id is not None:
        condition = {
            "ConditionExpression": "attempt_id = :mine",
            "ExpressionAttributeValues": {":mine": attempt_id},
        }
    try:
        stage.dynamodb.delete_item(TableName="ledger", Key=key, **condition)
    except ClientError:
        return


NAIVE_LEDGER = Way("naive-ledger", "a ledger that reads and then writes", _naive_ledger)
RELEASES_ANYBODYS = _releasing(only_its_own=False)
RELEASES_ITS_OWN = _releasing(only_its_own=True)
