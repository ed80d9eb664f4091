"""Starts an execution per order, named by it."""

import json
import os

import boto3

stepfunctions = boto3.client("stepfunctions")


def handler(event, context):
    """Take a batch of orders."""
    failed = []
    for record in event["Records"]:
        try:
            stepfunctions.start_execution(
                stateMachineArn=os.environ["STATE_MACHINE_ARN"],
                name=json.loads(record["body"])["order_id"],
                input=record["body"],
            )
        except stepfunctions.exceptions.ExecutionAlreadyExists:
            pass
        except Exception:
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
