"""A decision on one message, with the answers of Step Functions that no emulator gives."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from actonce.messages.dead_letters import find_letter, is_of_last
from actonce.messages.filters import EntryFilter
from actonce.messages.history import ENDED_UNDECIDED
from actonce.operate.decisions.allowed import Decision, decisions_on
from actonce.operate.decisions.deciding import BulkDecision, decide
from actonce.operate.decisions.results import DecisionOutcome, DecisionUnconfirmed
from actonce.queues import scan
from actonce.queues.scan import counts
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed, UsageError
from actonce_core.execution import execution_name
from actonce_core.histories.stays import DecisionWait
from tests.support.histories import START, STATE_MACHINE, Kind, history_of
from tests.support.moto_stack import VERSION_DEPLOYED
from tests.support.queues import decide_shown, hold, ids_left, letter, letters, post, received
from tests.support.stacks import deployed, with_outputs

ARN = STATE_MACHINE.replace(":stateMachine:", ":execution:") + ":m-1"


@pytest.fixture
def stepfunctions(moto_stack: Stack) -> Iterator[Stubber]:
    client = boto3.client("stepfunctions")
    moto_stack.aws._clients["stepfunctions"] = client
    deployed(moto_stack, moto_stack.outputs | VERSION_DEPLOYED)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def accepts(stubber: Stubber, token: str) -> None:
    stubber.add_response("send_task_success", {}, {"taskToken": token, "output": ANY})


def refuses(stubber: Stubber, token: str, code: str) -> None:
    expected = {"taskToken": token, "output": ANY}
    stubber.add_client_error("send_task_success", code, expected_params=expected)


def tells_that_it_is(stubber: Stubber, token: str, code: str | None) -> None:
    """What a heartbeat tells of a task: that it is closed, by an error; None: that it is open."""
    if code is None:
        stubber.add_response("send_task_heartbeat", {}, {"taskToken": token})
    else:
        expected = {"taskToken": token}
        stubber.add_client_error("send_task_heartbeat", code, expected_params=expected)


def lists_nothing_ended(stubber: Stubber) -> None:
    """Of each status in which an execution may have ended undecided."""
    for _ in ENDED_UNDECIDED:
        stubber.add_response("list_executions", {"executions": []})


def runs(
    stubber: Stubber, *events: Kind, status: str = "RUNNING", error: str | None = None
) -> None:
    """What Step Functions tells of the execution, which may lag behind."""
    described = {"executionArn": ARN, "stateMachineArn": STATE_MACHINE, "startDate": START}
    described |= {"status": status, "input": "{}"} | ({"error": error} if error else {})
    stubber.add_response("describe_execution", described)
    # Times of events that were before the letter was posted, or after it.
    at = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
    stubber.add_response("get_execution_history", {"events": history_of(*events, start=at)})


def tokens_left(stack: Stack) -> list[str]:
    """Of all letters that are left."""
    left = received(stack, stack.dead_letter_queue)
    return sorted(json.loads(message["Body"])["task_token"] for message in left)


def outputs_sent(stubber: Stubber) -> list[dict[str, Any]]:
    """What is answered to tasks from now on."""
    outputs: list[dict[str, Any]] = []
    stubber.client.meta.events.register(
        "provide-client-params.sfn.SendTaskSuccess",
        lambda params, **_: outputs.append(json.loads(params["output"])),
    )
    return outputs


# ------------------------------------------------------------------ one that is accepted


def test_a_decision_goes_to_step_functions_with_who_made_it_and_then_its_letters_go(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    outputs = outputs_sent(stepfunctions)
    post(moto_stack, "m-1", 1, task_token="old")
    post(moto_stack, "m-1", 2, task_token="new")
    post(moto_stack, "m-2", task_token="another's")
    accepts(stepfunctions, "new")
    tells_that_it_is(stepfunctions, "old", "TaskTimedOut")
    assert decide_shown(moto_stack, "m-1", "reject", "geschlossen – zu").decided
    (output,) = outputs
    assert (output["decision"], output["note"]) == ("reject", "geschlossen – zu")
    assert output["decided_by"].startswith("arn:aws:")
    assert datetime.fromisoformat(output["decided_at"]).tzinfo is not None
    assert ids_left(moto_stack) == ["m-2"]


VERSION = {
    "perform": VERSION_DEPLOYED["EffectFunctionArn"],
    "find": VERSION_DEPLOYED["FindFunctionArn"],
    "timeout": 120,
    "margin": 40,
}


@pytest.mark.parametrize(
    ("decision", "version"),
    [("retry", VERSION), ("perform", VERSION), ("resolve", None)],
)
def test_a_decision_to_act_carries_the_version_that_is_deployed_now(
    moto_stack: Stack, stepfunctions: Stubber, decision: Decision, version: Any
) -> None:
    outputs = outputs_sent(stepfunctions)
    # Found before the deployment, as by a console that has been open for long.
    before = dict.fromkeys(VERSION_DEPLOYED, "before")
    stack = dataclasses.replace(moto_stack, outputs=moto_stack.outputs | before)
    post(stack, "m-1", task_token="token", reason="outcome_unknown")
    accepts(stepfunctions, "token")
    assert decide_shown(stack, "m-1", decision, "mended").decided
    (output,) = outputs
    assert output.get("version") == version


NO_FINDER = {name: told for name, told in VERSION_DEPLOYED.items() if name != "FindFunctionArn"}


@pytest.mark.parametrize(
    ("status", "outputs", "version"),
    [
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", VERSION_DEPLOYED, VERSION),
        ("UPDATE_ROLLBACK_COMPLETE", NO_FINDER, VERSION | {"find": ""}),
        ("UPDATE_IN_PROGRESS", VERSION_DEPLOYED, None),
        ("UPDATE_ROLLBACK_FAILED", VERSION_DEPLOYED, None),
    ],
)
def test_nothing_is_tried_again_while_a_deployment_is_under_way(
    moto_stack: Stack, stepfunctions: Stubber, status: str, outputs: dict[str, str], version: Any
) -> None:
    client = boto3.client("cloudformation")
    moto_stack.aws._clients["cloudformation"] = client
    output: Any = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
    stack = {
        "StackName": "actonce",
        "CreationTime": START,
        "StackStatus": status,
        "Outputs": output,
    }
    sent = outputs_sent(stepfunctions)
    post(moto_stack, "m-1", task_token="token")
    with Stubber(client) as cloudformation:
        cloudformation.add_response("describe_stacks", {"Stacks": [stack]})
        if version is None:
            with pytest.raises(Failed, match=f"is {status}, and .* when the deployment has ended"):
                decide_shown(moto_stack, "m-1", "retry")
            assert ids_left(moto_stack) == ["m-1"]
            return
        accepts(stepfunctions, "token")
        assert decide_shown(moto_stack, "m-1", "retry").decided
    assert sent[0]["version"] == version


UNKNOWN: dict[str, Any] = {
    "reason": "outcome_unknown",
    "error": "States.Timeout",
    "cause": "late | FindEffect: No function is named to look it up (FindFunctionArn)",
}
"""Why a message waits that nothing could look up."""

USED_UP: dict[str, Any] = {"reason": "rounds_used_up", "error": "States.Timeout", "cause": "late"}
"""Why one waits that can be looked up."""

REFUSED: dict[str, Any] = {"reason": "rejected", "error": "Rejected", "cause": "no such practice"}
"""Why one waits of which it is known that nothing happened."""


@pytest.mark.parametrize(
    ("reason", "cause", "kept_from"),
    [
        ("rejected", "", "perform"),
        ("not_performed", UNKNOWN["cause"], "perform"),
        ("rounds_used_up", "", None),  # what looked it up then is no longer named
        ("outcome_unknown", UNKNOWN["cause"], "retry"),
        ("outcome_unknown", "late | FindEffect: Unclear: no table", None),
        # What an effect says of itself is not what FindEffect says.
        ("outcome_unknown", UNKNOWN["cause"] + " | FindEffect: E: x", None),
        ("of another version", "", None),
    ],
)
def test_what_can_be_decided_is_offered(
    moto_stack: Stack, reason: str, cause: str, kept_from: str | None
) -> None:
    every = ["retry", "perform", "resolve", "reject"]
    assert decisions_on(moto_stack, reason, cause) == [one for one in every if one != kept_from]


def test_where_something_looks_it_up_nobodys_word_is_taken_for_it(moto_stack: Stack) -> None:
    stack = with_outputs(moto_stack, FindFunctionArn="whatever looks")
    assert decisions_on(stack, "rounds_used_up", "") == ["retry", "resolve", "reject"]


# ------------------------------------------------------------------ on what was shown

EVERY: tuple[Decision, ...] = ("retry", "perform", "resolve", "reject")


def test_a_letter_that_was_posted_since_is_not_decided_on(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    shown = post(moto_stack, "m-1", 1, task_token="shown", reason="outcome_unknown")
    # A colleague decides on it, and another letter is posted: somebody has to look again.
    post(moto_stack, "m-1", 2, task_token="newer", reason="outcome_unknown")
    refuses(stepfunctions, "shown", "TaskTimedOut")
    runs(stepfunctions, *POSTED, left("retry"), *POSTED)
    tells_that_it_is(stepfunctions, "newer", None)
    answer = decide(moto_stack, "m-1", "perform", "looked", shown[:8])
    assert (answer.end, "Look again" in answer.text) == (SUPERSEDED, True), answer.text
    assert tokens_left(moto_stack) == ["newer"]


@pytest.mark.parametrize("decision", EVERY[:2])
def test_without_a_letter_the_command_that_names_it_is_shown(
    moto_stack: Stack, stepfunctions: Stubber, decision: Decision
) -> None:
    stack = dataclasses.replace(moto_stack, options=" --stack-name shop")
    shown = post(moto_stack, "m-1", task_token="token", execution_arn=ARN)
    if decision == "retry":
        described = {"executionArn": ARN, "stateMachineArn": STATE_MACHINE, "startDate": START}
        stepfunctions.add_response("describe_execution", described | {"status": "RUNNING"})
    with pytest.raises(UsageError, match="Look first") as refused:
        decide(stack, "m-1", decision, "no way")
    command = f"{decision} --letter {shown[:8]} --note 'no way' --stack-name shop m-1"
    assert str(refused.value).endswith(f": actonce dead-letters {command}")
    assert ids_left(moto_stack) == ["m-1"]


def test_without_any_letter_only_a_retry_is_possible(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    assert stepfunctions is not None  # it is not asked anything
    with pytest.raises(UsageError, match="'m-1' in the queue, and without one"):
        decide(moto_stack, "m-1", "perform", "looked")


def test_a_letter_is_named_by_what_only_its_id_begins_with(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    assert stepfunctions is not None
    with pytest.raises(UsageError, match="8 characters"):
        decide(moto_stack, "m-1", "resolve", "x", "1234567")
    two = [letter(number=1), letter(number=2)]
    queues = [
        dataclasses.replace(one.queued, sqs_message_id=f"12345678-{n}") for n, one in enumerate(two)
    ]
    queue: Any = SimpleNamespace(messages=lambda: queues, in_flight_elsewhere=0)
    with pytest.raises(UsageError, match="2 dead letters begin so"):
        find_letter(queue, "m-1", "12345678")
    found = find_letter(queue, "m-1", "12345678-0")
    assert found is not None
    assert (found.entry, [one.entry for one in found.older]) == ("12345678-0", ["12345678-1"])


@pytest.mark.usefixtures("minute_long_looks")
def test_where_another_reader_holds_the_letter_one_that_poses_as_it_is_not_taken_for_it(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    name = execution_name("order 17")
    post(moto_stack, "order 17", 1, execution_name=name, task_token="meant")
    hold(moto_stack, moto_stack.dead_letter_queue)
    post(moto_stack, name, 2, execution_name=execution_name(name), task_token="posing")
    for _ in range(2):
        stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    with pytest.raises(Failed, match="cannot be told"):
        decide(moto_stack, name, "retry")


@pytest.mark.usefixtures("minute_long_looks")
def test_a_letter_that_another_reader_holds_is_not_decided_on(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    assert stepfunctions is not None
    shown = post(moto_stack, "m-1", task_token="token")
    hold(moto_stack, moto_stack.dead_letter_queue)
    with pytest.raises(Failed, match="Another reader holds it"):
        decide(moto_stack, "m-1", "resolve", "x", shown)


@pytest.mark.parametrize(
    ("decision", "kept_from", "behind", "is_bulk"),
    [
        ("perform", "REFUSED", 1, False),
        ("perform", "USED_UP", 1, True),
        ("retry", "UNKNOWN", 1, True),
        ("retry", "UNKNOWN", 2, False),
    ],
)
def test_a_letter_stays_for_which_no_token_was_sent(
    moto_stack: Stack,
    stepfunctions: Stubber,
    decision: Decision,
    kept_from: str,
    behind: int,
    *,
    is_bulk: bool,
) -> None:
    why: dict[str, Any] = {"REFUSED": REFUSED, "USED_UP": USED_UP, "UNKNOWN": UNKNOWN}[kept_from]
    if kept_from == "USED_UP":
        moto_stack.outputs["FindFunctionArn"] = "arn:find"
    post(moto_stack, "m-1", 1, task_token="of before", execution_arn=ARN, **why)
    post(moto_stack, "m-1", 2, task_token="waits", execution_arn=ARN, **why)
    if is_bulk:
        lists_nothing_ended(stepfunctions)
    if decision == "retry":
        runs(stepfunctions, *POSTED, left("retry"), *[entered("FindEffect")] * (3 - behind))
    if is_bulk:
        work = BulkDecision(moto_stack, letters(moto_stack), decision, "x", wait_for_others=0)
        work.run()
        (end,) = (one.end for one in work.ended)
    else:
        end = decide_shown(moto_stack, "m-1", decision).end
    assert end == NOT_DECIDED
    assert tokens_left(moto_stack) == ["of before", "waits"]


@pytest.mark.parametrize("behind", [1, 2])
def test_a_closed_token_that_the_history_does_not_show_yet_decides_nothing(
    moto_stack: Stack, stepfunctions: Stubber, behind: int
) -> None:
    # Of two letters the history has the first as decided, or as waiting, or has none at all.
    history = [*POSTED, left("retry")][: 3 - behind]
    post(moto_stack, "m-1", 30, task_token="second", execution_arn=ARN)
    refuses(stepfunctions, "second", "TaskTimedOut")
    runs(stepfunctions, *history)
    with pytest.raises(DecisionUnconfirmed, match="does not show it yet"):
        decide_shown(moto_stack, "m-1", "retry")
    assert ids_left(moto_stack) == ["m-1"]


@pytest.mark.parametrize("code", [None, "AccessDenied"])
def test_in_bulk_a_letter_that_was_not_shown_goes_only_if_its_own_task_is_closed(
    moto_stack: Stack, stepfunctions: Stubber, monkeypatch: pytest.MonkeyPatch, code: str | None
) -> None:
    monkeypatch.setattr(scan, "READERS", 1)  # answers are given in order
    for number, token in ((1, "closed"), (2, "not known"), (3, "shown")):
        post(moto_stack, "m-1", number, task_token=token)
    tells_that_it_is(stepfunctions, "closed", "TaskDoesNotExist")
    tells_that_it_is(stepfunctions, "not known", code)
    accepts(stepfunctions, "shown")
    work = BulkDecision(moto_stack, letters(moto_stack), "resolve", "x", wait_for_others=0)
    work.run()
    assert work.results_by_end == {DecisionOutcome.DECIDED: 1}
    assert tokens_left(moto_stack) == ["not known"]


ENDS: dict[str, tuple[str, str | None, int, str | None]] = {
    # status, error, seconds after which it ended, state of its letter
    "aborted": ("ABORTED", None, 60, "aborted"),
    "nobody decided in time": ("FAILED", "States.Timeout", 60, "failed"),
    "aborted, as if rejected": ("ABORTED", "RejectedByOperator", 60, "aborted"),
    # It was decided, and its letter could not be deleted: the next decision deletes it.
    "rejected": ("FAILED", "RejectedByOperator", 60, None),
    # It was continued since, and posted this one; the list is a moment old.
    "before the letter": ("ABORTED", None, -60, None),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_of_an_execution_that_ended_undecided_no_letter_waits(
    moto_stack: Stack, stepfunctions: Stubber, end: tuple[str, str | None, int, str | None]
) -> None:
    status, error, seconds, state = end
    post(moto_stack, "m-1", 0, execution_arn=ARN)
    stopped = datetime(2026, 1, 31, 9, 30, tzinfo=UTC) + timedelta(seconds=seconds)
    described = {"executionArn": ARN, "stateMachineArn": STATE_MACHINE, "startDate": START}
    described |= {"status": status, "stopDate": stopped} | ({"error": error} if error else {})
    item = {name: described[name] for name in described if name != "error"} | {"name": "m-1"}
    for _ in range(2):
        for one in ENDED_UNDECIDED:
            found = [item] if one == status else []
            stepfunctions.add_response("list_executions", {"executions": found})
            if found and status == "FAILED":  # as what a person rejected is, too
                stepfunctions.add_response("describe_execution", described)
    waiting = letters(moto_stack)
    assert [one.ended for one in waiting.entries] == ([] if state else [None])
    assert (waiting.ended, waiting.not_listed) == ({state: 1} if state else {}, int(bool(state)))
    chosen = letters(moto_stack, EntryFilter({"reason": status.lower()})).entries
    assert [one.kind["reason"] for one in chosen] == ([state] if state else [])


def test_every_letter_is_listed_where_executions_may_not_be_read(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "m-1", execution_arn=ARN)
    stepfunctions.add_client_error("list_executions", "AccessDenied")
    assert [one.ended for one in letters(moto_stack).entries] == [None]


# ------------------------------------------------------------------ one that is not


def entered(state: str, failure: dict[str, Any] | None = None) -> Kind:
    kind = "FailStateEntered" if state == "Failed" else "TaskStateEntered"
    return kind, {"name": state, "input": json.dumps({"failure": failure or {}})}


def left(decision: str) -> Kind:
    return "TaskStateExited", {"name": "DeadLetter", "output": json.dumps({"decision": decision})}


SEND = {"resourceType": "sqs", "resource": "sendMessage.waitForTaskToken"}


def token_in_history(token: str) -> Kind:
    """As AWS's histories tell it."""
    parameters = json.dumps({"MessageBody": {"task_token": token}})
    return "TaskScheduled", SEND | {"region": "r", "parameters": parameters}


