"""What the demo refuses before it touches the stack that is there."""

from pathlib import Path

import pytest

from actonce.demo import faults
from actonce.demo import run as demo
from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.embedded.paths import Paths
from actonce.errors import WrongUse

OWN = {"EffectFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:gift-cards"}


@pytest.mark.parametrize(
    ("asked", "kept"), [(OWN, None), (OWN, {}), (None, OWN)], ids=["asked", "asked again", "kept"]
)
def test_it_counts_nothing_for_a_function_of_ones_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, str] | None,
    kept: dict[str, str] | None,
) -> None:
    state = None if kept is None else State(1, 1, kept, "deployed")
    monkeypatch.setattr(lifecycle, "running", lambda _: state)
    settings = demo.Settings(1, 1, faults.Level.NONE, None, keep=False, parameters=asked)
    with pytest.raises(WrongUse, match="counts the example's appointments"):
        demo.run(settings, Paths(tmp_path / "home"), lambda _: None)
