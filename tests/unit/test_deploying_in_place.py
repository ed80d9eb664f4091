"""What is known of an embedded stack that is deployed over, where that is killed or fails."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import lifecycle, sam
from actonce.embedded.lifecycle import State
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed

RAN = State(1, 4566, {}, "digest of what ran")


class Killed(BaseException):
    """What no code of ours sees: the process is gone."""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path)
    put(paths, "what ran")
    return paths


def put(paths: Paths, what: str) -> None:
    paths.local.mkdir(parents=True, exist_ok=True)
    (paths.local / "values.json").write_text(json.dumps({"is": what}))


@pytest.fixture
def deploys(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], list[Any]]:
    """Has the next deployment end so; gives what is deployed to go back."""
    went_back: list[Any] = []

    def ends(error: BaseException) -> list[Any]:
        def deploy(paths: Paths, *_: object) -> None:
            put(paths, "half")
            raise error

        def sam_deploy(_: Paths, __: str, values: dict[str, str], ___: Path) -> None:
            went_back.append(values)

        monkeypatch.setattr(lifecycle, "build", lambda *_: None)
        monkeypatch.setattr(lifecycle, "_deploy", deploy)
        monkeypatch.setattr(sam, "deploy", sam_deploy)
        return went_back

    return ends


def known(paths: Paths) -> str:
    deployed: str = json.loads(paths.state.read_text())["deployed"]
    return deployed


def test_one_that_was_killed_is_never_taken_for_what_ran(
    paths: Paths, deploys: Callable[[BaseException], list[Any]]
) -> None:
    deploys(Killed())
    with pytest.raises(Killed):
        lifecycle._deploy_in_place(paths, RAN, {}, lambda _: None)
    assert known(paths) == lifecycle.UNDER_WAY


@pytest.mark.parametrize("error", [Failed("no"), KeyboardInterrupt()])
def test_after_one_that_failed_what_ran_is_there_again_and_known(
    error: BaseException, paths: Paths, deploys: Callable[[BaseException], list[Any]]
) -> None:
    went_back = deploys(error)
    with pytest.raises(type(error)):
        lifecycle._deploy_in_place(paths, RAN, {}, lambda _: None)
    assert went_back == [{"is": "what ran"}]
    assert known(paths) == RAN.deployed


def test_after_a_kill_and_a_failure_it_goes_back_to_what_ran_before_both(
    paths: Paths, deploys: Callable[[BaseException], list[Any]]
) -> None:
    deploys(Killed())
    with pytest.raises(Killed):
        lifecycle._deploy_in_place(paths, RAN, {}, lambda _: None)
    went_back = deploys(Failed("no"))
    half = State(1, 4566, {}, known(paths))
    with pytest.raises(Failed):
        lifecycle._deploy_in_place(paths, half, {}, lambda _: None)
    assert went_back == [{"is": "what ran"}]
