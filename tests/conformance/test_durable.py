"""Lambda durable functions, as AWS's SDK has them: what each way to have the step comes to."""

import json
import re
from typing import Any

import pytest
from aws_durable_execution_sdk_python.config import StepConfig, StepSemantics
from aws_durable_execution_sdk_python.retries import RetryPresets

from lab.bench.cost import PAGE, PRICES
from lab.conformance.hazards import scenario
from lab.conformance.simulated_stack import SimulatedStack, Way, process_message
from lab.conformance.trial import run_trial, story_lines
from lab.conformance.verdict import Kind
from lab.conformance.ways import durable
from lab.conformance.ways.known import way
from lab.conformance.world import World


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("durable", ["a.1: PERFORMS a", "a.1: crashes", "a.2: PERFORMS a"]),  # at least once
        # At most once is meant of each retry.
        ("durable-at-most-once", ["PERFORMS a", "a.1: crashes", "a.2: .*RETRY", "a.3: PERFORMS a"]),
    ],
)
def test_a_crash_after_the_effect_has_it_act_again(name: str, steps: list[str]) -> None:
    trial = run_trial(way(name), scenario("crash-after-effect"))

    assert trial.worst.kind == Kind.TWICE
    lines = iter(story_lines(trial.story))
    for pattern in steps:
        assert any(re.search(pattern, line) for line in lines), (pattern, *story_lines(trial.story))


def test_once_and_found_waits_for_a_straggler() -> None:
    assert run_trial(way("durable-found"), scenario("margin")).worst.kind == Kind.SURVIVED


def test_without_a_retry_a_step_is_once_and_a_person_has_to_look() -> None:
    once = StepConfig(RetryPresets.none(), StepSemantics.AT_MOST_ONCE_PER_RETRY)
    alone = durable.durable_way("-once", "once", durable.in_a_step(once))

    assert run_trial(alone, scenario("crash")).worst.kind == Kind.PARKED


@pytest.mark.parametrize("one", durable.DURABLE_WAYS, ids=lambda one: one.name)
def test_a_message_takes_its_start_and_a_step_as_the_page_of_costs_counts_them(one: Way) -> None:
    world = World()
    stack = SimulatedStack(world, one, process_message())
    stack.send("a")
    with one.installed(world):
        world.run()

    state: Any = stack.durable.state()
    operations = json.loads(state[0][2])[0]
    price = {
        name: found["dollars_per_million"]
        for name, found in json.loads(PRICES.read_text())["prices"].items()
    }
    dollars = (
        (1 + len(operations)) * price["durable_operation"]
        + price["durable_kb_written"]
        + 0.15 * 14 / 30
        + 1.1 * price["lambda_request"]
        + 0.3 * price["sqs_standard_request"]
        + 2 * price["write_request_unit"]
    )
    assert f"**${dollars:.2f}**" in PAGE.read_text()
