"""What a rule hears of one message: its dead letter, its conflict and its decision."""

import json
from collections.abc import Callable
from typing import Any

from actonce.stack.clients import Stack
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support.queues import decide_shown


def test_a_dead_letter_a_conflict_and_a_decision_are_heard_once_each(
    stack: Stack, send: Callable[[Any], None], message_id: str
) -> None:
    queue = stack.sqs.create_queue(QueueName=message_id)["QueueUrl"]
    bus: Any = stack.aws.client("events")
    pattern = {"source": ["actonce"], "detail": {"message_id": [message_id]}}
    bus.put_rule(Name=message_id, EventPattern=json.dumps(pattern))
    arn = f"arn:aws:sqs:us-east-1:000000000000:{message_id}"
    bus.put_targets(Rule=message_id, Targets=[{"Id": "heard", "Arn": arn}])
    events: list[Any] = []

    def hear(kind: str) -> Any:
        def found() -> Any:
            got = stack.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
            events.extend(json.loads(one["Body"]) for one in got.get("Messages", []))
            return [one for one in events if one["detail-type"] == kind]

        (event,) = wait_until(found)
        return event["detail"]

    send({"message_id": message_id, "practice": 7})
    needed = hear("Decision Needed")
    send({"message_id": message_id, "practice": 8})
    refused = hear("Delivery Refused")
    assert decide_shown(stack, message_id, "resolve", "by telephone").decided
    made = hear("Decision Made")

    ended = wait_for_execution(stack, stack.execution_arn(message_id))
    assert (ended["status"], len(events)) == ("SUCCEEDED", 3)
    same = {"version": 1, "stack": stack.name, "message_id": message_id}
    same["execution_name"] = message_id
    of_execution = {**same, "execution_arn": ended["executionArn"], "reason": "rejected"}
    assert needed == {**of_execution, "error": "Rejected", "rounds": 0}
    assert made == {**of_execution, "decision": "resolve"}
    assert refused.pop("sqs_message_id")
    assert refused == {**same, "reason": "conflict"}
    assert "telephone" not in json.dumps(events)
