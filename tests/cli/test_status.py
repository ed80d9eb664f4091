"""What `actonce status` finds of a stack, and what it says of it, on moto in this process."""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from actonce.cli import status as command
from actonce.operate.pausing import Feed
from actonce.operate.status import MOST_COUNTED, MOST_LOOKED_UP, Counted, Executions, Status, status
from actonce.queues.standing import Depth, Pause
from actonce.records import audit_summary
from actonce.stack.clients import Aws, Stack
from actonce.stack.sources import version
from actonce_core.records import timestamp
from tests.cli.conftest import Actonce
from tests.support.stacks import ALARM_TOPIC, NOW, fed, forbid, with_executions, with_outputs

EMPTY = {"waiting": 0, "in_flight": 0, "delayed": 0, "oldest_seconds": None}


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    made = with_executions(fed(moto_stack), "e-1", "e-2")
    return with_outputs(made, EffectTimeoutSeconds="30")


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
        "waits_for": "person",
        "waiting_for_decision": 3,
        "not_started": 0,
        # Two began long after NOW, and are taken for two that have letters.
        "executions": {
            "at_work": {"count": 0, "more": False},
            "retrying": {"count": 0, "more": False},
            "aborted": {"count": 0, "more": False},
            "failed": {"count": 0, "more": False},
        },
        "last_audit": None,
        "not_seen": {},
        "oldest_failed_seconds": None,
    }


def test_that_no_alarm_has_data_yet_is_not_told_as_that_none_is_on(stack: Stack) -> None:
    assert status(stack, NOW).alarms == ()
    alarm(stack, "another-stacks", "OK", action="arn:aws:sns:us-east-1:123456789012:others")
    alarm(stack, "one", "INSUFFICIENT_DATA")
    unknown = status(stack, NOW)
    assert (unknown.as_json()["alarms"], unknown.not_seen) == (None, {})
    alarm(stack, "two", "OK")
    assert status(stack, NOW).alarms == ()


def test_what_keeps_failing_is_told_by_the_starters_word_though_sqs_leaves_it_out(
    stack: Stack,
) -> None:
    failed = ("ActOnce", "OldestFailedAge")
    measured(stack, failed, ("service", "actonce"), (40, 9_000.0), (20, 3_000.0), (2, 60.0))
    measured(stack, failed, ("service", "another"), (2, 7_000.0))
    (described,) = stack.aws.client("cloudformation").describe_stacks()["Stacks"]
    for one in (stack, replace(stack, name=described["StackId"])):
        assert status(one, NOW).oldest_failed_seconds == 3_000


@pytest.mark.parametrize(
    ("service", "operation", "names"),
    [
        ("cloudwatch", "*", ["alarms"]),
        ("stepfunctions", "*", ["executions"]),
        ("sqs", "ListQueueTags", ["pause"]),
        ("lambda", "ListEventSourceMappings", ["feeds"]),
    ],
)
def test_what_may_not_be_seen_is_said_and_the_rest_told(
    stack: Stack, actonce: Actonce, service: str, operation: str, names: list[str]
) -> None:
    stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="a")
    forbid(stack, service, operation)
    found = status(stack, NOW)
    assert found.queues["dead_letters"] == Depth(1, 0, 0, None)
    assert [*found.not_seen] == names
    assert not found.is_stopped_without_pause
    told = " ".join(actonce("status", stack=stack).out.split())
    assert "cannot be told: " in told
    assert "AccessDenied" in told
    assert "no, but nothing is taken" not in told


def execution(seconds: float, status: str = "RUNNING") -> dict[str, Any]:
    """An item of ListExecutions that began, or was stopped, so many seconds before now."""
    at = NOW - timedelta(seconds=seconds)
    item = {"executionArn": "a", "stateMachineArn": "m", "name": "n", "status": status}
    return item | ({"startDate": at} if status == "RUNNING" else {"startDate": at, "stopDate": at})


