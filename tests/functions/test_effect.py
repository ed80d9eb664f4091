"""The contract: what Lambda and Step Functions get of an effect's words and errors."""

import inspect
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from actonce_core.effect import MAX_EFFECT_BYTES, NotPerformed, OutcomeUnknown, Rejected, answer
from actonce_core.invoked_effect import LARGEST_ANSWER, InvokedEffect, client_config
from tests.support.answers import NO_CLEAR_YES, SAYS_NOTHING

PERFORM = {"operation": "perform", "message": {"message_id": "m-1", "body": {"practice": "main"}}}
FIND = {"operation": "find", "message": {"message_id": "m-1"}}
both = pytest.mark.parametrize("event", [PERFORM, FIND], ids=["perform", "find"])


class GiftCard:
    """An effect that does, or raises, what the test says."""

    def __init__(
        self, description: dict[str, Any] | None = None, error: BaseException | None = None
    ) -> None:
        self.description = description
        self.error = error
        self.asked: list[Any] = []

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        description = self.find(request)
        assert description is not None
        return description

    def find(self, message_id: Any) -> dict[str, Any] | None:
        self.asked.append(message_id)
        if self.error is not None:
            raise self.error
        return self.description


class BookClosed(NotPerformed):
    pass


def foreign(name: str) -> Exception:
    """An error of a library that happens to have that name."""
    error: Exception = type(name, (Exception,), {})("from a library")
    return error


@pytest.mark.parametrize(
    ("event", "description", "argument"),
    [
        (PERFORM, {"card": 1}, PERFORM["message"]),
        (FIND, {"card": 1}, "m-1"),
        (FIND, {}, "m-1"),  # an empty description still says that it was done
        (FIND, None, "m-1"),
    ],
)
def test_an_effect_performs_or_finds_and_describes_what_was_done(
    event: dict[str, Any], description: dict[str, Any] | None, argument: Any
) -> None:
    effect = GiftCard(description)
    performed = description is not None
    assert answer(effect, event) == {"performed": performed, "effect": description}
    assert effect.asked == [argument]


