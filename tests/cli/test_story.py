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
from actonce.messages.dead_letters import DeadLetter, dead_letter
from actonce.messages.history import Execution, Step
from actonce.messages.message_summary import (
    DESCRIPTION_CHARACTERS,
    STATES,
    as_argument,
    message_argument,
    summarize,
)
from actonce.messages.own_effects import Attributes, EffectsTable
from actonce.messages.story import Part, Seen, Story, read_story
from actonce.queues.scan import Queued
from actonce.queues.standing import PAUSED_SINCE
from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from actonce_core.histories.stays import Stay
from actonce_core.message import MessageReader
from actonce_core.records import timestamp
from tests.cli.conftest import Actonce
from tests.support.queues import handed_on, hold
from tests.support.stacks import (
    NOW,
    TABLE,
    deployed,
    forbid,
    with_executions,
    with_log,
    with_outputs,
    with_table,
)
from tests.support.tables import make_table

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
    lying: unstarted.Unstarted | None = None,
) -> Story:
    """A story; `letter` is the reason and cause of its dead letter, on which was `decided`.

    `effects`: None where none were looked for.
    """
    message = {"message_id": "m-1"}
    stopped = None if status == "RUNNING" else NOW
    execution = Execution(
        "arn", "m-1", status or "", NOW, stopped, error, None, message, output or {}
    )
    failure = dict(zip(("reason", "cause"), letter or (), strict=False))
    stays = [Stay(NOW, failure | {"error": "E", "rounds": 3}, decided or {}, over=bool(decided))]
    return Story(
        message_id="m-1",
        execution_name="m-1",
        lines=[{"end": end} for end in ends],
        fingerprint=None,
        row=row,
        execution=execution if status else None,
        steps=list(steps),
        dead_letters=stays if letter else [],
        effects=effects or [],
        seen=Seen([lying] if lying else [], 0, NOW),
        effects_place=None if effects is None else CARDS,
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
    lying = unstarted.unstarted(handed_on('{"message_id": "m-1", "x": 2}', {}), MessageReader())
    return replace(lying, reason=reason)


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
                ({"performed": True}, "no clear answer"),
            )
        ),
        (("PerformEffect", "attempt", {"number": 2}), ("PerformEffect", "attempt 2", "")),
        (
            ("PerformEffect", "error", {"error": "E", "cause": '{"errorMessage": "closed"}'}),
            ("PerformEffect", "E", "closed"),
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


# --------------------------------------------------------------------------- how it stands

CARD = {"order": "o-7"}
DONE: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "performed", "effect": CARD}}
FOUND: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "found", "effect": None}}
RESOLVED: dict[str, Any] = {"status": "SUCCEEDED", "output": {"outcome": "resolved"}}
REJECTED: dict[str, Any] = {"status": "FAILED", "error": "RejectedByOperator"}
ROW = {"status": "COMPLETE", "outcome": "performed", "effect": json.dumps(CARD)}
HELD = {"status": "IN_PROGRESS", "attempt_id": "a", "updated": "2026-01-28T09:30:00Z"}
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


