"""What `actonce status` says of a stack, on moto in this process."""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce.cli import status as command
from actonce.operate.pausing import Feed, Pause
from actonce.operate.status import MOST_COUNTED, Depth, Open, status
from actonce.records import audit_summary
from actonce.stack.clients import Aws, Stack
from actonce.terminal import output as console
from actonce.terminal.output import SafeConsole
from tests.cli.test_pausing import ALARM_TOPIC, NOW, Fed, fed

__all__ = ["fed"]

PAUSED = Pause("2026-01-31T09:30:00.000Z", "somebody", "")
EMPTY = {"waiting": 0, "in_flight": 0, "delayed": 0, "oldest_seconds": None}


def state_machine(stack: Stack, executions: int = 0) -> Stack:
    """The stack with a state machine, and executions that wait."""
    wait = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 900, "End": True}}}
    arn = stack.stepfunctions.create_state_machine(
        name="process",
        definition=json.dumps(wait),
        roleArn="arn:aws:iam::123456789012:role/starter",
    )["stateMachineArn"]
    for number in range(executions):
        stack.stepfunctions.start_execution(stateMachineArn=arn, name=f"e-{number}")
    return Stack(stack.aws, "actonce", stack.outputs | {"ProcessMessageArn": arn})


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


def forbid(stack: Stack, service: str, operation: str = "*") -> None:
    """Every such call of that service is refused from now on."""

    def refuse(model: Any, **_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, model.name)

    events = stack.aws.client(service).meta.events
    events.register(f"before-call.*.{operation}", refuse)


def test_it_counts_what_waits_and_hides_it_from_nobody(fed: Fed) -> None:
    stack = state_machine(fed("function"), executions=2)
    for number in range(3):
        stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody=str(number))
    stack.sqs.receive_message(QueueUrl=stack.dead_letter_queue)
    stack.aws.client("cloudwatch").put_metric_data(
        Namespace="AWS/SQS",
        MetricData=[
            {
                "MetricName": "ApproximateAgeOfOldestMessage",
                "Dimensions": [{"Name": "QueueName", "Value": "DeadLetterQueue"}],
                "Timestamp": NOW - timedelta(minutes=minutes),
                "Value": value,
            }
            for minutes, value in ((3, 50.0), (2, 110.0))
        ],
    )

    found = status(stack, NOW).as_json()

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
        "alarms": [],
        "last_audit": None,
        "not_seen": {},
        "oldest_failed_seconds": None,
    }


def failed(stack: Stack, *points: tuple[int, float], service: str = "actonce") -> None:
    """The starter's metric: at so many minutes before now, the age of the oldest that failed."""
    stack.aws.client("cloudwatch").put_metric_data(
        Namespace="ActOnce",
        MetricData=[
            {
                "MetricName": "OldestFailedAge",
                "Dimensions": [{"Name": "service", "Value": service}],
                "Timestamp": NOW - timedelta(minutes=minutes),
                "Value": value,
            }
            for minutes, value in points
        ],
    )


def test_what_keeps_failing_is_told_by_the_starters_word_though_sqs_leaves_it_out(fed: Fed) -> None:
    stack = state_machine(fed("function"))
    failed(stack, (40, 9_000.0), (20, 3_000.0), (2, 60.0))
    failed(stack, (2, 7_000.0), service="another")
    cloudformation = stack.aws.client("cloudformation")
    (arn,) = [one["StackId"] for one in cloudformation.describe_stacks()["Stacks"]]

    found = status(stack, NOW)

    assert found.oldest_failed_seconds == 3_000
    assert status(Stack(stack.aws, arn, stack.outputs), NOW).oldest_failed_seconds == 3_000


def test_the_alarms_that_are_on_and_tell_the_stacks_topic_are_named(fed: Fed) -> None:
    stack = state_machine(fed("function"))
    alarm(stack, "on", "ALARM")
    alarm(stack, "off", "OK")
    alarm(stack, "another-stacks", "ALARM", action="arn:aws:sns:us-east-1:123456789012:others")

    (found,) = status(stack, NOW).alarms or ()

    assert found.name == "on"


def test_what_may_not_be_seen_is_said_and_the_rest_told(fed: Fed) -> None:
    stack = fed("function")
    stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="a")
    forbid(stack, "cloudwatch")
    forbid(stack, "stepfunctions")

    found = status(stack, NOW)

    assert (found.queues["dead_letters"].waiting, found.open, found.alarms) == (1, None, None)
    assert found.queues["dead_letters"].oldest_seconds is None
    assert "AccessDenied" in found.not_seen["open_executions"]
    assert "AccessDenied" in found.not_seen["alarms"]


