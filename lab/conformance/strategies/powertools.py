"""Rival: Idempotency of Powertools for AWS Lambda (Python), over DynamoDB.

`powertools` is set up as its documentation does for SQS batches: the SQS message id is the key, and
the rest is the default. `powertools-best` uses the producer's id as the key, checks the content,
and never forgets.
"""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from aws_lambda_powertools.utilities import idempotency
from aws_lambda_powertools.utilities.idempotency import base
from aws_lambda_powertools.utilities.idempotency.persistence import base as persistence_base
from aws_lambda_powertools.utilities.idempotency.persistence import datarecord, dynamodb

from lab.conformance.clocks import virtual_datetime
from lab.conformance.queues import Record
from lab.conformance.simulated_stack import Handler, SimulatedStack, StrategyUnderTest
from lab.conformance.world import World

_TEN_YEARS = 10 * 365 * 24 * 3600


def _as_documented() -> idempotency.IdempotencyConfig:
    return idempotency.IdempotencyConfig(event_key_jmespath="messageId")


def _at_its_best() -> idempotency.IdempotencyConfig:
    return idempotency.IdempotencyConfig(
        event_key_jmespath="powertools_json(body).message_id",
        payload_validation_jmespath="powertools_json(body)",
        raise_on_no_idempotency_key=True,
        expires_after_seconds=_TEN_YEARS,
    )


def _build(
    config_of: Callable[[], idempotency.IdempotencyConfig],
) -> Callable[[SimulatedStack], Handler]:
    def build(stack: SimulatedStack) -> Handler:
        config = config_of()
        left = stack.remaining_milliseconds
        context: Any = SimpleNamespace(get_remaining_time_in_millis=left)
        config.register_lambda_context(context)

        def act(record: Record) -> dict[str, Any]:
            body = json.loads(record["body"])
            return stack.effect().perform(
                {"message_id": body["message_id"], "body": record["body"]}
            )

        act_idempotently = idempotency.idempotent_function(
            act,
            data_keyword_argument="record",
            config=config,
            key_prefix="act",
            persistence_store=idempotency.DynamoDBPersistenceLayer(
                table_name="idempotency", boto3_client=stack.dynamodb
            ),
        )

        return lambda record: act_idempotently(record=record)

    return build


@contextmanager
def _installed(world: World) -> Iterator[None]:
    clock = SimpleNamespace(**{**vars(dt), "datetime": virtual_datetime(world)})
    with ExitStack() as patches:
        for module in (base, persistence_base, datarecord, dynamodb):
            patches.enter_context(patch.object(module, "dt", clock))
        yield


POWERTOOLS = StrategyUnderTest(
    "powertools", "Powertools, as documented", _build(_as_documented), installed=_installed
)
POWERTOOLS_BEST = StrategyUnderTest(
    "powertools-best", "Powertools, at its best", _build(_at_its_best), installed=_installed
)
