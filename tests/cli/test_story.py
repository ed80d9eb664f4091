"""What is told of one message: its timeline, its sentence, and of one that nobody has seen.

Nothing is said to be undone only because a table of ours is empty, and nothing to lie nowhere that
another reader holds.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from actonce.messages import story as stories
from actonce.messages import unstarted
from actonce.messages.history import Execution, Step
from actonce.messages.message_summary import (
    DESCRIPTION_CHARACTERS,
    as_argument,
    sentence,
    sentence_of_conflicts,
    sentences_of_unread,
    unseen,
)
from actonce.messages.own_effects import Attributes, EffectsTable
from actonce.messages.story import Part, Story, read_story
from actonce.queues.scan import Queued
from actonce.queues.standing import Depth, Pause
from actonce.stack.clients import Stack
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader, Reason, Refusal
from actonce_core.unstarted import unstarted_attributes
from tests.cli.conftest import Actonce
from tests.support.stacks import (
    NOW,
    TABLE,
    deployed,
    forbid,
    with_executions,
    with_log,
    with_table,
)


def story(
    *,
    status: str | None = None,
    output: dict[str, Any] | None = None,
    row: dict[str, Any] | None = None,
    effects: int = 0,
    ends: tuple[str, ...] = ("started",),
    own: list[dict[str, Any]] | None = None,
    steps: tuple[Step, ...] = (),
    unread: tuple[Part, ...] = (),
) -> Story:
    execution = (
        Execution("arn", "m-1", status, NOW, None, None, None, {"message_id": "m-1"}, output or {})
        if status
        else None
    )
    return Story(
        message_id="m-1",
        execution_name="m-1",
        deliveries=[{"end": end} for end in ends],
        fingerprint=None,
        row=row,
        execution=execution,
        steps=list(steps),
        dead_letters=[],
        effects=own or [{"appointment_id": f"appointment-{n}"} for n in range(effects)],
        unstarted=[],
        own_place=None if own is None else "the table cards",
        unread=dict.fromkeys(unread, "AccessDenied"),
    )


def own(effect_id: str | None = None, **description: Any) -> dict[str, Any]:
    """As `OwnEffect.as_json` has it."""
    return {"message_id": "m-1", "effect_id": effect_id, "at": None, "description": description}


# --------------------------------------------------------------------------- the timeline


@pytest.mark.parametrize(
    ("step", "told"),
    [
        *(
            (("FindEffect", "looked_up", {"performed": performed}), ("FindEffect", what))
            for performed, what in (
                (True, "found"),
                (False, "found nothing"),
                ("true", "no clear answer"),
                (1, "no clear answer"),
                (None, "no clear answer"),
                ({"performed": True}, "no clear answer"),
            )
        ),
        (("PerformEffect", "attempt", {"number": 2}), ("PerformEffect", "attempt 2", "")),
        (
            (
                "PerformEffect",
                "error",
                {"error": "NotPerformed", "cause": '{"errorMessage": "closed"}'},
            ),
            ("PerformEffect", "NotPerformed", "closed"),
        ),
        (
            ("DeadLetter", "decision", {"decision": "retry", "note": "open", "decided_by": "ann"}),
            ("DeadLetter", "decided: retry", "open, by ann"),
        ),
        (
            ("", "ended", {"status": "FAILED", "error": "RejectedByOperator"}),
            ("execution", "FAILED", "RejectedByOperator"),
        ),
        (("Performed?", "entered", {}), None),  # what follows tells it
    ],
)
def test_of_each_step_what_was_recorded_is_told_and_no_more(
    step: tuple[str, str, dict[str, Any]], told: tuple[str, ...] | None
) -> None:
    moments = story(ends=(), steps=(Step(NOW, *step),)).timeline()
    found = [(moment.where, moment.what, moment.more) for moment in moments]
    assert [one[: len(told or ())] for one in found] == ([told] if told else [])


# --------------------------------------------------------------------------- the sentence

CARD = {"order": "o-7"}
DONE: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "performed", "effect": CARD}}
ROW = {"status": "COMPLETE", "outcome": "performed", "effect": json.dumps(CARD)}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (story(**DONE, effects=1), "is SUCCEEDED (performed); it was acted on once; 0 of 1 "),
        (story(**DONE, effects=2), "it was acted on 2 times"),
        (story(**DONE), 'it was acted on, by the word of its execution: {"order": "o-7"}'),
        (
            story(status="SUCCEEDED", output={"outcome": "found", "effect": None}),
            "(found); it was acted on, by the word of its execution",
        ),
        (
            story(status="SUCCEEDED", output={"outcome": "resolved", "note": "by telephone"}),
            "by the word of whoever resolved it",
        ),
        (
            story(status="RUNNING", ends=("started", "suppressed")),
            "no effect of it is known so far; 1 of 2 deliveries suppressed",
        ),
        (story(status="FAILED"), "no effect of it is known;"),
        (
            story(row=ROW),
            'Its row is COMPLETE (performed); it was acted on, by the word of its row: {"order"',
        ),
        (story(row={"status": "IN_PROGRESS"}), "is IN_PROGRESS; no effect of it is known;"),
        (story(), "No execution is known; it lies nowhere any more; no effect of it is known"),
        # A team's own effects are another witness; of some places a second one would not be seen.
        (story(**DONE, own=[own("c-1")]), "the table cards has one effect of it"),
        (
            story(**DONE, own=[own("c-1", card="c"), own("c-2")]),
            'the table cards has 2 effects of it: {"card": "c"}',
        ),
        (
            story(**DONE, own=[own(None, card="c")]),
            'it was acted on, as the table cards has it: {"card": "c"}',
        ),
        (story(**DONE, own=[]), '{"order": "o-7"}, but the table cards has no effect of it'),
    ],
)
def test_it_says_what_is_known_and_by_whom(told: Story, expected: str) -> None:
    assert expected in sentence(told)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            story(unread=("execution",)),
            "Whether it was begun could not be read; it lies nowhere any more; whether it was ",
        ),
        (story(unread=("row",)), "; whether it was acted on could not be read."),
        (story(status="RUNNING", unread=("row",)), "; no effect of it is known so far; "),
        (story(unread=("unstarted",)), "; whether it lies in UnstartedQueue could not be read; "),
        (
            story(status="RUNNING", unread=("history",)),
            "is RUNNING; whether it waits for a decision could not be read; no effect of it is ",
        ),
        (
            story(status="RUNNING", unread=("effects",)),
            "is RUNNING; whether it was acted on could not be read; 0 of 1 deliveries suppressed",
        ),
        (
            story(**DONE, own=[], unread=("effects",)),
            '{"order": "o-7"}, but the table cards could not be read',
        ),
        (
            story(status="SUCCEEDED", effects=1, ends=(), unread=("log",)),
            "; it was acted on once; its deliveries could not be read.",
        ),
    ],
)
def test_what_could_not_be_read_is_not_said_to_be_absent(told: Story, expected: str) -> None:
    assert expected in sentence(told)
    assert len(sentences_of_unread(told)) == 1


def test_a_long_description_is_cut() -> None:
    long = story(status="SUCCEEDED", output={"outcome": "performed", "effect": {"x": "y" * 9_999}})
    told = sentence(long)
    assert "…; 0 of 1" in told
    assert len(told) < DESCRIPTION_CHARACTERS + 200


def test_of_conflicts_it_is_said_where_both_contents_are_shown() -> None:
    body = '{"message_id": "m-1", "x": 2}'
    attributes = unstarted_attributes(
        Delivery("first-id", body, {}, {}), Refusal(Reason.CONFLICT, "Another content.")
    )
    entry = Queued("entry-id", body, {"SentTimestamp": "1"}, attributes, "handle")
    once = replace(story(status="SUCCEEDED"), conflicts=[{"end": "refused"}])
    assert sentence_of_conflicts(story(status="SUCCEEDED")) is None
    one = "1 more delivery brought another content with this id, and was refused"
    assert sentence_of_conflicts(once) == f"{one}; none waits now."
    lying = replace(once, unstarted=[unstarted.unstarted(entry, MessageReader())])
    assert sentence_of_conflicts(lying) == f"{one}: actonce unstarted show m-1"
    held = replace(once, unstarted_held_elsewhere=1)
    assert str(sentence_of_conflicts(held)).startswith(f"{one}; whether it lies in UnstartedQueue")
    unread = replace(once, unread={"unstarted": "AccessDenied"})
    assert sentence_of_conflicts(unread) == (
        f"{one}; whether it lies in UnstartedQueue could not be read."
    )
    twice = replace(held, conflicts=[{"end": "refused"}] * 2)
    assert "were refused; whether they lie in" in str(sentence_of_conflicts(twice))


@pytest.mark.parametrize(
    ("message_id", "argument"),
    [
        ("a; b", "'a; b'"),
        ("-x", "-- -x"),
        ("\x1b[2J", "sha256-1"),
        ("m-1", "m-1"),
    ],
)
def test_an_id_is_told_as_it_is_typed(message_id: str, argument: str) -> None:
    assert as_argument(message_id, "sha256-1") == argument


# --------------------------------------------------------------------------- a part that is denied


@pytest.fixture
def machine(moto_stack: Stack) -> Stack:
    """A stack whose parts all know of `request-1`, but for the log, which has nothing."""
    stack = with_executions(with_log(with_table(deployed(moto_stack))), "request-1")
    put_fingerprint(stack, "request-1")
    return stack


def put_fingerprint(stack: Stack, message_id: str) -> None:
    row = {"message_id": message_id, "fingerprint": "f" * 64, "first_seen": "2026-01-31T09:30:00Z"}
    stack.dynamodb.put_item(
        TableName=TABLE, Item={name: {"S": value} for name, value in row.items()}
    )


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
    forbid(machine, service, operation)
    told = read_story(machine, "request-1")
    assert whole.unread == {}
    assert list(told.unread) == [part]
    assert "AccessDenied" in told.unread[part]
    kept = {"execution": whole.execution, "row": whole.fingerprint}
    assert {"execution": told.execution, "row": told.fingerprint} == kept | (
        {part: None} if part in kept else {}
    )


def test_effects_of_a_teams_own_that_cannot_be_read_are_named(machine: Stack) -> None:
    own = EffectsTable(machine.dynamodb, "no-such-table", Attributes())
    assert list(read_story(machine, "request-1", own).unread) == ["effects"]


def test_a_log_that_is_denied_later_is_named_too(machine: Stack) -> None:
    told = read_story(machine, "request-1", log=False)
    forbid(machine, "logs")
    assert list(stories.with_log(machine, told).unread) == ["log"]


def test_where_names_what_it_could_not_read(machine: Stack, actonce: Actonce) -> None:
    forbid(machine, "stepfunctions", "GetExecutionHistory")
    machine.sqs.purge_queue(QueueUrl=machine.unstarted_queue)
    told = actonce("where", "request-1", stack=machine)
    assert (told.status, "AccessDenied" in told.out) == (0, True)
    as_json = json.loads(actonce("where", "request-1", "--json", stack=machine).out)
    assert list(as_json["unread"]) == ["history"]


def test_of_what_nothing_is_known_a_denied_read_is_no_absence(
    machine: Stack, actonce: Actonce
) -> None:
    forbid(machine, "dynamodb", "GetItem")
    told = actonce("where", "request-2", stack=machine)
    assert (told.status, "AccessDenied" in told.err, "has seen" in told.err) == (1, True, False)


def test_where_tells_of_an_unseen_message_though_the_queue_may_not_be_asked(
    machine: Stack, actonce: Actonce
) -> None:
    forbid(machine, "sqs", "ListQueueTags")
    told = actonce("where", "request-2", stack=machine)
    assert "No part of the stack has seen a message 'request-2'." in told.err
    assert "Whether the stack is paused could not be read" in told.err


# --------------------------------------------------------------------------- seen by nobody

UNREAD = "wait unread in RequestsQueue"
TAKING = "are being taken from it, or come back to it"


@pytest.mark.parametrize(
    ("depth", "told"),
    [
        (Depth(0, 0, 0, None), "Nothing waits in RequestsQueue."),
        (Depth(3, 0, 0, 90), f"3 {UNREAD}, the oldest for 0:01:30 or longer. It may be one of"),
        (Depth(0, 2, 0, None), f"2 {TAKING}. It may be one of them."),
        (Depth(1, 2, 1, None), f"2 {UNREAD} and 2 {TAKING}. It may be one of them."),
        (None, "RequestsQueue could not be looked at: it may wait there."),
    ],
)
def test_it_may_be_waiting_is_said_where_it_may(depth: Depth | None, told: str) -> None:
    said = " ".join(unseen("m-1", depth, None))
    assert said.startswith(f"No part of the stack has seen a message 'm-1'. {told}")
    paused = unseen("m-1", depth, Pause("2026-01-31T09:00:00.000Z", "ann", ""))
    assert "actonce resume" in paused[-1]


@pytest.mark.usefixtures("minute_long_looks")
def test_where_does_not_say_that_what_another_reader_holds_lies_nowhere(
    moto_stack: Stack, actonce: Actonce
) -> None:
    stack = with_executions(with_log(with_table(deployed(moto_stack))))
    body = json.dumps({"message_id": "request-1"})
    stack.sqs.send_message(QueueUrl=stack.unstarted_queue, MessageBody=body)
    put_fingerprint(stack, "request-1")
    stack.sqs.receive_message(QueueUrl=stack.unstarted_queue, VisibilityTimeout=600)
    cannot = "whether it lies in UnstartedQueue cannot be told: another reader holds 1"
    seen = actonce("where", "request-1", stack=stack)
    assert f"No execution is known; {cannot} at this moment" in seen.out
    nowhere = actonce("where", "request-2", stack=stack)
    assert nowhere.status == 1
    assert "No part of the stack that could be read has seen a message 'request-2'." in nowhere.err
    assert f"{cannot[0].upper()}{cannot[1:]} at this moment; look again." in nowhere.err
