"""A first attempt by the starter: what each end of it, and each row, leads to.

Where the process dies, or two deliveries meet, tests/lab/conformance walks it.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from actonce_core.effect import NotPerformed, Rejected
from actonce_core.execution import MAX_INPUT_BYTES, execution_input
from actonce_core.first_attempt import MOST_ATTEMPTS, FirstAttempt, TooLittleTime
from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.reason import Reason
from actonce_core.result import Start
from tests.support.deliveries import delivery
from tests.support.moto_aws import NOW, MotoAws

REQUEST = {"message_id": "m-1", "practice": "main"}
VERSION: dict[str, str | int] = {
    "perform": "arn:effect:3",
    "find": "arn:find:2",
    "timeout": 15,
    "margin": 60,
}
DAYS = timedelta(days=1)
UNKNOWN = (TimeoutError("late"), Rejected("no"), RuntimeError("an unclear answer"))


class Effect:
    """The function: what it is asked, and what it does; by default it performs."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.does: Callable[[], dict[str, Any]] = lambda: {"order": "o-7"}

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        return self.does()

    def find(self, message_id: str) -> None:
        raise AssertionError(message_id)

    def fails(self, error: Exception) -> None:
        def fail() -> dict[str, Any]:
            raise error

        self.does = fail


class Stack:
    """Starters of one stack, over moto's tables and state machine.

    `first`: whether the next starter makes first attempts; `machine`: its state machine.
    """

    def __init__(self, aws: MotoAws, name: str = "attempt") -> None:
        self.aws, self.name, self.effect = aws, name, Effect()
        self.first, self.machine, self.seconds_left = True, aws.state_machine, 30.0
        self.version, self.trouble = VERSION, list[str]()
        self.number = 0

    def take(self, request: Any = REQUEST, *, after: timedelta = 0 * DAYS) -> Start | Reason:
        """How a delivery ends that is taken so long after the beginning."""
        outcome = self.starter(after).start_message(delivery(request)).outcome
        return outcome.reason if isinstance(outcome, Refusal) else outcome

    def starter(self, after: timedelta = 0 * DAYS) -> Any:
        def new_id() -> str:
            self.number += 1
            return f"{self.name}-{self.number}"

        first = FirstAttempt(
            effect=self.effect,
            version=self.version,
            seconds_left=lambda: self.seconds_left,
            new_id=new_id,
            on_trouble=lambda message, error: self.trouble.append(
                f"{message.message_id}: {type(error).__name__}"
            ),
        )
        return self.aws.starter(
            now=NOW + after,
            state_machine=self.machine,
            first_attempt=first if self.first else None,
        )

    def row(self) -> dict[str, Any]:
        return self.aws.fingerprint_row("m-1") or {}

    def stage(self) -> tuple[str, str]:
        return self.row()["status"]["S"], self.row()["stage"]["S"]

    def inputs(self) -> list[Any]:
        """What the executions were started with."""
        return [
            json.loads(
                self.aws.stepfunctions.describe_execution(
                    executionArn=self.aws.execution_arn(name)
                )["input"]
            )
            for name in self.aws.executions()
        ]

    def begin_and_die(self) -> None:
        """The starter is ended while the function is at work."""
        self.effect.fails(KeyboardInterrupt())  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            self.take()
        self.effect = Effect()

    def release(self) -> None:
        """An attempt does not perform, and says so."""
        self.effect.fails(NotPerformed("busy"))
        with pytest.raises(NotPerformed):
            self.take()
        self.effect = Effect()


@pytest.fixture
def stack(aws: MotoAws) -> Stack:
    return Stack(aws)


IN_TROUBLE = {
    "body": json.dumps(REQUEST),
    "message_id": "m-1",
    "redrives": -1,
    "version": VERSION,
}


def test_a_good_message_is_performed_once_and_starts_no_execution(stack: Stack) -> None:
    seen: list[dict[str, Any]] = []
    stack.effect.does = lambda: seen.append(stack.row()) or {"order": "\ud800"}  # type: ignore[func-returns-value]
    assert stack.take() is Start.PERFORMED
    message = MessageReader().read(delivery(REQUEST))
    assert isinstance(message, Message)
    begun = {
        "message_id": {"S": "m-1"},
        "fingerprint": {"S": message.fingerprint},
        "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        "memory": {"S": f"{stack.machine}#first-attempt"},
        "status": {"S": "IN_PROGRESS"},
        "stage": {"S": "begun"},
        "attempt_id": {"S": "attempt-1"},
        "consumption_count": {"N": "1"},
        "version": {
            "M": {
                "perform": {"S": "arn:effect:3"},
                "find": {"S": "arn:find:2"},
                "timeout": {"N": "15"},
                "margin": {"N": "60"},
            }
        },
        "updated": {"S": "2026-01-31T09:30:00.000Z"},
    }
    assert seen == [begun]
    assert stack.row() == begun | {
        "status": {"S": "COMPLETE"},
        "outcome": {"S": "performed"},
        "effect": {"S": '{"order": "\\ud800"}'},
    }
    assert stack.effect.asked == [{"message_id": "m-1", "body": json.dumps(REQUEST), "attempt": 1}]
    assert stack.aws.executions() == {}


