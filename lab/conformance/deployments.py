"""A deployment that parts what is remembered from who remembers it, while messages are under way.

The Fingerprints table stays, as its policy has it. What is there of the old stack goes on: its
consumers that are at work, and its executions.
"""

from collections.abc import Callable
from functools import partial

from lab.conformance.process import Process
from lab.conformance.simulated_stack import SimulatedStack

Change = Callable[[SimulatedStack], None]

STRATEGIES = ("step-functions", "ledger", "lease")


def _changes(stack: SimulatedStack) -> dict[str, Change]:
    """What may be deployed in the place of the stack's strategy, as a story tells it."""
    others = [other for other in STRATEGIES if other != stack.way.strategy]
    changes: dict[str, Change] = {
        f"changes the strategy to {other}": partial(_change_strategy, name=other)
        for other in others
    }
    if stack.way.strategy == STRATEGIES[0]:
        return {"replaces the state machine": _replace_state_machine} | changes
    return changes


def _replace_state_machine(stack: SimulatedStack) -> None:
    """Rename or move it: a new one takes its place, the old one is retained.

    CloudFormation names it, anew each time, so that no ARN is ever made again.
    """
    stack.state_machine = "arn:another"


def _change_strategy(stack: SimulatedStack, name: str) -> None:
    from lab.conformance.ways.known import way  # noqa: PLC0415 - the ways need the stack

    stack.deployed = way(name)
    stack.queue.most_receives = stack.deployed.most_receives


def deploy_another_memory(stack: SimulatedStack, after: int) -> None:
    """Deploy one of the changes so many milliseconds after the world began, between any two steps.

    The way has a strategy.
    """
    world = stack.world
    told, change = world.pick([*_changes(stack).items()])
    deploy = partial(world.step, told, partial(change, stack))
    process = Process("a deployment", disturbed=False)
    world.at(after, "deployment", partial(world.spawn, process, deploy))
