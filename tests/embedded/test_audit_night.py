"""The audit of days and slots, deployed: schedule, state machine, job, outcome.

The job runs on this machine.

The embedded AWS hands no record to Firehose and exports no file, so the
records are collected and put into the bucket, but for the dead letters: the audit records them.
"""

import gzip
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.queues.scan import counts
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded import command_line
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support import java

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.long,
    java.needed,
]

MESSAGES = ["night-1", "night-2", "night-3"]
WAITING = "night-waits"
Notifications = Callable[[], list[dict[str, str]]]
JOB_SECONDS = 600.0  # Spark, on a machine that may be busy


@pytest.fixture(scope="module")
def audited(paths: Paths) -> tuple[State, Stack]:
    """An embedded AWS of this file's own, with the records kept and the days audited."""
    audited = Paths(paths.home, PROJECT / "examples" / "audited", is_project=True)
    return lifecycle.up(audited, lambda _: None, parameters={"AuditEvery": "15 minutes"})


@pytest.fixture(scope="module")
def stack(audited: tuple[State, Stack]) -> Stack:
    return audited[1]


@pytest.fixture(scope="module")
def day(stack: Stack) -> str:
    """The day to audit, on which three messages are acted on, and one waits for a decision."""
    no_practice = {"message_id": WAITING, "practice": 5}
    for message in [no_practice, *({"message_id": message_id} for message_id in MESSAGES)]:
        stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=json.dumps(message))
    ended = [wait_for_execution(stack, stack.execution_arn(name)) for name in MESSAGES]
    assert [execution["status"] for execution in ended] == ["SUCCEEDED"] * len(MESSAGES)
    wait_until(lambda: counts(stack.sqs, stack.dead_letter_queue)[0])
    return ended[0]["startDate"].astimezone(UTC).date().isoformat()


@pytest.fixture(scope="module")
def put_records(
    audited: tuple[State, Stack], day: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], None]:
    """Collects the day and puts it into the records' bucket, but for the dead letters."""

    def put() -> None:
        state, stack = audited
        folder = tmp_path_factory.mktemp("records")
        answer = command_line.run(state, "collect", "--day", day, "--to", str(folder))
        assert answer.returncode == 0, answer.stderr
        for file in folder.rglob("*.gz"):
            if "dead_letters" in file.parts:
                continue
            stack.aws.client("s3").upload_file(
                str(file), stack.outputs["RecordsBucketName"], str(file.relative_to(folder))
            )
        before = date.fromisoformat(day) - timedelta(days=1)  # on which nothing happened
        for stream in ("deliveries", "executions", "effects"):
            stack.aws.client("s3").put_object(
                Bucket=stack.outputs["RecordsBucketName"],
                Key=f"{stream}/dt={before}/lines.jsonl.gz",
                Body=gzip.compress(b"", mtime=0),  # the same bytes, however often
            )

    return put


@pytest.fixture(scope="module")
def notifications(stack: Stack) -> Notifications:
    """What the alarm topic has sent so far."""
    queue = stack.sqs.create_queue(QueueName="notifications")["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    stack.aws.client("sns").subscribe(
        TopicArn=stack.outputs["AlarmTopicArn"],
        Protocol="sqs",
        Endpoint=arn["Attributes"]["QueueArn"],
    )
    messages_heard: list[dict[str, str]] = []

    def hear() -> list[dict[str, str]]:
        for message in stack.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get(
            "Messages", []
        ):
            messages_heard.append(json.loads(message["Body"]))
            stack.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return messages_heard

    return hear


def recorded(stack: Stack, stream: str) -> dict[str, list[dict[str, Any]]]:
    """The lines of every file of a stream in the records' bucket."""
    s3, bucket = stack.aws.client("s3"), stack.outputs["RecordsBucketName"]
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{stream}/").get("Contents", [])
    return {
        item["Key"]: [
            json.loads(line)
            for line in gzip.decompress(
                s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()
            ).splitlines()
        ]
        for item in listed
    }


def summary_of(stack: Stack) -> dict[str, Any]:
    """What the last audit said."""
    answer = stack.aws.client("s3").get_object(
        Bucket=stack.outputs["AuditBucketName"], Key="audit/summary.json"
    )
    summary: dict[str, Any] = json.loads(answer["Body"].read())
    return summary


def execution_of(stack: Stack, name: str) -> str:
    machine = stack.outputs["AuditStateMachineArn"]
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"


def begin(stack: Stack, name: str, state_input: str) -> str:
    """Start an execution by hand; its ARN."""
    return stack.stepfunctions.start_execution(
        stateMachineArn=stack.outputs["AuditStateMachineArn"],
        name=name,
        input=state_input,
    )["executionArn"]


def start(stack: Stack, name: str, state_input: str) -> Any:
    """Start an execution by hand and wait for its end."""
    return wait_for_execution(stack, begin(stack, name, state_input), JOB_SECONDS)


def scheduled_input(stack: Stack, at: datetime) -> str:
    """The input that the schedule gives, with the time that Scheduler puts in."""
    scheduler = stack.aws.client("scheduler")
    (schedule,) = scheduler.list_schedules()["Schedules"]
    target = scheduler.get_schedule(Name=schedule["Name"])["Target"]
    assert target["Arn"] == stack.outputs["AuditStateMachineArn"]
    time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(target["Input"].replace("<aws.scheduler.scheduled-time>", time))


