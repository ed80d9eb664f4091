"""The example effect under the demo's failure: what its handler and its provider do."""

from collections.abc import Iterator
from typing import Any

import pytest

import appointments
from actonce_core.effect import NotPerformed, OutcomeUnknown
from lab.faults.injected import failing
from lab.faults.proxy import proxy_before
from lab.faults.stack import meet
from lab.faults.token_bucket import Quota
from lab.faults.transient import LAMBDA, PROVIDER, Injector, TransientFailure

EFFECT = {"appointment_id": "a"}
PERFORM = {"operation": "perform", "message": {"message_id": "m", "body": {}}}
FIND = {"operation": "find", "message": {"message_id": "m"}}


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of what the book performed; it stands in for the table, and finds what it performed."""
    performed: list[str] = []

    class Book(appointments.AppointmentBook):
        def __init__(self) -> None:
            """Without a table."""

        def perform(self, request: dict[str, Any]) -> dict[str, Any]:
            performed.append(request["message_id"])
            return EFFECT

        def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
            assert fence == {"a": "fence"}
            return self.perform(request)

        def find(self, message_id: str) -> dict[str, Any] | None:
            return EFFECT if message_id in performed else None

    book = Book()
    monkeypatch.setattr(appointments, "AppointmentBook", Book)
    monkeypatch.setattr(appointments, "_book", lambda: book)
    return performed


@pytest.fixture
def injector(performed: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Injector]:
    """A injector over the effect's handler."""
    injector = Injector()
    assert not performed
    monkeypatch.setenv("ORIGINAL_HANDLER", "appointments.handler")
    failing._original.cache_clear()
    with proxy_before("http://127.0.0.1:1", lambda request: meet(injector, request)) as url:
        monkeypatch.setenv("FAILURES_URL", url)
        yield injector
    failing._original.cache_clear()


def test_without_a_failure_nothing_changes(injector: Injector, performed: list[str]) -> None:
    assert failing.handler(PERFORM, None) == {"performed": True, "effect": EFFECT}
    assert failing.handler(FIND, None) == {"performed": True, "effect": EFFECT}
    assert performed == ["m"]
    assert injector.refused == 0


def test_a_provider_that_is_down_performs_nothing_and_says_so(
    injector: Injector, performed: list[str]
) -> None:
    injector.change(TransientFailure("x", "x", down=frozenset({PROVIDER}), down_seconds=3600))
    with pytest.raises(NotPerformed, match="the provider is down"):
        failing.handler(PERFORM, None)
    assert failing.handler(FIND, None) == {"performed": False, "effect": None}
    assert performed == []


def test_a_provider_takes_no_more_than_its_quota(injector: Injector, performed: list[str]) -> None:
    injector.change(TransientFailure("x", "x", quotas={PROVIDER: Quota(1, 0.001)}))
    failing.handler(PERFORM, None)
    with pytest.raises(NotPerformed, match="takes no more now"):
        failing.handler(PERFORM, None)
    assert performed == ["m"]


def test_a_lost_answer_leaves_the_outcome_unknown_and_find_fails_for_a_time(
    injector: Injector, performed: list[str]
) -> None:
    injector.change(TransientFailure("x", "x", loses_answers=True, find_fails_seconds=3600))
    with pytest.raises(OutcomeUnknown, match="answer was lost"):
        failing.handler(PERFORM, None)
    with pytest.raises(ConnectionRefusedError):
        failing.handler(FIND, None)
    assert performed == ["m"]
    assert failing.handler(PERFORM, None)["performed"] is True, "only the first answer"


def test_a_throttled_function_is_not_called_at_all(
    injector: Injector, performed: list[str]
) -> None:
    injector.change(TransientFailure("x", "x", quotas={LAMBDA: Quota(1, 0.001)}))
    failing.handler(FIND, None)
    with pytest.raises(Exception, match="Rate exceeded") as raised:
        failing.handler(PERFORM, None)
    assert type(raised.value).__name__ == "Lambda.TooManyRequestsException"
    assert performed == []


def test_an_effect_behind_a_fence_meets_the_same_failure(
    injector: Injector, performed: list[str]
) -> None:
    failing.handler(FIND, None)  # what puts the class under the failure
    book: Any = appointments.AppointmentBook.__new__(appointments.AppointmentBook)
    injector.change(TransientFailure("x", "x", down=frozenset({PROVIDER}), down_seconds=3600))
    with pytest.raises(NotPerformed):
        book.perform_fenced({"message_id": "m"}, {"a": "fence"})
    assert performed == []