@pytest.mark.parametrize(
    ("told", "state", "outcome", "sentence"),
    [
        (story(**DONE), "performed", "performed", 'Its execution says so: {"order": "o-7"}.'),
        (story(**FOUND), "found", "found", "the look-up found its effect"),
        (story(**RESOLVED), "resolved", "resolved", "A person resolved it by hand."),
        (story(**REJECTED), "rejected", "rejected", "A person rejected it."),
        (story(status="FAILED", error="E"), "failed", None, "failed at 2026-01-31 09:30:00 UTC"),
        (story(status="ABORTED"), "aborted", None, "Somebody stopped its execution"),
        (story(status="TIMED_OUT"), "timed_out", None, "timed out"),
        (story(status="SUCCEEDED"), "ended", None, "does not tell how"),
        (story(row=ROW), "performed", "performed", 'Its row says so: {"order": "o-7"}.'),
        (story(row=ROW | {"outcome": "resolved"}), "resolved", "resolved", "by hand"),
        (story(row=ROW | {"outcome": "dead_letter"}), "waiting_for_decision", "dead_letter", ""),
        (story(row=HELD), "at_work", None, "last sign of life was at 2026-01-28 09:30:00 UTC."),
        (story(row=HELD | {"consumption_count": 2, "lock_seconds": 9}), "retrying", None, "9 s"),
        (story(row={"status": "IN_PROGRESS"}), "retrying", None, "SQS brings the message back"),
        (story(ends=("refused",)), "not_started", None, "The starter refused it"),
        (story(ends=()), "not_seen", None, "No part of the stack has seen"),
        (story(**DONE, ends=("suppressed",)), "performed", "performed", "1 duplicate of it was"),
        # Of an execution that runs, by the state in which it is, whatever has failed in it.
        (story(**RUNS), "running", None, "or it waits for a decision."),
        (runs(IN_PERFORM), "at_work", None, "is under way"),
        (
            runs(IN_PERFORM, FAILED, FAILED),
            "retrying",
            None,
            "said twice that nothing happened (NotPerformed: 'closed'). ActOnce tries again.",
        ),
        (
            runs(IN_PERFORM, TIMED_OUT),
            "retrying",
            None,
            "without a clear answer (States.Timeout). ActOnce waits until no attempt can",
        ),
        (
            runs(IN_PERFORM, TIMED_OUT, IN_AWAIT, IN_FIND, IN_PERFORM),
            "retrying",
            None,
            "without a clear answer (States.Timeout). The look-up found no effect",
        ),
        (
            runs(TIMED_OUT, IN_AWAIT, IN_FIND, IN_PERFORM, FAILED),
            "retrying",
            None,
            "said once that nothing happened (NotPerformed: 'closed').",
        ),
        (runs(FAILED, IN_FIND), "retrying", None, "ActOnce looks the"),
        (
            runs(FAILED, IN_FIND, NOT_FOUND),
            "retrying",
            None,
            "The look-up failed once (E), and ActOnce looks again.",
        ),
        (runs(FAILED, IN_AWAIT, REDRIVEN), "retrying", None, "ActOnce w"),
        (runs(FAILED, IN_TELL), "retrying", None, "posts a dead letter"),
        (
            waits("not_performed", steps=(STARTED, FAILED, TIMED_OUT, FAILED)),
            "waiting_for_decision",
            None,
            "The function said twice that nothing happened",
        ),
        (runs(FAILED, DECIDED, IN_PERFORM), "at_work", None, "under way"),
        # An event that could not be put is no attempt that failed.
        (runs(DECIDED, NOT_TOLD, IN_PERFORM), "at_work", None, ""),
        (
            story(
                **RUNS,
                steps=(STARTED, FAILED, DECIDED, IN_TELL_OF),
                letter=("rejected", ""),
                decided={"decision": "reject", "decided_by": "ann", "note": "closed"},
            ),
            "running",
            None,
            "ann decided to reject it: 'closed'. ActOnce carries that out.",
        ),
        # Who decides without this command line may write into it what they like.
        (
            story(
                **REJECTED,
                letter=("rejected", ""),
                decided={"decision": "reject", "decided_at": "this morning", "note": "closed"},
            ),
            "rejected",
            "rejected",
            "A person rejected it: 'closed'.",
        ),
        (
            story(status="FAILED", error="States.Timeout", letter=("rejected", "")),
            "failed",
            None,
            "nobody decided in time",
        ),
    ],
)
def test_it_is_in_one_state_and_what_happened_last_is_told(
    told: Story, state: str, outcome: str | None, sentence: str
) -> None:
    found = summarize(told)
    assert (found.state, found.outcome) == (state, outcome)
    assert (found.label, found.means) == (STATES[found.state].label, STATES[found.state].means)
    assert found.sentence.endswith(".")
    assert sentence in found.sentence


