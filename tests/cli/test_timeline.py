"""The timeline of a story says of each step what was recorded, and no more."""

from typing import Any

import pytest

from actonce.messages.history import Execution, Step
from actonce.messages.story import Story
from tests.support.histories import START


def told(*steps: Step) -> list[tuple[str, str, str]]:
    story = Story(
        message_id="m-1",
        execution_name="m-1",
        deliveries=[],
        fingerprint=None,
        row=None,
        execution=Execution("arn", "m-1", "RUNNING", START, None, None, None, {}, {}),
        steps=list(steps),
        dead_letters=[],
        effects=[],
        unstarted=[],
    )
    return [(moment.where, moment.what, moment.more) for moment in story.timeline()]


NO_CLEAR_ANSWERS: tuple[object, ...] = ("true", 1, 0, None, [], {"performed": True})


@pytest.mark.parametrize(
    ("performed", "what"),
    [
        (True, "found"),
        (False, "found nothing"),
        *((answer, "no clear answer") for answer in NO_CLEAR_ANSWERS),
    ],
)
def test_a_look_up_that_answers_neither_yes_nor_no_has_no_clear_answer(
    performed: Any, what: str
) -> None:
    ((where, said, _),) = told(Step(START, "FindEffect", "looked_up", {"performed": performed}))
    assert (where, said) == ("FindEffect", what)


def test_attempts_errors_decisions_and_the_end_are_told() -> None:
    error = {"error": "NotPerformed", "cause": '{"errorMessage": "closed"}'}
    decision = {"decision": "retry", "note": "open again", "decided_by": "ann"}
    assert told(
        Step(START, "PerformEffect", "attempt", {"number": 2}),
        Step(START, "PerformEffect", "error", error),
        Step(START, "DeadLetter", "decision", decision),
        Step(START, "Performed?", "entered"),  # what follows tells it
        Step(START, "", "ended", {"status": "FAILED", "error": "RejectedByOperator"}),
    ) == [
        ("PerformEffect", "attempt 2", ""),
        ("PerformEffect", "NotPerformed", "closed"),
        ("DeadLetter", "decided: retry", "open again, by ann"),
        ("execution", "FAILED", "RejectedByOperator"),
    ]