POSTED = [entered("DeadLetter")]
NOBODY_ANSWERED = [
    entered("DeadLetter", UNKNOWN),
    ("TaskTimedOut", SEND | {"error": "States.Timeout"}),
    ("ExecutionFailed", {"error": "States.Timeout"}),
]
RESOLVED = [*POSTED, left("resolve")]
NOT_DECIDED, SUPERSEDED, ALREADY, CONTINUED = (
    DecisionOutcome.NOT_DECIDED,
    DecisionOutcome.SUPERSEDED,
    DecisionOutcome.ALREADY,
    DecisionOutcome.CONTINUED,
)


@dataclass(frozen=True)
class Case:
    """A decision whose token is refused, or that has none, and what the execution tells then.

    Attributes:
        end: how it ends; None: by an error.
        text: within what is said.
        status: of the execution; None: it is gone.
        events: its history.
        refused: why its letter's token is not accepted; None: it is not sent.
        letter: of the message's only letter; None: it has none.
        redrive: asked for, and what AWS says, if it does not do it.
        error: of the execution.
    """

    decision: Decision
    end: DecisionOutcome | None
    text: str
    status: str | None
    events: list[Kind]
    refused: str | None = "TaskTimedOut"
    letter: dict[str, Any] | None = dataclasses.field(default_factory=dict)
    redrive: str | None = None
    error: str | None = None


