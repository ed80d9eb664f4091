"""StarterFunction whose reader is ended by some bodies: all else is the product's."""

import dataclasses
import functools
import os
import signal
from typing import Any

import starter
from deduplication.batch import Batch, metrics
from deduplication.delivery import Delivery
from deduplication.from_environment import batch_from_environment
from deduplication.message import Message, MessageReader
from deduplication.refusal import Refusal
from deduplication.start import Starter

POISON = '"poison": true'


class PoisonedReader(MessageReader):
    """Reads what can be outlived."""

    def read(self, delivery: Delivery) -> Message | Refusal:
        """Read it; of some bodies its process dies."""
        if POISON in delivery.body:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(delivery)


def starter_from_environment() -> Starter:
    """The product's, with that reader."""
    return dataclasses.replace(starter.starter_from_environment(), reader=PoisonedReader())


@functools.cache
def _batch() -> Batch:
    made = starter_from_environment()
    return batch_from_environment(
        made.start_message,
        made.unstarted,
        "poisoned_starter:starter_from_environment:start_message",
        pace=made.pace,
    )


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return _batch().handle(event, context)