@pytest.mark.parametrize(
    ("ages", "letters", "more", "at_work", "retrying", "waits_for"),
    [
        ([1, 34], 0, False, Counted(2), Counted(0), None),
        ([1, 36, 40], 0, False, Counted(1), Counted(2), "provider"),
        # What has a letter waits for a person, and not for the provider.
        ([1, 36, 40], 1, False, Counted(1), Counted(1), "person"),
        ([1, 2, 36], 2, False, Counted(1), Counted(0), "person"),  # one was refused at once
        ([1, 36], 9, False, Counted(0), Counted(0), "person"),
        ([1] + [36] * (MOST_COUNTED - 1), 9, True, Counted(1), Counted(990, more=True), "person"),
        ([1] * MOST_COUNTED, 0, True, Counted(MOST_COUNTED, more=True), Counted(0, True), None),
        # Letters beyond what is listed are of executions beyond it, and not of what is at work.
        ([1] * 995 + [36] * 5, 9, True, Counted(995), Counted(0, more=True), "person"),
    ],
)
def test_what_runs_is_at_work_or_waits_for_the_provider_or_for_a_person(
    stack: Stack,
    ages: list[float],
    letters: int,
    more: bool,
    at_work: Counted,
    retrying: Counted,
    waits_for: str | None,
) -> None:
    for _ in range(letters):
        stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="{}")
    page = {"executions": [execution(age) for age in ages]} | ({"nextToken": "x"} if more else {})
    with Stubber(stack.stepfunctions) as answers:
        answers.add_response("list_executions", page)
        for _ in range(2):
            answers.add_response("list_executions", {"executions": []})
        found = status(stack, NOW)
    assert found.executions == Executions(at_work, retrying, aborted=Counted(0))
    assert (found.waits_for, found.waiting_for_decision) == (waits_for, letters)


def answering(stack: Stack, *pages: list[dict[str, Any]]) -> Stubber:
    """Lists what runs, was aborted and failed: these, and then nothing."""
    answers = Stubber(stack.stepfunctions)
    for page in [*pages, [], [], []][:3]:
        answers.add_response("list_executions", {"executions": page})
    return answers


def test_an_aborted_execution_waits_for_a_person_for_as_long_as_it_can_be_continued(
    stack: Stack,
) -> None:
    aborted = [execution(86_400 * days, "ABORTED") for days in (1, 13.9, 14.1, 40)]
    with answering(stack, [], aborted):
        found = status(stack, NOW)
    assert found.executions is not None
    assert (found.executions.aborted, found.waits_for) == (Counted(2), "person")


@pytest.mark.parametrize(
    ("errors", "more", "failed", "waits_for"),
    [
        (["RejectedByOperator", "States.Timeout"], False, Counted(1), "person"),
        (["RejectedByOperator"], False, Counted(0), None),
        (["RejectedByOperator"] * MOST_LOOKED_UP, True, Counted(0, more=True), None),
        ([None], False, Counted(0, more=True), None),  # it may not be read
    ],
)
def test_what_failed_before_anybody_had_decided_waits_for_a_person(
    stack: Stack, errors: list[str | None], more: bool, failed: Counted, waits_for: str | None
) -> None:
    names = [f"m-{number}" for number in range(len(errors) + more)]
    listed = [execution(86_400, "FAILED") | {"name": name} for name in names]
    described = {"executionArn": "a", "stateMachineArn": "m", "status": "FAILED", "startDate": NOW}
    with answering(stack, [], [], listed) as answers:
        for error in errors:
            if error is None:
                answers.add_client_error("describe_execution", "AccessDenied")
            else:
                answers.add_response("describe_execution", described | {"error": error})
        found = status(stack, NOW)
    assert found.executions is not None
    assert (found.executions.failed, found.waits_for) == (failed, waits_for)


def test_rows_are_not_counted_and_a_stack_that_does_not_say_its_time_out_is_told(
    stack: Stack,
) -> None:
    of_rows = status(with_outputs(stack, LedgerTableName="rows"), NOW)
    assert (of_rows.executions, of_rows.not_seen) == (None, {})
    del stack.outputs["EffectTimeoutSeconds"]
    assert "deploy it anew" in status(stack, NOW).not_seen["executions"]


SUMMARY = {
    "from": "2026-01-30",
    "to": "2026-01-30",
    "generated_at": "2026-01-31T03:10:00.000Z",
    "sentence": "All 5 messages are accounted for, and none was acted on twice.",
    "exit_status": 0,
    "complete_until": "2026-01-30T14:20:00.000Z",
    "not_yet_judged": 3,
}


