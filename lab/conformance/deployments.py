"""A deployment that parts what is remembered from who remembers it, while messages are under way.

The Fingerprints table stays, as its policy has it. What is there of the old stack goes on: its
consumers that are at work, and its executions.
"""

from collections.abc import Callable, Mapping, Sequence

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
        assert found is not None  # noqa: S101 - its name is written below
        stage.deployed = found
        stage.queue.most_receives = found.most_receives

    return change


CHANGES: Mapping[str, Sequence[tuple[str, Change]]] = {
    "step-functions": (
        ("replaces the state machine", _state_machine_replaced),
        ("changes the strategy to ledger", _strategy("ledger")),
        ("changes the strategy to lease", _strategy("lease")),
    ),
    "ledger": (
        ("changes the strategy to step-functions", _strategy("step-functions")),
        ("changes the strategy to lease", _strategy("lease")),
    ),
    "lease": (
        ("changes the strategy to step-functions", _strategy("step-functions")),
        ("changes the strategy to ledger", _strategy("ledger")),
    ),
}
"""What may be deployed in a strategy's place: how a story tells it, and what it does."""


def deploy_another_memory(stage: Stage, after: int) -> None:
    """Deploy one of the changes so many milliseconds after the world began, between any two steps.

    A way without a strategy has none that could be changed.
    """
    changes = CHANGES.get(stage.way.strategy, ())
    if not changes:
        return
    told, change = stage.world.pick(changes)

    def deploy_it() -> None:
        stage.world.step(told, lambda: change(stage))

    def deploy() -> None:
        stage.world.spawn(Process("a deployment", disturbed=False), deploy_it)

    stage.world.at(after, "deployment", deploy)
