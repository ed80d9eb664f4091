"""What is told of one message: its timeline, how it stands, and of one that nobody has seen.

Nothing is said to be undone only because a table of ours is empty, and nothing to lie nowhere that
another reader holds, or that was not looked for just now.
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
    unseen,
)
from actonce.messages.own_effects import Attributes, EffectsTable
from actonce.messages.story import Part, Story, read_story
from actonce.queues.scan import Queued
from actonce.queues.standing import Depth, Pause
from actonce.stack.clients import Stack
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.histories.dead_letters import Stay
from actonce_core.message import MessageReader, Reason, Refusal
from actonce_core.records import timestamp
from actonce_core.unstarted import unstarted_attributes
from tests.cli.conftest import Actonce
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

EFFECT = {"appointment_id": "appointment-1", "booked_at": "2026-01-31T09:31:07.000Z"}
TABLE_OF_OURS = "the Appointments table"


def story(
    *,
    status: str | None = None,
    output: dict[str, Any] | None = None,
    error: str | None = None,
    row: dict[str, Any] | None = None,
    effects: int = 0,
    place: str | None = None,
    ends: tuple[str, ...] = ("started",),
    own: list[dict[str, Any]] | None = None,
    steps: tuple[Step, ...] = (),
    letter: tuple[str, str] | None = None,
    decided: dict[str, Any] | None = None,
    unread: tuple[Part, ...] = (),
) -> Story:
    """A story; `letter` is the reason and cause of its dead letter, on which was `decided`."""
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
        deliveries=[{"end": end} for end in ends],
        fingerprint=None,
        row=row,
        execution=execution if status else None,
        steps=list(steps),
        dead_letters=stays if letter else [],
        effects=own or [EFFECT] * effects,
        unstarted=[],
        effects_place=(TABLE_OF_OURS if effects else place) if own is None else "the table cards",
        unstarted_held_elsewhere=None if "unstarted" in unread else 0,
        unread=dict.fromkeys(unread, "AccessDenied"),
        read_at=NOW,
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
        (("TellDeadLetter", "entered", {}), None),
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
RUNS: dict[str, Any] = {"status": "RUNNING"}

STARTED = Step(NOW, "", "started")
IN_PERFORM = Step(NOW, "PerformEffect", "entered")
FAILED = Step(NOW, "PerformEffect", "error", {"error": "NotPerformed", "cause": "closed"})
IN_FIND = Step(NOW, "FindEffect", "entered")
DECIDED = Step(NOW, "DeadLetter", "decision", {"decision": "retry", "note": ""})
IN_TELL = Step(NOW, "TellDeadLetter", "entered")
IN_TELL_OF = Step(NOW, "TellDecision", "entered")
IN_AWAIT = Step(NOW, "AwaitStraggler", "entered")
REDRIVEN = Step(NOW, "", "redriven")
TIMED_OUT = Step(NOW, "PerformEffect", "error", {"error": "States.Timeout"})
NOT_TOLD = Step(NOW, "TellDecision", "error", {"error": "EventBridge.FailedEntry"})


@pytest.mark.parametrize(
    ("told", "state", "outcome", "effect_told"),
    [
        (story(**DONE), "performed", "performed", "execution"),
        (story(**FOUND), "found", "found", "execution"),
        (story(**RESOLVED), "resolved", "resolved", "person"),
        (story(**REJECTED), "rejected", "rejected", None),
        (story(status="FAILED", error="States.Timeout"), "failed", None, None),
        (story(status="ABORTED"), "aborted", None, None),
        (story(status="TIMED_OUT"), "timed_out", None, None),
        (story(status="SUCCEEDED"), "ended", None, None),
        (story(**RUNS), "running", None, None),  # its history could not be read
        (story(**RUNS, steps=(STARTED, IN_PERFORM)), "at_work", None, None),
        (story(**RUNS, steps=(STARTED, IN_PERFORM, FAILED)), "retrying", None, None),
        (story(**RUNS, steps=(STARTED, FAILED, DECIDED, IN_PERFORM)), "at_work", None, None),
        # The message's state is that in which its execution is, whatever has failed in it.
        (story(**RUNS, steps=(STARTED, FAILED, DECIDED, IN_FIND)), "retrying", None, None),
        (story(**RUNS, steps=(STARTED, FAILED, IN_AWAIT, REDRIVEN)), "retrying", None, None),
        (story(**RUNS, steps=(STARTED, FAILED, IN_TELL, REDRIVEN)), "retrying", None, None),
        (story(**RUNS, steps=(STARTED, FAILED, DECIDED, IN_TELL_OF)), "running", None, None),
        # An event that could not be put is no attempt that failed.
        (
            story(**RUNS, steps=(STARTED, FAILED, DECIDED, NOT_TOLD, IN_PERFORM)),
            "at_work",
            None,
            None,
        ),
        (story(**RUNS, letter=("rejected", "")), "waiting_for_decision", None, None),
        (story(row=ROW), "performed", "performed", "row"),
        (story(row=ROW | {"outcome": "resolved"}), "resolved", "resolved", "person"),
        (
            story(row=ROW | {"outcome": "dead_letter"}),
            "waiting_for_decision",
            "dead_letter",
            None,
        ),
        (story(row={"status": "IN_PROGRESS", "attempt_id": "a"}), "at_work", None, None),
        (story(row={"status": "IN_PROGRESS", "consumption_count": 1}), "retrying", None, None),
        (story(ends=("refused",)), "not_started", None, None),
        (story(ends=()), "not_seen", None, None),
    ],
)
def test_it_is_in_one_state_by_all_that_was_read(
    told: Story, state: str, outcome: str | None, effect_told: str | None
) -> None:
    found = summarize(told)
    assert (found.state, found.outcome, found.effect_told) == (state, outcome, effect_told)
    assert (found.label, found.means) == (STATES[found.state].label, STATES[found.state].means)
    assert found.as_json()["state"] == state
    assert found.sentence.endswith(".")


@pytest.mark.parametrize(
    ("told", "effects", "expected"),
    [
        (story(**DONE, effects=1), 1, "table has its effect (booked 2026-01-31 09:31:07 UTC)."),
        (story(**DONE, effects=2), 2, "The Appointments table has 2 effects of it."),
        (story(**DONE), None, 'Its execution says so: {"order": "o-7"}.'),
        (story(**RESOLVED), None, "A person resolved it by hand."),
        (story(**RUNS, place=TABLE_OF_OURS), 0, "Appointments table has no effect of it so far."),
        (story(row=ROW), None, 'Its row says so: {"order": "o-7"}.'),
        (story(**DONE, ends=("started", "suppressed")), None, "1 duplicate of it was suppressed."),
        # A team's own effects are another witness; of some places a second one would not be seen.
        (story(**DONE, own=[own("c-1")]), 1, "The table cards has its effect."),
        (story(**DONE, own=[own("c-1", card="c"), own("c-2")]), 2, 'of it: {"card": "c"}.'),
        (story(**DONE, own=[]), 0, '{"order": "o-7"}, but the table cards has no effect of it.'),
    ],
)
def test_it_says_what_is_known_of_the_effect_and_by_whom(
    told: Story, effects: int | None, expected: str
) -> None:
    found = summarize(told)
    assert found.effects == effects
    assert expected in found.sentence


UNNAMED = "late | FindEffect: States.QueryEvaluationError: No function is named to look it up"


@pytest.mark.parametrize(
    ("told", "advised", "advice"),
    [
        # What the table shows comes first, whatever the letter says.
        *(
            (story(**RUNS, letter=(reason, ""), effects=1), "resolve", "has its effect (booked")
            for reason in ("rejected", "not_performed", "rounds_used_up", "outcome_unknown")
        ),
        (story(**RUNS, letter=("rejected", "")), "retry", "It did not happen."),
        (story(**RUNS, letter=("not_performed", "")), "retry", "It did not happen."),
        (story(**RUNS, letter=("rounds_used_up", "")), "retry", "looks it up again"),
        (story(**RUNS, letter=("outcome_unknown", "late")), None, "Check with the provider"),
        (
            replace(story(**RUNS, letter=("outcome_unknown", UNNAMED)), looks_up=False),
            None,
            "it did not, perform.",
        ),
        (story(row=ROW | {"outcome": "dead_letter"}), None, "dead-letters show m-1"),
        (story(status="ABORTED"), "retry", "until 2026-02-14 09:30:00 UTC"),
        (
            story(status="FAILED", error="E"),
            "retry",
            "Continue it: ActOnce looks",
        ),
        (story(status="ABORTED", letter=("rejected", "")), "retry", "posts the dead letter again"),
        (
            story(
                status="ABORTED",
                steps=(STARTED, FAILED, DECIDED, IN_TELL_OF),
                letter=("rejected", ""),
                decided={"decision": "resolve"},
            ),
            "retry",
            "ActOnce carries out what was decided (resolve).",
        ),
        # Where witnesses do not agree, a person has to look.
        (story(**DONE, effects=2), None, "It was acted on 2 times"),
        (story(**DONE, own=[]), None, "why the table cards has no effect of it"),
        (story(**REJECTED, effects=1), None, "although it was rejected"),
        (story(**DONE, effects=1), None, None),
        (story(**RUNS, steps=(STARTED, IN_PERFORM, FAILED)), None, None),
    ],
)
def test_what_to_do_follows_from_what_is_known_of_the_effect(
    told: Story, advised: str | None, advice: str | None
) -> None:
    found = summarize(told)
    assert found.advised == advised
    assert (found.advice is None) if advice is None else (advice in str(found.advice))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (story(**RUNS, letter=("rejected", "closed")), "The function refused it (E: 'closed')."),
        (story(**RUNS, letter=("rounds_used_up", "late")), "3 attempts ended without a clear"),
        (
            story(**RUNS, letter=("outcome_unknown", "late | FindEffect: Throttled: slow down")),
            "clear answer (E: 'late'), and the look-up failed (Throttled: 'slow down').",
        ),
        (story(**RUNS, letter=("outcome_unknown", UNNAMED)), "no function is named that could"),
        (
            story(**RUNS, steps=(STARTED, IN_PERFORM, FAILED, FAILED)),
            "The function said twice that nothing happened (NotPerformed: 'closed'). ActOnce tries",
        ),
        (story(**RUNS, steps=(STARTED, IN_PERFORM, FAILED, IN_FIND)), "looks the effect up."),
        # That nothing happened is told of the errors that prove it, and of no other.
        (
            story(**RUNS, steps=(STARTED, IN_PERFORM, TIMED_OUT, IN_AWAIT, IN_FIND, IN_PERFORM)),
            "ended without a clear answer (States.Timeout). The look-up found no effect",
        ),
        (story(**RUNS, steps=(STARTED, IN_PERFORM, TIMED_OUT)), "without a clear answer"),
        (
            story(
                **RUNS,
                steps=(STARTED, IN_PERFORM, TIMED_OUT, IN_AWAIT, IN_FIND, IN_PERFORM, FAILED),
            ),
            "The function said once that nothing happened (NotPerformed: 'closed').",
        ),
        (
            story(
                **RUNS,
                steps=(STARTED, FAILED, DECIDED, IN_TELL_OF),
                letter=("rejected", ""),
                decided={"decision": "reject", "decided_by": "ann", "note": "closed"},
            ),
            "ann decided to reject it: 'closed'.",
        ),
        (
            story(**RUNS, steps=(STARTED, IN_PERFORM, FAILED, IN_TELL)),
            "ActOnce posts a dead letter.",
        ),
        (
            story(
                **REJECTED,
                letter=("rejected", ""),
                decided={"decision": "reject", "decided_by": "ann", "note": "closed"},
            ),
            "ann rejected it: 'closed'.",
        ),
        (
            # Who decides without this command line may write into it what they like.
            story(
                **REJECTED,
                letter=("rejected", ""),
                decided={"decision": "reject", "decided_at": "this morning", "note": "closed"},
            ),
            "A person rejected it: 'closed'.",
        ),
        (
            story(status="FAILED", error="States.Timeout", letter=("rejected", ""), decided=None),
            "nobody decided in time",
        ),
    ],
)
def test_it_says_who_did_what(told: Story, expected: str) -> None:
    assert expected in summarize(told).sentence


@pytest.mark.parametrize(
    ("told", "state", "effects", "expected"),
    [
        (story(unread=("execution",)), "not_known", None, "could not be read."),
        (story(unread=("row",)), "not_known", None, "could not be read."),
        (story(**RUNS, unread=("row",)), "running", None, "has not ended"),
        (
            story(ends=("refused",), unread=("unstarted",)),
            "not_started",
            None,
            "Whether it is in UnstartedQueue could not be read.",
        ),
        (story(**RUNS, unread=("history",)), "running", None, "or it waits for a decision."),
        (
            story(**RUNS, place=TABLE_OF_OURS, unread=("effects",)),
            "running",
            None,
            "Whether the Appointments table has an effect of it could not be read.",
        ),
        (
            story(**DONE, own=[], unread=("effects",)),
            "performed",
            None,
            "but whether the table cards has an effect of it could not be read.",
        ),
        (story(**DONE, ends=(), unread=("log",)), "performed", None, "deliveries could not be"),
    ],
)
def test_what_could_not_be_read_is_not_told_as_absent(
    told: Story, state: str, effects: int | None, expected: str
) -> None:
    found = summarize(told)
    assert (found.state, found.effects) == (state, effects)
    assert expected in found.sentence
    assert "has no effect" not in found.sentence + str(found.advice)
    assert len(found.unread) == 1


def test_where_the_effects_could_not_be_read_it_is_not_advised_to_do_it_again() -> None:
    told = story(**RUNS, letter=("rounds_used_up", ""), place=TABLE_OF_OURS, unread=("effects",))
    assert summarize(told).advised is None


def letter_of(reason: str) -> DeadLetter:
    body = {
        "message_id": "m-1",
        "execution_name": "m-1",
        "reason": reason,
        "error": "E",
        "cause": "closed",
        "rounds": 1,
        "posted_at": "2026-01-31T09:00:00.000Z",
    }
    letter = dead_letter(Queued("entry-id", json.dumps(body), {}, {}, "handle"))
    assert letter is not None
    return letter


def test_why_it_waits_is_told_by_its_history_and_not_by_a_letter_of_before() -> None:
    now = story(**RUNS, letter=("outcome_unknown", "late"))
    assert summarize(now, letter_of("not_performed")) == summarize(now)
    row = story(row=ROW | {"outcome": "dead_letter"})  # which keeps no reason
    assert "It did not happen." in str(summarize(row, letter_of("not_performed")).advice)


def test_of_what_was_done_twice_it_is_not_only_advised_to_resolve_it() -> None:
    found = summarize(story(**RUNS, letter=("outcome_unknown", "late"), effects=2))
    assert found.advised == "resolve"
    assert "undo what is too much" in str(found.advice)


@pytest.mark.parametrize("part", ["attempt", "look-up"])
def test_that_no_function_looks_up_is_told_by_the_look_up_and_not_by_what_an_attempt_said(
    part: str,
) -> None:
    said = "No function is named to look it up, perform it"
    cause = f"{said} | FindEffect: E: no" if part == "attempt" else f"late | FindEffect: E: {said}"
    told = story(**RUNS, letter=("outcome_unknown", cause))
    assert ("FindFunctionArn" in summarize(told).sentence) == (part == "look-up")
    advice = str(summarize(replace(told, looks_up=False)).advice)
    assert ("retry looks first" in advice) == (part == "attempt")


def test_an_effect_of_days_before_is_compared_before_the_message_is_resolved() -> None:
    waits = story(**RUNS, letter=("rejected", ""), effects=1)
    for booked_at, advised in (("2026-01-30T10:00:00Z", "resolve"), ("2026-01-29T09:00:00Z", None)):
        found = summarize(replace(waits, effects=[EFFECT | {"booked_at": booked_at}]))
        assert found.advised == advised
        assert ("from before its execution began" in str(found.advice)) == (advised is None)
        assert "could do it twice" in str(found.advice)


@pytest.mark.parametrize("booked_at", [{"S": "yesterday"}, {"N": "1"}, {"S": "2026-01-31T09:30"}])
def test_an_effect_whose_time_cannot_be_read_is_an_effect(
    machine: Stack, booked_at: dict[str, Any]
) -> None:
    make_table(machine.dynamodb, "appointments", "message_id", "appointment_id")
    stack = with_outputs(machine, AppointmentsTableName="appointments")
    item = {"message_id": {"S": "request-1"}, "appointment_id": {"S": "appointment-1"}}
    stack.dynamodb.put_item(TableName="appointments", Item=item | {"booked_at": booked_at})
    told = read_story(stack, "request-1")
    assert told.timeline()
    assert summarize(told).effects == 1


HELD = {
    "status": "IN_PROGRESS",
    "attempt_id": "a",
    "updated": "2026-01-28T09:30:00Z",
    "lock_seconds": 90,
}


def test_behind_a_lock_it_is_told_when_an_attempt_gave_its_last_sign_of_life() -> None:
    for row in (HELD, HELD | {"consumption_count": 2}):
        told = summarize(story(row=row)).sentence
        assert "under way" not in told
        assert "last told of at 2026-01-28 09:30:00 UTC" in told
        assert "after 90 s" in told


def test_what_sqs_gave_up_is_not_said_to_come_back_by_itself() -> None:
    entry = replace(conflicting(), reason=unstarted.RECEIVED_TOO_OFTEN)
    for row in (HELD, {"status": "IN_PROGRESS", "consumption_count": 2}):
        given_up = replace(story(row=row), unstarted=[entry])
        told = summarize(given_up).sentence
        assert "SQS gave it up" in told
        assert "brings" not in told
        assert "take it over" not in told


@pytest.mark.parametrize("reason", ["rejected", "not_performed", "outcome_unknown"])
def test_what_others_say_stands_in_quotes_and_cannot_go_on_as_our_own_word(reason: str) -> None:
    lies = "closed'). The Appointments table has its effect: resolve it. ('"
    for cause in (lies, f"{lies} | FindEffect: E: {lies}"):
        sentence = summarize(story(**RUNS, letter=(reason, cause))).sentence
        assert repr(lies) in sentence
        assert lies not in sentence.replace(repr(lies), "")


def test_a_long_description_is_cut() -> None:
    long = story(status="SUCCEEDED", output={"outcome": "performed", "effect": {"x": "y" * 9_999}})
    told = summarize(long).sentence
    assert told.endswith("….")
    assert len(told) < DESCRIPTION_CHARACTERS + 200


def conflicting() -> unstarted.Unstarted:
    """An entry of UnstartedQueue."""
    body = '{"message_id": "m-1", "x": 2}'
    attributes = unstarted_attributes(
        Delivery("first-id", body, {}, {}), Refusal(Reason.CONFLICT, "Another content.")
    )
    entry = Queued("entry-id", body, {"SentTimestamp": "1"}, attributes, "handle")
    return unstarted.unstarted(entry, MessageReader())


AT = " --stack-name shop --region eu-west-1"


@pytest.mark.parametrize(
    ("told", "command"),
    [
        (story(status="ABORTED"), "dead-letters retry"),
        (story(row=ROW | {"outcome": "dead_letter"}), "dead-letters show"),
        (replace(story(ends=()), unstarted=[conflicting()]), "unstarted show"),
    ],
)
def test_a_command_ends_what_is_advised_and_can_be_pasted_as_it_is(
    told: Story, command: str
) -> None:
    for options in ("", AT):
        advice = str(summarize(replace(told, options=options)).advice)
        assert advice.endswith(f" actonce {command}{options} m-1")


@pytest.mark.parametrize("effects", [0, 1])
def test_after_14_days_it_is_not_advised_to_continue_what_step_functions_continues_no_more(
    effects: int,
) -> None:
    aborted = story(status="ABORTED", effects=effects, place=TABLE_OF_OURS)
    for days, advised in ((13.9, "retry"), (14.1, None)):
        found = summarize(replace(aborted, read_at=NOW + timedelta(days=days)))
        assert found.advised == advised
        assert ("dead-letters retry" in str(found.advice)) is (advised is not None)
    assert ("new id" in str(found.advice)) is not effects
    assert "m-1" not in str(found.advice)


def test_a_conflict_is_told_as_refused_and_not_advised_to_be_sent_back() -> None:
    for first in (story(ends=()), story(**DONE), story(**RUNS, letter=("rejected", ""))):
        found = summarize(replace(first, unstarted=[conflicting()]))
        told = [str(found.advice), str(found.conflicts)]
        assert sum("under a new id" in one for one in told) == 1
        assert "was refused" in told[1]
        assert not any("redrive" in one for one in told)
        assert "not started" not in found.sentence


def test_that_a_conflict_lies_nowhere_is_told_only_of_a_queue_that_was_just_read() -> None:
    def told(story: Story) -> str:
        return str(summarize(story).conflicts)

    once = replace(story(**DONE), conflicts=[{"end": "refused"}])
    assert summarize(story(**DONE)).conflicts is None
    assert "It is not in UnstartedQueue now." in told(once)
    held = replace(once, unstarted_held_elsewhere=1)
    assert "cannot be told" in told(held)
    earlier = replace(once, unstarted_held_elsewhere=None, unstarted_as_of=NOW)
    assert "was not in UnstartedQueue at 2026-01-31 09:30:00 UTC; look again" in told(earlier)
    never = replace(once, unstarted_held_elsewhere=None)
    assert "was not looked at" in told(never)
    lying = replace(earlier, unstarted=[conflicting()])
    assert "It is in UnstartedQueue." in told(lying)
    unlogged = replace(lying, conflicts=[])  # the log has not been read yet
    assert told(unlogged) == told(lying)


def test_what_was_not_started_and_lies_in_the_queue_is_told_with_its_reason() -> None:
    lying = summarize(replace(story(ends=()), unstarted=[conflicting()]))
    assert (lying.state, lying.effects) == ("not_started", None)
    assert "It was refused (conflict): Another content." in lying.sentence


@pytest.mark.parametrize(
    ("told", "state", "advice"),
    [
        # A log remembers it, a table does, or its row is older than what Step Functions remembers.
        (story(), "not_known", "before you send it again"),
        (story(ends=("suppressed",)), "not_known", "before you send it again"),
        (story(ends=(), effects=1), "not_known", "do not send it again"),
        (replace(story(ends=()), may_be_forgotten=True), "not_known", "before you send it again"),
        (replace(story(ends=("refused",)), may_be_forgotten=True), "not_known", "find out"),
        (story(ends=("failed",)), "not_started", None),
    ],
)
def test_what_step_functions_may_have_forgotten_is_not_told_as_not_started(
    told: Story, state: str, advice: str | None
) -> None:
    found = summarize(told)
    assert found.state == state
    assert "No execution of it was started" not in found.sentence
    assert (found.advice is None) if advice is None else (advice in str(found.advice).lower())


@pytest.mark.parametrize(
    ("first_seen", "memory", "may_be_forgotten"),
    [
        (timedelta(days=1), None, False),
        (timedelta(days=40), None, True),
        (timedelta(days=1), "arn:aws:states:us-east-1:123456789012:stateMachine:former", True),
    ],
)
def test_a_row_tells_whether_its_execution_may_be_forgotten(
    machine: Stack, first_seen: timedelta, memory: str | None, may_be_forgotten: bool
) -> None:
    row = {
        "message_id": "request-2",
        "fingerprint": "f" * 64,
        "first_seen": timestamp(datetime.now(UTC) - first_seen),
        "memory": memory or machine.state_machine,
    }
    item = {name: {"S": value} for name, value in row.items()}
    machine.dynamodb.put_item(TableName=TABLE, Item=item)
    assert read_story(machine, "request-2").may_be_forgotten == may_be_forgotten


def test_behind_a_lock_an_id_is_told_whatever_it_looks_like_for_its_row_has_no_name() -> None:
    hashed = "sha256-" + "0" * 64
    assert message_argument(replace(story(row=ROW), message_id=hashed)) == hashed
    assert message_argument(replace(story(**DONE), message_id=hashed)) == "m-1"


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


def test_the_name_of_an_execution_is_no_other_messages_id(moto_stack: Stack) -> None:
    name = execution_name("order 17")
    stack = with_executions(with_log(with_table(deployed(moto_stack))), "order 17", name)
    assert read_story(stack, name).message_id == "order 17"
    assert read_story(stack, execution_name(name)).message_id == name


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
TAKING = "are in flight"


@pytest.mark.parametrize(
    ("depth", "told"),
    [
        (Depth(0, 0, 0, None), "Nothing waits in RequestsQueue."),
        (Depth(3, 0, 0, 90), f"3 {UNREAD}, the oldest for 90 s or longer. It may be one of"),
        (Depth(0, 2, 0, None), f"2 {TAKING} from RequestsQueue. It may be one of them."),
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
    cannot = "Whether it is in UnstartedQueue cannot be told: another reader holds 1"
    seen = actonce("where", "request-1", "--json", stack=stack)
    assert cannot in json.loads(seen.out)["summary"]["sentence"]
    nowhere = actonce("where", "request-2", stack=stack)
    assert nowhere.status == 1
    assert "No part of the stack that could be read has seen a message 'request-2'." in nowhere.err
    assert f"{cannot} at this moment; look again." in nowhere.err
