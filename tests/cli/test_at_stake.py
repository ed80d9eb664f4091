"""What a demo would throw away: what no demo has sent is somebody's."""

from pathlib import Path

import pytest

from actonce.cli.demo import _ask
from actonce.demo.at_stake import AtStake, Demos, at_stake
from actonce.demo.outcome import judge
from actonce.demo.records import Records
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.error_names import in_words
from actonce.terminal.errors import Failed, WrongUse


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    """It remembers two messages."""
    dynamodb = moto_stack.aws.client("dynamodb")
    dynamodb.create_table(
        TableName="fingerprints",
        KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for message_id in ("of-a-demo", "somebodys"):
        dynamodb.put_item(TableName="fingerprints", Item={"message_id": {"S": message_id}})
    moto_stack.outputs["FingerprintsTableName"] = "fingerprints"
    return moto_stack


def test_what_demos_have_sent_is_not_at_stake(stack: Stack) -> None:
    assert at_stake(stack, Demos(1, frozenset({"of-a-demo"})), 0).messages == {"somebodys"}
    assert not at_stake(stack, Demos(1, frozenset({"of-a-demo", "somebodys"})), 0)


def test_without_a_demo_all_is_somebodys_what_waits_unread_too(stack: Stack) -> None:
    found = at_stake(stack, None, 3)
    assert found.messages == {"of-a-demo", "somebodys"}
    assert found.sentence == (
        "The demo starts afresh and throws away what became of 2 messages, such as of-a-demo and "
        "3 messages that wait in RequestsQueue."
    )


def test_what_a_demo_that_was_ended_in_the_middle_left_in_the_queue_is_its_own(
    stack: Stack,
) -> None:
    ids = frozenset({"of-a-demo", "somebodys"})
    assert not at_stake(stack, Demos(1, ids, at_rest=False), 3)
    assert at_stake(stack, Demos(1, ids), 3) == AtStake(frozenset(), 3)


def test_what_a_demo_did_is_known_of_the_server_it_was_done_on_only(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    assert Demos.read(file, 7) is None
    demos = Demos(7, frozenset({"a", "ü"}), at_rest=False)
    demos.write(file)
    assert Demos.read(file, 7) == demos
    assert Demos.read(file, 8) is None
    file.write_text("cut o")
    assert Demos.read(file, 7) is None


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
