"""What waits in a stack's queues, and what is left there; on moto."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from actonce.messages.dead_letters import DeadLetter, dead_letter, find_letter, list_dead_letters
from actonce.messages.filters import EntryFilter, Listing
from actonce.messages.unstarted import Unstarted, list_unstarted
from actonce.operate.decisions.allowed import Decision
from actonce.operate.decisions.deciding import decide
from actonce.operate.decisions.results import Answer
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Refusal
from actonce_core.reason import Reason
from actonce_core.unstarted import unstarted_attributes
from tests.support.histories import STATE_MACHINE
from tests.support.stacks import NOW

CONFLICT = Refusal(Reason.CONFLICT, "Another content.")


def letter_body(message_id: str, number: int = 0, **more: Any) -> str:
    """What an execution posts; `number`: tells its letters apart, and is seconds after 09:30."""
    message = {"message_id": message_id, "number": number}
    body = {
        "version": 1,
        "message_id": message_id,
        "reason": "not_performed",
        "error": "NotPerformed",
        "cause": "closed",
        "rounds": 1,
        "execution_name": execution_name(message_id),
        "posted_at": f"2026-01-31T09:30:{number:02}.000Z",
        "message": {"message_id": message_id, "body": json.dumps(message)},
        "task_token": f"token-{message_id}-{number}",
    }
    body |= more
    arn = f"{STATE_MACHINE.replace(':stateMachine:', ':execution:')}:{body['execution_name']}"
    return json.dumps({"execution_arn": arn} | body)


def letter(message_id: str = "m-1", sent_at: datetime = NOW, **more: Any) -> DeadLetter:
    """A dead letter that SQS took then."""
    sent = str(int(sent_at.timestamp() * 1000))
    read = dead_letter(queued(letter_body(message_id, **more), {}, SentTimestamp=sent))
    assert read is not None
    return read


def post(stack: Stack, message_id: str, number: int = 0, **more: Any) -> str:
    """Post a dead letter; SQS's id of it."""
    body = letter_body(message_id, number, **more)
    return stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody=body)["MessageId"]


def letters(stack: Stack, entry_filter: EntryFilter | None = None) -> Listing[DeadLetter]:
    """What a person is shown of DeadLetterQueue."""
    with QueueReader(stack.sqs, stack.dead_letter_queue, wait_for_others=0) as queue:
        return list_dead_letters(stack, queue, entry_filter or EntryFilter({}))


def shown(stack: Stack, message_id: str) -> DeadLetter | None:
    """The letter that `dead-letters show` shows now."""
    with QueueReader(stack.sqs, stack.dead_letter_queue, wait_for_others=0) as queue:
        return find_letter(queue, message_id)


def decide_shown(stack: Stack, message_id: str, decision: Decision, note: str = "") -> Answer:
    """Decide on that letter."""
    letter = shown(stack, message_id)
    assert letter is not None
    return decide(stack, message_id, decision, note, letter.entry)


def ids_left(stack: Stack) -> list[str]:
    """Message ids of all letters that are left."""
    left = received(stack, stack.dead_letter_queue)
    return sorted(json.loads(message["Body"])["message_id"] for message in left)


def queued(body: str, attributes: Mapping[str, Mapping[str, Any]], **system: str) -> Queued:
    return Queued("entry-id", body, {"SentTimestamp": "1", **system}, attributes, "handle")


def handed_on(body: str, own: dict[str, Any], refusal: Refusal = CONFLICT) -> Queued:
    """An entry of UnstartedQueue as the starter makes it."""
    delivery = Delivery("first-id", body, {"ApproximateReceiveCount": "2"}, own)
    return queued(body, unstarted_attributes(delivery, refusal))


def send_to_unstarted(stack: Stack, body: str, own: dict[str, Any] | None = None) -> str:
    """Hand a delivery on to UnstartedQueue as the starter does; SQS's id of the entry."""
    attributes: Any = handed_on(body, own or {}).message_attributes
    return stack.sqs.send_message(
        QueueUrl=stack.unstarted_queue, MessageBody=body, MessageAttributes=attributes
    )["MessageId"]


def fill(stack: Stack, number: int) -> set[str]:
    """So many messages in UnstartedQueue, `body 0` and so on; their SQS ids."""
    return {
        stack.sqs.send_message(QueueUrl=stack.unstarted_queue, MessageBody=f"body {n}")["MessageId"]
        for n in range(number)
    }


def lying(stack: Stack) -> Listing[Unstarted]:
    """What a person is shown of UnstartedQueue."""
    with QueueReader(stack.sqs, stack.unstarted_queue, wait_for_others=0) as queue:
        return list_unstarted(queue, MessageReader(), EntryFilter({}))


def bodies_left(stack: Stack, queue_url: str) -> list[str]:
    return sorted(message["Body"] for message in received(stack, queue_url))


def hold(stack: Stack, queue_url: str, number: int = 10, seconds: int = 600) -> None:
    """As another reader does, who takes his time."""
    stack.sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=number, VisibilityTimeout=seconds
    )


def received(stack: Stack, queue_url: str) -> list[Mapping[str, Any]]:
    """Receive everything that is visible; it stays in the queue, but invisible."""
    messages: list[Mapping[str, Any]] = []
    while batch := stack.sqs.receive_message(
        QueueUrl=queue_url,
        MaxNumberOfMessages=10,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    ).get("Messages"):
        messages += batch
    return messages
