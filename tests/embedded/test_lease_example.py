"""examples/lease, built by sam and deployed on the embedded AWS beside the stack."""

import json
import sys
import uuid
from typing import Any

import pytest

from actonce.embedded import local_stack, sam
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Aws, Stack, outputs_of
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.waiting import wait_until

pytestmark = pytest.mark.long
NAME = "lease"


@pytest.fixture(scope="module")
def deployed(embedded_paths: Paths, state: State) -> dict[str, str]:
    """The outputs of the example's stack."""
    paths = embedded_paths
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    template = paths.home / "lease.yaml"
    text = (PROJECT / "examples" / "lease" / "template.yaml").read_text()
    for place in ("../../functions/", "cards/"):
        folder = PROJECT / "examples" / "lease" / place
        text = text.replace(f"Uri: {place}", f"Uri: {folder.resolve()}")
    template.write_text(text.replace("python3.13", here))
    build = paths.home / "lease-build"
    sam.run(["build", "--template-file", str(template), "--build-dir", str(build)], paths)
    local = local_stack.rewrite(build / "template.yaml", local_stack.Settings({}))
    sam.deploy(paths, state.endpoint_url, local, {}, stack=NAME)
    return outputs_of(Aws(state.endpoint_url), NAME)


def test_an_order_sent_again_gets_one_card_and_what_nothing_mends_waits_for_a_person(
    deployed: dict[str, str], stack: Stack
) -> None:
    one, other = (f"order-{uuid.uuid4()}" for _ in range(2))
    orders = [
        {"order_id": one, "amount": 5},
        {"order_id": one, "amount": 5},
        {"order_id": one, "amount": 50},
        {"order_id": f"{one}-rejected", "amount": 0},
        {"order_id": other, "amount": 7},
    ]
    bodies = [*map(json.dumps, orders[:-1]), "no JSON", "[]", json.dumps(orders[-1])]
    for body in bodies:
        stack.sqs.send_message(
            QueueUrl=deployed["OrdersUrl"],
            MessageBody=body,
            MessageGroupId="g",
            MessageDeduplicationId=uuid.uuid4().hex,
        )

    def cards() -> list[tuple[str, str]]:
        items: Any = stack.dynamodb.scan(TableName=deployed["CardsTableName"])["Items"]
        return sorted((one["order_id"]["S"], one["amount"]["N"]) for one in items)

    wait_until(lambda: len(cards()) > 1)  # in a group the last order comes last
    assert cards() == sorted([(one, "5"), (other, "7")])
    handed_on: list[str] = []
    while received := stack.sqs.receive_message(
        QueueUrl=deployed["DeadLettersUrl"], MaxNumberOfMessages=10
    ).get("Messages"):
        handed_on += [message["Body"] for message in received]
    assert sorted(handed_on) == sorted(bodies[2:6])
