"""What `actonce status` finds of a stack, and what it says of it, on moto in this process."""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from botocore.stub import Stubber

from actonce.cli import status as command
from actonce.operate.pausing import Feed
from actonce.operate.status import MOST_COUNTED, Open, Status, status
from actonce.queues.standing import Depth, Pause
from actonce.records import audit_summary
from actonce.stack.clients import Aws, Stack
from actonce.stack.sources import version
from tests.cli.conftest import Actonce
from tests.support.stacks import ALARM_TOPIC, NOW, fed, forbid, with_executions, with_outputs

EMPTY = {"waiting": 0, "in_flight": 0, "delayed": 0, "oldest_seconds": None}


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    return with_executions(fed(moto_stack), "e-1", "e-2")


def measured(
    stack: Stack, metric: tuple[str, str], dimension: tuple[str, str], *points: tuple[int, float]
) -> None:
    """A metric has these values, so many minutes before now."""
    stack.aws.client("cloudwatch").put_metric_data(
        Namespace=metric[0],
        MetricData=[
            {
                "MetricName": metric[1],
                "Dimensions": [{"Name": dimension[0], "Value": dimension[1]}],
                "Timestamp": NOW - timedelta(minutes=minutes),
                "Value": value,
            }
            for minutes, value in points
        ],
    )


def alarm(stack: Stack, name: str, state: str, action: str = ALARM_TOPIC) -> None:
    client = stack.aws.client("cloudwatch")
    client.put_metric_alarm(
        AlarmName=name,
        MetricName="m",
        Namespace="n",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
        AlarmActions=[action],
    )
    client.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")


def test_it_counts_what_waits_and_hides_it_from_nobody(stack: Stack) -> None:
    for number in range(3):
        stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody=str(number))
    stack.sqs.receive_message(QueueUrl=stack.dead_letter_queue)
    age = ("AWS/SQS", "ApproximateAgeOfOldestMessage")
    measured(stack, age, ("QueueName", "DeadLetterQueue"), (3, 50.0), (2, 110.0))
    alarm(stack, "on", "ALARM")
    alarm(stack, "off", "OK")
    alarm(stack, "another-stacks", "ALARM", action="arn:aws:sns:us-east-1:123456789012:others")

    found = status(stack, NOW).as_json()

    assert [one["name"] for one in found.pop("alarms")] == ["on"]
    assert found == {
        "stack": "actonce",
        "account": "123456789012",
        "region": "us-east-1",
        "embedded_at": None,
        "version": None,
        "strategy": None,
        "paused": None,
        "fed_all_the_same": False,
        "stopped_without_pause": False,
        "feeds": [{"function": "starter", "state": "Enabled"}],
        "queues": {
            "requests": EMPTY,
            "unstarted": EMPTY,
            "dead_letters": {"waiting": 2, "in_flight": 1, "delayed": 0, "oldest_seconds": 110},
        },
        "open_executions": {"count": 2, "more": False},
        "last_audit": None,
        "not_seen": {},
        "oldest_failed_seconds": None,
    }


def test_what_keeps_failing_is_told_by_the_starters_word_though_sqs_leaves_it_out(
    stack: Stack,
) -> None:
    failed = ("ActOnce", "OldestFailedAge")
    measured(stack, failed, ("service", "actonce"), (40, 9_000.0), (20, 3_000.0), (2, 60.0))
    measured(stack, failed, ("service", "another"), (2, 7_000.0))
    (described,) = stack.aws.client("cloudformation").describe_stacks()["Stacks"]
    for one in (stack, replace(stack, name=described["StackId"])):
        assert status(one, NOW).oldest_failed_seconds == 3_000


def test_what_may_not_be_seen_is_said_and_the_rest_told(stack: Stack) -> None:
    stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="a")
    forbid(stack, "cloudwatch")
    forbid(stack, "stepfunctions")
    found = status(stack, NOW)
    assert found.queues["dead_letters"] == Depth(1, 0, 0, None)
    assert (found.open, found.alarms) == (None, None)
    assert {name: "AccessDenied" in why for name, why in found.not_seen.items()} == {
        "open_executions": True,
        "alarms": True,
    }


def test_open_executions_are_counted_as_far_as_one_page_has_them(stack: Stack) -> None:
    one = {
        "executionArn": "a",
        "stateMachineArn": stack.state_machine,
        "name": "n",
        "status": "RUNNING",
        "startDate": NOW,
    }
    with Stubber(stack.stepfunctions) as answers:
        page = {"executions": [one] * MOST_COUNTED, "nextToken": "more"}
        answers.add_response("list_executions", page)
        assert status(stack, NOW).open == Open(MOST_COUNTED, more=True)
    of_rows = status(with_outputs(stack, LedgerTableName="rows"), NOW)
    assert (of_rows.open, of_rows.not_seen) == (None, {})