def test_without_its_code_the_night_says_what_to_do_and_records_the_dead_letters(
    stack: Stack, day: str, notifications: Notifications
) -> None:
    ended = start(stack, "without-code", json.dumps({"day": day}))

    assert (ended["status"], ended["error"]) == ("FAILED", "NotAudited")
    assert "run actonce audit package --to s3://" in ended["cause"]
    (message,) = wait_until(notifications)
    assert message["Subject"] == f"ActOnce audit of {day}: not audited"
    assert ended["cause"] in message["Message"]
    # It records the dead letters whether or not it can audit.
    ((file, (line,)),) = recorded(stack, "dead_letters").items()
    assert file == f"dead_letters/dt={day}/collected.jsonl.gz"
    # And what runs.
    ((_, (runs,)),) = recorded(stack, "executions").items()
    assert (runs["message_id"], runs["status"]) == (WAITING, "RUNNING")
    assert (line["message_id"], line["event"], line["reason"]) == (WAITING, "posted", "rejected")


def test_a_good_day_is_audited_by_night_and_once(
    audited: tuple[State, Stack],
    day: str,
    put_records: Callable[[], None],
    notifications: Notifications,
) -> None:
    state, stack = audited
    code = f"s3://{stack.outputs['AuditBucketName']}/code/"
    packed = command_line.run(state, "audit", "package", "--to", code)
    assert packed.returncode == 0, packed.stderr
    put_records()

    night = datetime.fromisoformat(day) + timedelta(days=1, hours=3)
    scheduled = scheduled_input(stack, night)
    fired = [start(stack, f"fired-{number}", scheduled) for number in (1, 2)]
    assert [json.loads(one["output"])["outcome"] for one in fired] == ["started", "suppressed"]
    ended = wait_for_execution(stack, execution_of(stack, f"audit-{day}"), JOB_SECONDS)
    assert ended["status"] == "SUCCEEDED", ended
    outcome = json.loads(ended["output"])
    sentence = outcome["sentence"]
    assert outcome == {"outcome": "audited", "day": day, "exit_status": 0, "sentence": sentence}
    # In a day's first hour the day before is not over, either.
    assert re.fullmatch(
        rf"Of ([\d-]+ to )?{day} nothing is called missing yet\. "
        r"All 4 messages are accounted for, and none was acted on twice\.",
        sentence,
    )
    message = wait_until(
        lambda: next((m for m in notifications() if "nothing to do" in m["Subject"]), None)
    )
    assert message is not None
    assert sentence in message["Message"]
    (judged_day,) = summary_of(stack)["days"]
    assert judged_day["verdicts"]["awaiting_decision"] == 1
    assert judged_day["streams"]["dead_letters"] == 1
    assert not [reason for reason in judged_day["cannot_judge"] if "dead_letters" in reason]


def test_a_second_effect_is_told_by_the_next_slot(
    stack: Stack, put_records: Callable[[], None], notifications: Notifications
) -> None:
    (item,) = stack.dynamodb.query(
        TableName=stack.effects_table,
        KeyConditionExpression="message_id = :message_id",
        ExpressionAttributeValues={":message_id": {"S": MESSAGES[1]}},
    )["Items"]
    stack.dynamodb.put_item(
        TableName=stack.effects_table,
        Item=item | {"appointment_id": {"S": "appointment-by-hand"}},
    )
    put_records()

    now = datetime.now(UTC)
    now = now.replace(minute=now.minute | 1)  # never 03:00
    scheduled = scheduled_input(stack, now)
    fired = [start(stack, f"slot-fired-{number}", scheduled) for number in (1, 2)]
    assert [json.loads(one["output"])["outcome"] for one in fired] == ["started", "suppressed"]
    slot = execution_of(stack, f"audit-{now:%Y-%m-%dT%H-%M}")
    ended = wait_for_execution(stack, slot, JOB_SECONDS)

    assert (ended["status"], ended["error"]) == ("FAILED", "Alarms")
    assert "1 acted on more than once" in ended["cause"]
    message = wait_until(
        lambda: next((m for m in notifications() if " until " in m["Subject"]), None)
    )
    assert message is not None
    assert message["Subject"].endswith(": ALARM")


def test_an_alarm_is_told_of_the_day_again(
    audited: tuple[State, Stack],
    day: str,
    put_records: Callable[[], None],
    notifications: Notifications,
) -> None:
    state, stack = audited
    note = ["--note", "By telephone."]
    assert command_line.decide(state, "resolve", WAITING, *note)["end"] == "decided"
    wait_for_execution(stack, stack.execution_arn(WAITING))
    put_records()

    ended = start(stack, "again", json.dumps({"day": day}))

    assert (ended["status"], ended["error"]) == ("FAILED", "Alarms")
    assert ended["cause"].endswith("Of 4 messages, 1 acted on more than once.")
    subject = f"ActOnce audit of {day}: ALARM"
    message = wait_until(
        lambda: next((m for m in notifications() if m["Subject"] == subject), None)
    )
    assert message is not None
    assert ended["cause"] in message["Message"]
    summary = summary_of(stack)
    (alarm,) = summary["alarms"]
    assert (alarm["message_id"], alarm["verdict"]) == (MESSAGES[1], "performed_again")
    # What has succeeded is not looked at again, and its line of the first look stays.
    lines = [line for lines in recorded(stack, "dead_letters").values() for line in lines]
    assert [line["event"] for line in lines] == ["posted"]
    assert summary["days"][0]["verdicts"]["resolved"] == 1
    # The results of the day are replaced, not added to.
    listed = stack.aws.client("s3").list_objects_v2(
        Bucket=stack.outputs["AuditBucketName"], Prefix="audit/messages/"
    )["Contents"]
    tables = [item["Key"] for item in listed if item["Key"].endswith(".parquet")]
    assert [Path(key).parent.name for key in tables] == [f"day={day}"]
