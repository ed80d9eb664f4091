"""What the demo puts around a function: it knows nothing of the function but its handler."""

import ast
import sys
from pathlib import Path

import pytest

from actonce.embedded.injected import fault_injection
from actonce_core.effect import NotPerformed

INJECTED = Path(fault_injection.__file__).parent
sys.path.append(str(INJECTED))  # as the functions' processes have it

import faulty  # noqa: E402


def test_nothing_that_stands_around_an_effect_imports_the_example() -> None:
    """`straggler` alone does, which the hazards of the example's own tests start."""
    for file in sorted(INJECTED.glob("*.py")):
        imported = {
            name
            for node in ast.walk(ast.parse(file.read_text()))
            for name in (
                [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else [str(node.module)]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert ("appointments" in imported) is (file.name == "straggler.py"), file


def test_errors_of_the_contract_are_the_function_s_own_or_of_their_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NotPerformed):
        fault_injection.interrupt("NotPerformed", None)
    # A function that knows nothing of ActOnce.
    monkeypatch.setitem(sys.modules, "actonce_core.effect", None)
    with pytest.raises(Exception, match="injected") as raised:
        fault_injection.interrupt("Rejected", None)
    assert type(raised.value).__name__ == "Rejected"


def test_an_effect_is_fenced_behind_the_faults_if_it_is_without_them() -> None:
    class Plain:
        def perform(self, request: dict[str, str]) -> dict[str, str]:
            return request

        def find(self, _message_id: str) -> dict[str, str] | None:
            return None

    class Fenced(Plain):
        def perform_fenced(self, request: dict[str, str], _fence: object) -> dict[str, str]:
            return request

    assert not hasattr(faulty.with_faults(Plain()), "perform_fenced")
    assert hasattr(faulty.with_faults(Fenced()), "perform_fenced")
