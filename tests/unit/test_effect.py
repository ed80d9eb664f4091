from typing import Any

import pytest

from actonce_core.effect import MAX_EFFECT_BYTES, NotPerformed, OutcomeUnknown, Rejected, answer

PERFORM = {"operation": "perform", "message": {"message_id": "m-1", "body": {"practice": "main"}}}
FIND = {"operation": "find", "message": {"message_id": "m-1"}}


class GiftCard:
    """An effect that does, or raises, what the test says."""

    def __init__(
        self, description: dict[str, Any] | None = None, error: BaseException | None = None
    ) -> None:
        self.description = description
        self.error = error
        self.asked: list[Any] = []

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        assert self.description is not None
        return self.description

    def find(self, message_id: str) -> dict[str, Any] | None:
        self.asked.append(message_id)
        if self.error is not None:
            raise self.error
        return self.description


class BookClosed(NotPerformed):
    pass


class CardStolen(Rejected):
    pass


def foreign(name: str) -> Exception:
    """An error of a library that happens to have that name."""
    error = type(name, (Exception,), {})("from a library")
    assert isinstance(error, Exception)
    return error


def test_perform_is_given_the_message_and_says_what_was_done() -> None:
    effect = GiftCard({"card": 1})
    assert answer(effect, PERFORM) == {"performed": True, "effect": {"card": 1}}
    assert effect.asked == [PERFORM["message"]]


def test_find_is_given_the_message_id_and_says_what_was_done() -> None:
    effect = GiftCard({"card": 1})
    assert answer(effect, FIND) == {"performed": True, "effect": {"card": 1}}
    assert effect.asked == ["m-1"]


def test_find_says_that_nothing_was_done() -> None:
    assert answer(GiftCard(None), FIND) == {"performed": False, "effect": None}


def test_an_empty_description_still_says_that_it_was_done() -> None:
    assert answer(GiftCard({}), FIND) == {"performed": True, "effect": {}}


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        (NotPerformed("closed"), NotPerformed),
        (BookClosed("closed"), NotPerformed),
        (Rejected("stolen"), Rejected),
        (CardStolen("stolen"), Rejected),
    ],
)
def test_a_proof_is_raised_under_the_very_name_that_step_functions_matches(
    raised: Exception, name: type[Exception]
) -> None:
    with pytest.raises(name) as error:
        answer(GiftCard(error=raised), PERFORM)
    assert type(error.value) is name
    assert str(error.value) == str(raised)


@pytest.mark.parametrize(
    "raised",
    [
        foreign("NotPerformed"),
        foreign("Rejected"),
        TimeoutError("no answer"),
        OutcomeUnknown("said so"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_other_error_is_an_unknown_outcome_whatever_its_name(raised: Exception) -> None:
    with pytest.raises(OutcomeUnknown) as error:
        answer(GiftCard(error=raised), PERFORM)
    assert type(error.value) is OutcomeUnknown
    assert str(error.value).startswith(f"{type(raised).__name__}: ")
    assert error.value.__cause__ is raised


def test_an_exit_of_the_process_is_not_turned_into_an_answer() -> None:
    with pytest.raises(SystemExit):
        answer(GiftCard(error=SystemExit(1)), PERFORM)


def test_an_error_while_finding_says_nothing_about_the_effect_and_is_raised() -> None:
    with pytest.raises(TimeoutError):
        answer(GiftCard(error=TimeoutError()), FIND)


@pytest.mark.parametrize("event", [PERFORM, FIND], ids=["perform", "find"])
@pytest.mark.parametrize(("length", "is_omitted"), [(0, False), (1, True)])
def test_a_description_that_would_fail_the_execution_is_omitted(
    event: dict[str, Any], length: int, is_omitted: bool
) -> None:
    text = "x" * (MAX_EFFECT_BYTES - len('{"text": ""}') + length)
    given = answer(GiftCard({"text": text}), event)
    assert given["performed"] is True
    assert ("omitted" in given["effect"]) is is_omitted


def test_it_is_measured_as_lambda_may_write_it_escapes_and_all() -> None:
    text = "é" * (MAX_EFFECT_BYTES // 4)
    assert "omitted" in answer(GiftCard({"text": text}), PERFORM)["effect"]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"operation": "perform", "message": "m-1"},
        {"operation": "perform", "message": {}},
        {"operation": "find", "message": {"message_id": 1}},
        {"operation": "undo", "message": {"message_id": "m-1"}},
        {"operation": ["perform"], "message": {"message_id": "m-1"}},
    ],
)
def test_an_event_of_another_form_touches_nothing(event: dict[str, Any]) -> None:
    effect = GiftCard({"card": 1})
    with pytest.raises(ValueError, match="event: "):
        answer(effect, event)
    assert effect.asked == []