def test_more_open_executions_than_a_page_has_are_not_counted(fed: Fed) -> None:
    stack = fed("function")
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


def test_of_a_ledger_no_executions_are_counted(fed: Fed) -> None:
    stack = fed("function")
    ledger = Stack(stack.aws, "actonce", stack.outputs | {"LedgerTableName": "rows"})
    found = status(ledger, NOW)
    assert (found.open, found.not_seen) == (None, {})


SUMMARY = {
    "from": "2026-01-30",
    "to": "2026-01-30",
    "generated_at": "2026-01-31T03:10:00.000Z",
    "sentence": "All 5 messages are accounted for, and none was acted on twice.",
    "exit_status": 0,
    "alarms": [],
}


def test_the_last_audit_is_the_nights_or_the_one_at_hand(fed: Fed, tmp_path: Path) -> None:
    stack = state_machine(fed("function"))
    s3 = stack.aws.client("s3")
    s3.create_bucket(Bucket="audit-bucket")
    audited = Stack(stack.aws, "actonce", stack.outputs | {"AuditBucketName": "audit-bucket"})
    assert status(audited, NOW).audited is None

    s3.put_object(Bucket="audit-bucket", Key="audit/summary.json", Body=json.dumps(SUMMARY))
    found = status(audited, NOW).audited
    assert found is not None
    assert found.as_json() == {name: SUMMARY[name] for name in SUMMARY if name != "alarms"}

    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY | {"sentence": "Another."}))
    own = status(audited, NOW, tmp_path).audited
    assert own is not None
    assert own.sentence == "Another."

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


def test_a_person_is_told_ages_as_far_as_they_are_known(
    fed: Fed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "out", SafeConsole())
    depths = {"requests": Depth(0, 9, 0, 40)}
    found = replace(
        status(state_machine(fed("function")), NOW), queues=depths, oldest_failed_seconds=3_000
    )
    monkeypatch.setattr(command, "find_stack", lambda *_, **__: None)
    monkeypatch.setattr(command, "of_demo", lambda _: None)
    monkeypatch.setattr(command, "status_of", lambda *_: found)

    command.status()

    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Failing deliveries of up to 3000 s of age, in half an hour" in told
    assert told[-1] == "requests 0 9 0 40 s or more"


def test_a_person_is_told_where_it_is_what_is_wrong_and_where_to_look(
    fed: Fed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = state_machine(fed("worker"), executions=1)
    alarm(stack, "DeadLettersWaitingAlarm", "ALARM")
    stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="{}")
    monkeypatch.setattr(command, "find_stack", lambda *_, **__: stack)
    monkeypatch.setattr(console, "out", SafeConsole())

    command.status()

    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert told[:3] == ["Account 123456789012", "Region us-east-1", "Stack actonce"]
    assert "Queue feeds workers on hosts" in told
    assert "Open 1 execution" in told
    assert any(line.startswith("Alarms DeadLettersWaitingAlarm (for ") for line in told)
    assert "Last audit none at hand: actonce collect, actonce audit" in told
    assert told[-1] == "dead letters 1 0 0 actonce dead-letters list"


@pytest.mark.parametrize(
    ("paused", "enabled", "warned"),
    [
        (None, True, ""),
        (None, False, "nobody said pause"),
        (PAUSED, False, ""),
        (PAUSED, True, "taken all the same"),
    ],
)
def test_a_person_is_warned_where_what_is_said_and_what_is_taken_differ(
    fed: Fed,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    paused: Pause | None,
    enabled: bool,
    warned: str,
) -> None:
    feed = Feed("uuid", "starter", "Enabled" if enabled else "Disabled")
    found = replace(status(state_machine(fed("function")), NOW), pause=paused, feeds=(feed,))
    monkeypatch.setattr(command, "find_stack", lambda *_, **__: None)
    monkeypatch.setattr(command, "of_demo", lambda _: None)
    monkeypatch.setattr(command, "status_of", lambda *_: found)
    monkeypatch.setattr(console, "out", SafeConsole())
    monkeypatch.setattr(console, "err", SafeConsole(stderr=True))

    command.status()

    told = " ".join(capsys.readouterr().err.split())
    assert warned in told
    assert bool(told) is bool(warned)