def test_the_last_audit_is_the_nights_or_the_one_at_hand_if_it_is_of_this_stack(
    stack: Stack, tmp_path: Path
) -> None:
    created = stack.created_at()
    now = created + timedelta(hours=3)
    s3 = stack.aws.client("s3")
    s3.create_bucket(Bucket="audit-bucket")
    audited = with_outputs(stack, AuditBucketName="audit-bucket")

    def audits(told: dict[str, Any], own: Path | None = None) -> Status:
        text = json.dumps(told)
        if own is not None:
            (own / "summary.json").write_text(text)
        else:
            s3.put_object(Bucket="audit-bucket", Key="audit/summary.json", Body=text)
        return status(audited, now, own)

    assert status(audited, now).audited is None
    told = SUMMARY | {"generated_at": timestamp(created + timedelta(hours=1))}
    expected = told | {"severity": "clean", "age_seconds": 7200}
    found = audits(told | {"alarms": []}).audited
    assert found == expected | {"place": "s3://audit-bucket/audit/"}
    alarmed = told | {"exit_status": 1}
    own = audits(alarmed, tmp_path).audited or {}
    assert (own["severity"], own["place"]) == ("alarms", f"{tmp_path}/")

    for where in (None, tmp_path):
        before = audits(told | {"generated_at": timestamp(created - timedelta(days=1))}, where)
        assert before.audited is None
        assert "another stack's" in before.not_seen["last_audit"]
    for undated in ({}, {"generated_at": "yesterday"}):
        assert "does not say when" in audits(undated).not_seen["last_audit"]
    s3.put_object(Bucket="audit-bucket", Key="audit/summary.json", Body=b"{")
    assert "is no JSON" in status(audited, now).not_seen["last_audit"]


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

    assert told[:2] == ["Stack actonce", "Waits for a person"]
    assert told[4] == "waiting for decision about 1 not known actonce dead-letters list"
    assert {"Account 123456789012", "Region us-east-1"} <= {*told}
    assert "Queue feeds starter (Enabled)" in told
    assert any(line.startswith("Alarms DeadLettersWaitingAlarm (for ") for line in told)
    assert "Last audit none by a daily audit or a demo; actonce audit has a page of its own" in told


PAUSED = Pause("2026-01-31T09:30:00.000Z", "somebody", "")
ON, OFF = Feed("uuid", "starter", "Enabled"), Feed("uuid", "starter", "Disabled")
NONE = Depth(0, 0, 0, None)
QUEUES = {"requests": Depth(0, 9, 0, 40), "unstarted": NONE, "dead_letters": NONE}
AUDITED = SUMMARY | {"severity": "clean", "age_seconds": 7_200, "place": "records/"}
FOUND = Status("shop", None, (ON,), QUEUES, alarms=(), audited=AUDITED)
WORK = Executions(Counted(3), Counted(60, more=True), Counted(1))


@pytest.mark.parametrize(
    ("found", "told", "warned"),
    [
        (FOUND, "requests queue 0, 9 in flight 40 s or more", ""),
        (FOUND, "Last audit of 2026-01-30; clean; made 2 h ago: All 5 messages", ""),
        (FOUND, "Waits for nobody", ""),
        (FOUND, "Alarms none is on", ""),
        (replace(FOUND, alarms=None), "Alarms no data yet", ""),
        (
            replace(FOUND, queues=QUEUES | {"unstarted": Depth(2, 0, 0, None)}),
            "not started about 2 not known actonce unstarted list",
            "",
        ),
        (
            replace(FOUND, executions=WORK),
            "retrying 60 or more actonce list --status running",
            "",
        ),
        # Behind what is counted there may be what waits for the provider.
        (
            replace(FOUND, executions=replace(WORK, retrying=Counted(0, True), aborted=Counted(0))),
            "Waits for nobody, as far as could be seen",
            "",
        ),
        (
            replace(FOUND, executions=replace(WORK, retrying=Counted(0, True))),
            "retrying 0 or more actonce list --status running",
            "",
        ),
        (replace(FOUND, executions=WORK), "aborted 1 actonce list --status aborted", ""),
        (replace(FOUND, oldest_failed_seconds=3_000), "Waits for the provider", ""),
        (replace(FOUND, oldest_failed_seconds=3_000), "the oldest was sent 50 min before", ""),
        (replace(FOUND, not_seen={"executions": "no"}), "nobody, as far as could be seen", ""),
        (replace(FOUND, not_seen={"executions": "no"}), "at work cannot be told: no", ""),
        (replace(FOUND, feeds=(OFF,), pause=PAUSED), "Paused since 2026-01-31T09:30:00", ""),
        (replace(FOUND, feeds=(OFF,)), "Paused no, but nothing is taken", "nobody paused it"),
        (replace(FOUND, pause=PAUSED), "Paused since", "takes messages all the same"),
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
