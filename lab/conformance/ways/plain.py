"""Rivals that a team writes in an afternoon: none, FIFO alone, and a naive ledger."""

import json
from typing import Any

from lab.conformance.queues import Record
from lab.conformance.stage import CONSUMER_TIMEOUT, Handler, Stage, Way


def _request(record: Record) -> dict[str, Any]:
    body = json.loads(record["body"])
    return {"message_id": body["message_id"], "body": record["body"]}


def _no_deduplication(stage: Stage) -> Handler:
    def handle(record: Record) -> None:
        stage.effect.perform(_request(record))

    return handle


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


NONE = Way("none", "no deduplication", _no_deduplication)
FIFO_ALONE = Way("fifo-alone", "FIFO queue alone", _no_deduplication, is_fifo=True)
NAIVE_LEDGER = Way("naive-ledger", "naive ledger", _naive_ledger)
