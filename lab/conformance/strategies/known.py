"""All ways, in the order of the table."""

from dataclasses import replace

from lab.conformance.simulated_stack import StrategyUnderTest
from lab.conformance.strategies.lease import LEASE_FENCED, LEASE_ON_A_HOST, LEASE_WAY, LEDGER
from lab.conformance.strategies.plain import FIFO_ALONE, NONE
from lab.conformance.strategies.powertools import POWERTOOLS, POWERTOOLS_BEST
from lab.conformance.strategies.step_functions import ON_TROUBLE, STEP_FUNCTIONS


def _on_fifo(way: StrategyUnderTest) -> StrategyUnderTest:
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
    POWERTOOLS,
    POWERTOOLS_BEST,
    LEDGER,
    STEP_FUNCTIONS,
    _on_fifo(STEP_FUNCTIONS),
    ON_TROUBLE,
    _on_fifo(ON_TROUBLE),
    LEASE_WAY,
    LEASE_FENCED,
    LEASE_ON_A_HOST,
    _on_fifo(LEASE_FENCED),
)


def find_way(name: str) -> StrategyUnderTest:
    """The way of that name; StopIteration: there is none."""
    return next(one for one in WAYS if one.name == name)
