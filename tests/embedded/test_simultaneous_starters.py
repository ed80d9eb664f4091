"""Two starters are given the same message at the same time, again and again.

Here rather than on moto, which checks a name and takes it in two steps: under threads it starts
one execution twice, and no starter could help that. AWS promises one step; so does this server.
"""

import json
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from actonce.stack.clients import Aws, Stack
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader, Refusal
from actonce_core.start import Start, Starter
from actonce_core.unstarted import UnstartedQueue
from tests.embedded.waiting import wait_until

TIMES = 1000


@pytest.fixture
def counted(stack: Stack) -> Iterator[str]:
    """A table with a row per message and the number of executions that ran for it."""
    name = f"simultaneous-{uuid.uuid4()}"
    stack.dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
    )
    yield name
    stack.dynamodb.delete_table(TableName=name)


@pytest.fixture
def machine(stack: Stack, counted: str) -> Iterator[str]:
    """A state machine whose executions leave a mark each.

    Not ProcessMessage: a thousand effects at once would say how fast Lambda is here.
    """
    mark = {
        "Type": "Task",
        "Resource": "arn:aws:states:::dynamodb:updateItem",
        "Arguments": {
            "TableName": counted,
            "Key": {"message_id": {"S": "{% $states.input.message_id %}"}},
            "UpdateExpression": "ADD executions :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        },
        "End": True,
    }
    definition = {"QueryLanguage": "JSONata", "StartAt": "Mark", "States": {"Mark": mark}}
    arn = stack.stepfunctions.create_state_machine(
        name=counted,
        definition=json.dumps(definition),
        roleArn="arn:aws:iam::000000000000:role/simultaneous",
    )["stateMachineArn"]
    yield arn
    stack.stepfunctions.delete_state_machine(stateMachineArn=arn)


def starter(stack: Stack, machine: str) -> Starter:
    """A starter with clients of its own, as another execution environment has."""
    aws = Aws(stack.aws.endpoint_url)
    return Starter(
        reader=MessageReader(),
        dynamodb=aws.client("dynamodb"),
        table=stack.fingerprints_table,
        stepfunctions=aws.client("stepfunctions"),
        state_machine=machine,
        unstarted=UnstartedQueue(aws.client("sqs"), stack.unstarted_queue),
        names_remembered=timedelta(days=25),
    )


def counts(stack: Stack, table: str) -> dict[str, int]:
    pages = stack.dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return {
        item["message_id"]["S"]: int(item["executions"]["N"])
        for page in pages
        for item in page["Items"]
    }


def running(stack: Stack, machine: str) -> list[Any]:
    answer = stack.stepfunctions.list_executions(stateMachineArn=machine, statusFilter="RUNNING")
    return list(answer["executions"])


@pytest.mark.long
def test_two_starters_given_the_same_message_at_the_same_time_start_one_execution(
    stack: Stack, machine: str, counted: str
) -> None:
    run = uuid.uuid4()
    message_ids = [f"simultaneous-{run}-{number}" for number in range(TIMES)]
    together = threading.Barrier(2, timeout=60)

    def start_all(number: int, one_of_two: Starter) -> list[Start | Refusal]:
        ends = []
        for message_id in message_ids:
            record = {
                "messageId": f"{message_id}-{number}",
                "body": json.dumps({"message_id": message_id}),
            }
            together.wait()
            ends.append(one_of_two.start_message(Delivery.from_record(record)).outcome)
        return ends

    with ThreadPoolExecutor(2) as threads:
        both = list(
            threads.map(start_all, (1, 2), (starter(stack, machine), starter(stack, machine)))
        )

    for message_id, ends in zip(message_ids, zip(*both, strict=True), strict=True):
        assert all(isinstance(end, Start) for end in ends), (message_id, ends)
        assert Start.STARTED in ends, message_id
    wait_until(lambda: not running(stack, machine))
    assert counts(stack, counted) == dict.fromkeys(message_ids, 1)
