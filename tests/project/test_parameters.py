"""Parameters are looked at before anything is stopped: their names, and what they may be."""

import socket
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import lifecycle, nesting, parameters, serving
from actonce.embedded.lifecycle import State
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed, WrongUse


@pytest.mark.parametrize(
    ("value", "declared", "wanted"),
    [
        ("7", {"Type": "Number", "MinValue": 2, "MaxValue": 890}, None),
        ("2.5", {"Type": "Number", "MinValue": 2}, None),
        ("abc", {"Type": "Number", "MinValue": 2, "MaxValue": 890}, "a number from 2 to 890"),
        ("", {"Type": "Number"}, "a number"),
        ("1", {"Type": "Number", "MinValue": 2}, "a number from 2"),
        ("891", {"Type": "Number", "MaxValue": 890}, "a number to 890"),
        ("30", {"Type": "Number", "AllowedValues": [20, 30]}, None),
        ("leger", {"AllowedValues": ["ledger", "lease"]}, "one of ledger, lease"),
        ("true", {"AllowedValues": ["true", "false"]}, None),
        ("a-1", {"AllowedPattern": "[a-z]-[0-9]"}, None),
        ("xa-1x", {"AllowedPattern": "[a-z]-[0-9]"}, "what fits [a-z]-[0-9]"),
        ("x", {"AllowedPattern": "a", "ConstraintDescription": "an a"}, "an a"),
        ("x", {"AllowedPattern": r"\p{Alpha}+"}, None),  # Java's: CloudFormation knows
        ("a,b", {"Type": "CommaDelimitedList"}, None),
        ("1,x", {"Type": "List<Number>"}, "a number"),
    ],
)
def test_what_is_wanted_in_a_values_place_is_told(
    value: str, declared: dict[str, Any], wanted: str | None
) -> None:
    assert parameters.complaint(value, declared) == wanted


def test_what_the_template_has_by_default_and_what_is_set_here_is_allowed() -> None:
    given: set[str] = set()
    for name in ("template.yaml", "locks.yaml"):
        template = nesting.read(PROJECT / name)
        here = {n: v for n, v in lifecycle.LOCAL_PARAMETERS.items() if n in template.parameters}
        usual = {n: str(one.get("Default", "")) for n, one in template.parameters.items()}
        parameters.check(usual | here, [template])
        given |= here.keys()
    assert given == lifecycle.LOCAL_PARAMETERS.keys()


def test_who_names_a_lock_means_its_template() -> None:
    paths = Paths(Path("home"))
    assert lifecycle.own_template(paths, {}) == PROJECT / "template.yaml"
    assert lifecycle.own_template(paths, {"Strategy": "lease"}) == PROJECT / "locks.yaml"
    lifecycle.check(paths, {"Strategy": "ledger", "ClockSkewSeconds": "0"})
    with pytest.raises(WrongUse, match=r"template\.yaml has no parameter 'ClockSkewSeconds'"):
        lifecycle.check(paths, {"ClockSkewSeconds": "0"})
    with pytest.raises(WrongUse, match=r"locks\.yaml wants one of ledger, lease there"):
        lifecycle.check(paths, {"Strategy": "step-functions"})


def test_a_wrong_parameter_is_told_with_its_name_its_value_and_what_may_stand_there() -> None:
    template = nesting.read(PROJECT / "template.yaml")
    with pytest.raises(WrongUse, match=r"^EffectTimeoutSeconds=abc: template\.yaml wants a number"):
        parameters.check({"EffectTimeoutSeconds": "abc"}, [template])
    with pytest.raises(WrongUse, match=r"template\.yaml has no parameter 'Bogus'; it has "):
        parameters.check({"Bogus": "1"}, [template])


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("wrong", [{"EffectTimeoutSeconds": "abc"}, {"Bogus": "1"}])
def test_nothing_is_stopped_or_deployed_for_parameters_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], *, fresh: bool
) -> None:
    said: list[str] = []
    _runs(monkeypatch)
    with pytest.raises(WrongUse):
        lifecycle.up(Paths(tmp_path), said.append, parameters=wrong, fresh=fresh)
    assert said == []


def test_nothing_is_stopped_for_what_cannot_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object) -> None:
        raise Failed("sam build failed")

    _runs(monkeypatch)
    monkeypatch.setattr(lifecycle, "build", build)
    with pytest.raises(Failed, match="sam build failed"):
        lifecycle.up(Paths(tmp_path), lambda _: None, fresh=True)


def _runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something runs, and whoever touches it fails the test."""

    def touched(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(lifecycle, "running", lambda _: State(1, 1, {}, "deployed"))
    for module, name in (
        (serving, "stop"),
        (serving, "start"),
        (lifecycle, "_deploy"),
        (lifecycle, "_deploy_in_place"),
    ):
        monkeypatch.setattr(module, name, touched)


def test_the_port_of_the_last_time_is_taken_again_unless_it_is_taken(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    assert serving.port_of_last_time(paths) == 0
    paths.port.write_text("no number")
    assert serving.port_of_last_time(paths) == 0
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = int(other.getsockname()[1])
        paths.port.write_text(str(port))
        other.listen()
        assert serving.port_of_last_time(paths) == 0
    assert serving.port_of_last_time(paths) == port