@pytest.mark.parametrize(
    ("told", "effects", "expected"),
    [
        (story(**DONE, effects=ONE), 1, "its effect (of 2026-01-31 09:31:07 UTC)."),
        (story(**DONE, effects=ONE * 2), 2, "The table cards has 2 effects of it."),
        (story(**DONE), None, 'Its execution says so: {"order": "o-7"}.'),
        (story(**RESOLVED), None, "A person resolved it by hand."),
        (story(**RUNS, effects=[]), 0, "The table cards has no effect of it so far."),
        (story(row=ROW), None, 'Its row says so: {"order": "o-7"}.'),
        # A table is another witness.
        (story(**DONE, effects=[effect(None, card="c")]), 1, 'effect: {"card": "c"}.'),
        (story(**DONE, effects=[]), 0, "but the table cards has no effect of it."),
    ],
)
def test_it_says_what_is_known_of_the_effect_and_by_whose_word(
    told: Story, effects: int | None, expected: str
) -> None:
    found = summarize(told)
    assert found.effects == effects
    assert expected in found.sentence


UNNAMED = "late | FindEffect: No function is named to look it up (FindFunctionArn)"
THROTTLED = "late | FindEffect: Throttled: slow down"


@pytest.mark.parametrize(
    ("told", "advised", "advice", "sentence"),
    [
        # What the table shows comes first, whatever the letter says.
        *(
            (waits(reason, effects=ONE), "resolve", "has its effect (of", "")
            for reason in ("rejected", "not_performed", "rounds_used_up", "outcome_unknown")
        ),
        (
            waits("rejected", "closed"),
            "reject",
            "It did not happen: the function says that it never will.",
            "The function refused it (E: 'closed').",
        ),
        (waits("not_performed"), "retry", "It did not happen.", "no retry"),
        (waits("rounds_used_up"), "retry", "looks it up", "3 attempts ended"),
        (
            waits("outcome_unknown", THROTTLED),
            None,
            "retry looks first",
            "clear answer (E: 'late'), and the look-up failed (Throttled: 'slow down').",
        ),
        (
            replace(waits("outcome_unknown", UNNAMED), looks_up=False),
            None,
            "it did not, perform.",
            "no function is named that could",
        ),
        # Where the effects could not be read, it is not advised to do it again.
        (waits("rounds_used_up", effects=[], unread=("effects",)), None, "could not be read", ""),
        (story(row=ROW | {"outcome": "dead_letter"}), None, "dead-letters show m-1", ""),
        (story(status="ABORTED"), "retry", "until 2026-02-14 09:30:00 UTC", ""),
        (story(status="FAILED", error="E"), "retry", "Continue it: ActOnce looks", ""),
        (story(status="ABORTED", letter=("rejected", "")), "retry", "posts the dead letter", ""),
        (
            story(
                status="ABORTED",
                steps=(STARTED, FAILED, DECIDED, IN_TELL_OF),
                letter=("rejected", ""),
                decided={"decision": "resolve"},
            ),
            "retry",
            "ActOnce carries out what was decided (resolve).",
            "",
        ),
        # Where witnesses do not agree, a person has to look.
        (story(**DONE, effects=ONE * 2), None, "undo what is too much", ""),
        (waits("rejected", effects=ONE * 2), "resolve", "what is too much", ""),
        (story(**DONE, effects=[]), None, "why the table cards has no effect of it", ""),
        (story(**REJECTED, effects=ONE), None, "although it was rejected", ""),
        (story(**DONE, effects=ONE), None, None, ""),
        (runs(IN_PERFORM, FAILED), None, None, ""),
        # What Step Functions may have forgotten is not told as not started: a log or a table
        # remembers it, or its row is older than what Step Functions remembers.
        (story(), None, "before you send it again", "knows no execution of it now"),
        (story(ends=(), effects=ONE), None, "do not send it again", "knows no execution"),
        (replace(story(ends=()), may_be_forgotten=True), None, "before you send", "knows no exec"),
        (story(ends=("failed",)), None, None, "SQS brings it back"),
        (story(row=HELD, lying=entry("received_too_often")), None, "unstarted show", "gave it up"),
        (story(ends=(), lying=entry("not_json")), None, "unstarted show m-1", "was refused (not"),
    ],
)
def test_what_to_do_follows_from_what_is_known(
    told: Story, advised: str | None, advice: str | None, sentence: str
) -> None:
    found = summarize(told)
    assert found.advised == advised
    assert (found.advice is None) if advice is None else (advice in str(found.advice))
    assert sentence in found.sentence