@pytest.mark.parametrize("first", [True, False])
def test_a_completed_message_is_suppressed_for_ever_unless_its_content_differs(
    stack: Stack, first: bool
) -> None:
    stack.take()
    stack.first, stack.machine = first, "arn:another"
    assert stack.take(after=400 * DAYS) is Start.SUPPRESSED
    assert stack.take(REQUEST | {"practice": "other"}) is Reason.CONFLICT
    assert len(stack.effect.asked) == 1
    assert stack.aws.executions() == {}


@pytest.mark.parametrize("error", UNKNOWN, ids=lambda error: type(error).__name__)
def test_an_unknown_outcome_or_a_rejection_starts_an_execution(
    stack: Stack, error: Exception
) -> None:
    stack.effect.fails(error)
    assert stack.take() is Start.STARTED
    assert stack.stage() == ("IN_PROGRESS", "started")
    assert stack.inputs() == [IN_TROUBLE]
    assert len(stack.trouble) == len(stack.effect.asked) == 1
    stack.take()
    assert (len(stack.effect.asked), len(stack.inputs())) == (1, 1)


def test_a_released_message_is_begun_anew_with_what_is_deployed_now(
    stack: Stack,
) -> None:
    stack.release()
    assert stack.stage() == ("IN_PROGRESS", "released")
    assert stack.take(REQUEST | {"practice": "other"}) is Reason.CONFLICT
    stack.version = VERSION | {"perform": "arn:effect:4"}
    stack.machine = "arn:another"
    assert stack.take(after=400 * DAYS) is Start.PERFORMED
    row = stack.row()
    assert row["memory"] == {"S": "arn:another#first-attempt"}
    assert row["first_seen"] == {"S": "2027-03-07T09:30:00.000Z"}
    assert row["version"]["M"]["perform"] == {"S": "arn:effect:4"}
    assert (row["attempt_id"], row["consumption_count"]) == ({"S": "attempt-3"}, {"N": "2"})
    assert [one["attempt"] for one in stack.effect.asked] == [2]
    assert stack.aws.executions() == {}


def test_an_outage_starts_an_execution_only_when_all_attempts_are_used_up(stack: Stack) -> None:
    for _ in range(MOST_ATTEMPTS - 1):
        stack.release()
    assert stack.aws.executions() == {}
    stack.effect.fails(NotPerformed("busy"))
    assert stack.take() is Start.STARTED
    assert stack.stage() == ("IN_PROGRESS", "started")
    assert stack.inputs() == [IN_TROUBLE]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("end", ["begin_and_die", "release"])
def test_an_execution_goes_on_with_the_version_that_was_stored(
    stack: Stack, first: bool, end: str
) -> None:
    getattr(stack, end)()
    stack.first, stack.version = first, VERSION | {"timeout": 1, "margin": 1}
    anew = first and end == "release"
    assert stack.take() is (Start.PERFORMED if anew else Start.STARTED)
    assert stack.inputs() == ([] if anew else [IN_TROUBLE])
    assert stack.stage() == (("COMPLETE", "begun") if anew else ("IN_PROGRESS", "started"))
    assert len(stack.effect.asked) == anew


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("machine", "after", "reason"),
    [
        ("arn:another", 0 * DAYS, Reason.OTHER_MEMORY),
        ("", 26 * DAYS, Reason.TOO_OLD_TO_TELL),
    ],
)
def test_a_row_in_trouble_lets_through_what_the_name_can_answer_for(
    stack: Stack, first: bool, machine: str, after: timedelta, reason: Reason
) -> None:
    stack.begin_and_die()
    stack.first, stack.machine = first, machine or stack.machine
    for stage in ("begun", "started"):
        assert stack.stage() == ("IN_PROGRESS", stage)
        assert stack.take(after=after) is reason
        stack.machine = stack.aws.state_machine
        stack.take()
        stack.machine = machine or stack.machine


def test_a_released_message_may_be_started_by_another_state_machine(
    stack: Stack,
) -> None:
    stack.release()
    stack.first, stack.machine = False, stack.aws.make_state_machine("another")
    stack.take(after=400 * DAYS)
    row = stack.row()
    assert row["memory"] == {"S": f"{stack.machine}#first-attempt"}
    assert row["first_seen"] == {"S": "2027-03-07T09:30:00.000Z"}
    assert stack.aws.executions() == {}
    stack.take(after=401 * DAYS)
    assert stack.stage() == ("IN_PROGRESS", "started")


