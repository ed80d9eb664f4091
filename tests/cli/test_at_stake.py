"""What a demo may throw away, and what it counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from actonce.cli.demo import _ask
from actonce.demo import run as demo
from actonce.demo.outcome import Sent, judge
from actonce.demo.records import Records
from actonce.embedded import lifecycle
from actonce.embedded.faults import Level
from actonce.embedded.lifecycle import State
from actonce.stack.embedded_folder import Paths
from actonce.terminal import output as console
from actonce.terminal.error_names import in_words
from actonce.terminal.errors import Failed, WrongUse


def test_what_no_demo_has_brought_up_is_asked_for_before_it_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class AskedError(Exception):
        pass

    def asked(_: str) -> None:
        raise AskedError

    def up(*_: object, **__: object) -> None:
        raise Failed("not asked")

    paths = Paths(tmp_path)
    settings = demo.Settings(1, 1, Level.NONE, None, keep=False, parameters=None, may_discard=asked)
    monkeypatch.setattr(lifecycle, "running", lambda _: State(7, 1, {}, "deployed"))
    monkeypatch.setattr(lifecycle, "up", up)
    for brought_up in (None, "cut o", '{"pid": 8}'):
        if brought_up is not None:
            paths.demo.write_text(brought_up)
        with pytest.raises(AskedError):
            demo.run(settings, paths, lambda _: None)
    for unasked in (replace(settings, keep=True), settings):
        with pytest.raises(Failed, match="not asked"):
            demo.run(unasked, paths, lambda _: None)
        paths.demo.write_text('{"pid": 7}')


def test_nobody_to_ask_is_wrong_use_that_says_what_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "can_ask", lambda: False)
    with pytest.raises(WrongUse, match="Say --yes for that, --keep to go on from it"):
        _ask("Gone.", yes=False)
    _ask("Gone.", yes=True)


def test_whoever_says_no_keeps_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answers = iter([False, True])

    def answer(question: str) -> bool:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr(console, "can_ask", lambda: True)
    monkeypatch.setattr(console, "ask", answer)
    with pytest.raises(Failed, match="Nothing was done"):
        _ask("Gone.", yes=False)
    _ask("Gone.", yes=False)
    assert asked == ["Gone. Go on?"] * 2


def test_deliveries_that_came_back_are_counted_by_why() -> None:
    ends = [
        {"end": "started"},
        {"end": "suppressed"},
        {"end": "failed", "error": "StillInProgress"},
        {"end": "failed", "error": "StillInProgress"},
        {"end": "failed"},
    ]
    found = judge(
        (), Records(ends, {"m": "SUCCEEDED"}, set(), {}, {}, set(), set()), 1, ordered=False
    )
    assert found.came_back == {"StillInProgress": 2, "failed": 1}
    assert found.deliveries == found.started + found.suppressed + sum(found.came_back.values())
    assert in_words("StillInProgress") == "another attempt is at work"


def test_what_was_acted_on_twice_or_ended_nowhere_is_counted() -> None:
    sent = [Sent(f"sqs-{one}", one, one) for one in ("once", "twice", "waits", "refused", "gone")]
    found = Records(
        deliveries=[],
        executions=dict.fromkeys(("once", "twice"), "SUCCEEDED"),
        resolved=set(),
        effects={"once": 1, "twice": 2},
        books={},
        refused={("sqs-refused", "not_json")},
        waiting={"waits"},
    )
    judged = judge(sent, found, 1, ordered=False)
    assert (judged.acted_on_twice, judged.lost, judged.exactly_once) == (1, 1, False)
    assert judge(sent[:1], replace(found, effects={"once": 1}), 1, ordered=False).exactly_once
