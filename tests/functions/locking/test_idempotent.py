"""`@idempotent` around any handler."""

import re
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from actonce.stack.embedded_folder import PROJECT
from actonce_core.effect import NotPerformed, OutcomeUnknown, Rejected
from actonce_core.locking.idempotent import ConflictingContent, KnownElsewhere, idempotent
from actonce_core.locking.lease import Lease
from tests.support.lease_machine import LOCK_TIMEOUT, Machine
from tests.support.moto_aws import MotoAws

MESSAGE = {"id": "m", "amount": 1}


class Handler:
    """Counts its calls, and fails as told."""

    def __init__(self, aws: MotoAws) -> None:
        self.aws = aws
        self.failures: list[Exception] = []
        self.done: list[Any] = []

    def handle(self, message: Any) -> dict[str, Any]:
        if self.failures:
            raise self.failures.pop(0)
        self.done.append(message)
        return {"number": len(self.done)}

    def find(self, message: Any) -> dict[str, Any] | None:
        return {"found": True} if message in self.done else None

    def on(self, machine: Machine, *, finds: bool = True, handle: Any = None) -> Any:
        """The handler as it is called on a machine."""
        return idempotent(
            machine.lease(self.aws),
            message_id=lambda message: str(message["id"]),
            lock_timeout=LOCK_TIMEOUT,
            find=self.find if finds else None,
            content=lambda message: message["amount"],
        )(handle or self.handle)


@pytest.fixture
def handler(aws: MotoAws) -> Handler:
    return Handler(aws)


def test_a_second_call_gets_the_first_ones_answer_and_another_content_or_memory_an_error(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert handler.on(Machine())(MESSAGE) == {"number": 1}
    assert handler.on(Machine())({**MESSAGE, "retries": 2}) == {"number": 1}
    with pytest.raises(ConflictingContent, match="message m"):
        handler.on(Machine())({"id": "m", "amount": 2})
    monkeypatch.setattr(Lease, "WAY", "another")
    with pytest.raises(KnownElsewhere, match="message m"):
        handler.on(Machine())(MESSAGE)
    assert len(handler.done) == 1


@pytest.mark.parametrize("proof", [NotPerformed("closed"), Rejected("there is no such practice")])
def test_after_proof_that_nothing_happened_it_is_released_at_once(
    handler: Handler, proof: Exception
) -> None:
    machine = Machine()
    handler.failures = [proof]
    with pytest.raises(type(proof)):
        handler.on(machine)(MESSAGE)
    assert "attempt_id" not in handler.aws.lease_row("m")
    assert handler.on(machine)(MESSAGE) == {"number": 1}
    assert machine.slept == []


@pytest.mark.parametrize("proof", [NotPerformed("closed"), Rejected("no such order")])
def test_what_a_look_up_raises_proves_nothing(
    handler: Handler, proof: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler.failures = [RuntimeError("crashed")]
    with pytest.raises(RuntimeError):
        handler.on(Machine())(MESSAGE)
    handler.done.append(MESSAGE)  # it had happened
    with monkeypatch.context() as failing:
        failing.setattr(handler, "find", mock.Mock(side_effect=proof))
        with pytest.raises(type(proof)):
            handler.on(Machine())(MESSAGE)
    assert handler.on(Machine())(MESSAGE) == {"found": True}
    assert len(handler.done) == 1


@pytest.mark.parametrize(
    ("happened", "finds", "expected"),
    [(True, True, {"found": True}), (False, True, {"number": 1}), (False, False, None)],
)
def test_after_a_crash_it_is_looked_up_and_only_then_repeated(
    handler: Handler, happened: bool, finds: bool, expected: Any
) -> None:
    handler.failures = [RuntimeError("crashed")]
    with pytest.raises(RuntimeError):
        handler.on(Machine(), finds=finds)(MESSAGE)
    handler.done += [MESSAGE] if happened else []
    later = handler.on(Machine(), finds=finds)
    if expected is None:
        with pytest.raises(OutcomeUnknown):
            later(MESSAGE)
        assert handler.done == []
    else:
        assert later(MESSAGE) == expected
        assert len(handler.done) == 1
        assert handler.aws.lease_row("m")["outcome"] == ("found" if happened else "performed")


def test_a_fence_holds_only_while_its_attempt_holds_the_message(aws: MotoAws) -> None:
    """With its condition in the effect's own transaction nobody acts who was taken over."""
    fences: list[Any] = []

    def write(_message: Any, fence: Any) -> dict[str, Any]:
        fences.append(fence)
        aws.dynamodb.transact_write_items(TransactItems=[fence])
        raise RuntimeError("crashed")

    def on(machine: Machine) -> Any:
        return idempotent(
            machine.lease(aws),
            message_id=lambda message: str(message["id"]),
            lock_timeout=LOCK_TIMEOUT,
            find=lambda _message: None,
            fenced=True,
        )(write)

    for machine in (Machine(), Machine(now=86_400)):
        with pytest.raises(RuntimeError, match="crashed"):
            on(machine)(MESSAGE)
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        aws.dynamodb.transact_write_items(TransactItems=fences[:1])


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
