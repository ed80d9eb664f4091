"""What the demo refuses, asks and may throw away, and how it counts a team's own effects."""

import fcntl
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.stub import Stubber

from actonce.demo import run as demo
from actonce.demo.outcome import SentMessage, judge, to_look_at
from actonce.demo.own import count_effects
from actonce.demo.records import Records
from actonce.embedded import faults, lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed, UsageError

OWN = {"EffectFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:gift-cards"}


SETTINGS = demo.Settings(1, 1, faults.Level.NONE, None, keep=False, parameters=None)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (OWN, "no longer there once the demo has"),
        (None, "no longer there once the demo has"),  # what was deployed with it
        ({"Bogus": "1"}, "no parameter 'Bogus'"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, str] | None, message: str
) -> None:
    monkeypatch.setattr(lifecycle, "running", lambda _: State(1, 1, OWN, "deployed"))
    with pytest.raises(UsageError, match=message):
        demo.run(replace(SETTINGS, parameters=parameters), Paths(tmp_path / "home"))


def test_what_no_demo_has_brought_up_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def up(*_: object, **__: object) -> None:
        raise Failed("it goes on")

    paths = Paths(tmp_path)
    monkeypatch.setattr(lifecycle, "running", lambda _: State(7, 1, {}, "deployed"))
    monkeypatch.setattr(lifecycle, "up", up)
    for brought_up in (None, "cut o", '{"pid": 8}'):
        if brought_up is not None:
            paths.demo.write_text(brought_up)
        with pytest.raises(UsageError, match="actonce down throws it away"):
            demo.run(SETTINGS, paths, lambda _: None)
    for settings in (replace(SETTINGS, keep=True), SETTINGS):
        with pytest.raises(Failed, match="it goes on"):
            demo.run(settings, paths, lambda _: None)
        paths.demo.write_text('{"pid": 7}')


def test_a_message_whose_id_is_not_in_its_body_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = Mock(starter_function="starter")
    variables = {"MESSAGE_ID_FROM": "deduplication-id", "CONTENT_FROM": ""}
    answer = {"Environment": {"Variables": variables}}
    stack.lambda_.get_function_configuration.return_value = answer
    monkeypatch.setattr(lifecycle, "running", lambda _: None)
    monkeypatch.setattr(lifecycle, "up", lambda *_, **__: (State(1, 1, {}, "deployed"), stack))
    sent = tmp_path / "sent.jsonl"
    sent.write_text('{"order": 1}')
    for file in (sent, None):
        with pytest.raises(UsageError, match=r"deduplication-id.*actonce send"):
            demo.run(replace(SETTINGS, file=file), Paths(tmp_path), lambda _: None)


def stack_that_answers(*answers: Any) -> tuple[Stack, Stubber]:
    client = boto3.client("lambda", region_name="us-east-1")
    stubber = Stubber(client)
    for one in answers:
        payload: Any = io.BytesIO(json.dumps(one).encode())
        stubber.add_response("invoke", {"Payload": payload})
    stubber.activate()
    aws = Aws(_clients={"lambda": client})
    return Stack(aws, "shop", {"FindFunctionArn": "arn:find"}), stubber


def test_what_no_table_shows_is_looked_up_once_for_each_message() -> None:
    stack, stubber = stack_that_answers({"performed": True, "effect": {}})
    assert count_effects(stack, ["m-1", "m-1"]) == {"m-1": 1}
    stubber.assert_no_pending_responses()
    stack, _ = stack_that_answers({"performed": False}, None)
    assert count_effects(stack, ["m-1"]) == {}
    with pytest.raises(Failed, match="name its table"):
        count_effects(stack, ["m-1"])


@pytest.mark.parametrize("was_up", [False, True])
def test_a_demo_that_is_interrupted_leaves_nothing_that_did_not_run_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, was_up: bool
) -> None:
    stopped: list[Paths] = []
    monkeypatch.setattr(lifecycle, "down", stopped.append)
    demo._interrupted(Paths(tmp_path), was_up=was_up)
    assert stopped == ([] if was_up else [Paths(tmp_path)])


def test_another_demo_in_the_folder_is_wrong_use_and_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(lifecycle, "running", touched)
    with (tmp_path / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="Another demo runs"):
            demo.run(SETTINGS, Paths(tmp_path))


def test_it_names_the_message_with_most_to_tell() -> None:
    def records(waiting: set[str], *delivered: str) -> Records:
        deliveries = [{"execution_name": name} for name in delivered]
        return Records(deliveries, {}, set(), {}, set(), waiting)

    sent = [SentMessage(f"s-{one}", one, one) for one in ("a", "b", "c")]
    assert to_look_at(sent, records(set(), "a", "b", "b", "c")) == "b"
    assert to_look_at(sent, records({"c"}, "a", "b", "b", "c")) == "c"
    assert to_look_at([SentMessage("s-1", None, None)], records(set())) is None


def test_what_ended_nowhere_is_lost_and_two_effects_are_one_message_acted_on_twice() -> None:
    sent = [SentMessage(f"s-{one}", one, one) for one in ("twice", "late", "failed", "gone")]
    sent.append(SentMessage("s-without-id", None, None))
    ends = ("started", "suppressed", "failed")
    records = Records(
        deliveries=[{"end": end} for end in ends] + [{"end": "failed", "error": "Throttling"}] * 2,
        executions={"twice": "SUCCEEDED", "late": "SUCCEEDED", "failed": "FAILED"},
        resolved=set(),
        effects={"twice": 2, "late": 1},
        refused={("s-without-id", "no_message_id")},
        waiting=set(),
    )
    counts = judge(sent, records, 1.0)
    assert (counts.acted_on_twice, counts.lost) == (1, 1)
    assert (counts.suppressed, counts.came_back) == (1, {"Throttling": 2, "failed": 1})
    assert not counts.exactly_once
    once = replace(records, effects={"twice": 1, "late": 1})
    assert not judge(sent, once, 1.0).exactly_once  # one is lost
    assert judge(sent, replace(once, waiting={"gone"}), 1.0).exactly_once
