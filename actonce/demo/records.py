"""What the parts of the stack recorded on their own."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actonce.demo.own import OwnEffect, count_effects
from actonce.messages.delivery_log import delivery_lines
from actonce.messages.effect_store import find_effect_store
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce_core.delivery import SOURCE_MESSAGE_ID
from actonce_core.execution import execution_name

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType


@dataclass(frozen=True, slots=True)
class Records:
    """What is read when nothing moves any more.

    Attributes:
        deliveries: the `deliveries` stream, see `actonce_core.delivery_record`.
        executions: name to status.
        resolved: names of the executions that an operator ended as resolved.
        effects: message id to the number of its appointments, or of a team's own effects.
        refused: (`source_message_id`, reason) of what waits in UnstartedQueue.
        waiting: names of the executions whose dead letters wait for a decision.
    """

    deliveries: list[dict[str, Any]]
    executions: dict[str, str]
    resolved: set[str]
    effects: dict[str, int]
    refused: set[tuple[str, str]]
    waiting: set[str]


def read(stack: Stack, own: OwnEffect | None = None, message_ids: Iterable[str] = ()) -> Records:
    """Read everything, and consume nothing.

    Args:
        stack: on which the demo ran.
        own: a team's own effect; None for the example.
        message_ids: whose effects may have to be looked up.

    Raises:
        Failed: they cannot be counted.
    """
    effects = _appointments(stack) if own is None else count_effects(stack, message_ids)
    executions = _executions(stack)
    return Records(
        deliveries=list(delivery_lines(stack)),
        executions=executions,
        resolved=_resolved(stack, executions, effects),
        effects=effects,
        refused=_refused(stack),
        waiting=waiting(stack),
    )


def execution_names(stack: Stack, status: "ExecutionStatusType") -> set[str]:
    """Names of the executions of that status."""
    return set(_executions(stack, statusFilter=status))


def _executions(stack: Stack, **only: Any) -> dict[str, str]:
    pages = stack.stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=stack.state_machine, **only
    )
    return {item["name"]: item["status"] for page in pages for item in page["executions"]}


def _resolved(stack: Stack, executions: dict[str, str], effects: dict[str, int]) -> set[str]:
    with_effect = {execution_name(message_id) for message_id in effects}
    resolved = set()
    for name, status in executions.items():
        if status != "SUCCEEDED" or name in with_effect:
            continue
        answer = stack.stepfunctions.describe_execution(executionArn=stack.execution_arn(name))
        if json.loads(answer["output"]).get("outcome") == "resolved":
            resolved.add(name)
    return resolved


def _appointments(stack: Stack) -> Counter[str]:
    """How many the example has made for each message."""
    table = find_effect_store(stack)
    found = () if table is None else table.every()
    made = (one for one in found if str(one.effect_id).startswith("appointment-"))
    return Counter(one.message_id for one in made)


def _refused(stack: Stack) -> set[tuple[str, str]]:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        return {
            (
                message.text_attribute(SOURCE_MESSAGE_ID) or message.sqs_message_id,
                message.text_attribute("reason") or "received_too_often",
            )
            for message in queue.messages()
        }


def waiting(stack: Stack) -> set[str]:
    """Names of the executions whose dead letters are in DeadLetterQueue."""
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        return {json.loads(message.body)["execution_name"] for message in queue.messages()}
