"""Deployments while messages are in progress: another state machine, time-out, starter.

The Fingerprints table is retained, as its policy says. Running consumers and executions of the old
stack go on.
"""

from collections.abc import Callable, Sequence
from functools import partial

from lab.conformance.process import Process
from lab.conformance.simulated_stack import (
    EFFECT_TIMEOUT,
    MEMORY_TABLE,
    OTHER_EFFECT_TIMEOUT,
    SimulatedStack,
)

Change = Callable[[SimulatedStack], None]


def replace_state_machine(stack: SimulatedStack) -> None:
    """CloudFormation gives each state machine a new name, so an ARN never comes back."""
    stack.state_machine = "arn:another"


def deploy_in_turn(
    stack: SimulatedStack, after: int, changes: Sequence[tuple[str, Change]]
) -> None:
    """Deploy these, each between any two steps, 2 s apart and later than `after` milliseconds."""
    world = stack.world

    def deploy() -> None:
        for number, (description, change) in enumerate(changes):
            if number:
                world.sleep(2)
            world.step(description, partial(change, stack))

    process = Process("a deployment", disturbed=False)
    world.at(after, "deployment", partial(world.spawn, process, deploy))


def retime(stack: SimulatedStack) -> None:
    """Change the effect's time-out from 15 s to 2 minutes, or back, part by part."""
    is_longer = stack.world.pick((True, False))
    longer, shorter = OTHER_EFFECT_TIMEOUT, EFFECT_TIMEOUT
    before, after = (shorter, longer) if is_longer else (longer, shorter)
    if not is_longer:
        for change in _retiming(before):
            change[1](stack)
    deploy_in_turn(stack, stack.world.pick((0, 500)), _retiming(after))


def _retiming(timeout: int) -> list[tuple[str, Change]]:
    return [
        ("publishes a version", lambda stack: stack.publish(timeout)),
        ("deploys the state machine", SimulatedStack.deploy_machine),
        ("deploys the starter", SimulatedStack.deploy_starter),
    ]


def switch(stack: SimulatedStack) -> None:
    """Change whether the starter makes first attempts: on, off, or off and on again."""
    ways = stack.world.pick(
        (
            ("step-functions", "on-trouble"),
            ("on-trouble", "step-functions"),
            ("on-trouble", "step-functions", "on-trouble"),
        )
    )
    _replace_starters(stack, ways)


def replace_release(stack: SimulatedStack) -> None:
    """Upgrade from an earlier release's starter, or back to it, or both, as one that was warm."""
    ways = stack.world.pick(
        (
            ("earlier", "on-trouble"),
            ("on-trouble", "earlier"),
            ("on-trouble", "earlier", "on-trouble"),
        )
    )
    _replace_starters(stack, ways)


def _replace_starters(stack: SimulatedStack, ways: Sequence[str]) -> None:
    first, *later = ways
    _deploy_starter(stack, name=first)
    changes = [(f"deploys the starter: {one}", partial(_deploy_starter, name=one)) for one in later]
    deploy_in_turn(stack, stack.world.pick((0, 500)), changes)


def _deploy_starter(stack: SimulatedStack, name: str) -> None:
    from lab.conformance.strategies import step_functions  # noqa: PLC0415 - these need the stack

    ways = (step_functions.STEP_FUNCTIONS, step_functions.ON_TROUBLE, step_functions.EARLIER)
    (stack.deployed,) = (one for one in ways if one.name == name)


def restore(stack: SimulatedStack) -> None:
    """The Fingerprints table is restored to before the first message."""
    changes = [("restores the table", lambda it: it.tables.forget(MEMORY_TABLE))]
    deploy_in_turn(stack, stack.world.pick((0, 500)), changes)
