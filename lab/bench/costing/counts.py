"""What was counted, as it is kept in `cost_counts.json`: numbers only, no prices."""

import json
from pathlib import Path
from typing import Literal, TypedDict

Traffic = Literal["message", "duplicate"]
"""A message that is new and succeeds, or one that was acted on before."""

BATCH_SIZES = (10, 1)
"""Deliveries per batch that are counted: the most that the stack allows, and the fewest."""

PER_BATCH_SQS_REQUESTS = 3
"""By AWS's rule, for a batch that is full: one to send it, one to receive it, one to delete it."""


class Count(TypedDict):
    """What `messages` messages of one kind of traffic took, all together.

    Attributes:
        way: the strategy, or the rival.
        batch_size: deliveries per batch; every batch was full.
        traffic: see `Traffic`.
        messages: how many were sent; the other numbers are for all of them.
        requests: AWS requests that functions and workflow made, by kind.
        state_transitions: of Step Functions: an execution's start, and each state entered.
        write_units: of DynamoDB, by AWS's rule from the requests and the items.
        read_units: as `write_units`.
        invocations: of Lambda functions.
        lambda_ms: how long these took, on the machine that counted, in functions warmed before.
        memory_mb: of the functions.
        sqs_requests: by AWS's rule.
        appointments: written in that time; a duplicate that writes one was acted on twice.
        by_definition: not counted but read from the workflow's definition.
    """

    way: str
    batch_size: int
    traffic: Traffic
    messages: int
    requests: dict[str, int]
    state_transitions: int
    write_units: int
    read_units: float
    invocations: int
    lambda_ms: int
    memory_mb: int
    sqs_requests: int
    appointments: int
    by_definition: bool


class Counts(TypedDict):
    """All counts of one run, when it was (ISO date) and where."""

    counted_on: str
    machine: dict[str, str | int | float]
    versions: dict[str, str]
    counts: list[Count]


def read_counts(path: Path) -> Counts:
    """Read what `write_counts` wrote."""
    counts: Counts = json.loads(path.read_text())
    return counts


def write_counts(path: Path, counts: Counts) -> None:
    """Write them so that two runs can be compared line by line."""
    path.write_text(json.dumps(counts, indent=2) + "\n")


LOCK_WORKFLOW = "lock workflow"
LOCK_WORKFLOW_TRANSITIONS = 7
"""Start, Get Lock, Acquire Lock in it, Do Work, the task in it, Release Lock, Success.

Of `dynamodb-semaphore.asl.json` in aws-samples/aws-stepfunctions-examples, with a task of one's own
in place of the demonstration in Do Work, and the lock got at the first try.
"""
LOCK_WORKFLOW_UPDATES = 2
"""Acquire Lock and Release Lock each update the lock's item, which is below 1 KB."""


def lock_workflow(step_functions: Count, traffic: Traffic) -> Count:
    """What the public lock-table workflow takes for the same effect, by its definition.

    In front of it stand the same queue and a starter that does nothing but start, without a
    fingerprint; its functions' milliseconds are those of the strategy step-functions. The lock
    keeps executions from acting side by side and remembers nothing once released, so a duplicate
    takes what a message takes, and acts again.

    Args:
        step_functions: the count of the strategy's messages, for the same batch size.
        traffic: see `Traffic`.
    """
    messages = step_functions["messages"]
    requests = dict(step_functions["requests"])
    requests["PutItem"] -= messages  # the fingerprints
    requests["UpdateItem"] += LOCK_WORKFLOW_UPDATES * messages
    return {
        **step_functions,
        "way": LOCK_WORKFLOW,
        "traffic": traffic,
        "requests": requests,
        "state_transitions": LOCK_WORKFLOW_TRANSITIONS * messages,
        "write_units": step_functions["write_units"] + (LOCK_WORKFLOW_UPDATES - 1) * messages,
        "by_definition": True,
    }