def test_a_row_of_a_starter_without_first_attempts_is_left_as_it_is(stack: Stack) -> None:
    stack.first = False
    stack.take()
    row = stack.row()
    stack.first = True
    stack.take()
    assert (stack.row(), stack.effect.asked) == (row, [])
    assert stack.inputs() == [{"body": json.dumps(REQUEST), "message_id": "m-1"}]


# ------------------------------------------------------------------ two deliveries at once


def test_a_delivery_that_meets_an_attempt_starts_an_execution(
    stack: Stack,
) -> None:
    other = Stack(stack.aws, "other")
    stack.effect.does = lambda: {"by": str(other.take())}
    assert stack.take() is Start.PERFORMED
    assert other.effect.asked == []
    assert stack.inputs() == [IN_TROUBLE]
    assert stack.stage() == ("COMPLETE", "started")
    assert stack.row()["effect"] == {"S": '{"by": "started"}'}


def test_a_message_that_was_started_meanwhile_is_not_released(stack: Stack) -> None:
    other = Stack(stack.aws, "other")

    def meet() -> dict[str, Any]:
        other.take()
        raise NotPerformed

    stack.effect.does = meet
    with pytest.raises(NotPerformed):
        stack.take()
    assert stack.stage() == ("IN_PROGRESS", "started")
    stack.take()
    assert (len(stack.effect.asked), other.effect.asked, len(stack.inputs())) == (1, [], 1)


@pytest.mark.parametrize(("is_new", "is_met"), [(True, False), (False, True)])
def test_a_write_that_the_sdk_repeats_is_its_own_only_while_it_is_begun(
    stack: Stack, is_new: bool, is_met: bool
) -> None:
    if not is_new:
        stack.release()
    other = Stack(stack.aws, "other")
    put = stack.aws.dynamodb.put_item
    begins = 1 if is_new else 2  # the first write only finds the row

    def repeat(**request: Any) -> Any:
        if writes.call_count == begins:
            put(**request)
            if is_met:
                with mock.patch.object(stack.aws.dynamodb, "put_item", put):
                    other.take()
        return put(**request)

    with mock.patch.object(stack.aws.dynamodb, "put_item", side_effect=repeat) as writes:
        assert stack.take() is (Start.STARTED if is_met else Start.PERFORMED)
    assert [one["attempt"] for one in stack.effect.asked] == ([] if is_met else [begins])
    assert other.effect.asked == []
    assert len(stack.inputs()) == is_met


def test_a_delivery_goes_on_with_the_attempt_that_began_since_it_read_the_row(
    stack: Stack,
) -> None:
    stack.begin_and_die()
    other = Stack(stack.aws, "other")
    other.version, other.seconds_left = VERSION | {"timeout": 120}, 900.0
    put, row = stack.aws.dynamodb.put_item, stack.row()

    def meet(**request: Any) -> Any:
        if writes.call_count == 2:
            released = row | {"stage": {"S": "released"}}
            put(TableName=stack.aws.fingerprints_table, Item=released)
            with mock.patch.object(stack.aws.dynamodb, "put_item", put):
                other.begin_and_die()
        return put(**request)

    with mock.patch.object(stack.aws.dynamodb, "put_item", side_effect=meet) as writes:
        stack.take()
    assert stack.inputs() == [IN_TROUBLE | {"version": other.version}]
    assert stack.row()["attempt_id"] == {"S": "other-1"}


def test_an_attempt_writes_its_end_although_somebody_deleted_the_row(stack: Stack) -> None:
    def delete() -> dict[str, Any]:
        table = stack.aws.fingerprints_table
        stack.aws.dynamodb.delete_item(TableName=table, Key={"message_id": {"S": "m-1"}})
        return {}

    stack.effect.does = delete
    stack.take()
    assert stack.stage() == ("COMPLETE", "begun")


# ------------------------------------------------------------------ before it begins


def test_an_attempt_that_could_not_end_is_not_begun(stack: Stack) -> None:
    stack.seconds_left = 24.9
    with pytest.raises(TooLittleTime):
        stack.take()
    assert (stack.row(), stack.effect.asked) == ({}, [])
    stack.seconds_left = 25.0
    assert stack.take() is Start.PERFORMED


def test_the_largest_message_has_room_for_the_longest_version_in_an_execution_s_input() -> None:
    arn = f"arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:{'f' * 64}:{'v' * 128}"
    longest = {"perform": arn, "find": arn, "timeout": 900, "margin": 900 + 900}
    largest = MAX_INPUT_BYTES - len(execution_input("m", ""))
    assert len(execution_input("m", "x" * largest, longest)) <= 256 * 1024


def test_a_row_that_cannot_be_written_begins_nothing(stack: Stack) -> None:
    stack.aws.dynamodb.delete_table(TableName="fingerprints")
    with pytest.raises(ClientError):
        stack.take()
    assert stack.effect.asked == []