@pytest.mark.parametrize(
    ("told", "state", "expected"),
    [
        (story(unread=("execution",)), "not_known", "could not be read."),
        (story(unread=("row",)), "not_known", "could not be read."),
        (story(ends=("refused",), unread=("unstarted",)), "not_started", "Whether it is in Unsta"),
        (story(**RUNS, unread=("history",)), "running", "or it waits for a decision."),
        (
            story(**RUNS, effects=[], unread=("effects",)),
            "running",
            "Whether the table cards has an effect of it could not be read.",
        ),
        (
            story(**DONE, effects=[], unread=("effects",)),
            "performed",
            "but whether the table cards has an effect of it could not be read.",
        ),
        (story(**DONE, ends=(), unread=("log",)), "performed", "deliveries could not be"),
    ],
)
def test_what_could_not_be_read_is_not_told_as_absent(
    told: Story, state: str, expected: str
) -> None:
    found = summarize(told)
    assert (found.state, found.effects, len(found.unread)) == (state, None, 1)
    assert expected in found.sentence
    assert "has no effect" not in found.sentence + str(found.advice)


def letter_of(reason: str) -> DeadLetter:
    body: dict[str, Any] = {
        "message_id": "m-1",
        "execution_name": "m-1",
        "reason": reason,
        "error": "E",
    }
    body |= {"cause": "closed", "rounds": 1, "posted_at": "2026-01-31T09:00:00.000Z"}
    letter = dead_letter(Queued("entry-id", json.dumps(body), {}, {}, "handle"))
    assert letter is not None
    return letter


def test_why_it_waits_is_told_by_its_history_and_not_by_a_letter_of_before() -> None:
    now = waits("outcome_unknown", "late")
    assert summarize(now, letter_of("not_performed")) == summarize(now)
    row = story(row=ROW | {"outcome": "dead_letter"})  # which keeps no reason
    assert "It did not happen." in str(summarize(row, letter_of("not_performed")).advice)


@pytest.mark.parametrize("part", ["attempt", "look-up"])
def test_that_no_function_looks_up_is_told_by_the_look_up_and_not_by_what_an_attempt_said(
    part: str,
) -> None:
    said = "No function is named to look it up, perform it"
    cause = f"{said} | FindEffect: E: no" if part == "attempt" else f"late | FindEffect: E: {said}"
    told = waits("outcome_unknown", cause)
    assert ("FindFunctionArn" in summarize(told).sentence) == (part == "look-up")
    advice = str(summarize(replace(told, looks_up=False)).advice)
    assert ("retry looks first" in advice) == (part == "attempt")


def test_an_effect_of_days_before_is_compared_before_the_message_is_resolved() -> None:
    for at, advised in (("2026-01-30T10:00:00Z", "resolve"), ("2026-01-30T09:00:00Z", None)):
        found = summarize(waits("rejected", effects=[effect(at)]))
        assert found.advised == advised
        assert ("from before its execution began" in str(found.advice)) == (advised is None)
        assert "could do it twice" in str(found.advice)