CASES = {
    # The same decision, or another, was made before.
    "again": Case(
        "resolve", ALREADY, "decision was resolve", "SUCCEEDED", RESOLVED, "TaskDoesNotExist"
    ),
    "rejected for good": Case(
        "retry", SUPERSEDED, "was reject", "FAILED", [*POSTED, left("reject"), entered("Failed")],
        letter=None, error="RejectedByOperator",
    ),
    "rejected, and the history lags": Case(
        "retry", NOT_DECIDED, "nobody has made one", "FAILED", POSTED,
        letter=None, error="RejectedByOperator",
    ),
    # Nobody decided in time, or somebody ended it: a retry, and only that, has it go on.
    "late": Case("retry", CONTINUED, "continues now", "FAILED", NOBODY_ANSWERED, redrive="yes"),
    "late, nothing finds": Case(
        "retry", CONTINUED, "continues now", "FAILED", NOBODY_ANSWERED, None, UNKNOWN, redrive="yes"
    ),
    "late, otherwise": Case(
        "resolve", NOT_DECIDED, "Only retry continues it", "FAILED", NOBODY_ANSWERED
    ),
    "too late": Case(
        "retry", None, "does not redrive it", "FAILED", NOBODY_ANSWERED,
        redrive="ExecutionNotRedrivable",
    ),
    "not allowed": Case(
        "retry", None, "^An error occurred", "FAILED", NOBODY_ANSWERED, redrive="AccessDenied"
    ),
    "aborted": Case(
        "retry", CONTINUED, "ended ABORTED in FindEffect", "ABORTED", [entered("FindEffect")],
        letter=None, redrive="yes",
    ),
    "aborted before what was decided": Case(
        "retry", CONTINUED, "in TellDecision. It continues now: ActOnce carries out what was",
        "ABORTED", [*RESOLVED, entered("TellDecision")], redrive="yes",
    ),
    "failed after a decision": Case(
        "retry", CONTINUED, "ended FAILED in PerformEffect", "FAILED",
        [*RESOLVED, entered("PerformEffect")], redrive="yes",
    ),
    # It waits, and cannot be answered.
    "nothing finds": Case(
        "retry", NOT_DECIDED, "No function can look", "RUNNING", [entered("DeadLetter", UNKNOWN)],
        None, UNKNOWN,
    ),
    # The answer to an accepted decision was lost, and the history lags behind.
    "history lags behind": Case(
        "resolve", None, "taken a moment ago", "RUNNING", [*POSTED, token_in_history("token")]
    ),
    "letter gone": Case(
        "retry", None, "no longer in the queue", "RUNNING", POSTED, letter=None
    ),
    # Nothing waits.
    "not waiting": Case(
        "retry", NOT_DECIDED, "nobody has made one", "RUNNING", [entered("FindEffect")],
        letter=None,
    ),
    "execution gone": Case("resolve", NOT_DECIDED, "Find out by hand", None, []),
    "nobody knows": Case("retry", None, "It has no execution", None, [], letter=None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_where_the_token_is_not_accepted_its_execution_tells(
    moto_stack: Stack, stepfunctions: Stubber, case: Case
) -> None:
    if case.letter is not None:
        post(moto_stack, "m-1", task_token="token", execution_arn=ARN, **case.letter)
        if case.refused is not None:
            refuses(stepfunctions, "token", case.refused)
    if case.status is None:
        stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    else:
        runs(stepfunctions, *case.events, status=case.status, error=case.error)
    if case.redrive == "yes":
        redriven = {"redriveDate": START}
        stepfunctions.add_response("redrive_execution", redriven, {"executionArn": ARN})
    elif case.redrive:
        stepfunctions.add_client_error("redrive_execution", case.redrive, "no")

    if case.refused is None and case.redrive == "yes":
        tells_that_it_is(stepfunctions, "token", "TaskTimedOut")

    act = decide if case.letter is None else decide_shown
    if case.end is None:
        with pytest.raises((Failed, ClientError), match=case.text):
            act(moto_stack, "m-1", case.decision)
    else:
        answer = act(moto_stack, "m-1", case.decision)
        assert (answer.end, case.text in answer.text) == (case.end, True), answer.text
    # It stays to be seen, unless something else became of its message.
    stays = case.letter is not None and case.end in (None, NOT_DECIDED)
    assert ids_left(moto_stack) == (["m-1"] if stays else [])


def test_a_decision_that_step_functions_refuses_deletes_nothing(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "m-1", task_token="token")
    refuses(stepfunctions, "token", "AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        decide_shown(moto_stack, "m-1", "resolve")
    assert sum(counts(moto_stack.sqs, moto_stack.dead_letter_queue)) == 1


def test_an_aborted_execution_is_continued_without_naming_its_letter(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "m-1", task_token="token", execution_arn=ARN)
    described = {"executionArn": ARN, "stateMachineArn": STATE_MACHINE, "startDate": START}
    stepfunctions.add_response("describe_execution", described | {"status": "ABORTED"})
    runs(stepfunctions, *POSTED, status="ABORTED")
    stepfunctions.add_response("redrive_execution", {"redriveDate": START}, {"executionArn": ARN})
    tells_that_it_is(stepfunctions, "token", "TaskTimedOut")
    assert decide(moto_stack, "m-1", "retry").end is CONTINUED
    assert ids_left(moto_stack) == []


def test_an_id_that_looks_like_the_name_of_another_execution_is_not_decided_on(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    name = execution_name("order 17")
    post(moto_stack, "order 17", 1, execution_name=name, task_token="meant")
    posing = post(moto_stack, name, 2, execution_name=execution_name(name), task_token="posing")
    accepts(stepfunctions, "meant")
    assert decide_shown(moto_stack, name, "resolve").decided
    assert ids_left(moto_stack) == [name]
    moto_stack.sqs.purge_queue(QueueUrl=moto_stack.dead_letter_queue)
    # Its letter tells which is meant.
    posing = post(moto_stack, name, 2, execution_name=execution_name(name), task_token="posing")
    post(moto_stack, "order 17", 3, execution_name=name, task_token="meant")
    accepts(stepfunctions, "posing")
    assert decide(moto_stack, name, "resolve", "x", posing).decided
    assert ids_left(moto_stack) == ["order 17"]


@pytest.mark.parametrize("has_tokens", [True, False])
def test_a_letter_is_known_by_its_token_or_else_by_its_time(*, has_tokens: bool) -> None:
    at = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
    answered_at = at + timedelta(seconds=10)
    first = DecisionWait(at, {}, {"decision": "retry"}, answered_at, None, over=True)
    second = DecisionWait(at + timedelta(seconds=20), {}, task_token="t-2" if has_tokens else None)
    # Posted a moment before, or after, its state was entered by the history's clock.
    for posted_at, token, expected in (
        ("2026-01-31T09:29:59.999Z", "t-1", False),
        ("2026-01-31T09:30:00.001Z", "t-1", False),
        ("2026-01-31T09:30:19.999Z", "t-2", True),
        ("2026-01-31T09:30:20.001Z", "t-2", True),
    ):
        one = letter(posted_at=posted_at, task_token=token)
        assert is_of_last(one, [first, second]) is expected
        assert is_of_last(one, [DecisionWait(at, {})])
