"""The example effect, interrupted as each message asks for; runs in Lambda, deployed by tests.

A message's body may have `faults`: one text per call of `perform`, `<when>:<what>`.
    when: `before` or `after` the appointment was written
    what: `exit` (the process dies), `sleep` (past every time-out), `nap` (6 s, then goes on),
        `until-looked-up` (goes on once `find` has answered), `answers-no` (it says that nothing was
        performed, and does not raise), or the name of an error that the call ends with

`find` fails while the item (message id, "find-fails") exists.
"""

import json
import os
import time
from typing import Any

import boto3

import appointments

_table = os.environ["APPOINTMENTS_TABLE"]
_dynamodb = boto3.client("dynamodb")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    message_id = event["message"]["message_id"]
    if event["operation"] == "find":
        key = {"message_id": {"S": message_id}, "appointment_id": {"S": "find-fails"}}
        if "Item" in _dynamodb.get_item(TableName=_table, Key=key, ConsistentRead=True):
            raise RuntimeError("the table cannot be read")
        answer = appointments.handler(event, context)
        _dynamodb.put_item(TableName=_table, Item=_looked_up(message_id))
        return answer
    fault = _next_fault(message_id, json.loads(event["message"]["body"]).get("faults", []))
    when, _, what = fault.partition(":")
    if fault == "before:answers-no":
        return {"performed": False, "effect": None}
    if when == "before":
        _interrupt(what, message_id)
    answer = appointments.handler(event, context)
    if fault == "after:answers-no":
        return {"performed": False, "effect": None}
    if when == "after":
        _interrupt(what, message_id)
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


def _looked_up(message_id: str) -> dict[str, Any]:
    return {"message_id": {"S": message_id}, "appointment_id": {"S": "looked-up"}}


def _interrupt(what: str, message_id: str) -> None:
    if what == "exit":
        os._exit(1)
    if what == "sleep":
        time.sleep(600)
    if what == "nap":
        time.sleep(6)
        return
    if what == "until-looked-up":  # the function's time-out ends a wait in vain
        key = _looked_up(message_id)
        while "Item" not in _dynamodb.get_item(TableName=_table, Key=key, ConsistentRead=True):
            time.sleep(0.05)
        return
    raise type(what, (Exception,), {})("a fault that the test asked for")
