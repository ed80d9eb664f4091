"""All ways, in the order of the table."""

from dataclasses import replace

from lab.conformance.stage import Way
from lab.conformance.ways.example import booking
from lab.conformance.ways.lock_client import LOCK_CLIENT
from lab.conformance.ways.locks import (
    DECORATED_WAYS,
    INVOKING_WAYS,
    LEASE_WAYS,
    LEDGER_WAYS,
)
from lab.conformance.ways.plain import FIFO_ALONE, NAIVE_LEDGER, NONE
from lab.conformance.ways.powertools import POWERTOOLS, POWERTOOLS_BEST
from lab.conformance.ways.step_functions import STEP_FUNCTIONS


def _on_fifo(way: Way) -> Way:
    # By the message id, SQS would drop a message with the same id and another content unseen.
    return replace(
        way,
        name=f"{way.name}-fifo",
        title=f"{way.title}, FIFO queue",
        is_fifo=True,
        is_content_based=True,
    )


WAYS = (
    NONE,
    FIFO_ALONE,
    NAIVE_LEDGER,
    POWERTOOLS,
    POWERTOOLS_BEST,
    LOCK_CLIENT,
    STEP_FUNCTIONS,
    _on_fifo(STEP_FUNCTIONS),
    *LEDGER_WAYS,
    *DECORATED_WAYS,
    *LEASE_WAYS,
    *INVOKING_WAYS,
    *(_on_fifo(way) for way in (*LEDGER_WAYS, *LEASE_WAYS) if way.is_fenced and way.ends_at),
    *(booking(way) for way in (STEP_FUNCTIONS, LEDGER_WAYS[0], LEASE_WAYS[0])),
)


def way(name: str) -> Way | None:
    """The way of that name."""
    return next((one for one in WAYS if one.name == name), None)
