"""Puts the rows back that a restored table has forgotten: docs/operations.md says when and how."""

import contextlib
import json
import sys
from datetime import UTC, datetime

import boto3

from actonce.messages.effect_store import Attributes, DynamoDbEffects
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader
from actonce_core.records import timestamp

restored, since, starter, effects, key = sys.argv[1:]
dynamodb = boto3.resource("dynamodb").meta.client
stepfunctions = boto3.client("stepfunctions")
function = boto3.client("lambda").get_function_configuration(FunctionName=starter)
given = function["Environment"]["Variables"]
reader = MessageReader("sqs-message-id", given["CONTENT_FROM"])  # for fingerprints alone


def rows(table):
    """Read a whole table."""
    for page in dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from page["Items"]


def executions(machine):
    """Describe the executions since the moment."""
    for page in stepfunctions.get_paginator("list_executions").paginate(stateMachineArn=machine):
        for one in page["executions"]:
            if one["startDate"] >= datetime.fromisoformat(since):
                yield stepfunctions.describe_execution(executionArn=one["executionArn"])


def put(row):
    """Put a row where there is none, or one of a later date; a first attempt's only over itself."""
    is_only_seen = "stage" not in row and "first_seen" in row
    seen, later = ("first_seen", ">") if is_only_seen else ("updated", "=")
    with contextlib.suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.put_item(
            TableName=given["FINGERPRINTS_TABLE"],
            Item=row,
            ConditionExpression=f"attribute_not_exists(message_id) OR {seen} {later} :seen",
            ExpressionAttributeValues={":seen": row[seen]},
        )


def put_new(message_id, fingerprint, first_seen, memory):
    """Put the row that a starter writes."""
    row = {"message_id": message_id, "fingerprint": fingerprint, "memory": memory}
    put({**row, "first_seen": timestamp(first_seen)})


for row in rows(restored):
    if "stage" in row and row["status"] == "IN_PROGRESS":  # it may have been acted on since
        row["stage"] = "started"
    put(row)
machine = given["STATE_MACHINE_ARN"]
for one in executions(machine):
    message = json.loads(one["input"])
    read = reader.read(Delivery(message["message_id"], message["body"], {}, {}))
    put_new(message["message_id"], read.fingerprint, one["startDate"], machine)
for effect in DynamoDbEffects(boto3.client("dynamodb"), effects, Attributes(key)).every():
    if effect.message_id:
        put_new(effect.message_id, "restored", datetime.now(UTC), "restored")
