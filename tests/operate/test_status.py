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
from actonce.operate.pausing import EventSourceMapping
from actonce.operate.status import MOST_LOOKED_UP, Count, Executions, Status, status
from actonce.queues.depth import Depth, Pause
from actonce.records import audit_summary
from actonce.stack.clients import Aws, Stack
from actonce.stack.stack_files import version
from actonce_core.records import timestamp
from tests.support.moto_stack import Actonce
from tests.support.snapshots import Snapshot
from tests.support.stacks import ALARM_TOPIC, NOW, fed, with_executions, with_outputs


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    made = with_executions(fed(moto_stack), "e-1", "e-2")
    return with_outputs(made, EffectTimeoutSeconds="30")


def execution(seconds: float, status: str = "RUNNING") -> dict[str, Any]:
    """An item of ListExecutions that began, or was stopped, so many seconds before now."""
    at = NOW - timedelta(seconds=seconds)
    item = {"executionArn": "a", "stateMachineArn": "m", "name": "n", "status": status}
    return item | ({"startDate": at} if status == "RUNNING" else {"startDate": at, "stopDate": at})


@pytest.mark.parametrize(
    ("ages", "letters", "more", "at_work", "retrying", "waits_for"),
    [
        ([1, 34], 0, False, Count(2), Count(0), None),
        ([1, 36, 40], 0, False, Count(1), Count(2), "provider"),
        # What has a letter waits for a person, and not for the provider.
        ([1, 36, 40], 1, False, Count(1), Count(1), "person"),
        ([1, 2, 36], 2, False, Count(1), Count(0), "person"),  # one was refused at once
        ([1, 36, 36], 1, True, Count(1), Count(1, more=True), "person"),
        ([1, 1], 0, True, Count(2, more=True), Count(0, True), None),
    ],
)
def test_running_executions_are_at_work_or_wait_for_somebody(
    stack: Stack,
    ages: list[float],
    letters: int,
    more: bool,
    at_work: Count,
    retrying: Count,
    waits_for: str | None,
) -> None:
    for _ in range(letters):
        stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody="{}")
    page = {"executions": [execution(age) for age in ages]} | ({"nextToken": "x"} if more else {})
    with Stubber(stack.stepfunctions) as answers:
        answers.add_response("list_executions", page)
        for _ in range(3):
            answers.add_response("list_executions", {"executions": []})
        found = status(stack, NOW)
    assert found.executions == Executions(at_work, retrying, aborted=Count(0))
    assert (found.waits_for, found.waiting_for_decision) == (waits_for, letters)


def test_an_aborted_execution_waits_for_a_person_while_it_can_be_continued(stack: Stack) -> None:
    aborted = [execution(86_400 * days, "ABORTED") for days in (1, 13.9, 14.1, 40)]
    with Stubber(stack.stepfunctions) as answers:
        for page in ([], aborted, [], []):
            answers.add_response("list_executions", {"executions": page})
        found = status(stack, NOW)
    assert found.executions is not None
    assert (found.executions.aborted, found.waits_for) == (Count(2), "person")


@pytest.mark.parametrize(
    ("errors", "more", "failed", "waits_for"),
    [
        (["RejectedByOperator", "States.Timeout"], False, Count(1), "person"),
        (["RejectedByOperator"] * MOST_LOOKED_UP, True, Count(0, more=True), None),
        ([None], False, Count(0, more=True), None),  # it may not be read
    ],
)
def test_an_execution_that_failed_undecided_waits_for_a_person(
    stack: Stack, errors: list[str | None], more: bool, failed: Count, waits_for: str | None
) -> None:
    names = [f"m-{number}" for number in range(len(errors) + more)]
    listed = [execution(86_400, "FAILED") | {"name": name} for name in names]
    described = {"executionArn": "a", "stateMachineArn": "m", "status": "FAILED", "startDate": NOW}
    with Stubber(stack.stepfunctions) as answers:
        for page in ([], [], listed):
            answers.add_response("list_executions", {"executions": page})
        for error in errors:
            if error is None:
                answers.add_client_error("describe_execution", "AccessDenied")
            else:
                answers.add_response("describe_execution", described | {"error": error})
        answers.add_response("list_executions", {"executions": []})
        found = status(stack, NOW)
    assert found.executions is not None
    assert (found.executions.failed, found.waits_for) == (failed, waits_for)


SUMMARY = {
    "from": "2026-01-30",
    "to": "2026-01-30",
    "generated_at": "2026-01-31T03:10:00.000Z",
    "sentence": "All 5 messages are accounted for, and none was acted on twice.",
    "exit_status": 0,
    "over_until": "2026-01-30T14:20:00.000Z",
    "not_yet_judged": 3,
}


