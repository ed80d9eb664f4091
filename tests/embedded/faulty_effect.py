"""The example effect, interrupted as each message asks for; runs in Lambda, deployed by tests.

A message's body may have `faults`: one text per call of `perform`, `<when>:<what>`.
    when: `before` or `after` the appointment was written
    what: `exit` (the process dies), `answers-no` (it says that nothing was performed, and does not
        raise), or the name of an error that the call ends with
"""

import json
import os
from typing import Any

import boto3

import appointments

_table = os.environ["APPOINTMENTS_TABLE"]
_dynamodb = boto3.client("dynamodb")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    message_id = event["message"]["message_id"]
    if event["operation"] == "find":
        return appointments.handler(event, context)
    fault = _next_fault(message_id, json.loads(event["message"]["body"]).get("faults", []))
    when, _, what = fault.partition(":")
    if when == "before":
        _interrupt(what)
    answer = appointments.handler(event, context)
    if fault == "after:answers-no":
        return {"performed": False, "effect": None}
    if when == "after":
        _interrupt(what)
    return answer


def _next_fault(message_id: str, faults: list[str]) -> str:
    """The fault of this call; the table counts calls, because any process may get the next."""
    answer = _dynamodb.update_item(
        TableName=_table,
        Key={"message_id": {"S": message_id}, "appointment_id": {"S": "calls"}},
        UpdateExpression="ADD calls :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="UPDATED_NEW",
    )
    call = int(answer["Attributes"]["calls"]["N"])
    return faults[call - 1] if call <= len(faults) else ""


def _interrupt(what: str) -> None:
    if what == "exit":
        os._exit(1)
    raise type(what, (Exception,), {})("a fault that the test asked for")
