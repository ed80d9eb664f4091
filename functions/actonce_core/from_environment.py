"""The batch of a function, from the variables that template.yaml sets."""

import os
from collections.abc import Callable

from actonce_core.batch import Batch
from actonce_core.coming_back import RequestsQueue
from actonce_core.delivery import Delivery
from actonce_core.pace import Pace
from actonce_core.start import End
from actonce_core.unstarted import UnstartedQueue


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
