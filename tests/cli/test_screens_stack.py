"""`actonce status`, `pause`, `resume` and `send`: what is shown of a stack, and of what is sent."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from actonce.operate.status import Status, status
from actonce.stack.clients import Stack
from actonce.stack.stack_files import version
from tests.cli.conftest import Run, Screen
from tests.support.queues import hold, received
from tests.support.stacks import (
    ALARM_TOPIC,
    NOW,
    deployed,
    fed,
    forbid,
    with_executions,
    with_outputs,
)

NONE = {"waiting": 0, "in_flight": 0, "delayed": 0, "oldest_seconds": None}
NO = "An error occurred (AccessDenied) when calling the {} operation: no"


@pytest.fixture
def shop(moto_stack: Stack) -> Stack:
    """A stack that is fed, and starts executions."""
    made = with_executions(fed(moto_stack))
    return with_outputs(made, ActOnceVersion=version(), EffectTimeoutSeconds="30")


def alarm(
    stack: Stack,
    name: str,
    state: Literal["OK", "ALARM", "INSUFFICIENT_DATA"] = "ALARM",
    topic: str = ALARM_TOPIC,
) -> None:
    """An alarm in that state, which tells that topic."""
    client = stack.aws.client("cloudwatch")
    client.put_metric_alarm(
        AlarmName=name,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
        AlarmActions=[topic],
        MetricName="m",
        Namespace="n",
        Statistic="Sum",
        Period=60,
    )
    client.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")


def measured(
    stack: Stack, metric: tuple[str, str], of: tuple[str, str], **by_minutes: float
) -> None:
    """A metric had these values, each `m2` so many minutes before now."""
    namespace, name = metric
    same = {"MetricName": name, "Dimensions": [{"Name": of[0], "Value": of[1]}]}
    data: Any = [
        same | {"Timestamp": NOW - timedelta(minutes=int(minutes[1:])), "Value": value}
        for minutes, value in by_minutes.items()
    ]
    stack.aws.client("cloudwatch").put_metric_data(Namespace=namespace, MetricData=data)


def put_letters(stack: Stack, number: int) -> None:
    for n in range(number):
        stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody=f"{n}")


# ---------------------------------------------------------------- status


def test_people_get_lines_and_machines_one_object(shop: Stack, run: Run, screen: Screen) -> None:
    stack = with_executions(shop, "m-1", "m-2")  # one of which has the letter
    alarm(stack, "DeadLettersWaitingAlarm")
    put_letters(stack, 1)
    screen("status", stack, "status")
    answer = json.loads(run("status --json", stack).out)
    assert answer["executions"]["at_work"] == {"count": 1, "more": False}
    assert answer["waits_for"] == "person"
    for line, sentence in (
        ("dead-letters list --match x", "There is no dead letter that matches.\n"),
        ("unstarted list", "There is no unstarted delivery.\n"),
    ):
        assert run(line, stack).out == sentence
    older = run("list", with_outputs(stack, ActOnceVersion="0.0.1"))
    assert older.status == 0
    assert older.err.startswith("actonce: The stack 'actonce' is of version 0.0.1, older than this")


def test_status_counts_what_waits_and_hides_it_from_nobody(shop: Stack) -> None:
    put_letters(shop, 3)
    hold(shop, shop.dead_letter_queue, 1)
    oldest = ("AWS/SQS", "ApproximateAgeOfOldestMessage")
    measured(shop, oldest, ("QueueName", "DeadLetterQueue"), m3=50.0, m2=110.0)
    alarm(shop, "on")
    alarm(shop, "off", "OK")
    alarm(shop, "another-stacks", topic="arn:aws:sns:us-east-1:123456789012:others")
    answer = status(shop, NOW).as_json()
    assert [one.keys() for one in answer.pop("alarms")] == [{"name", "since"}]
    count = {"count": 0, "more": False}
    assert answer == {
        "stack": "actonce",
        "event_source_mappings": [{"function": "starter", "state": "Enabled"}],
        "queues": {
            "requests": NONE,
            "unstarted": NONE,
            "dead_letters": NONE | {"waiting": 2, "in_flight": 1, "oldest_seconds": 110},
        },
        "account": "123456789012",
        "region": "us-east-1",
        "embedded_at": None,
        "version": shop.outputs["ActOnceVersion"],
        "start_executions": None,
        "executions": dict.fromkeys(("aborted", "at_work", "failed", "retrying"), count),
        "oldest_failed_seconds": None,
        "not_seen": {},
        "paused": None,
        "enabled_while_paused": False,
        "disabled_without_pause": False,
        "waits_for": "person",
        "waiting_for_decision": 3,
        "not_started": 0,
        "last_audit": None,
    }


def test_that_no_alarm_has_data_yet_is_not_told_as_that_none_is_on(shop: Stack) -> None:
    assert status(shop, NOW).alarms == ()
    alarm(shop, "another-stacks", "OK", "arn:aws:sns:us-east-1:123456789012:others")
    alarm(shop, "one", "INSUFFICIENT_DATA")
    assert status(shop, NOW).alarms is None
    alarm(shop, "two", "OK")
    assert status(shop, NOW).alarms == ()


def test_the_starters_metric_tells_what_keeps_failing(shop: Stack) -> None:
    failed = ("ActOnce", "OldestFailedAge")
    measured(shop, failed, ("service", "actonce"), m40=9_000.0, m20=3_000.0, m2=60.0)
    measured(shop, failed, ("service", "another"), m2=7_000.0)
    found = status(shop, NOW)
    assert (found.oldest_failed_seconds, found.waits_for) == (3_000, "provider")


def test_what_may_not_be_seen_is_said_and_the_rest_told(shop: Stack, screen: Screen) -> None:
    put_letters(shop, 1)
    not_seen: dict[str, str] = {}

    def seen_without(service: str, operation: str, part: str) -> Status:
        forbid(shop, service, operation)
        found = status(shop, NOW)
        not_seen[part] = NO.format(operation)
        assert found.not_seen == not_seen
        assert found.as_json()["queues"]["dead_letters"] == NONE | {"waiting": 1}
        assert not found.is_disabled_without_pause
        return found

    assert seen_without("cloudwatch", "*", "alarms").alarms is None
    assert seen_without("stepfunctions", "*", "executions").executions is None
    assert seen_without("sqs", "ListQueueTags", "pause").pause is None
    mappings = seen_without("lambda", "ListEventSourceMappings", "event_source_mappings")
    assert mappings.event_source_mappings == ()
    screen("status_unseen", shop, "status")


def test_a_stack_that_does_not_say_its_time_out_is_told(moto_stack: Stack) -> None:
    unsaid = status(with_executions(fed(moto_stack)), NOW)
    why = "The stack does not say its EffectTimeoutSeconds: deploy it anew."
    assert (unsaid.not_seen, unsaid.executions) == ({"executions": why}, None)


# ---------------------------------------------------------------- pause, resume


def test_a_pause_has_its_note_and_one_that_is_not_kept_is_told_of(shop: Stack, run: Run) -> None:
    first = run("pause --yes --note 'the first'", shop)
    assert first.out.startswith("Paused since 20")
    by = "by arn:aws:sts::123456789012:user/moto: the first"
    assert first.out.endswith(f"Z {by}. actonce resume takes messages again.\n")
    again = run("pause --yes --note 'the second'", shop)
    assert (again.status, again.out) == (0, first.out)
    assert again.err.startswith("actonce: It was already paused, and this note was not kept.")
    assert f"Z {by}\n" in run("status", shop).out
    resumed = run("resume --yes", shop)
    assert resumed.out.startswith("The stack takes messages. It was paused since 20")
    assert run("resume --yes", shop).out == "The stack takes messages. It was not paused.\n"


# ---------------------------------------------------------------- send


def test_lines_that_are_not_sent_are_named(stack: Stack, run: Run) -> None:
    lines = "{}\n\x01\n" + "x" * (1024 * 1024 + 1) + "\n"
    errors = (
        "Line 2: SQS does not take the character U+0001, number 1 of it.\n"
        "Line 3: It has 1,048,577 bytes; SQS takes at most 1,048,576.\n"
        "actonce: 2 of 3 lines were not sent; the reason of each stands above.\n"
    )
    people, machines = (run(f"send - --yes {more}", stack, text=lines) for more in ("", "--json"))
    for ended in (people, machines):
        assert (ended.status, ended.err) == (1, errors)
    assert people.out.startswith("Sent 1 message in ")
    counts = {"lines": 3, "sent": 1, "already_sent": 0, "failed": 2, "seconds": 0}
    assert json.loads(machines.out) | {"seconds": 0} == counts


def test_where_each_sending_is_a_message_of_its_own_none_is_resumed(
    moto_stack: Stack, run: Run, tmp_path: Path
) -> None:
    stack = deployed(moto_stack, MessageIdFrom="sqs-message-id")
    (tmp_path / "a.jsonl").write_text('{"message_id": "1"}')
    ended = run("send a.jsonl --yes --record r --resume", stack)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.endswith(
        " would read no id out of the body of line 1, so what a killed run had in flight would be "
        "acted on twice: see its parameter MessageIdFrom.\n"
    )
    assert received(stack, stack.requests_queue) == []
