"""The recent messages, on moto and by answers that it does not give, and in `actonce list`."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from actonce.messages import recent
from actonce.messages.recent import whole_day
from actonce.stack.clients import Stack
from actonce.terminal.errors import UsageError
from tests.support.histories import history_of, posted, started
from tests.support.stacks import NOW


def minutes_ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def execution(name: str, began: float, ended: float | None = None) -> dict[str, Any]:
    """An item of ListExecutions; times in minutes before now."""
    item = {
        "executionArn": f"arn:{name}",
        "stateMachineArn": "arn",
        "name": name,
        "status": "RUNNING" if ended is None else "SUCCEEDED",
        "startDate": minutes_ago(began),
    }
    return item | ({} if ended is None else {"stopDate": minutes_ago(ended)})


@pytest.fixture
def stateless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page is short enough for its messages' states to be looked up."""
    monkeypatch.setattr(recent, "MOST_STATES", -1)


def names(page: recent.Page) -> list[str]:
    return [one.name for one in page.messages]


@pytest.mark.usefixtures("stateless")
def test_pages_of_executions_follow_each_other_and_no_more_is_read_than_is_shown(
    moto_stack: Stack,
) -> None:
    began = [execution(f"m{n}", n, n - 1) for n in range(1, 8)]
    first = {"stateMachineArn": moto_stack.state_machine, "maxResults": 5}
    with Stubber(moto_stack.stepfunctions) as answers:
        # Of the second call as many are shown as were missing; the next page goes on in its middle.
        answers.add_response("list_executions", {"executions": began[:2], "nextToken": "a"}, first)
        second = first | {"nextToken": "a"}
        more = {"executions": began[2:6], "nextToken": "b"}
        answers.add_response("list_executions", more, second)
        page = recent.page(moto_stack, limit=4)
        answers.add_response("list_executions", more, second)
        third = first | {"nextToken": "b"}
        # Of as many as are asked for AWS may give a token behind which there is nothing.
        answers.add_response("list_executions", {"executions": began[6:]}, third)
        then = recent.page(moto_stack, cursor=page.cursor, limit=4)
        answers.assert_no_pending_responses()
    assert [*names(page), *names(then)] == [f"m{n}" for n in range(1, 8)]
    assert (page.cursor, then.cursor) == ("2:a", None)


@pytest.mark.usefixtures("stateless")
@pytest.mark.parametrize("by_end", [True, False])
def test_since_is_when_it_began_by_whichever_time_they_are_listed(
    moto_stack: Stack, *, by_end: bool
) -> None:
    items = [
        execution("new", 3, 1),
        execution("long", 90, 2),  # it began before
        execution("open", 4),
        execution("old", 80, 70),
    ]
    if not by_end:
        items.sort(key=lambda item: item["startDate"], reverse=True)
    with Stubber(moto_stack.stepfunctions) as answers:
        answers.add_response("list_executions", {"executions": items, "nextToken": "never-read"})
        found = recent.page(moto_stack, between=(minutes_ago(60), None), limit=20)
    assert (names(found), found.cursor) == (["new", "open"], None)


