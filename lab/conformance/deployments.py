"""A deployment that replaces the state machine or the strategy while messages are in progress.

The Fingerprints table is retained, as its policy says. Running consumers and executions of the old
stack go on.
"""

from collections.abc import Callable
from functools import partial

from lab.conformance.process import Process
from lab.conformance.simulated_stack import SimulatedStack

Change = Callable[[SimulatedStack], None]

STRATEGIES = ("step-functions", "lease")


def _changes(stack: SimulatedStack) -> dict[str, Change]:
    """What may be deployed in place of the stack's strategy, by its description in a story."""
    others = [other for other in STRATEGIES if other != stack.way.strategy]
    changes: dict[str, Change] = {
        f"changes the strategy to {other}": partial(_change_strategy, name=other)
        for other in others
    }
    if stack.way.strategy == STRATEGIES[0]:
        return {"replaces the state machine": _replace_state_machine} | changes
    return changes


def _replace_state_machine(stack: SimulatedStack) -> None:
    """CloudFormation gives each state machine a new name, so an ARN never comes back."""
    stack.state_machine = "arn:another"


def _change_strategy(stack: SimulatedStack, name: str) -> None:
    from lab.conformance.strategies.known import way  # noqa: PLC0415 - the ways need the stack

    stack.deployed = way(name)
    stack.queue.most_receives = stack.deployed.most_receives


def deploy_another_memory(stack: SimulatedStack, after: int) -> None:
    """Deploy a change between any two steps later than `after` milliseconds.

    The way must have a strategy.
    """
    world = stack.world
    description, change = world.pick([*_changes(stack).items()])
    deploy = partial(world.step, description, partial(change, stack))
    process = Process("a deployment", disturbed=False)
    world.at(after, "deployment", partial(world.spawn, process, deploy))