SUMMARY = {
    "from": "2026-01-30",
    "to": "2026-01-30",
    "generated_at": "2026-01-31T03:10:00.000Z",
    "sentence": "All 5 messages are accounted for, and none was acted on twice.",
    "exit_status": 0,
}


def test_the_last_audit_is_the_nights_or_the_one_at_hand(stack: Stack, tmp_path: Path) -> None:
    s3 = stack.aws.client("s3")
    s3.create_bucket(Bucket="audit-bucket")
    audited = with_outputs(stack, AuditBucketName="audit-bucket")
    assert status(audited, NOW).audited is None
    summary = json.dumps(SUMMARY | {"alarms": []})
    s3.put_object(Bucket="audit-bucket", Key="audit/summary.json", Body=summary)
    assert status(audited, NOW).audited == SUMMARY
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY | {"sentence": "Another."}))
    assert status(audited, NOW, tmp_path).audited == SUMMARY | {"sentence": "Another."}
    s3.put_object(Bucket="audit-bucket", Key="audit/summary.json", Body=b"{")
    assert "is no JSON" in status(audited, NOW).not_seen["last_audit"]


def test_an_audit_of_what_ran_before_is_not_the_last_one(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path))
    embedded = Stack(Aws("http://127.0.0.1:9"), "actonce", {})
    assert audit_summary.of_demo(embedded) is None
    results = tmp_path / "records" / "audit"
    results.mkdir(parents=True)
    summary, state = results / "summary.json", tmp_path / "embedded.json"
    for file, at in ((summary, 1_800_000_020), (state, 1_800_000_010)):
        file.write_text("{}")
        os.utime(file, (at, at))
    assert audit_summary.of_demo(embedded) == results
    assert audit_summary.of_demo(moto_stack) is None, "on AWS it is not of this stack"
    os.utime(state, (1_800_000_030, 1_800_000_030))
    assert audit_summary.of_demo(embedded) is None


# --------------------------------------------------------------------------- as it is shown


def test_a_person_is_told_where_it_is_what_is_wrong_and_where_to_look(
    stack: Stack, actonce: Actonce
) -> None:
    alarm(stack, "DeadLettersWaitingAlarm", "ALARM")
    stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="{}")

    told = [" ".join(line.split()) for line in actonce("status", stack=stack).out.splitlines()]

    assert told[:3] == ["Account 123456789012", "Region us-east-1", "Stack actonce"]
    assert "Queue feeds starter (Enabled)" in told
    assert "Open 2 executions" in told
    assert any(line.startswith("Alarms DeadLettersWaitingAlarm (for ") for line in told)
    assert "Last audit none at hand: actonce collect, actonce audit" in told
    assert told[-1] == "dead letters 1 0 0 actonce dead-letters list"


PAUSED = Pause("2026-01-31T09:30:00.000Z", "somebody", "")
ON, OFF = Feed("uuid", "starter", "Enabled"), Feed("uuid", "starter", "Disabled")
FOUND = Status("shop", None, (ON,), {"requests": Depth(0, 9, 0, 40)}, alarms=(), audited=SUMMARY)


@pytest.mark.parametrize(
    ("found", "told", "warned"),
    [
        (FOUND, "requests 0 9 0 40 s or more", ""),
        (FOUND, "Last audit 2026-01-30: All 5 messages", ""),
        (replace(FOUND, oldest_failed_seconds=3_000), "Failing deliveries of up to 3000 s", ""),
        (replace(FOUND, not_seen={"open_executions": "no"}), "Open cannot be seen: no", ""),
        (replace(FOUND, feeds=(), is_for_workers=True), "Queue feeds workers on hosts", ""),
        (replace(FOUND, feeds=(OFF,), pause=PAUSED), "Paused since 2026-01-31T09:30:00", ""),
        (replace(FOUND, feeds=(OFF,)), "Paused no, but nothing is taken", "nobody said pause"),
        (replace(FOUND, pause=PAUSED), "Paused since", "messages are taken all the same"),
    ],
)
def test_what_is_shown_and_where_what_is_said_and_what_is_taken_differ_warned_of(
    stack: Stack,
    actonce: Actonce,
    monkeypatch: pytest.MonkeyPatch,
    found: Status,
    told: str,
    warned: str,
) -> None:
    monkeypatch.setattr(command, "status_of", lambda *_: found)
    ended = actonce("status", stack=with_outputs(stack, ActOnceVersion=version()))
    assert told in " ".join(ended.out.split())
    _, *warnings = ended.err.splitlines()
    assert warned in " ".join(warnings)
    assert bool(warnings) is bool(warned)
