"""First attempts by the deployed starter: hazards, an outage, deployments between, the demo."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from actonce.demo import records
from actonce.demo.run import wait_for_rest
from actonce.embedded import faults, lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.conformance.verdict import Kind
from tests.embedded.command_line import demo
from tests.embedded.hazards import CAUSES, cause_all, disagreement, verdict_of
from tests.embedded.homes import home
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

ON_TROUBLE = {"StartExecutions": "on-trouble"}
NOT_PERFORMED = "before:NotPerformed"
PARKED = {"poison", "conflict"}
"""What waits for a person in the end. A provider that is gone for six calls is there again while an
execution tries on."""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Paths, State, Stack]]:
    paths = home(tmp_path_factory)
    try:
        yield paths, *lifecycle.up(paths, lambda _: None, parameters=ON_TROUBLE)
    finally:
        lifecycle.down(paths)


def send(stack: Stack, *message_ids: str) -> None:
    for message_id in message_ids:
        body = json.dumps({"message_id": message_id, "practice": message_id})
        stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)


def effects(stack: Stack, prefix: str) -> Counter[str]:
    found = records.read(stack).effects
    return Counter({one: number for one, number in found.items() if one.startswith(prefix)})


def executions(stack: Stack, prefix: str) -> set[str]:
    return {one for one in records.read(stack).executions if one.startswith(prefix)}


def test_every_hazard_is_survived_or_waits_for_a_person(
    deployed: tuple[Paths, State, Stack],
) -> None:
    paths, _, stack = deployed
    ends = cause_all(stack, paths.faults)
    verdicts = {hazard: verdict_of(ends[hazard], hazard) for hazard in CAUSES}
    # The provider is gone for as many attempts as an execution makes, and here others come before.
    walked = {one: verdict for one, verdict in verdicts.items() if one != "provider-gone"}
    assert not [text for one in walked.items() if (text := disagreement("on-trouble", *one))]
    kinds = {hazard: verdict.kind for hazard, verdict in verdicts.items()}
    assert {one for one, kind in kinds.items() if kind is not Kind.SURVIVED} == PARKED
    assert {kinds[one] for one in PARKED} == {Kind.PARKED}


def test_a_provider_that_is_out_asks_nobody_and_starts_no_execution(
    deployed: tuple[Paths, State, Stack],
) -> None:
    paths, _, stack = deployed
    ids = [f"outage-{number}" for number in range(12)]
    planned = {one: {"perform": [NOT_PERFORMED] * 2} for one in ids}
    with faults.around_functions(paths.faults, planned):
        send(stack, *ids)
        wait_for_rest(stack)
    assert faults.injected(paths.faults) == {f"perform {NOT_PERFORMED}": 2 * len(ids)}
    assert effects(stack, "outage-") == Counter(ids)
    assert executions(stack, "outage-") == set()
    assert not any(one.startswith("outage-") for one in records.waiting(stack))


def test_deployments_there_and_back_under_open_messages_repeat_nothing(paths: Paths) -> None:
    def up(**parameters: str) -> Stack:
        return lifecycle.up(paths, lambda _: None, parameters=parameters)[1]

    stack = up(**ON_TROUBLE)
    ids = [f"open-{number}" for number in range(16)]
    kinds = (
        ["before:timed-out"],
        ["after:timed-out"],
        [NOT_PERFORMED] * 3,
        ["after:Lambda.Unknown"],
        ["before:killed"],
    )
    planned = {
        one: {"perform": kinds[number % len(kinds)], "delivery": ["after:killed"] * (number == 0)}
        for number, one in enumerate(ids)
    }
    deployments: tuple[dict[str, str], ...] = (
        {},  # every message gets an execution
        ON_TROUBLE | {"EffectTimeoutSeconds": "8"},
        ON_TROUBLE | {"StragglerMarginSeconds": "2"},
        {"EffectTimeoutSeconds": "3"},
    )
    with faults.around_functions(paths.faults, planned):
        send(stack, *ids)
        wait_until(lambda: faults.injected(paths.faults).total() > 2)
        for parameters in deployments:
            stack = up(**parameters)
            send(stack, *ids)
        wait_for_rest(stack)
    assert effects(stack, "open-") == Counter(ids)
    assert records.read(stack).refused == set()
    assert records.waiting(stack) == set()


def test_many_faults_change_nothing(deployed: tuple[Paths, State, Stack]) -> None:
    paths, _, stack = deployed
    before = len(records.read(stack).executions)
    many = ["--faults", "many", "--messages", "80", "--seed", "7"]
    answer = demo(paths, "-p", "StartExecutions=on-trouble", *many, "--keep", "--no-audit")
    assert answer["acted_on_twice"] == answer["lost"] == 0
    assert answer["exactly_once"] is True
    # An execution for trouble only: what met a fault, or itself, at work, sent again.
    assert 0 < answer["started"] - before <= faults.injected(paths.faults).total() + 16
