"""A deployment that parts what is remembered from who remembers it, while messages are under way.

The Fingerprints table stays, as its policy has it. What is there of the old stack goes on: its
consumers that are at work, and its executions.
"""

from collections.abc import Callable, Mapping, Sequence

from actonce.conformance.process import Process
from actonce.conformance.stage import Stage
from actonce.conformance.stepfunctions import STATE_MACHINE

Change = Callable[[Stage], None]

NEW_STATE_MACHINE = "arn:another"


def _state_machine_replaced(stage: Stage) -> None:
    """Renamed, or moved: a new one takes its place, the old one is retained."""
    stage.state_machine = NEW_STATE_MACHINE


def _state_machine_followed(stage: Stage) -> None:
    """The same, and the operator names the old one."""
    stage.state_machine, stage.former = NEW_STATE_MACHINE, (STATE_MACHINE,)


def _state_machine_followed_and_deleted(stage: Stage) -> None:
    """The same, and then somebody deletes the old one."""
    _state_machine_followed(stage)
    stage.executions.delete_state_machine(STATE_MACHINE)


def _state_machine_made_again(stage: Stage) -> None:
    """Deleted and made again under its name, by a stack that is made again, too.

    The template gives it no name, so that its ARN is never made again; a project that names it
    has to know. The old stack's consumers have ended by then, because it had to be deleted first.
    """
    stage.executions.delete_state_machine(STATE_MACHINE)
    stage.executions.make_state_machine(STATE_MACHINE)
    stage.stack = "another stack"


def _strategy(name: str) -> Change:
    def change(stage: Stage) -> None:
        from actonce.conformance.ways.known import way  # noqa: PLC0415 - the ways need the stage

        found = way(name)
        assert found is not None  # noqa: S101 - its name is written below
        stage.deployed = found
        stage.queue.most_receives = found.most_receives

    return change


CHANGES: Mapping[str, Sequence[tuple[str, Change]]] = {
    "step-functions": (
        ("replaces the state machine", _state_machine_replaced),
        ("replaces the state machine, and names the old one", _state_machine_followed),
        ("names the old state machine, and deletes it", _state_machine_followed_and_deleted),
        ("makes the state machine again, in a new stack", _state_machine_made_again),
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
    comes_after_consumers = change is _state_machine_made_again

    def try_change() -> bool:
        if comes_after_consumers and stage.at_work:
            return False
        change(stage)
        return True

    def code() -> None:
        is_done = False
        while not is_done:
            if comes_after_consumers:
                stage.world.wait(lambda: not stage.at_work)
            is_done = stage.world.step(told, try_change)

    def deploy() -> None:
        stage.world.spawn(Process("a deployment", disturbed=False), code)

    stage.world.at(after, "deployment", deploy)
