"""The batch of a function, from the variables that template.yaml sets."""

import os
from collections.abc import Callable

from deduplication.apart import Apart
from deduplication.batch import Batch
from deduplication.coming_back import RequestsQueue
from deduplication.delivery import Delivery
from deduplication.pace import Pace
from deduplication.patience import THIS_INVOCATION, Patience
from deduplication.start import End
from deduplication.unstarted import UnstartedQueue


def batch_from_environment(
    handle_delivery: Callable[[Delivery], End],
    unstarted: UnstartedQueue,
    handler: str,
    *,
    pace: Pace | None = None,
    may_have_acted: bool = False,
) -> Batch:
    """A batch whose failed deliveries come back soon, and its suspects are handled apart.

    Args:
        handle_delivery: see `Batch`.
        unstarted: for what ends its process; its client is used for what comes back, too.
        handler: makes `handle_delivery` in another process; see `Apart`.
        pace: of starts.
        may_have_acted: see `Apart`.
    """
    requests_queue_url = os.environ.get("REQUESTS_QUEUE_URL")
    return Batch(
        handle_delivery,
        requests=RequestsQueue(unstarted.sqs, requests_queue_url) if requests_queue_url else None,
        apart=Apart(
            handler,
            unstarted,
            invocation=THIS_INVOCATION,
            patience=Patience(THIS_INVOCATION.seconds_left),
            handle_here=handle_delivery,
            hold=None if pace is None else pace.hold,
            may_have_acted=may_have_acted,
        ),
        pace=pace,
    )
