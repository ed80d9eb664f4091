"""While faults or weather are around a function, executions call it and not its version."""

from types import SimpleNamespace
from typing import Any

import pytest

from lab.faults.latest import calling_latest, looks_up, unpublished

FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:effect"
BEFORE = f'{{"perform": "{FUNCTION}:1", "find": "\'{FUNCTION}:1\'", "other": "{FUNCTION}:12"}}'
AFTER = f'{{"perform": "{FUNCTION}", "find": "\'{FUNCTION}\'", "other": "{FUNCTION}:12"}}'


class Machine:
    """The state machine of a stack."""

    definition = BEFORE

    def describe_state_machine(self, **_: str) -> dict[str, str]:
        return {"definition": self.definition}

    def update_state_machine(self, *, definition: str, **_: str) -> None:
        self.definition = definition


def stack_of(machine: Machine) -> Any:
    return SimpleNamespace(
        ledger_table=None,
        state_machine="arn",
        stepfunctions=machine,
        effect_function=f"{FUNCTION}:1",
        find_function=f"{FUNCTION}:1",
    )


@pytest.mark.parametrize("named", [FUNCTION, f"{FUNCTION}:live", "effect"])
def test_what_is_no_version_stays_as_it_is(named: str) -> None:
    assert unpublished(named) == named


def test_executions_call_the_function_itself_and_its_version_again() -> None:
    machine = Machine()
    stack = stack_of(machine)
    with calling_latest(stack), calling_latest(stack):
        assert machine.definition == AFTER
        assert looks_up(stack) == FUNCTION
    assert machine.definition == BEFORE
    assert looks_up(stack) == f"{FUNCTION}:1"
