"""What is known of an embedded stack that is deployed over, where that is killed or fails."""

import json
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed

RAN = State(1, 4566, {"MaximumConcurrency": "2"}, "digest of what ran")


class Killed(BaseException):
    """What no code of ours sees: the process is gone."""


@pytest.mark.parametrize("error", [Failed("no"), KeyboardInterrupt(), Killed()])
def test_one_that_did_not_end_well_is_never_taken_for_what_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def deploy(*_: object) -> None:
        raise error

    monkeypatch.setattr(lifecycle, "running", lambda _: RAN)
    monkeypatch.setattr(lifecycle, "build", lambda *_: None)
    monkeypatch.setattr(lifecycle, "_deploy", deploy)
    paths = Paths(tmp_path)
    with pytest.raises(type(error)):
        lifecycle.up(paths, lambda _: None, parameters={"MaximumConcurrency": "3"})
    known = json.loads(paths.state.read_text())
    assert (known["deployed"], known["parameters"]) == (lifecycle.UNDER_WAY, RAN.parameters)
