"""MiniStack understands what a function answers as AWS's pages say."""

import json
import uuid
from functools import partial

from actonce.stack.clients import Stack
from tests.embedded.waiting import wait_until
from tests.support import asl
from tests.support.answers import ANSWERED, AS_A_TEXT
from tests.support.packages import packed

ANSWERS_AS_TOLD = """
import json

def handler(event, _context):
    told = json.loads(event["message"]["message_id"])
    return told[event["operation"]][event.get("attempt", 1) - 1]
"""
"""By the message id, which is all that it is told when it is asked to find."""


def test_each_answer_leads_where_it_should(stack: Stack) -> None:
    name = f"answers-{uuid.uuid4()}"
    role = "arn:aws:iam::000000000000:role/answers"
    function = stack.aws.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.12",
        Role=role,
        Handler="answers.handler",
        Code={"ZipFile": packed({"answers.py": ANSWERS_AS_TOLD})},
    )["FunctionArn"]
    substitutions = asl.EXAMPLE_SUBSTITUTIONS | {
        "EffectFunctionArn": function,
        "FindFunctionArn": function,
        "EffectTimeoutSeconds": "60",
        "StragglerMarginSeconds": "-60",
        "DeadLetterQueueUrl": stack.sqs.create_queue(QueueName=name)["QueueUrl"],
    }
    machine = stack.stepfunctions.create_state_machine(
        name=name, definition=json.dumps(asl.definition(substitutions)), roleArn=role
    )["stateMachineArn"]
    started = {}
    for answers, expected in ANSWERED[::3]:
        if answers[-1] == AS_A_TEXT:  # which MiniStack reads once more
            continue
        told = {"perform": [answers[0], answers[-1]], "find": answers[1:2]}
        message = {"message_id": json.dumps(told), "body": ""}
        arn = stack.stepfunctions.start_execution(
            stateMachineArn=machine, name=str(uuid.uuid4()), input=json.dumps(message)
        )["executionArn"]
        started[arn] = answers, expected
    for arn, (answers, expected) in started.items():
        entered = wait_until(partial(asl.states_entered, stack.stepfunctions, arn))
        assert (answers, entered) == (answers, expected)
