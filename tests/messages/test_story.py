"""What is told of one message: its timeline, how it stands, and of one that nobody has seen.

Nothing is said to be undone only because a table of ours is empty, and nothing to lie nowhere that
another reader holds, or that was not looked for.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from actonce.messages import story as stories
from actonce.messages import unstarted
from actonce.messages.advice import RULES
from actonce.messages.arguments import as_argument, message_argument
from actonce.messages.effect_store import DynamoDbEffects
from actonce.messages.facts import gather_facts
from actonce.messages.history import Execution, Step
from actonce.messages.sentences import SENTENCES
from actonce.messages.states import STATES
from actonce.messages.story import Part, Story, UnstartedScan, read_story
from actonce.messages.summary import advice_on, summarize
from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from actonce_core.histories.stays import DecisionWait
from actonce_core.message import MessageReader
from actonce_core.reason import NOTHING_HAPPENED
from actonce_core.records import timestamp
from actonce_pipeline.audit.reading.effects import Attributes
from tests.support.queues import handed_on, letter
from tests.support.snapshots import Snapshot
from tests.support.stacks import (
    NOW,
    TABLE,
    deployed,
    forbid,
    log,
    with_executions,
    with_log,
    with_outputs,
    with_table,
)
from tests.support.tables import consistency_of_reads, make_table

CARDS = "the table cards"


def effect(at: str | None = "2026-01-31T09:31:07.000Z", **description: Any) -> dict[str, Any]:
    """As `OwnEffect.as_json` has it."""
    return {"message_id": "m-1", "effect_id": "e-1", "at": at, "description": description}


def story(
    *,
    status: str | None = None,
    output: dict[str, Any] | None = None,
    error: str | None = None,
    row: dict[str, Any] | None = None,
    effects: list[dict[str, Any]] | None = None,
    ends: tuple[str, ...] = ("started",),
    steps: tuple[Step, ...] = (),
    letter: tuple[str, str] | None = None,
    decided: dict[str, Any] | None = None,
    unread: tuple[Part, ...] = (),
    in_unstarted_queue: unstarted.Unstarted | None = None,
) -> Story:
    """A story; `letter` is the reason and cause of its dead letter, on which was `decided`.

    `effects`: None where none were looked for.
    """
    stopped = None if status == "RUNNING" else NOW
    execution = Execution("arn", "m-1", status or "", NOW, stopped, error, None, {}, output or {})
    failure: dict[str, Any] = dict(zip(("reason", "cause"), letter or (), strict=False))
    failure |= {"error": "E", "rounds": 3}
    letters = [DecisionWait(NOW, failure, decided or {}, over=bool(decided))]
    return Story(
        message_id="m-1",
        execution_name="m-1",
        lines=[{"end": end} for end in ends],
        row=row,
        execution=execution if status else None,
        steps=steps,
        dead_letters=letters if letter else [],
        effects=effects or [],
        unstarted_scan=UnstartedScan([in_unstarted_queue] if in_unstarted_queue else [], 0, NOW),
        effects_location=None if effects is None else CARDS,
        unread=dict.fromkeys(unread, "AccessDenied"),
        read_at=NOW,
    )


def runs(*steps: Step) -> Story:
    """A message whose execution runs, and went through these."""
    return story(**RUNS, steps=(STARTED, *steps))


# Any: as `story` has them.
def waits(reason: str, cause: str = "", **more: Any) -> Story:
    """A message that waits for a decision."""
    return story(**RUNS, letter=(reason, cause), **more)


def entry(reason: str = "conflict") -> unstarted.Unstarted:
    """An entry of UnstartedQueue."""
    read = unstarted.unstarted(handed_on('{"message_id": "m-1", "x": 2}', {}), MessageReader())
    return replace(read, reason=reason)


# --------------------------------------------------------------------------- the timeline

STEPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "found": ("FindEffect", "looked_up", {"performed": True}),
    "not found": ("FindEffect", "looked_up", {"performed": False}),
    "a text": ("FindEffect", "looked_up", {"performed": "true"}),
    "a number": ("FindEffect", "looked_up", {"performed": 1}),
    "an object": ("FindEffect", "looked_up", {"performed": {"performed": True}}),
    "attempt": ("PerformEffect", "attempt", {"number": 2}),
    "error": ("PerformEffect", "error", {"error": "E", "cause": '{"errorMessage": "closed"}'}),
    "decision": (
        "DeadLetter", "decision", {"decision": "retry", "note": "open", "decided_by": "ann"},
    ),
    "end": ("", "ended", {"status": "FAILED", "error": "RejectedByOperator"}),
    "what follows tells it": ("Performed?", "entered", {}),
}  # fmt: skip


def test_of_each_step_what_was_recorded_is_told_and_no_more(snapshot: Snapshot) -> None:
    lines = []
    for name, step in STEPS.items():
        moments = story(ends=(), steps=(Step(NOW, *step),)).timeline()
        told = " and ".join(f"{one.where} | {one.event_type} | {one.detail}" for one in moments)
        lines.append(f"{name}: {told or 'nothing'}\n")
    snapshot("timeline.txt", "".join(lines))


# --------------------------------------------------------------------------- how it stands

CARD = {"order": "o-7"}
DONE: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "performed", "effect": CARD}}
FOUND: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "found", "effect": None}}
RESOLVED: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "resolved"}}
REJECTED: dict[str, Any] = {"status": "FAILED", "error": "RejectedByOperator"}
ROW = {"status": "COMPLETE", "outcome": "performed", "effect": json.dumps(CARD)}
HELD = {"status": "IN_PROGRESS", "attempt_id": "a", "updated": "2026-01-28T09:30:00Z"}
BEGUN = HELD | {"memory": "arn#first-attempt", "stage": "begun", "consumption_count": 1}
RELEASED = BEGUN | {"stage": "released"}
HANDED_ON = BEGUN | {"stage": "started", "consumption_count": 2}
ACTED = BEGUN | ROW
RUNS: dict[str, Any] = {"status": "RUNNING"}
ONE = [effect()]

STARTED = Step(NOW, "", "started")
IN_PERFORM = Step(NOW, "PerformEffect", "entered")
FAILED = Step(NOW, "PerformEffect", "error", {"error": "NotPerformed", "cause": "closed"})
TIMED_OUT = Step(NOW, "PerformEffect", "error", {"error": "States.Timeout"})
IN_AWAIT = Step(NOW, "AwaitStraggler", "entered")
IN_FIND = Step(NOW, "FindEffect", "entered")
NOT_FOUND = Step(NOW, "FindEffect", "error", {"error": "E"})
DECIDED = Step(NOW, "DeadLetter", "decision", {"decision": "retry", "note": ""})
IN_TELL = Step(NOW, "TellDeadLetter", "entered")
IN_TELL_OF = Step(NOW, "TellDecision", "entered")
NOT_TOLD = Step(NOW, "TellDecision", "error", {"error": "EventBridge.FailedEntry"})
REDRIVEN = Step(NOW, "", "redriven")

REJECTS = {"decision": "reject", "decided_by": "ann", "note": "closed"}
UNNAMED = "late | FindEffect: No function is named to look it up (FindFunctionArn)"
SAID = "No function is named to look it up, perform it"
THROTTLED = "late | FindEffect: Throttled: slow down"
CONFLICT_LOGGED = replace(
    story(**DONE),
    lines=[{"end": "refused", "reason": "conflict"}],
    unstarted_scan=UnstartedScan([], 0, NOW),
)

STORIES = {
    "performed": story(**DONE),
    "performed, with an effect": story(**DONE, effects=ONE),
    "performed, with a long description": story(
        status="SUCCEEDED", output={"outcome": "performed", "effect": {"x": "y" * 9_999}}
    ),
    "performed twice": story(**DONE, effects=ONE * 2),
    "performed, without an effect": story(**DONE, effects=[]),
    "performed, effects unread": story(**DONE, effects=[], unread=("effects",)),
    "performed, log unread": story(**DONE, ends=(), unread=("log",)),
    "found": story(**FOUND),
    "resolved": story(**RESOLVED),
    "rejected": story(**REJECTED),
    "rejected, with an effect": story(**REJECTED, effects=ONE),
    # Who decides without this command line may write into it what they like.
    "rejected, by an odd decision": story(
        **REJECTED,
        letter=("rejected", ""),
        decided={"decision": "reject", "decided_at": "this morning", "note": "closed"},
    ),
    "failed": story(status="FAILED", error="E"),
    "failed undecided": story(status="FAILED", error="States.Timeout", letter=("rejected", "")),
    "aborted": story(status="ABORTED"),
    "aborted, waiting": story(status="ABORTED", letter=("rejected", "")),
    "aborted, decided": story(
        status="ABORTED",
        steps=(STARTED, FAILED, DECIDED, IN_TELL_OF),
        letter=("rejected", ""),
        decided={"decision": "resolve"},
    ),
    # After 14 days Step Functions continues it no more.
    **{
        f"aborted {days} days ago, {len(effects)} effects": replace(
            story(status="ABORTED", effects=effects), read_at=NOW + timedelta(days=days)
        )
        for days in (13.9, 14.1)
        for effects in ([], ONE)
    },
    "timed out": story(status="TIMED_OUT"),
    "ended without a word": story(status="SUCCEEDED"),
    # Of a first attempt, which has no execution. Nobody has to act on one that is not done: SQS
    # brings its message back, but for what it gave up.
    "acted on": story(row=ACTED, ends=("performed", "suppressed")),
    "acted on at the second": story(row=ACTED | {"consumption_count": 2}, effects=ONE),
    "acted on, without an effect": story(row=ACTED, effects=[]),
    "acted on, although handed on": story(row=ACTED | {"stage": "started"}),
    "acted on, its description removed": story(row={k: ACTED[k] for k in ACTED if k != "effect"}),
    "begun": story(row=BEGUN, ends=()),
    "begun again": story(row=BEGUN | {"consumption_count": 2}, ends=("failed",)),
    "begun, given up": story(row=BEGUN, in_unstarted_queue=entry("received_too_often")),
    "released": story(row=RELEASED, ends=("failed",)),
    "handed on, not started yet": story(row=HANDED_ON, ends=("failed",)),
    "handed on, forgotten": replace(story(row=HANDED_ON, ends=()), may_be_forgotten=True),
    "handed on, execution unread": story(row=HANDED_ON, ends=(), unread=("execution",)),
    # Not started. What Step Functions may have forgotten is not told as not started: a log or a
    # table remembers it, or its row is older than what Step Functions remembers.
    "refused": story(ends=("refused",)),
    "refused, queue unread": story(ends=("refused",), unread=("unstarted",)),
    "refused, no JSON": story(ends=(), in_unstarted_queue=entry("not_json")),
    "started, forgotten": story(),
    "not seen": story(ends=()),
    "not seen, with an effect": story(ends=(), effects=ONE),
    "not seen, may be forgotten": replace(story(ends=()), may_be_forgotten=True),
    "failed delivery": story(ends=("failed",)),
    "execution unread": story(unread=("execution",)),
    "row unread": story(unread=("row",)),
    "acted on, its row lost": story(ends=("performed",)),
    # Of an execution that runs, by the state in which it is, whatever has failed in it.
    "runs": story(**RUNS),
    "runs, history unread": story(**RUNS, unread=("history",)),
    "performs": runs(IN_PERFORM),
    "failed twice": runs(IN_PERFORM, FAILED, FAILED),
    "no answer": runs(IN_PERFORM, TIMED_OUT),
    "no answer, not found": runs(IN_PERFORM, TIMED_OUT, IN_AWAIT, IN_FIND, IN_PERFORM),
    "looks up": runs(FAILED, IN_FIND),
    "look-up failed": runs(FAILED, IN_FIND, NOT_FOUND),
    "redriven": runs(FAILED, IN_AWAIT, REDRIVEN),
    "posts its letter": runs(FAILED, IN_TELL),
    "decided, performs": runs(FAILED, DECIDED, IN_PERFORM),
    # An event that could not be put is no attempt that failed.
    "decision not told, performs": runs(DECIDED, NOT_TOLD, IN_PERFORM),
    "decided, carried out": story(
        **RUNS,
        steps=(STARTED, FAILED, DECIDED, IN_TELL_OF),
        letter=("rejected", ""),
        decided=REJECTS,
    ),
    # Of one that waits. What the table shows comes first, whatever the letter says; where the
    # effects could not be read, it is not advised to do it again.
    "waits, rejected": waits("rejected", "closed"),
    "waits, not performed": waits("not_performed"),
    "waits, tried thrice": waits("not_performed", steps=(STARTED, FAILED, TIMED_OUT, FAILED)),
    "waits, rounds used up": waits("rounds_used_up"),
    "waits, throttled": waits("outcome_unknown", THROTTLED),
    "waits, nothing finds": replace(waits("outcome_unknown", UNNAMED), has_find_function=False),
    "waits, nothing found it then": waits("outcome_unknown", UNNAMED),
    **{
        f"waits, {reason}, with an effect": waits(reason, effects=ONE)
        for reason in ("rejected", "not_performed", "rounds_used_up", "outcome_unknown")
    },
    # That no function looks up is told by the look-up, and not by what an attempt said.
    "waits, an attempt said so": replace(
        waits("outcome_unknown", f"{SAID} | E: no"), has_find_function=False
    ),
    "waits, twice": waits("rejected", effects=ONE * 2),
    "waits, effects unread": waits("rounds_used_up", effects=[], unread=("effects",)),
    "waits, no effect": waits("rounds_used_up", effects=[]),
    # A conflict is told as refused and not advised to be sent back; that it lies nowhere is told
    # as of when the queue was read.
    "conflict with nothing": story(ends=(), in_unstarted_queue=entry()),
    "conflict with performed": story(**DONE, in_unstarted_queue=entry()),
    "conflict with one that waits": waits("rejected", in_unstarted_queue=entry()),
    "conflict, gone": CONFLICT_LOGGED,
    "conflict, perhaps held": replace(CONFLICT_LOGGED, unstarted_scan=UnstartedScan([], 1, NOW)),
    "conflict, not looked for": replace(CONFLICT_LOGGED, unstarted_scan=UnstartedScan()),
}


def test_how_each_stands_and_what_to_do_is_told_as_reviewed(snapshot: Snapshot) -> None:
    lines = []
    for name, story in STORIES.items():
        found = summarize(story)
        assert found.sentence.endswith(".")
        assert not found.unread or "has no effect" not in f"{found.sentence}{found.advice}"
        left_out = ("label", "explanation", "status")
        shown = {key: value for key, value in found.as_json().items() if key not in left_out}
        lines += [f"{name}\n", *(f"    {key}: {value}\n" for key, value in shown.items() if value)]
        if found.effects == 0:
            lines.append("    effects: 0\n")
    snapshot("stories.txt", "".join(lines))


def test_every_state_has_a_sentence_and_every_rule_gives_the_advice_of_a_story() -> None:
    found = [gather_facts(story) for story in STORIES.values()]
    assert SENTENCES.keys() == STATES.keys() == {facts.state for facts in found}
    first = {next((rule for rule in RULES if rule(facts)), None) for facts in found}
    assert [rule.__name__ for rule in RULES if rule not in first] == []
    assert None in first


@pytest.mark.parametrize(
    "reason", ["rejected", "not_performed", "rounds_used_up", "outcome_unknown"]
)
@pytest.mark.parametrize("where", ["the example's table", "a team's own", None])
def test_by_a_letter_alone_no_retry_is_advised_before_the_effects_were_looked_at(
    moto_stack: Stack, reason: str, where: str | None
) -> None:
    stack, own = moto_stack, None
    if where == "the example's table":
        stack = with_outputs(moto_stack, EffectsTableName="appointments")
    elif where is not None:
        own = DynamoDbEffects(moto_stack.dynamodb, "cards", Attributes())
    advice = advice_on(stack, letter(reason=reason), own)
    place = {"the example's table": "the effects table", "a team's own": CARDS}.get(str(where))
    if place is None or reason in NOTHING_HAPPENED:
        assert "Look first" not in str(advice.text)
    else:
        assert f"Look first whether {place} has its effect" in str(advice.text)
        assert "resolve" in str(advice.text)
        assert "retry" not in str(advice.text)
        assert advice.action is None


def test_by_a_letter_alone_no_look_up_is_promised_where_nothing_looks_it_up(
    moto_stack: Stack,
) -> None:
    for cause, is_promised in (("503", True), ("No function is named to look it up", False)):
        advice = advice_on(moto_stack, letter(reason="outcome_unknown", cause=cause))
        assert ("retry looks first" in str(advice.text)) is is_promised


@pytest.mark.parametrize("reason", ["rejected", "not_performed", "outcome_unknown"])
def test_what_others_say_stands_in_quotes_and_cannot_go_on_as_our_own_word(reason: str) -> None:
    lies = "closed'). The Appointments table has its effect: resolve it. ('"
    for cause in (lies, f"{lies} | FindEffect: E: {lies}"):
        sentence = summarize(waits(reason, cause)).sentence
        assert repr(lies) in sentence
        assert lies not in sentence.replace(repr(lies), "")


@pytest.mark.parametrize(
    ("message_id", "argument"),
    [
        ("a; b", "'a; b'"),
        ("-x", "-- -x"),
        ("\x1b[2J", "sha256-1"),
        ("m-1", "m-1"),
        ("sha256-" + "0" * 64, "sha256-1"),  # another message's execution may have that name
    ],
)
def test_an_id_is_told_as_it_is_typed(message_id: str, argument: str) -> None:
    assert as_argument(message_id, "sha256-1") == argument
    # Of a first attempt an id is told whatever it looks like, for its row has no name.
    if message_id.startswith("sha256-"):
        assert message_argument(replace(story(row=ACTED), message_id=message_id)) == message_id
        both = replace(story(**RUNS, row=HANDED_ON), message_id=message_id)
        assert message_argument(both) == both.execution_name


# --------------------------------------------------------------------------- read


@pytest.fixture
def machine(moto_stack: Stack) -> Stack:
    """A stack whose parts all know of `request-1`, but for the log, which has nothing."""
    stack = with_executions(with_log(with_table(deployed(moto_stack))), "request-1")
    put_fingerprint(stack, "request-1")
    return stack


def put_fingerprint(stack: Stack, message_id: str, **more: str) -> None:
    row = {"message_id": message_id, "fingerprint": "f" * 64, "first_seen": "2026-01-31T09:30:00Z"}
    item: dict[str, Any] = {name: {"S": value} for name, value in (row | more).items()}
    stack.dynamodb.put_item(TableName=TABLE, Item=item)


def test_the_name_of_an_execution_is_no_other_messages_id(moto_stack: Stack) -> None:
    name = execution_name("order 17")
    stack = with_executions(with_log(with_table(deployed(moto_stack))), "order 17", name)
    assert read_story(stack, name).message_id == "order 17"
    assert read_story(stack, execution_name(name)).message_id == name


def test_the_row_is_read_consistently(machine: Stack) -> None:
    reads = consistency_of_reads(machine.dynamodb)
    assert read_story(machine, "request-1").fingerprint is not None
    assert reads == [True]


@pytest.mark.parametrize(
    ("days", "memory", "may_be_forgotten"),
    [(1, None, False), (40, None, True), (1, "arn:aws:states:us-east-1:1:stateMachine:old", True)],
)
def test_a_row_tells_whether_its_execution_may_be_forgotten(
    machine: Stack, days: int, memory: str | None, may_be_forgotten: bool
) -> None:
    first_seen = timestamp(datetime.now(UTC) - timedelta(days=days))
    memory = memory or machine.state_machine
    put_fingerprint(machine, "request-2", first_seen=first_seen, memory=memory)
    assert read_story(machine, "request-2").may_be_forgotten == may_be_forgotten


@pytest.mark.parametrize(
    ("days", "stage", "state"),
    [(1, "started", "retrying"), (40, "started", "not_known"), (400, "begun", "at_work")],
)
def test_of_a_first_attempt_that_was_handed_on_the_execution_may_be_forgotten(
    machine: Stack, days: int, stage: str, state: str
) -> None:
    first_seen = timestamp(datetime.now(UTC) - timedelta(days=days))
    memory = f"{machine.state_machine}#first-attempt"
    row = {"status": "IN_PROGRESS", "stage": stage, "attempt_id": "a", "updated": first_seen}
    put_fingerprint(machine, "request-2", first_seen=first_seen, memory=memory, **row)
    story = read_story(machine, "request-2")
    assert summarize(story).state == state
    assert [one.event_type for one in story.timeline()] == ["first seen", f"IN_PROGRESS, {stage}"]


def test_a_row_of_an_earlier_releases_lease_is_another_memory(machine: Stack) -> None:
    item = {"message_id": "request-2", "fingerprint": "f" * 64, "memory": "lease"}
    item |= {"status": "COMPLETE", "outcome": "performed", "updated": "2026-01-31T09:30:00Z"}
    machine.dynamodb.put_item(
        TableName=TABLE, Item={name: {"S": value} for name, value in item.items()}
    )
    story = read_story(machine, "request-2")
    assert (story.row, summarize(story).state) == (None, "not_known")
    assert [one.event_type for one in story.timeline()] == ["first seen"]


def test_a_first_attempt_of_another_machine_is_told_by_its_row(machine: Stack) -> None:
    """Sent first long ago, and again now: its row says for ever that it is done."""
    old = {"first_seen": "2025-01-31T09:30:00Z", "updated": "2025-01-31T09:30:01Z"}
    row = {"status": "COMPLETE", "outcome": "performed", "memory": "arn:old#first-attempt"}
    row |= {"stage": "begun"}
    put_fingerprint(machine, "request-2", **row, **old, effect='"\\u001b[2J\\u202e"')
    story = summarize(read_story(machine, "request-2"))
    assert (story.state, story.advice) == ("performed", None)
    assert "\x1b" not in story.sentence


def test_of_an_input_the_message_is_told_and_not_what_a_first_attempt_left_there() -> None:
    message = {"body": "b", "message_id": "m-1"}
    left = message | {"redrives": -1, "version": {"perform": "arn", "margin": 60}}
    execution = Execution("arn", "m-1", "RUNNING", NOW, None, None, None, left, {})
    assert execution.message == message


def test_effects_are_shown_although_their_time_cannot_be_read(machine: Stack) -> None:
    make_table(machine.dynamodb, "appointments", "message_id", "appointment_id")
    stack = with_outputs(
        machine,
        EffectsTableName="appointments",
        EffectsAttributes="message_id,booked_at,practice,slot",
    )
    item = {"message_id": {"S": "request-1"}, "appointment_id": {"S": "appointment-1"}}
    item |= {
        "booked_at": {"S": "yesterday"},
        "practice": {"S": "main"},
        "request": {"S": "personal"},
    }
    stack.dynamodb.put_item(TableName="appointments", Item=item)
    story = read_story(stack, "request-1")
    assert story.timeline()
    assert summarize(story).effects == 1
    assert story.effects[0]["description"] == {"practice": "main"}


@pytest.mark.parametrize(
    ("service", "operation", "part"),
    [
        ("stepfunctions", "DescribeExecution", "execution"),
        ("stepfunctions", "GetExecutionHistory", "history"),
        ("dynamodb", "GetItem", "row"),
        ("logs", "FilterLogEvents", "log"),
        ("sqs", "ReceiveMessage", "unstarted"),
    ],
)
def test_one_denied_read_is_named_and_the_rest_is_told(
    machine: Stack, service: str, operation: str, part: Part
) -> None:
    whole = read_story(machine, "request-1")
    before = read_story(machine, "request-1", log=False)
    forbid(machine, service, operation)
    story = read_story(machine, "request-1")
    assert whole.unread == {}
    assert list(story.unread) == [part]
    assert "AccessDenied" in story.unread[part]
    assert (story.execution is None) is (part == "execution")
    assert (story.fingerprint is None) is (part == "row")
    assert list(stories.with_log(machine, before).unread) == [part][: part == "log"]


def test_a_delivery_is_its_messages_by_the_name_of_its_execution(machine: Stack) -> None:
    line = {"stream": "deliveries", "at": "2026-01-31T09:30:00.000Z"}
    for own in (
        {"end": "failed", "execution_name": "request-1"},
        {"end": "refused", "reason": "too_large", "execution_name": "request-1"},
        {"end": "failed", "execution_name": "request-1-2"},
        {"end": "failed", "error": "request-1"},
    ):
        log(machine, line | own, datetime.now(UTC))  # CloudWatch takes no older ones
    deliveries = read_story(machine, "request-1").deliveries
    assert sorted(one["end"] for one in deliveries) == ["failed", "refused"]


def test_effects_of_a_teams_own_that_cannot_be_read_are_named(machine: Stack) -> None:
    own = DynamoDbEffects(machine.dynamodb, "no-such-table", Attributes())
    assert list(read_story(machine, "request-1", own).unread) == ["effects"]