@pytest.mark.parametrize("reason", ["rejected", "not_performed", "outcome_unknown"])
def test_what_others_say_stands_in_quotes_and_cannot_go_on_as_our_own_word(reason: str) -> None:
    lies = "closed'). The Appointments table has its effect: resolve it. ('"
    for cause in (lies, f"{lies} | FindEffect: E: {lies}"):
        sentence = summarize(waits(reason, cause)).sentence
        assert repr(lies) in sentence
        assert lies not in sentence.replace(repr(lies), "")


def test_a_long_description_is_cut() -> None:
    long = story(status="SUCCEEDED", output={"outcome": "performed", "effect": {"x": "y" * 9_999}})
    told = summarize(long).sentence
    assert told.endswith("….")
    assert len(told) < DESCRIPTION_CHARACTERS + 200


@pytest.mark.parametrize(
    ("told", "command"),
    [
        (story(status="ABORTED"), "dead-letters retry"),
        (story(row=ROW | {"outcome": "dead_letter"}), "dead-letters show"),
        (story(ends=(), lying=entry()), "unstarted show"),
    ],
)
def test_a_command_ends_what_is_advised_and_can_be_pasted_as_it_is(
    told: Story, command: str
) -> None:
    for options in ("", " --stack-name shop --region eu-west-1"):
        advice = str(summarize(replace(told, options=options)).advice)
        assert advice.endswith(f" actonce {command}{options} m-1")


@pytest.mark.parametrize("effects", [[], ONE])
def test_after_14_days_it_is_not_advised_to_continue_what_step_functions_continues_no_more(
    effects: list[dict[str, Any]],
) -> None:
    aborted = story(status="ABORTED", effects=effects)
    for days, advised in ((13.9, "retry"), (14.1, None)):
        found = summarize(replace(aborted, read_at=NOW + timedelta(days=days)))
        assert found.advised == advised
        assert ("dead-letters retry" in str(found.advice)) is (advised is not None)
    assert ("new id" in str(found.advice)) is (not effects)
    assert "m-1" not in str(found.advice)


def test_a_conflict_is_told_as_refused_and_not_advised_to_be_sent_back() -> None:
    for first in (story(ends=()), story(**DONE), waits("rejected")):
        found = summarize(replace(first, seen=Seen([entry()], 0, NOW)))
        told = [str(found.advice), str(found.conflicts)]
        assert sum("under a new id" in one for one in told) == 1
        assert "was refused" in told[1]
        assert sum("actonce unstarted show" in one for one in told) == 1
        beside = summarize(replace(first, seen=Seen([entry()], 0, NOW)), differs_beside=True)
        assert "unstarted show" not in f"{beside.advice} {beside.conflicts}"
        assert "not started" not in found.sentence


def test_that_a_conflict_lies_nowhere_is_told_as_of_when_the_queue_was_read() -> None:
    once = replace(story(**DONE), lines=[{"end": "refused", "reason": "conflict"}])
    assert summarize(story(**DONE)).conflicts is None
    for seen, told in (
        (Seen([], 0, NOW), "UnstartedQueue had nothing of it at 2026-01-31 09:30:00 UTC."),
        (Seen([], 1, NOW), "cannot be told"),
        (Seen(), "was not looked at"),
        (Seen([entry()], 1, NOW), "UnstartedQueue has it."),
    ):
        assert told in str(summarize(replace(once, seen=seen)).conflicts)
    unlogged = story(**DONE, lying=entry())  # the log has not been read yet
    assert "UnstartedQueue has it." in str(summarize(unlogged).conflicts)


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
    # Behind a lock an id is told whatever it looks like, for its row has no name.
    if message_id.startswith("sha256-"):
        assert message_argument(replace(story(row=ROW), message_id=message_id)) == message_id


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


