"""The rival as a Lambda function: Powertools' Idempotency and batch processor around the effect.

Set up at its best: the producer's id as the key, the content compared, nothing forgotten for ten
years. It is put into the package of ConsumerFunction, so it has the same effect, the same
Powertools and the same interpreter. A batch's records are handled one after the other, as
Powertools' batch processor does.
"""

import functools
import json
import os
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from appointments import AppointmentBook, book_from_environment

_TEN_YEARS_IN_SECONDS = 10 * 365 * 24 * 3600

_config = IdempotencyConfig(
    event_key_jmespath="powertools_json(body).message_id",
    payload_validation_jmespath="powertools_json(body)",
    raise_on_no_idempotency_key=True,
    expires_after_seconds=_TEN_YEARS_IN_SECONDS,
)
_processor = BatchProcessor(event_type=EventType.SQS)


@functools.cache
def _book() -> AppointmentBook:
    return book_from_environment()


@idempotent_function(  # type: ignore[untyped-decorator]
    data_keyword_argument="record",
    config=_config,
    persistence_store=DynamoDBPersistenceLayer(os.environ.get("IDEMPOTENCY_TABLE", "")),
)
def _book_appointment(record: SQSRecord) -> dict[str, Any]:
    body = json.loads(record.body)
    return _book().perform({"message_id": body["message_id"], "body": record.body})


def handler(event: dict[str, Any], context: Any) -> Any:
    """Lambda's entry point."""
    _config.register_lambda_context(context)
    return process_partial_response(
        event=event, record_handler=_book_appointment, processor=_processor, context=context
    )
