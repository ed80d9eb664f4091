"""A plain trigger, on a standard queue and on a FIFO queue alone."""

import json
from typing import Any

from lab.conformance.queues import Record
from lab.conformance.simulated_stack import Handler, SimulatedStack, StrategyUnderTest


def _request(record: Record) -> dict[str, Any]:
    body = json.loads(record["body"])
    return {"message_id": body["message_id"], "body": record["body"]}


def _no_deduplication(stack: SimulatedStack) -> Handler:
    return lambda record: stack.effect().perform(_request(record))


NONE = StrategyUnderTest("none", "no deduplication", _no_deduplication)
FIFO_ALONE = StrategyUnderTest("fifo-alone", "FIFO queue alone", _no_deduplication, is_fifo=True)