def test_the_last_audit_is_the_one_at_hand_if_it_is_of_this_stack(
    stack: Stack, tmp_path: Path
) -> None:
    created = stack.created_at()
    now = created + timedelta(hours=3)

    def audited(**summary: Any) -> Status:
        (tmp_path / "summary.json").write_text(json.dumps(SUMMARY | summary))
        return status(stack, now, tmp_path)

    assert status(stack, now).audited is None
    after, before = (timestamp(created + timedelta(hours=hours)) for hours in (1, -1))
    found = audited(generated_at=after, alarms=[]).audited
    expected = SUMMARY | {"generated_at": after, "severity": "clean", "age_seconds": 7200}
    assert found == expected | {"place": f"{tmp_path}/"}
    assert (audited(generated_at=after, exit_status=1).audited or {})["severity"] == "alarms"
    s3 = stack.aws.client("s3")
    s3.create_bucket(Bucket="audit")
    text = (tmp_path / "summary.json").read_text()
    s3.put_object(Bucket="audit", Key="audit/summary.json", Body=text)
    night = status(with_outputs(stack, AuditBucketName="audit"), now).audited
    assert (night or {})["place"] == "s3://audit/audit/"
    assert "another stack's" in audited(generated_at=before).not_seen["last_audit"]
    assert "does not say when" in audited(generated_at="yesterday").not_seen["last_audit"]


def test_an_audit_of_a_demo_before_is_not_the_last_one(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path))
    embedded = Stack(Aws("http://127.0.0.1:9"), "actonce", {})
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


PAUSED = Pause("2026-01-31T09:30:00.000Z", "somebody", "")
ON, OFF = (
    EventSourceMapping("uuid", "starter", "Enabled"),
    EventSourceMapping("uuid", "starter", "Disabled"),
)
NONE = Depth(0, 0, 0, None)
QUEUES = {"requests": Depth(0, 9, 0, 40), "unstarted": NONE, "dead_letters": NONE}
AUDITED = SUMMARY | {"severity": "clean", "age_seconds": 7_200, "place": "records/"}
FOUND = Status("shop", None, (ON,), QUEUES, alarms=(), audited=AUDITED)
WORK = Executions(Count(3), Count(60, more=True), Count(1))


# Behind what is counted there may be what waits for the provider.
UNCOUNTED = replace(WORK, retrying=Count(0, True))
SHOWN = {
    "all is well": FOUND,
    "no alarm has data yet": replace(FOUND, alarms=None),
    "not started": replace(FOUND, queues=QUEUES | {"unstarted": Depth(2, 0, 0, None)}),
    "at work, retrying, aborted": replace(FOUND, executions=WORK),
    "not all counted": replace(FOUND, executions=replace(UNCOUNTED, aborted=Count(0))),
    "not all counted, aborted": replace(FOUND, executions=UNCOUNTED),
    "deliveries that keep failing": replace(FOUND, oldest_failed_seconds=3_000),
    "executions not seen": replace(FOUND, not_seen={"executions": "no"}),
    "paused": replace(FOUND, event_source_mappings=(OFF,), pause=PAUSED),
    "stopped, and nobody paused it": replace(FOUND, event_source_mappings=(OFF,)),
    "paused, and fed all the same": replace(FOUND, pause=PAUSED),
    "executions on trouble only": replace(FOUND, start_executions="on-trouble"),
}


def test_status_as_it_is_shown(
    stack: Stack, actonce: Actonce, monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    lines = []
    for name, found in SHOWN.items():
        monkeypatch.setattr(command, "status_of", lambda *_, found=found: found)
        ended = actonce("status", stack=with_outputs(stack, ActOnceVersion=version()))
        shown = ended.out.replace(version(), "VERSION") + ended.err
        lines += [f"# {name}\n\n", *(f"    {one}".rstrip() + "\n" for one in shown.splitlines())]
    snapshot("status.txt", "".join(lines))


def test_only_alarms_on_the_stack_s_own_topic_count(
    stack: Stack,
) -> None:
    cloudwatch = stack.aws.client("cloudwatch")
    for name, topic in (("own", ALARM_TOPIC), ("another", f"{ALARM_TOPIC}-of-another")):
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            AlarmActions=[topic],
            ComparisonOperator="GreaterThanThreshold",
            EvaluationPeriods=1,
        )
        cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="a test")
    found = status(stack, NOW).alarms
    assert found is not None
    assert [alarm.name for alarm in found] == ["own"]
