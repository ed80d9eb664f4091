"""What a stack of the console's tests has in its queues."""

from datetime import UTC, datetime, timedelta

from actonce.messages.effect_store import DynamoDbEffects
from actonce.stack.clients import Stack
from actonce_core.records import timestamp
from actonce_pipeline.audit.reading.effects import Attributes
from tests.support.queues import decide_shown
from tests.support.stacks import log
from tests.support.tables import make_table
from tests.support.waiting import dead

MARKUP = "<img src=x onerror=alert(1)>\"'`{{777*777}}</script><b>"


def unstart(stack: Stack, body: str, reason: str = "not_json", **more: str) -> str:
    """Put a delivery into UnstartedQueue; its SQS id."""
    attributes = {"reason": reason, "detail": "a detail", "source_message_id": "first-id"}
    attributes |= {"receive_count": "1", **more}
    return stack.sqs.send_message(
        QueueUrl=stack.unstarted_queue,
        MessageBody=body,
        MessageAttributes={
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
        },
    )["MessageId"]


def log_conflict(stack: Stack, message_id: str) -> None:
    """The starter's log tells that another content came with an id and was refused."""
    now = datetime.now(UTC) - timedelta(seconds=5)  # before anything else of its story
    line = {"stream": "deliveries", "at": timestamp(now), "end": "refused", "reason": "conflict"}
    line |= {"message_id": message_id, "execution_name": message_id}
    log(stack, line, now)


def own_effect(stack: Stack, message_id: str) -> DynamoDbEffects:
    """A table of a team's own effects that has one of the message."""
    item = {"message_id": message_id, "effect_id": "e-1", "at": "2026-01-31T09:31:07Z"}
    items = [{name: {"S": value} for name, value in item.items()}]
    make_table(stack.dynamodb, "cards", "message_id", "effect_id", items=items)
    return DynamoDbEffects(stack.dynamodb, "cards", Attributes(time="at"))


def rejected(stack: Stack, message_id: str = "m-1") -> None:
    """A message that waits for a decision."""
    dead(stack, message_id, reason="rejected", error="Rejected", cause="no such practice")


def retried_by_a_colleague(stack: Stack, message_id: str = "m-1") -> None:
    """Somebody has it tried again from elsewhere; and it fails otherwise."""
    assert decide_shown(stack, message_id, "retry").decided
    dead(stack, message_id, 1, reason="outcome_unknown", error="Unclear", cause="timed out")
