"""What is asked of `actonce demo --weather`, `bench.weather` and `bench.soak`."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from actonce.cli.demo import BadWeather, demo
from actonce.demo.outcome import Outcome
from actonce.demo.run import Result
from actonce.demo.second_count import SecondCount
from actonce.embedded.faults import Level
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed, WrongUse
from actonce.weather import kinds
from actonce.weather.sky import CALM, Sky
from bench.deployments import sources_at
from bench.soak import Trouble, ended_after, report
from bench.weather import chosen

GOOD = Outcome(
    sent=12,
    distinct=10,
    deliveries=12,
    started=10,
    came_back={},
    suppressed=2,
    refused={},
    effects=10,
    acted_on_twice=0,
    out_of_order=None,
    awaiting_decision=0,
    lost=0,
    exactly_once=True,
    seconds=1.0,
)


def test_the_demo_s_words_are_its_weathers() -> None:
    assert {word.value for word in BadWeather} == set(kinds.DEMO)


def test_a_weather_is_shown_alone(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.touch()
    with pytest.raises(WrongUse, match="leave --input"):
        demo(weather=BadWeather.OUTAGE, file=file)
    with pytest.raises(WrongUse, match="leave --input"):
        demo(weather=BadWeather.OUTAGE, faults=Level.MANY)


def test_all_weathers_are_measured_unless_some_are_named() -> None:
    sizes = {"messages": 9, "down_seconds": 3.0, "bucket": None, "refill": None}
    shown = chosen([], **sizes)  # type: ignore[arg-type]
    assert [one.weather.name for one in shown] == list(kinds.MEASURED)
    assert {one.messages for one in shown} == {9}
    (one,) = chosen(["provider-down"], **sizes)  # type: ignore[arg-type]
    assert one.weather.down_seconds == 3
    with pytest.raises(WrongUse, match="no weather 'rain'; there are throttled"):
        chosen(["rain"], **sizes)  # type: ignore[arg-type]


@pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="These sources are no clone: use git.")
def test_the_sources_of_a_commit_are_there_and_go_again() -> None:
    with sources_at("HEAD") as sources:
        assert (sources / "template.yaml").is_file()
        assert sources != PROJECT
    assert not sources.exists()
    with sources_at(None) as sources:
        assert sources == PROJECT


@pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="These sources are no clone: use git.")
def test_a_commit_that_is_not_there_is_said() -> None:
    with (
        pytest.raises(Failed, match=r"git worktree: .*no-such-commit"),
        sources_at("no-such-commit"),
    ):
        pass


def test_what_does_not_end_in_time_has_failed() -> None:
    with pytest.raises(Failed, match="not ended in 0 s"), ended_after(0.01):
        signal.pause()


def _soaked(
    outcome: Outcome = GOOD,
    *,
    kills: int = 2,
    differences: list[str] | None = None,
    had: str = "throttled",
) -> bool:
    trouble = Trouble(
        Sky(), Paths(Path("nowhere")), 10, 2, [kinds.MEASURED["throttled"].weather], 1.0
    )
    trouble.killed = [3] * kills
    trouble.had = {had}
    second = None
    if differences is not None:
        second = SecondCount(Path("page"), differences)
    good = report(Result(outcome, Counter(), second), trouble)["good"]
    assert isinstance(good, bool)
    return good


def test_a_soak_is_good_only_if_everything_was_met_and_counted_twice() -> None:
    assert _soaked(differences=[])
    assert not _soaked(differences=["lost: 0 counted, 2 in the audit"])
    assert not _soaked(differences=None), "not audited"
    assert not _soaked(kills=1, differences=[])
    assert not _soaked(had="find-down", differences=[])


def test_the_soak_s_trouble_ends_with_the_run() -> None:
    sky = Sky()
    weathers = [kinds.MEASURED["throttled"].weather]
    trouble = Trouble(sky, Paths(Path("/nonexistent")), 10, 1, weathers, spell_seconds=3600.0)
    with trouble.made():
        sky.change(weathers[0])
    assert sky.weather is CALM
    assert trouble.error is None
    assert trouble.killed == []
