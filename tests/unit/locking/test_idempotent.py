"""`@idempotent` around any handler."""

import re
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from actonce_core.effect import NotPerformed, OutcomeUnknown
from actonce_core.locking.idempotent import ConflictingContent, idempotent
from actonce_core.locking.locks import Outcome, StillInProgress
from tests.support.lock_machine import LOCK_TIMEOUT, SKEW, Machine
from tests.support.moto_aws import MotoAws

ways = pytest.mark.parametrize("way", ["ledger", "lease"])
MESSAGE = {"id": "m", "amount": 1}


class Handler:
    """Counts its calls, and fails as told."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.done: list[Any] = []

    def __call__(self, message: Any) -> dict[str, Any]:
        if self.failures:
            raise self.failures.pop(0)
        self.done.append(message)
        return {"number": len(self.done)}

    def find(self, message: Any) -> dict[str, Any] | None:
        return {"found": True} if message in self.done else None

    def on(self, machine: Machine, way: str, aws: MotoAws, *, find: bool = True) -> Any:
        return idempotent(
            machine.locks(way, aws),
            message_id=lambda message: str(message["id"]),
            lock_timeout=LOCK_TIMEOUT,
            find=self.find if find else None,
            content=lambda message: message["amount"],
        )(self)


@ways
def test_a_second_call_gets_the_first_ones_answer(way: str, aws: MotoAws) -> None:
    handler = Handler()
    assert handler.on(Machine(), way, aws)(MESSAGE) == {"number": 1}
    assert handler.on(Machine(), way, aws)({**MESSAGE, "retries": 2}) == {"number": 1}
    assert len(handler.done) == 1


@ways
def test_another_content_under_the_same_id_is_an_error_also_when_all_is_done(
    way: str, aws: MotoAws
) -> None:
    handler = Handler()
    handle = handler.on(Machine(), way, aws)
    handle(MESSAGE)
    with pytest.raises(ConflictingContent, match="message m"):
        handle({"id": "m", "amount": 2})
    assert len(handler.done) == 1


@ways
def test_a_message_in_progress_is_not_acknowledged(way: str, aws: MotoAws) -> None:
    machine = Machine()
    seen: list[type[BaseException]] = []

    def handle(_: Any) -> dict[str, Any]:
        with pytest.raises(StillInProgress) as error:
            # The holder's heartbeat is heard while the duplicate waits.
            again.on(Machine(while_asleep=machine.beat), way, aws)(MESSAGE)
        seen.append(error.type)
        return {}

    again = Handler()
    idempotent(
        machine.locks(way, aws),
        message_id=lambda message: str(message["id"]),
        lock_timeout=LOCK_TIMEOUT,
        content=lambda message: message["amount"],
    )(handle)(MESSAGE)
    assert seen == [StillInProgress]
    assert again.done == []


@ways
def test_after_proof_that_nothing_happened_it_is_released_at_once(way: str, aws: MotoAws) -> None:
    machine = Machine()
    handler = Handler(NotPerformed("closed"))
    handle = handler.on(machine, way, aws)
    with pytest.raises(NotPerformed):
        handle(MESSAGE)
    assert machine.slept == []
    assert "attempt_id" not in aws.ledger_row("m")
    assert handle(MESSAGE) == {"number": 1}


@ways
@pytest.mark.parametrize("happened", [True, False])
def test_after_a_crash_it_is_looked_up_and_only_then_repeated(
    way: str, happened: bool, aws: MotoAws
) -> None:
    handler = Handler(RuntimeError("crashed"))
    with pytest.raises(RuntimeError):
        handler.on(Machine(), way, aws)(MESSAGE)
    if happened:
        handler.done.append(MESSAGE)
    later = Machine(now=LOCK_TIMEOUT + SKEW + 1)
    answer = handler.on(later, way, aws)(MESSAGE)
    assert answer == ({"found": True} if happened else {"number": 1})
    assert len(handler.done) == 1
    expected = Outcome.FOUND if happened else Outcome.PERFORMED
    assert aws.ledger_row("m")["outcome"] == expected


@ways
def test_what_cannot_be_looked_up_is_never_repeated(way: str, aws: MotoAws) -> None:
    handler = Handler(RuntimeError("crashed"))
    with pytest.raises(RuntimeError):
        handler.on(Machine(), way, aws, find=False)(MESSAGE)
    later = Machine(now=LOCK_TIMEOUT + SKEW + 1)
    with pytest.raises(OutcomeUnknown):
        handler.on(later, way, aws, find=False)(MESSAGE)
    assert handler.done == []


def test_the_example_of_the_page_books_once(aws: MotoAws) -> None:
    page = (PROJECT / "docs" / "strategies.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    reserved: list[Any] = []

    def reserve(message: Any) -> int:
        reserved.append(message)
        return len(reserved)

    names: dict[str, Any] = {
        "dynamodb": aws.dynamodb,
        "look_up": lambda _: None,
        "reserve": reserve,
    }
    exec(compile(code, "strategies.md", "exec"), names)
    assert [names["book"]({"id": "m"}) for _ in range(2)] == [{"appointment": 1}] * 2
    assert reserved == [{"id": "m"}]
