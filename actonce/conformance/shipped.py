"""The code under test that ships in `functions/`, found by way of `actonce.deployed`."""

import actonce.deployed  # noqa: F401 - puts functions/ on the path
from deduplication import executions
from deduplication.delivery import Delivery
from deduplication.executions import Executions
from deduplication.fingerprints import FingerprintTable
from deduplication.message import MessageReader
from deduplication.start import Starter
from deduplication.unstarted import UnstartedQueue
from effect import NotPerformed, Rejected, answer

__all__ = [
    "Delivery",
    "Executions",
    "FingerprintTable",
    "MessageReader",
    "NotPerformed",
    "Rejected",
    "Starter",
    "UnstartedQueue",
    "answer",
    "executions",
]
