"""The batch of a function, from the variables that template.yaml sets."""

import os
from collections.abc import Callable

from deduplication.batch import Batch
from deduplication.coming_back import RequestsQueue
from deduplication.delivery import Delivery
from deduplication.pace import Pace
from deduplication.start import End
from deduplication.unstarted import UnstartedQueue


def batch_from_environment(
    handle_delivery: Callable[[Delivery], End],
    unstarted: UnstartedQueue,
    pace: Pace | None = None,
) -> Batch:
    """A batch whose failed deliveries come back soon.

    Args:
        handle_delivery: see `Batch`.
        unstarted: its client is used for what comes back, too.
        pace: of starts.
    """
    requests_queue_url = os.environ.get("REQUESTS_QUEUE_URL")
    return Batch(
        handle_delivery,
        requests=RequestsQueue(unstarted.sqs, requests_queue_url) if requests_queue_url else None,
        pace=pace,
    )
