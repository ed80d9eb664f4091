"""On a stack of its own: starts that are paced."""

import json
import time

import pytest

from actonce.aws import Stack
from actonce.embedded import lifecycle
from actonce.embedded.paths import Paths
from tests.embedded.waiting import wait_until

pytestmark = pytest.mark.long

STARTS_PER_SECOND = 4


@pytest.fixture(scope="module")
def paced(paths: Paths) -> Stack:
    parameters = {"BatchSize": "10", "StartsPerSecond": str(STARTS_PER_SECOND)}
    return lifecycle.up(paths, lambda _: None, parameters=parameters)[1]


def test_a_backlog_is_started_no_faster_than_the_stack_may(paced: Stack) -> None:
    begun = time.time()
    for ten in range(6):
        paced.sqs.send_message_batch(
            QueueUrl=paced.requests_queue,
            Entries=[
                {"Id": str(n), "MessageBody": json.dumps({"message_id": f"paced-{ten}{n}"})}
                for n in range(10)
            ],
        )

    def started() -> list[float]:
        pages = paced.stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=paced.state_machine
        )
        found = [one for page in pages for one in page["executions"]]
        return sorted(
            one["startDate"].timestamp() for one in found if one["name"].startswith("paced-")
        )

    wait_until(lambda: len(started()) == 60, 120)
    times = started()
    print(f"{59 / (times[-1] - times[0]):.2f} a second, after {times[0] - begun:.1f} s")
    assert 59 / (times[-1] - times[0]) <= 1.1 * STARTS_PER_SECOND
