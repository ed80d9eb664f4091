"""A deployment that parts what is remembered from who remembers it, while messages are under way.

The Fingerprints table stays, as its policy has it. What is there of the old stack goes on: its
consumers that are at work, and its executions.
"""

from collections.abc import Callable

from lab.conformance.process import Process
from lab.conformance.stage import Stage

Change = Callable[[Stage], None]

NEW_STATE_MACHINE = "arn:another"


def _state_machine_replaced(stage: Stage) -> None:
    """Renamed, or moved: a new one takes its place, the old one is retained.

    CloudFormation names it, anew each time, so that no ARN is ever made again.
    """
    stage.state_machine = NEW_STATE_MACHINE


def _strategy(name: str) -> Change:
    def change(stage: Stage) -> None:
        from lab.conformance.ways.known import way  # noqa: PLC0415 - the ways need the stage

        found = way(name)
        stage.deployed = found
        stage.queue.most_receives = found.most_receives

    return change


STRATEGIES = ("step-functions", "ledger", "lease")


def _changes(strategy: str) -> list[tuple[str, Change]]:
    """What may be deployed in a strategy's place: how a story tells it, and what it does."""
    renamed = [("replaces the state machine", _state_machine_replaced)]
    others = [
        (f"changes the strategy to {other}", _strategy(other))
        for other in STRATEGIES
        if other != strategy
    ]
    return renamed + others if strategy == STRATEGIES[0] else others


def deploy_another_memory(stage: Stage, after: int) -> None:
    """Deploy one of the changes so many milliseconds after the world began, between any two steps.

    The way has a strategy.
    """
    told, change = stage.world.pick(_changes(stage.way.strategy))

    def deploy_it() -> None:
        stage.world.step(told, lambda: change(stage))

    def deploy() -> None:
        stage.world.spawn(Process("a deployment", disturbed=False), deploy_it)

    stage.world.at(after, "deployment", deploy)
