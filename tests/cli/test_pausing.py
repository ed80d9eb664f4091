"""Pause, resume and status, on moto in this process."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce.cli import pausing as pausing_command
from actonce.operate.pausing import Pause, PauseWatch, feeds, find_pause, pause, resume
from actonce.operate.status import status
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.output import SafeConsole

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
BY = "arn:aws:iam::123456789012:user/somebody"

ALARM_TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"

Fed = Callable[[str], Stack]


@pytest.fixture
def fed(moto_stack: Stack) -> Fed:
    """The stack with a function that its queue feeds; the argument is QueueFeeds."""
    client = moto_stack.aws.client
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        package.writestr("starter.py", "")

    def with_feeds(queue_feeds: str) -> Stack:
        client("cloudformation").create_stack(
            StackName="actonce",
            TemplateBody=json.dumps(
                {
                    "Parameters": {"QueueFeeds": {"Type": "String"}},
                    "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
                }
            ),
            Parameters=[{"ParameterKey": "QueueFeeds", "ParameterValue": queue_feeds}],
        )
        role = client("iam").create_role(RoleName="starter", AssumeRolePolicyDocument="{}")
        client("lambda").create_function(
            FunctionName="starter",
            Runtime="python3.13",
            Role=role["Role"]["Arn"],
            Handler="starter.handler",
            Code={"ZipFile": packed.getvalue()},
        )
        stack = Stack(
            moto_stack.aws,
            "actonce",
            moto_stack.outputs | {"StarterFunctionName": "starter", "AlarmTopicArn": ALARM_TOPIC},
        )
        arn = stack.sqs.get_queue_attributes(
            QueueUrl=stack.requests_queue, AttributeNames=["QueueArn"]
        )["Attributes"]["QueueArn"]
        client("lambda").create_event_source_mapping(
            FunctionName="starter", EventSourceArn=arn, Enabled=queue_feeds == "function"
        )
        return stack

    return with_feeds


def state_of(stack: Stack) -> str:
    (feed,) = status(stack, NOW).feeds
    return feed.state


def test_a_paused_stack_says_since_when_by_whom_and_why_and_takes_nothing(fed: Fed) -> None:
    stack = fed("function")
    assert (status(stack, NOW).pause, state_of(stack)) == (None, "Enabled")

    paused = pause(stack, by=BY, note="down, ticket #4711 (é)", now=NOW)

    assert paused == Pause("2026-01-31T09:30:00.000Z", BY, "down- ticket -4711 ---")
    assert find_pause(stack.sqs, stack.requests_queue) == paused
    assert state_of(stack) == "Disabled"


def test_a_stack_that_is_paused_again_stays_paused_as_it_was(fed: Fed) -> None:
    stack = fed("function")
    first = pause(stack, by=BY, note="", now=NOW)

    assert pause(stack, by="another", note="other", now=NOW + timedelta(hours=1)) == first
    assert status(stack, NOW).pause == first


def test_a_note_that_is_not_kept_is_told_of(
    fed: Fed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = fed("function")
    monkeypatch.setattr(pausing_command, "find_stack", lambda *_, **__: stack)
    monkeypatch.setattr(console, "err", SafeConsole(stderr=True))
    monkeypatch.setattr(console, "out", SafeConsole())
    pausing_command.pause(note="the first")
    first = capsys.readouterr()
    assert (first.err, "the first" in first.out) == ("", True)

    pausing_command.pause()
    assert capsys.readouterr().err == ""
    pausing_command.pause(note="the second")
    again = capsys.readouterr()
    assert "It was paused already, and this note was not kept" in again.err
    assert again.out == first.out


def test_resumed_it_takes_messages_and_is_not_paused_any_more(fed: Fed) -> None:
    stack = fed("function")
    paused = pause(stack, by=BY, note="", now=NOW)

    assert resume(stack) == paused
    assert (status(stack, NOW).pause, state_of(stack)) == (None, "Enabled")
    assert resume(stack) is None


def test_where_workers_feed_on_the_queue_the_function_stays_disabled(fed: Fed) -> None:
    stack = fed("worker")
    pause(stack, by=BY, note="", now=NOW)
    assert status(stack, NOW).pause is not None

    resume(stack)

    assert (status(stack, NOW).pause, state_of(stack)) == (None, "Disabled")


def test_what_was_paused_in_part_is_paused_by_the_next_time(fed: Fed) -> None:
    stack = fed("function")
    with Stubber(stack.lambda_) as answers:
        answers.add_client_error("list_event_source_mappings", "ServiceException")
        with pytest.raises(ClientError):
            pause(stack, by=BY, note="", now=NOW)
    assert status(stack, NOW).pause is not None

    pause(stack, by=BY, note="", now=NOW)

    assert state_of(stack) == "Disabled"


def test_what_was_resumed_in_part_is_still_said_to_be_paused(fed: Fed) -> None:
    stack = fed("function")
    paused = pause(stack, by=BY, note="", now=NOW)
    with Stubber(stack.lambda_) as answers:
        answers.add_client_error("list_event_source_mappings", "ServiceException")
        with pytest.raises(ClientError):
            resume(stack)

    assert status(stack, NOW).pause == paused


def test_a_paused_stack_that_a_deployment_lets_go_on_says_so_and_is_paused_again(fed: Fed) -> None:
    stack = fed("function")
    pause(stack, by=BY, note="", now=NOW)
    assert not status(stack, NOW).is_fed_all_the_same
    (feed,) = status(stack, NOW).feeds
    stack.lambda_.update_event_source_mapping(UUID=feed.uuid, Enabled=True, BatchSize=5)

    assert status(stack, NOW).as_json()["fed_all_the_same"] is True
    pause(stack, by=BY, note="", now=NOW)

    assert state_of(stack) == "Disabled"
    assert not status(stack, NOW).is_fed_all_the_same


@pytest.mark.parametrize("again", [False, True], ids=["once", "on and on"])
def test_who_pauses_while_another_resumes_is_told_no_pause_that_is_not_there(
    fed: Fed, *, again: bool
) -> None:
    stack = fed("function")
    first = pause(stack, by=BY, note="", now=NOW)
    gone: list[str] = []

    def resume_ends(**_: Any) -> None:
        """What a resume that began before does last."""
        if again or not gone:
            gone.append("now")
            tags = list(stack.sqs.list_queue_tags(QueueUrl=stack.requests_queue).get("Tags", {}))
            stack.sqs.untag_queue(QueueUrl=stack.requests_queue, TagKeys=tags or ["none"])

    (feed,) = feeds(stack)
    stack.lambda_.update_event_source_mapping(UUID=feed.uuid, Enabled=True)
    stack.lambda_.meta.events.register("after-call.*.UpdateEventSourceMapping", resume_ends)

    paused = pause(stack, by="another", note="mine", now=NOW + timedelta(hours=1))

    assert paused == Pause("2026-01-31T10:30:00.000Z", "another", "mine") != first
    assert (status(stack, NOW).pause, state_of(stack)) == (paused, "Disabled")


def test_a_pause_that_a_resume_ends_whole_meanwhile_is_made_anew(fed: Fed) -> None:
    stack = fed("function")
    pause(stack, by=BY, note="", now=NOW)
    mapping = stack.lambda_.meta.events
    done: list[Pause | None] = []

    def resume_whole(**_: Any) -> None:
        """Another resumes once between the disabling and the second look at the tags."""
        if not done:
            done.append(None)
            done[0] = resume(stack)

    (feed,) = feeds(stack)
    stack.lambda_.update_event_source_mapping(UUID=feed.uuid, Enabled=True)
    mapping.register("after-call.*.UpdateEventSourceMapping", resume_whole)

    paused = pause(stack, by="another", note="", now=NOW)

    assert done[0] is not None
    assert (status(stack, NOW).pause, state_of(stack)) == (paused, "Disabled")


def test_a_function_that_nobody_paused_and_that_takes_nothing_is_told(fed: Fed) -> None:
    stack = fed("function")
    assert not status(stack, NOW).is_stopped_without_pause
    (feed,) = feeds(stack)
    stack.lambda_.update_event_source_mapping(UUID=feed.uuid, Enabled=False)
    assert status(stack, NOW).as_json()["stopped_without_pause"] is True
    resume(stack)
    assert not status(stack, NOW).is_stopped_without_pause
    pause(stack, by=BY, note="", now=NOW)
    assert not status(stack, NOW).is_stopped_without_pause


def test_where_workers_feed_on_the_queue_a_disabled_function_is_as_it_should_be(fed: Fed) -> None:
    assert not status(fed("worker"), NOW).is_stopped_without_pause


class Watched:
    """A queue whose tags a test sets, and how often they were read."""

    def __init__(self, *answers: dict[str, str] | str) -> None:
        self.sqs: Any = boto3.client("sqs", region_name="us-east-1")
        self.told: list[Pause | None] = []
        self.now = 0.0
        self._stub = Stubber(self.sqs)
        for answer in answers:
            if isinstance(answer, str):
                self._stub.add_client_error("list_queue_tags", answer)
            else:
                self._stub.add_response("list_queue_tags", {"Tags": answer})
        self._stub.activate()
        self.watch = PauseWatch(
            self.sqs, "https://queue", monotonic=lambda: self.now, tell=self.told.append
        )


PAUSED = {"actonce-paused-since": "2026-01-31T09:30:00.000Z", "actonce-paused-by": BY}


def test_a_worker_looks_about_once_a_minute_and_tells_each_change_once() -> None:
    one = Watched({}, PAUSED, PAUSED, {"other": "tag"})
    seen = []
    for now in (0, 1, 59, 60, 119, 120, 180, 200):
        one.now = now
        seen.append(one.watch.is_paused())

    assert seen == [False, False, False, True, True, True, False, False]
    assert one.told == [Pause(PAUSED["actonce-paused-since"], BY, ""), None]


def test_where_a_worker_cannot_look_what_it_saw_last_holds() -> None:
    one = Watched("AccessDenied", PAUSED, "ServiceUnavailable")
    seen = []
    for now in (0, 60, 120):
        one.now = now
        seen.append(one.watch.is_paused())

    assert seen == [False, True, True]
