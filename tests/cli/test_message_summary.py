"""The sentence of `where`: nothing is said to be undone only because a table of ours is empty."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actonce.messages import unstarted
from actonce.messages.history import Execution
from actonce.messages.story import Story
from actonce.operate.message_summary import DESCRIPTION_CHARACTERS, sentence, sentence_of_conflicts
from actonce.queues.scan import Queued
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader, Reason, Refusal
from actonce_core.unstarted import unstarted_attributes

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def story(
    *,
    status: str | None = None,
    output: dict[str, Any] | None = None,
    row: dict[str, Any] | None = None,
    effects: int = 0,
    ends: tuple[str, ...] = ("started",),
    own: list[dict[str, Any]] | None = None,
) -> Story:
    execution = (
        Execution("arn", "m-1", status, AT, None, None, None, {"message_id": "m-1"}, output or {})
        if status
        else None
    )
    return Story(
        message_id="m-1",
        execution_name="m-1",
        deliveries=[{"end": end} for end in ends],
        fingerprint=None,
        row=row,
        execution=execution,
        steps=[],
        dead_letters=[],
        effects=own or [{"appointment_id": f"appointment-{n}"} for n in range(effects)],
        unstarted=[],
        own_place=None if own is None else "the table cards",
    )


def own(effect_id: str | None = None, **description: Any) -> dict[str, Any]:
    """As `OwnEffect.as_json` has it."""
    return {"message_id": "m-1", "effect_id": effect_id, "at": None, "description": description}


CARD = {"order": "o-7"}
DONE: dict[str, Any] = {
    "status": "SUCCEEDED",
    "output": {"outcome": "performed", "effect": CARD},
}


def test_of_conflicts_it_is_said_where_both_contents_are_shown() -> None:
    body = '{"message_id": "m-1", "x": 2}'
    attributes = unstarted_attributes(
        Delivery("first-id", body, {}, {}), Refusal(Reason.CONFLICT, "Another content.")
    )
    entry = Queued("entry-id", body, {"SentTimestamp": "1"}, attributes, "handle")
    refused = unstarted.unstarted(entry, MessageReader())
    of = story(status="SUCCEEDED")
    assert sentence_of_conflicts(of) is None
    once = replace(of, conflicts=[{"end": "refused"}])
    assert sentence_of_conflicts(replace(once, unstarted=[refused])) == (
        "1 more delivery brought another content with this id, and was refused: "
        "actonce unstarted show m-1"
    )
    twice = replace(once, conflicts=[{"end": "refused"}] * 2)
    assert sentence_of_conflicts(twice) == (
        "2 more deliveries brought another content with this id, and were refused; none waits now."
    )


def test_of_what_another_reader_may_hold_it_is_not_said_where_it_does_not_lie() -> None:
    held = replace(story(), unstarted_held_elsewhere=1200)
    cannot = "cannot be told: another reader holds 1,200 at this moment"
    assert sentence(held) == (
        f"No execution is known; whether it lies in UnstartedQueue {cannot}; "
        "no effect of it is known."
    )
    once = replace(held, conflicts=[{"end": "refused"}])
    told = "1 more delivery brought another content with this id, and was refused"
    assert sentence_of_conflicts(once) == (f"{told}; whether it lies in UnstartedQueue {cannot}.")
    twice = replace(held, conflicts=[{"end": "refused"}] * 2)
    assert str(sentence_of_conflicts(twice)).endswith(
        f"were refused; whether they lie in UnstartedQueue {cannot}."
    )
    assert replace(held, deliveries=[]).as_json()["unstarted_held_elsewhere"] == 1200
    assert "nowhere any more" in sentence(replace(held, unstarted_held_elsewhere=None))


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([own("c-1")], "the table cards has one effect of it"),
        ([own("c-1", card="c"), own("c-2")], 'the table cards has 2 effects of it: {"card": "c"}'),
        # A second one would not be seen.
        ([own(None, card="c")], 'it was acted on, as the table cards has it: {"card": "c"}'),
        (
            [],
            '{"order": "o-7"}, but the table cards has no effect of it',
        ),
    ],
)
def test_where_a_team_says_that_its_effects_are_is_another_witness(
    effects: list[dict[str, Any]], expected: str
) -> None:
    assert expected in sentence(story(**DONE, own=effects))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (story(**DONE, effects=1), "is SUCCEEDED (performed); it was acted on once; 0 of 1 "),
        (story(**DONE, effects=2), "it was acted on 2 times"),
        (story(**DONE), 'it was acted on, by the word of its execution: {"order": "o-7"}'),
        (
            story(status="SUCCEEDED", output={"outcome": "found", "effect": None}),
            "(found); it was acted on, by the word of its execution",
        ),
        (
            story(status="SUCCEEDED", output={"outcome": "resolved", "note": "by telephone"}),
            "by the word of whoever resolved it",
        ),
        (
            story(status="RUNNING", ends=("started", "suppressed")),
            "no effect of it is known so far; 1 of 2 deliveries suppressed",
        ),
        (story(status="FAILED"), "no effect of it is known;"),
        (
            story(row={"status": "COMPLETE", "outcome": "performed", "effect": '{"order": "o-7"}'}),
            'Its row is COMPLETE (performed); it was acted on, by the word of its row: {"order"',
        ),
        (story(row={"status": "IN_PROGRESS"}), "is IN_PROGRESS; no effect of it is known;"),
        (story(), "No execution is known; it lies nowhere any more; no effect of it is known"),
    ],
)
def test_it_says_what_is_known_and_by_whom(told: Story, expected: str) -> None:
    assert expected in sentence(told)


def test_a_long_description_is_cut() -> None:
    long = story(status="SUCCEEDED", output={"outcome": "performed", "effect": {"x": "y" * 9_999}})
    told = sentence(long)
    assert "…; 0 of 1" in told
    assert len(told) < DESCRIPTION_CHARACTERS + 200
