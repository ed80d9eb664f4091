"""A delivery's line in the records: how it ended, and nothing of what it carries."""

import io
import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError, ReadTimeoutError

from actonce_core.delivery import Delivery
from actonce_core.message import Message, Refusal
from actonce_core.reason import Reason
from actonce_core.records import delivery_record, log_line
from actonce_core.result import DeliveryResult, Start
from tests.support.deliveries import delivery
from tests.support.moto_aws import NOW
from tests.support.snapshots import Snapshot

MESSAGE = Message("order 17", '{"secret":1}', "a" * 64)
THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "X")


ENDS: list[Any] = [
    DeliveryResult(Start.STARTED, MESSAGE),
    DeliveryResult(Start.SUPPRESSED, MESSAGE),
    DeliveryResult(Refusal(Reason.CONFLICT, "A sentence.", "order 17"), MESSAGE),
    DeliveryResult(Refusal(Reason.NOT_JSON, "A sentence."), None),
    # A failure is recorded by its name alone.
    THROTTLED,
    RuntimeError("the body is {secret}"),
    ReadTimeoutError(endpoint_url="https://secret"),
]


def test_a_delivery_is_recorded_by_its_end(snapshot: Snapshot) -> None:
    records = [delivery_record(delivery({"secret": 1}), end, NOW) for end in ENDS]
    records.append(delivery_record(Delivery("sqs-1", "{}", {}, {}), ENDS[0], NOW))  # without times
    records.append(delivery_record(delivery({}), THROTTLED, NOW, "order 17"))
    snapshot("deliveries.jsonl", "".join(json.dumps(one) + "\n" for one in records))


def test_a_line_escapes_only_what_acts_on_a_terminal() -> None:
    assert log_line({"message_id": "Zoë"}) == '{"message_id":"Zoë"}'
    line = log_line({"message_id": "\x1b[2J\x9b\x7f\u202e\ud800"})
    assert line == r'{"message_id":"\u001b[2J\u009b\u007f\u202e\ud800"}'


def test_the_logger_of_the_functions_writes_such_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    # Loggers of one name are one logger, and other tests have made theirs.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "test-log-lines")
    logger, stream = Logger(json_serializer=log_line), io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", stream)
    logger.info("delivery", extra={"message_id": "a\u202eb", "error": ValueError("x")})
    assert r"a\u202eb" in stream.getvalue()
    assert json.loads(stream.getvalue())["error"] == "x"