@pytest.mark.parametrize("booked_at", [{"S": "yesterday"}, {"N": "1"}, {"S": "2026-01-31T09:30"}])
def test_the_examples_appointments_are_effects_also_where_their_time_cannot_be_read(
    machine: Stack, booked_at: dict[str, Any]
) -> None:
    make_table(machine.dynamodb, "appointments", "message_id", "appointment_id")
    stack = with_outputs(machine, AppointmentsTableName="appointments")
    item = {"message_id": {"S": "request-1"}, "appointment_id": {"S": "appointment-1"}}
    item |= {"booked_at": booked_at, "practice": {"S": "main"}, "request": {"S": "personal"}}
    stack.dynamodb.put_item(TableName="appointments", Item=item)
    told = read_story(stack, "request-1")
    assert told.timeline()
    assert summarize(told).effects == 1
    assert told.effects[0]["description"] == {"practice": "main"}


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
    told = read_story(machine, "request-1")
    assert whole.unread == {}
    assert list(told.unread) == [part]
    assert "AccessDenied" in told.unread[part]
    assert (told.execution is None) is (part == "execution")
    assert (told.fingerprint is None) is (part == "row")
    assert list(stories.with_log(machine, before).unread) == [part][: part == "log"]


def test_effects_of_a_teams_own_that_cannot_be_read_are_named(machine: Stack) -> None:
    own = EffectsTable(machine.dynamodb, "no-such-table", Attributes())
    assert list(read_story(machine, "request-1", own).unread) == ["effects"]


def test_where_names_what_it_could_not_read_and_does_not_take_it_for_absent(
    machine: Stack, actonce: Actonce
) -> None:
    forbid(machine, "stepfunctions", "GetExecutionHistory")
    machine.sqs.purge_queue(QueueUrl=machine.unstarted_queue)
    told = actonce("where", "request-1", stack=machine)
    assert (told.status, "AccessDenied" in told.out) == (0, True)
    as_json = json.loads(actonce("where", "request-1", "--json", stack=machine).out)
    assert list(as_json["unread"]) == ["history"]
    forbid(machine, "dynamodb", "GetItem")
    told = actonce("where", "request-2", stack=machine)
    assert (told.status, "AccessDenied" in told.err, "has seen" in told.err) == (1, True, False)


# --------------------------------------------------------------------------- seen by nobody


def test_what_nobody_has_seen_may_be_waiting(machine: Stack, actonce: Actonce) -> None:
    def told(*words: str) -> str:
        ended = actonce("where", "request-2", *words, stack=machine)
        assert ended.status == 1
        assert "No part of the stack has seen a message 'request-2'." in ended.err
        return ended.err

    assert "in RequestsQueue. Recent messages: actonce list --aws" in told("--aws")
    for _ in range(3):
        machine.sqs.send_message(QueueUrl=machine.requests_queue, MessageBody="{}")
    hold(machine, machine.requests_queue, 1)
    assert "It may be one of about 3 in RequestsQueue." in told()
    machine.sqs.tag_queue(QueueUrl=machine.requests_queue, Tags={PAUSED_SINCE: "2026"})
    assert "paused. To have it take messages again: actonce resume --aws" in told("--aws")
    forbid(machine, "sqs", "ListQueueTags")
    assert "Whether the stack is paused could not be read" in told()


@pytest.mark.usefixtures("minute_long_looks")
def test_where_does_not_say_that_what_another_reader_holds_lies_nowhere(
    machine: Stack, actonce: Actonce
) -> None:
    put_fingerprint(machine, "request-2")
    body = json.dumps({"message_id": "request-2"})
    machine.sqs.send_message(QueueUrl=machine.unstarted_queue, MessageBody=body)
    hold(machine, machine.unstarted_queue)
    cannot = "Whether it is in UnstartedQueue cannot be told: another reader holds 1"
    seen = actonce("where", "request-2", "--json", stack=machine)
    assert cannot in json.loads(seen.out)["summary"]["sentence"]
    nowhere = actonce("where", "request-3", stack=machine)
    assert nowhere.status == 1
    assert "No part of the stack that could be read has seen a message 'request-3'." in nowhere.err
    assert f"{cannot} at this moment; look again." in nowhere.err