@pytest.mark.usefixtures("stateless")
def test_a_page_of_a_day_passes_over_others_up_to_a_limit(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = [execution(f"h{n}", 60 * n, 60 * n - 1) for n in range(1, 60)]
    arguments = {"stateMachineArn": moto_stack.state_machine, "maxResults": 1000}
    day = whole_day(NOW.date() - timedelta(days=1))
    shown: list[str] = []
    cursor = None
    with Stubber(moto_stack.stepfunctions) as answers:
        for _ in range(3):
            answers.add_response("list_executions", {"executions": hours}, arguments)
            page = recent.page(moto_stack, between=day, cursor=cursor, limit=10)
            shown += names(page)
            cursor = page.cursor
    # 09:30 back to the midnight before is 9 whole hours; the day before has the 24 after these.
    assert (shown, cursor) == ([f"h{n}" for n in range(10, 34)], None)

    monkeypatch.setattr(recent, "MOST_LOOKED_AT", 2)
    with Stubber(moto_stack.stepfunctions) as answers:
        for number in range(2):
            listed = {"executions": [execution(f"m{number}", number)], "nextToken": f"t{number}"}
            answers.add_response("list_executions", listed)
        page = recent.page(moto_stack, between=day, limit=10)
    assert (page.messages, page.cursor, page.looked_at) == ([], "0:t1", 2)


@pytest.mark.usefixtures("stateless")
def test_a_status_is_asked_of_aws_in_its_own_words(moto_stack: Stack) -> None:
    with Stubber(moto_stack.stepfunctions) as answers:
        wanted = {"stateMachineArn": moto_stack.state_machine, "maxResults": 2}
        wanted["statusFilter"] = "TIMED_OUT"
        answers.add_response("list_executions", {"executions": []}, wanted)
        assert not recent.page(moto_stack, status="timed-out", limit=1).messages
    with pytest.raises(UsageError, match="'complete'; there are RUNNING, SUCCEEDED"):
        recent.page(moto_stack, status="complete", limit=1)


@pytest.mark.parametrize("cursor", ["x", "-1:", "\u0663:a"])
def test_a_cursor_that_is_none_is_refused(moto_stack: Stack, cursor: str) -> None:
    with pytest.raises(UsageError, match="first page"):
        recent.page(moto_stack, cursor=cursor, limit=3)


def test_states_of_listed_executions(moto_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[tuple[str, dict[str, Any], str]] = [
        ("SUCCEEDED", {"output": '{"outcome": "performed"}'}, "performed"),
        ("SUCCEEDED", {"output": '{"outcome": "resolved", "note": "by phone"}'}, "resolved"),
        ("FAILED", {"error": "RejectedByOperator", "cause": "no"}, "rejected"),
        ("ABORTED", {}, "aborted"),
        ("RUNNING", {}, "waiting_for_decision"),
    ]
    items = [execution(f"m-{n}", 9) | {"status": status} for n, (status, *_) in enumerate(ends)]
    monkeypatch.setattr(recent, "ThreadPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    with Stubber(moto_stack.stepfunctions) as answers:
        answers.add_response("list_executions", {"executions": items})
        for item, (_, described, _) in zip(items[:-1], ends, strict=False):
            answers.add_response("describe_execution", item | described, {"executionArn": ANY})
        waiting = history_of(started("m-4"), posted())
        answers.add_response("get_execution_history", {"events": waiting})
        found = recent.page(moto_stack, limit=20)
    assert [one.state for one in found.messages] == [state for *_, state in ends]


def test_what_has_ended_is_looked_up_once(moto_stack: Stack) -> None:
    known = recent.EndedMessages(1)
    ended = execution("m-1", 9, 8)
    described = ended | {"output": '{"outcome": "resolved"}'}
    again = execution("m-1", 9, 7)  # redriven, it ended anew
    with Stubber(moto_stack.stepfunctions) as answers:
        for listed, looked_up in ((ended, described), (ended, None), (again, described)):
            answers.add_response("list_executions", {"executions": [listed]})
            if looked_up:
                answers.add_response("describe_execution", looked_up, {"executionArn": ANY})
            page = recent.page(moto_stack, limit=20, known=known)
            assert [one.state for one in page.messages] == ["resolved"]
        answers.assert_no_pending_responses()
    assert list(known.values()) == page.messages


def test_a_failed_execution_that_may_not_be_read_has_ended(
    moto_stack: Stack,
) -> None:
    failed = execution("m-1", 3, 1) | {"status": "FAILED"}
    with Stubber(moto_stack.stepfunctions) as answers:
        answers.add_response("list_executions", {"executions": [failed]})
        answers.add_client_error("describe_execution", "ThrottlingException")
        found = recent.page(moto_stack, limit=20)
    assert [(one.status, one.state) for one in found.messages] == [("FAILED", "ended")]