@pytest.mark.parametrize(
    ("raised", "name"),
    [(BookClosed("closed"), NotPerformed), (Rejected("stolen"), Rejected)],
)
def test_a_proof_is_raised_under_the_name_that_step_functions_matches(
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


def test_an_exit_and_an_error_of_find_are_raised_as_they_are() -> None:
    with pytest.raises(SystemExit):
        answer(GiftCard(error=SystemExit(1)), PERFORM)
    with pytest.raises(TimeoutError):
        answer(GiftCard(error=TimeoutError()), FIND)


LARGEST = MAX_EFFECT_BYTES - len('{"text": ""}')


@both
@pytest.mark.parametrize(("text", "is_omitted"), [("x" * LARGEST, False), ("é" * LARGEST, True)])
def test_a_description_that_would_fail_the_execution_is_omitted(
    event: dict[str, Any], text: str, is_omitted: bool
) -> None:
    given = answer(GiftCard({"text": text}), event)
    assert given["performed"] is True
    assert ("omitted" in given["effect"]) is is_omitted


@pytest.mark.parametrize(
    "event",
    [
        {"operation": "perform", "message": "m-1"},
        {"operation": "find", "message": {"message_id": 1}},
        {"operation": "undo", "message": {"message_id": "m-1"}},
    ],
)
def test_an_event_of_another_form_touches_nothing(event: dict[str, Any]) -> None:
    effect = GiftCard({"card": 1})
    with pytest.raises(ValueError, match="event: "):
        answer(effect, event)
    assert effect.asked == []


# --------------------------------------------------------------------------- left running


SANDBOX = """
import asyncio, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, sys.argv[1])
from actonce_core.effect import Rejected, answer

SIDE = threading.Event()
POOL = ThreadPoolExecutor()
POOL.submit(time.sleep, 0).result()  # warm: its thread is there before the call
ONE = ThreadPoolExecutor(1)
FIRST = threading.Event()
BEGUN = threading.Event()
BEFORE = threading.Thread(target=FIRST.wait)
LOOP = asyncio.new_event_loop()

def order(*_):
    BEGUN.set()
    SIDE.wait(60)  # as for a provider that does not answer

def leave():
    threading.Thread(target=order, daemon=True).start()

def raises(error):
    raise error

class Effect:
    def perform(self, request):
        {perform}
        return {{"card": 1}}
    def find(self, message_id):
        {find}

def call(operation="perform"):
    try:
        given = answer(Effect(), {{"operation": operation,
            "message": {{"message_id": "m-1", "body": "secret"}}}})
        print("answers", given["performed"], flush=True)
    except BaseException as error:
        print("raises", type(error).__name__, flush=True)

{before}
{call}
SIDE.set()
FIRST.set()
"""


def in_a_sandbox(
    perform: str = "pass",
    find: str = "return None",
    before: str = "",
    call: str = "call()",
    **environment: str,
) -> tuple[int, list[str]]:
    """Exit status and lines of a process of Lambda's in which `answer` is called."""
    script = SANDBOX.format(perform=perform, find=find, before=before, call=call)
    functions = Path(inspect.getfile(answer)).parents[1]
    ended = subprocess.run(
        [sys.executable, "-c", script, str(functions)],
        env={"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not ended.stderr, ended.stderr
    return ended.returncode, ended.stdout.splitlines()


IN_A_POOL = "ThreadPoolExecutor().submit(order).result(timeout=0.01)"


@pytest.mark.parametrize(
    "perform",
    [
        "one = POOL.submit(order); BEGUN.wait(60); one.result(timeout=0.01)",
        "one = LOOP.run_in_executor(None, order); BEGUN.wait(60); raises(TimeoutError())",
        "leave(); raises(Rejected())",
        "leave(); raises(SystemExit(0))",
        # What was at work before has ended, and its thread, or that thread's ident, goes on.
        "ONE.submit(order); FIRST.set(); BEGUN.wait(60); raises(TimeoutError())",
        "FIRST.set(); BEFORE.join(); leave(); raises(TimeoutError())",
    ],
)
def test_a_process_ends_that_left_a_thread_at_work(perform: str) -> None:
    status, lines = in_a_sandbox(perform, before="ONE.submit(FIRST.wait); BEFORE.start()")
    assert status == 1
    (line,) = map(json.loads, lines)  # nothing was answered
    assert (line["level"], line["message_id"]) == ("ERROR", "m-1")
    assert line["threads"]
    assert "secret" not in lines[0]


@pytest.mark.parametrize(
    ("how", "output"),
    [
        # It is done: what goes on cannot make it undone.
        ({"perform": "leave()"}, "answers True"),
        # Who only looks may look again.
        ({"find": IN_A_POOL, "call": "call('find')"}, "raises TimeoutError"),
        # What was at work before, and what waits for work.
        ({"perform": "raises(Rejected())", "before": "leave()"}, "raises Rejected"),
        ({"perform": "POOL.submit(raises, Rejected()).result()"}, "raises Rejected"),
        # A delivery's thread, as in a starter: others are at work beside it.
        (
            {
                "perform": "leave(); raises(Rejected())",
                "call": "one = threading.Thread(target=call); one.start(); one.join()",
            },
            "raises Rejected",
        ),
        # Outside of Lambda nothing is frozen, and a test's process is not to be ended.
        (
            {"perform": "leave(); raises(Rejected())", "AWS_LAMBDA_RUNTIME_API": ""},
            "raises Rejected",
        ),
    ],
)
def test_a_process_goes_on_that_left_nothing_that_could_act_twice(
    how: dict[str, str], output: str
) -> None:
    assert in_a_sandbox(**how) == (0, [output])


# --------------------------------------------------------------------------- invoked


EFFECT = "arn:aws:lambda:us-east-1:123456789012:function:gift-cards"
FINDS = "arn:aws:lambda:us-east-1:123456789012:function:find-gift-cards"
REQUEST = {"message_id": "g-1", "body": {"amount": 12345678901234567890}}
ASKED_TO_PERFORM = {"operation": "perform", "message": REQUEST}
ASKED_TO_FIND = {"operation": "find", "message": {"message_id": "g-1"}}


class Functions:
    """Lambda's edge: answers a payload or raises, and keeps what it was asked."""

    def __init__(self, payload: Any = None, *, fails: bool = False) -> None:
        self.payload, self.fails = payload, fails
        self.asked: list[tuple[str, Any]] = []
        self.bytes_read = 0

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        self.asked.append((FunctionName, json.loads(Payload)))
        if isinstance(self.payload, Exception):
            raise self.payload
        body = b"" if self.payload is None else json.dumps(self.payload).encode()
        return {"Payload": _Counted(self, body)} | (
            {"FunctionError": "Unhandled"} if self.fails else {}
        )


class _Counted(io.BytesIO):
    def __init__(self, functions: Functions, body: bytes) -> None:
        super().__init__(body)
        self._functions = functions

    def read(self, size: int | None = -1) -> bytes:
        read = super().read(size)
        self._functions.bytes_read += len(read)
        return read


def effect_of(functions: Any, find_function: str = FINDS) -> InvokedEffect:
    return InvokedEffect(functions, EFFECT, find_function)


def refused_with(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}}, "Invoke")


def test_it_performs_through_the_contract_and_no_number_changes() -> None:
    functions = Functions(answer_sent := {"performed": True, "effect": {"order": "o-7"}})
    assert answer(effect_of(functions), ASKED_TO_PERFORM) == answer_sent
    assert functions.asked == [(EFFECT, ASKED_TO_PERFORM)]


@pytest.mark.parametrize(
    ("payload", "fails", "raised"),
    [
        ({"errorType": "NotPerformed", "errorMessage": "busy"}, True, NotPerformed),
        ({"errorType": "Rejected", "errorMessage": "no"}, True, Rejected),
        ({"errorType": "my.NotPerformed", "errorMessage": "busy"}, True, OutcomeUnknown),
        ({"errorType": "Sandbox.Timedout", "errorMessage": "late"}, True, OutcomeUnknown),
        (None, True, OutcomeUnknown),
        *((unclear, False, OutcomeUnknown) for unclear in NO_CLEAR_YES),
        # Lambda did not run it; and of its other errors nobody knows.
        (refused_with("TooManyRequestsException"), False, NotPerformed),
        (refused_with("ResourceNotFoundException"), False, NotPerformed),
        (refused_with("ServiceException"), False, OutcomeUnknown),
        (ReadTimeoutError(endpoint_url="https://lambda"), False, OutcomeUnknown),
    ],
)
def test_a_function_is_invoked_once_and_only_a_clear_answer_is_believed(
    payload: Any, fails: bool, raised: type[Exception]
) -> None:
    functions = Functions(payload, fails=fails)
    with pytest.raises(raised) as caught:
        answer(effect_of(functions), ASKED_TO_PERFORM)
    assert caught.type is raised
    assert len(functions.asked) == 1


def test_an_answer_larger_than_an_execution_takes_is_unclear_and_is_not_read_to_its_end() -> None:
    functions = Functions({"performed": True, "effect": "x" * (LARGEST_ANSWER - 40)})
    assert effect_of(functions).perform(REQUEST)
    functions = Functions({"performed": True, "effect": "x" * 6_000_000})
    with pytest.raises(RuntimeError, match="262144 bytes"):
        effect_of(functions).perform(REQUEST)
    assert functions.bytes_read == LARGEST_ANSWER + 1


def test_the_client_waits_for_as_long_as_the_function_may_take() -> None:
    config = client_config(15)
    assert config["retries"] == {"mode": "standard", "total_max_attempts": 1}
    assert config["read_timeout"] > 15


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({"performed": True, "effect": {"order": "o-7"}}, {"order": "o-7"}),
        ({"performed": True}, {"effect": None}),
        ({"performed": False, "effect": None}, None),
        *((unclear, RuntimeError) for unclear in SAYS_NOTHING),
    ],
)
def test_find_invokes_its_own_function_and_an_unclear_answer_is_no_no(
    payload: Any, found: Any
) -> None:
    functions = Functions(payload)
    if found is RuntimeError:
        with pytest.raises(RuntimeError):
            effect_of(functions).find("g-1")
    else:
        assert effect_of(functions).find("g-1") == found
    assert functions.asked == [(FINDS, ASKED_TO_FIND)]


def test_without_a_function_to_find_nothing_is_invoked() -> None:
    functions = Functions()
    with pytest.raises(LookupError):
        effect_of(functions, "").find("g-1")
    assert functions.asked == []
