"""What became of a message is told in words, and never more than was recorded."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.console.durations import duration
from actonce.console.in_words import in_words
from actonce.messages.history import Execution, Step, steps
from actonce.messages.story import Story
from actonce_core.histories.dead_letters import Stay, dead_letter_stays
from docs import draw_state_machine as drawing
from tests.hostile import HOSTILE, forbidden
from tests.support import histories

START = histories.START
NAME = "m-1"
DEFINITION = json.loads(drawing.DEFINITION.read_text())
UNCLEAR = "it may or may not have happened"


def story_of(
    *told: Step,
    stays: Sequence[Stay] = (),
    row: dict[str, Any] | None = None,
    status: str | None = None,
    **more: Any,
) -> Story:
    execution = Execution("arn", NAME, status, START, None, None, None, {}, {}) if status else None
    return Story(
        message_id=NAME,
        execution_name=NAME,
        deliveries=more.get("deliveries", []),
        fingerprint=more.get("fingerprint"),
        row=row,
        execution=execution,
        steps=list(told),
        dead_letters=list(stays),
        effects=[],
        unstarted=more.get("unstarted", []),
    )


class Path:
    """Steps of a way, one after the other."""

    def __init__(self) -> None:
        self.now = START
        self.steps = [Step(START, "", "started")]
        self.stays: list[Stay] = []
        self._state = ""

    def to(self, state: str, reason: str | None = None) -> "Path":
        if state == "DeadLetter":
            self.stays.append(Stay(self.now, {"reason": reason} if reason else {}))
        self._state = state
        return self._add("entered", {})

    def error(self, name: str, cause: str = "") -> "Path":
        return self._add("error", {"error": name} | ({"cause": cause} if cause else {}))

    def looked_up(self, performed: Any) -> "Path":
        return self._add("looked_up", {"performed": performed})

    def decided(self, decision: str, note: str = "", by: str | None = None) -> "Path":
        who = {"decided_by": by} if by else {}
        return self._add("decision", {"decision": decision, "note": note} | who)

    def attempt(self, number: int) -> "Path":
        return self._add("attempt", {"number": number})

    def ended(self, status: str, **detail: str) -> "Path":
        self.steps.append(Step(self.now, "", "ended", {"status": status, **detail}))
        return self

    def redriven(self) -> "Path":
        self.steps.append(Step(self.now, "", "redriven"))
        return self

    def after(self, seconds: float) -> "Path":
        self.now += timedelta(seconds=seconds)
        return self

    def _add(self, what: str, detail: dict[str, Any]) -> "Path":
        self.steps.append(Step(self.now, self._state, what, detail))
        return self

    def told(self) -> list[str]:
        return in_words(story_of(*self.steps, stays=self.stays, status="RUNNING"))


def unknown() -> Path:
    return Path().to("PerformEffect").after(20).error("States.Timeout").to("AwaitStraggler")


def looked_up(performed: Any) -> Path:
    found = unknown().after(45).to("FindEffect").after(1).looked_up(performed)
    return found.to("Performed?")


def evaluation(field: str) -> str:
    """The cause of a failed expression: the expression itself is in it, with what it says."""
    perform = DEFINITION["States"]["PerformEffect"]
    expression = (
        perform["Output"]["effect"]
        if field == "Output/effect"
        else perform["Arguments"]["Payload"]["operation"]
    )
    return f"The JSONata expression '{expression}' specified for the field '{field}' threw."


NOT_ASKED_FOR = evaluation("Arguments/Payload/operation")
QUERY = "States.QueryEvaluationError"


def test_what_goes_well_is_one_sentence() -> None:
    assert Path().to("PerformEffect").after(0.4).ended("SUCCEEDED").told() == [
        "It was asked for, and was performed in 0.4 s."
    ]


def test_an_unknown_outcome_that_had_not_happened_is_performed_again() -> None:
    assert looked_up(performed=False).to("PerformEffect").after(1).ended("SUCCEEDED").told() == [
        "It was asked for, and timed out after 20 s: it may or may not have happened.",
        "It waited 45 s, so that nothing begun before can still act.",
        "Then it was looked up: it had not happened.",
        "So it was asked for again (round 2), and was performed in 1 s.",
    ]


def test_an_unknown_outcome_that_had_happened_is_not_performed_again() -> None:
    path = looked_up(performed=True).to("Done").ended("SUCCEEDED", outcome="found")
    assert path.told()[2:] == [
        "Then it was looked up: it had happened.",
        "So it was not performed again.",
    ]


@pytest.mark.parametrize("answer", ["true", 1, 0, None, {"performed": True}])
def test_an_answer_that_is_neither_yes_nor_no_is_no_answer(answer: Any) -> None:
    path = looked_up(answer).to("DeadLetter", "outcome_unknown")
    assert path.told()[2:] == [
        "Then it was looked up, without a clear answer.",
        "It became a dead letter, for a person to decide: whether it happened cannot be found out.",
        "It waits for a decision.",
    ]


def test_another_error_is_told_with_its_cause() -> None:
    cause = json.dumps({"errorMessage": "no memory left", "stackTrace": ["a", "b"]})
    path = Path().to("PerformEffect").after(3).error("Runtime.ExitError", cause)
    assert path.to("AwaitStraggler").told() == [
        (
            "It was asked for, and failed after 3 s (Runtime.ExitError: no memory left): it may or "
            "may not have happened."
        ),
        "It waits now, until nothing begun before can still act; then it is looked up.",
    ]


def test_a_provider_that_is_waited_for() -> None:
    path = Path().to("PerformEffect").error("NotPerformed", "closed.")
    assert path.told() == [
        "It was asked for, and was certainly not performed: closed.",
        "It waits now, to be asked for again.",
    ]
    assert path.after(8).attempt(2).told() == [
        "It was asked for in 2 attempts, and has not answered yet."
    ]
    assert path.after(1).ended("SUCCEEDED").told() == [
        "It was asked for in 2 attempts, and was performed in 9 s."
    ]


def test_a_provider_that_is_waited_for_until_the_attempts_are_used_up() -> None:
    path = Path().to("PerformEffect").error("NotPerformed", "full")
    for number in range(2, 26):
        path.after(240).attempt(number).error("NotPerformed", "closed")
    path.to("DeadLetter", "not_performed").after(7_200).decided("retry", "open again", "ann")
    assert path.to("Decision").to("PerformEffect").after(1).ended("SUCCEEDED").told() == [
        "It was asked for in 25 attempts, and was certainly not performed: closed.",
        (
            "It became a dead letter, for a person to decide: it was not performed, however often "
            "it was asked for."
        ),
        "After 2 h ann decided: retry, “open again”.",
        "So it was asked for again, and was performed in 1 s.",
    ]


@pytest.mark.parametrize("is_answered", [False, True])
def test_aborted_while_it_waits_or_is_asked_again(is_answered: bool) -> None:
    path = Path().to("PerformEffect").error("NotPerformed", "closed").after(8).attempt(2)
    told = (path.error("NotPerformed", "shut") if is_answered else path).ended("ABORTED").told()
    assert (UNCLEAR in told[0]) is not is_answered
    assert ("certainly not performed: shut" in told[0]) is is_answered


def test_throttling_by_lambda_is_told_by_its_name() -> None:
    path = Path().to("PerformEffect").error("Lambda.TooManyRequestsException", "Rate exceeded.")
    assert path.told()[0] == (
        "It was asked for, and was certainly not performed: Lambda.TooManyRequestsException: Rate "
        "exceeded."
    )


def test_what_was_rejected_and_what_a_person_then_said() -> None:
    path = Path().to("PerformEffect").error("Rejected", "no such practice")
    path.to("DeadLetter", "rejected").after(90_000).decided("reject", "a typing error")
    path.to("Decision").to("Failed").ended("FAILED", error="RejectedByOperator")
    assert path.told() == [
        "It was asked for, and was rejected: no such practice.",
        "It became a dead letter, for a person to decide: it was rejected.",
        "After 25 h it was decided: reject, “a typing error”.",
        "So it is over, and is not asked for again.",
    ]


def test_no_clear_answer_is_an_unknown_outcome() -> None:
    path = Path().to("PerformEffect").error(QUERY, evaluation("Output/effect"))
    told = path.to("AwaitStraggler").told()[0]
    assert told.startswith("It was asked for, and failed after 0 s (States.QueryEvaluationError")
    assert told.endswith("it may or may not have happened.")


def test_rounds_that_are_used_up() -> None:
    path = looked_up(performed=False)
    path.to("PerformEffect").error("SomethingNew").to("AwaitStraggler").to("FindEffect")
    path.looked_up(performed=False).to("Performed?").to("DeadLetter", "rounds_used_up")
    assert path.told()[-4:] == [
        "Then it was looked up: it had not happened.",
        "It had been asked for in 2 rounds, as often as it may be.",
        (
            "It became a dead letter, for a person to decide: it has been asked for as often as it "
            "may be."
        ),
        "It waits for a decision.",
    ]
    path.decided("retry").to("Decision").to("FindEffect").looked_up(performed=False)
    assert path.to("Performed?").to("PerformEffect").told()[-3:] == [
        "After 0 s it was decided: retry.",
        "So it was looked up: it had not happened.",
        "So it was asked for again (round 2), and has not answered yet.",
    ]


def test_what_cannot_be_looked_up() -> None:
    path = unknown().after(45).to("FindEffect").error("ProvisionedThroughputExceeded", "later")
    assert path.told()[2:] == [
        "Then it was to be looked up, which failed: ProvisionedThroughputExceeded: later.",
        "It waits now, to be looked up again.",
    ]
    path.after(10).attempt(2)
    assert path.told()[2:] == ["Then it was to be looked up, and there is no answer yet."]
    path.error("States.Timeout").to("DeadLetter", "outcome_unknown")
    path.decided("resolve", "seen in the book", "ann")
    assert path.to("Decision").to("Done").ended("SUCCEEDED", outcome="resolved").told()[2:] == [
        "Then it was to be looked up, which failed in 2 attempts: States.Timeout.",
        "It became a dead letter, for a person to decide: whether it happened cannot be found out.",
        "After 0 s ann decided: resolve, “seen in the book”.",
        "So it is done, by the word of whoever resolved it.",
    ]


def test_where_nothing_can_look_it_up_a_person_does() -> None:
    expression = DEFINITION["States"]["FindEffect"]["Arguments"]["FunctionName"]
    path = unknown().after(45).to("FindEffect")
    path.error(QUERY, f"The JSONata expression '{expression}' threw.").to("DeadLetter")
    assert path.told()[2] == (
        "Nothing can look it up: the stack names no function for it (FindFunctionArn)."
    )
    path.decided("perform", "nothing in the journal", "ann").to("Decision").to("PerformEffect")
    assert path.ended("SUCCEEDED", outcome="performed").told()[-2:] == [
        "After 0 s ann decided: perform, “nothing in the journal”.",
        "So it was asked for again, and was performed in 0 s.",
    ]


def test_an_aborted_execution_leaves_open_what_it_had_not_found_out() -> None:
    aborted = unknown().after(3).ended("ABORTED")
    assert aborted.told() == [
        "It was asked for, and timed out after 20 s: it may or may not have happened.",
        "It waited 3 s for what had begun before.",
        "The execution was aborted in AwaitStraggler.",
        "Whether it happened was not found out.",
    ]
    early = Path().to("PerformEffect").after(2).ended("ABORTED", cause="by hand")
    assert early.told() == [
        (
            "It was asked for, and after 2 s the execution ended before there was an answer: it "
            "may or may not have happened."
        ),
        "The execution was aborted in PerformEffect: by hand.",
        "Whether it happened was not found out.",
    ]
    known = looked_up(performed=False).ended("ABORTED")
    assert known.told()[-1] == "The execution was aborted in Performed?."


def test_a_redriven_execution_looks_first() -> None:
    path = Path().to("PerformEffect").after(2).ended("ABORTED").after(3_600).redriven()
    assert path.told()[-2:] == [
        "After 60 min the execution was redriven, and went on in PerformEffect.",
        "It has not gone on from there yet.",
    ]
    path.error(QUERY, NOT_ASKED_FOR).to("AwaitStraggler").after(45)
    path.to("FindEffect").looked_up(performed=True).to("Performed?").to("Done").ended("SUCCEEDED")
    assert path.told()[-5:] == [
        "After 60 min the execution was redriven, and went on in PerformEffect.",
        "It was not asked for: redriven, the execution looks first.",
        "It waited 45 s, so that nothing begun before can still act.",
        "Then it was looked up: it had happened.",
        "So it was not performed again.",
    ]


def test_a_dead_letter_that_nobody_decided_and_that_is_redriven() -> None:
    path = Path().to("PerformEffect").error("Rejected", "no").to("DeadLetter", "rejected")
    path.after(14 * 86_400).error("States.Timeout").ended("FAILED", error="States.Timeout")
    path.after(60).redriven()
    path.stays.append(Stay(path.now, {"reason": "rejected"}))
    assert path.told()[1:] == [
        "It became a dead letter, for a person to decide: it was rejected.",
        "Nobody decided within 14 d.",
        "The execution failed in DeadLetter: States.Timeout.",
        "After 60 s the execution was redriven, and went on in DeadLetter.",
        "The dead letter was posted again, for a person to decide.",
        "It waits for a decision.",
    ]


def test_a_dead_letter_that_could_not_be_posted_at_once() -> None:
    path = Path().to("PerformEffect").error("Rejected", "no").to("DeadLetter", "rejected")
    assert path.error("SQS.SqsException", "later").told()[-1] == (
        "It could not be posted so far: SQS.SqsException: later."
    )
    assert path.attempt(2).told()[-2:] == [
        "It was posted in 2 attempts.",
        "It waits for a decision.",
    ]


def test_an_answer_that_is_no_decision_decides_nothing() -> None:
    path = Path().to("PerformEffect").error("Rejected", "no").to("DeadLetter", "rejected")
    path.after(5).decided("perhaps", "who knows").to("Decision").to("DeadLetter", "rejected")
    assert path.told()[2:] == [
        "After 5 s an answer came that is none of the decisions, “who knows”.",
        "That decides nothing.",
        "The dead letter was posted again, for a person to decide.",
        "It waits for a decision.",
    ]


def test_another_version_s_machine_is_told_by_the_names_of_its_states() -> None:
    path = Path().to("Prepare").after(5).to("PerformEffect").error("NotPerformed", "closed")
    path.attempt(2).error("NotPerformed", "shut").to("DeadLetter", "not_performed")
    assert path.told()[:2] == [
        "It was in Prepare, for 5 s.",
        "It was asked for in 2 attempts, and was certainly not performed: shut.",
    ]
    assert Path().to("Prepare").ended("SUCCEEDED", outcome="prepared").told() == [
        "It was in Prepare, for 0 s.",
        "The execution ended: prepared.",
    ]


def test_a_history_as_step_functions_writes_it() -> None:
    events = histories.history_of(
        histories.started(),
        ("TaskStateEntered", {"name": "PerformEffect"}),
        ("TaskTimedOut", {"error": "States.Timeout", "cause": "It took too long."}),
        histories.posted(),
        *histories.answered("retry", "again"),
        ("ChoiceStateEntered", {"name": "Decision"}),
        ("TaskStateEntered", {"name": "FindEffect"}),
        ("TaskStateExited", {"name": "FindEffect", "output": '{"performed": true}'}),
        ("ChoiceStateEntered", {"name": "Performed?"}),
        ("SucceedStateEntered", {"name": "Done"}),
        histories.succeeded("found"),
    )
    assert in_words(story_of(*steps(events), stays=dead_letter_stays(events))) == [
        "It was asked for, and timed out after 2 s: it may or may not have happened.",
        (
            "It became a dead letter, for a person to decide: it has been asked for as often as it "
            "may be."
        ),
        "After 3 s arn:aws:iam::1:user/ann decided: retry, “again”.",
        "So it was looked up: it had happened.",
        "So it was not performed again.",
    ]


# ---------------------------------------------------- every way of the definition

EDGES = list(dict.fromkeys(drawing.edges(DEFINITION)))


def shortest_way_to(state: str) -> list[str]:
    ways = [[DEFINITION["StartAt"]]]
    for way in ways:
        if way[-1] == state:
            return way
        ways += [
            [*way, target] for source, target in EDGES if source == way[-1] and target != source
        ]
    raise AssertionError(state)


def ways() -> Iterator[list[str]]:
    """Ways that together have every two edges that can follow each other."""
    for source, target in EDGES:
        way = shortest_way_to(source)
        follows = [end for begin, end in EDGES if begin == target]
        yield from ([*way, target, end] for end in follows) if follows else [[*way, target]]


def walked(way: Sequence[str]) -> Path:
    """A way with what its states would have recorded."""
    path = Path()
    for number, state in enumerate(way):
        following = way[number + 1] if number + 1 < len(way) else ""
        if state == "End":
            return path.ended("SUCCEEDED", outcome="performed")
        if state == "DeadLetter" and way[number - 1] == "DeadLetter":
            path.error("SQS.SqsException", "later").attempt(2)
        elif number and way[number - 1] == state:
            path.attempt(2)
        else:
            path.to(state, "outcome_unknown")
        path.after(3)
        if state == "PerformEffect":
            error = {
                "DeadLetter": ("Rejected", "no"),
                "AwaitStraggler": ("States.Timeout", ""),
                "PerformEffect": ("NotPerformed", "closed"),
            }
            path.error(*error[following]) if following in error else None
        elif state == "FindEffect" and following:
            yes = way[number + 2 : number + 3] == ["Done"]
            path.looked_up(yes) if following == "Performed?" else path.error("Some.Error", "lost")
        elif state == "DeadLetter" and following == "Decision":
            decision = {"Done": "resolve", "Failed": "reject", "DeadLetter": "none"}
            path.decided(decision.get((way[number + 2 : number + 3] or ["x"])[0], "retry"))
        elif state in ("Done", "Failed"):
            path.ended("SUCCEEDED" if state == "Done" else "FAILED")
    return path


def check(told: list[str], way: Sequence[str], status: str | None) -> None:
    text = " ".join(told)
    pairs = set(itertools.pairwise(way))
    assert told
    for sentence in told:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "None" not in sentence
        assert "  " not in sentence
    assert len(set(told)) >= len(told) - 2  # a round may be told as the one before

    def is_told_when(words: str, *, it_was_so: bool) -> None:
        assert (words in text) == it_was_so, (words, told)

    asked_last = way[-1] == "PerformEffect"
    straggles = ("PerformEffect", "AwaitStraggler") in pairs
    is_told_when(UNCLEAR, it_was_so=straggles or (status == "ABORTED" and asked_last))
    rejected = ("PerformEffect", "DeadLetter") in pairs
    is_told_when("and was rejected: no", it_was_so=rejected)
    is_told_when("was performed in", it_was_so=way[-1] == "End")
    is_told_when("it had happened", it_was_so=("Performed?", "Done") in pairs)
    is_told_when("So it was not performed again", it_was_so=("Performed?", "Done") in pairs)
    is_told_when("waits for a decision", it_was_so=status is None and way[-1] == "DeadLetter")
    is_told_when("and is not asked for again", it_was_so="Failed" in way)
    is_told_when("by the word of whoever resolved it", it_was_so=("Decision", "Done") in pairs)
    is_told_when("That decides nothing", it_was_so=("Decision", "DeadLetter") in pairs)
    is_told_when("aborted", it_was_so=status == "ABORTED")
    is_told_when("has not answered yet", it_was_so=status is None and asked_last)
    waits = way[-1] == "AwaitStraggler"
    is_told_when("It waits now", it_was_so=status is None and waits)


@pytest.mark.parametrize("way", list(ways()), ids=" ".join)
def test_each_way_of_the_definition_is_told_as_it_was(way: list[str]) -> None:
    is_over = way[-1] in ("End", "Done", "Failed")
    check(walked(way).told(), way, "over" if is_over else None)
    if not is_over:
        check(walked(way).ended("ABORTED").told(), way, "ABORTED")


def test_the_ways_have_every_edge() -> None:
    taken = {edge for way in ways() for edge in itertools.pairwise(way)}
    assert taken == set(EDGES)


# ------------------------------------------------------------------------- rows

ROW: dict[str, Any] = {
    "message_id": NAME,
    "status": "IN_PROGRESS",
    "consumption_count": 2,
    "attempt_id": "a",
    "lock_seconds": 60,
    "updated": "2026-01-31T09:30:00.000Z",
    "memory": "ledger",
}
FREE: dict[str, Any] = {name: value for name, value in ROW.items() if name != "attempt_id"}
COMPLETE: dict[str, Any] = ROW | {"status": "COMPLETE"}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (COMPLETE | {"outcome": "performed"}, ["It was performed.", "Its row counts 2 attempts."]),
        (
            COMPLETE | {"outcome": "found", "consumption_count": 1},
            [
                (
                    "An attempt ended without a word, so that it was not known whether it had "
                    "happened. A later one looked it up: it had happened, and was not performed "
                    "again."
                ),
                "Its row counts 1 attempt.",
            ],
        ),
        (
            COMPLETE | {"outcome": "dead_letter"},
            ["It is a dead letter, and waits for a decision.", "Its row counts 2 attempts."],
        ),
        (
            COMPLETE | {"outcome": "resolved", "note": "by phone"},
            [
                "A person resolved it: it is done, by that word.",
                "Its row counts 2 attempts.",
                "The note of the decision: “by phone”.",
            ],
        ),
        (
            COMPLETE | {"outcome": "rejected"},
            [
                "A person rejected it: it is over, and is not asked for again.",
                "Its row counts 2 attempts.",
            ],
        ),
        (COMPLETE | {"outcome": "new"}, ["It is complete: new.", "Its row counts 2 attempts."]),
        (
            ROW,
            [
                (
                    "Attempt 2 has it, or ended without a word: it may or may not have happened. A "
                    "later delivery takes it over once nothing can be at work any more, and looks "
                    "it up first."
                )
            ],
        ),
        (
            FREE | {"given_back": 2},
            [
                "It was given back: nothing happened, and its next delivery begins anew.",
                "It was given back 2 times: nothing had happened, or it could not be looked up.",
            ],
        ),
        (
            FREE | {"outcome_unknown": True, "given_back": 1},
            [
                (
                    "Its last attempt is over, and it may or may not have happened: its next "
                    "delivery looks it up first."
                ),
                "It was given back once: nothing had happened, or it could not be looked up.",
            ],
        ),
    ],
    ids=lambda value: value[0][:20] if isinstance(value, list) else None,
)
def test_a_row_is_told_as_far_as_it_says(row: dict[str, Any], told: list[str]) -> None:
    assert in_words(story_of(row=row)) == told


def test_what_has_neither_is_told_from_what_there_is() -> None:
    assert in_words(story_of()) == [
        "No record tells what became of it: there is neither an execution nor a row of it."
    ]
    assert in_words(story_of(deliveries=[{"end": "refused"}])) == [
        "It was delivered, and there is neither an execution nor a row of it."
    ]
    seen = {"fingerprint": "f", "first_seen": "2026-01-31T09:30:00.000Z"}
    assert in_words(story_of(fingerprint=seen))[0].startswith(
        "It was first seen at 2026-01-31T09:30:00.000Z, and there is no execution of it"
    )
    assert in_words(story_of(status="RUNNING")) == [
        "Its execution is RUNNING; its history tells nothing of it."
    ]
    assert in_words(story_of(Step(START, "", "started"), status="RUNNING")) == ["It was begun."]


def test_what_others_wrote_is_text() -> None:
    path = Path().to("PerformEffect").error(HOSTILE, HOSTILE).to("AwaitStraggler").to(HOSTILE)
    path.to("DeadLetter", HOSTILE).decided("retry", HOSTILE, HOSTILE).to("Decision")
    for sentence in path.told():
        assert forbidden(sentence) == set()
    for sentence in in_words(story_of(row=ROW | {"note": HOSTILE})):
        assert forbidden(sentence) == set()


def test_a_message_with_a_name_of_an_expression_s_signs_is_told() -> None:
    name = "(a+"
    told = (
        Path().to("PerformEffect").error("E", f"{name} at x was rejected: y").to("AwaitStraggler")
    )
    story = replace(story_of(*told.steps), execution_name=name)
    assert UNCLEAR in in_words(story)[0]


STATES = st.sampled_from([*DEFINITION["States"], "Another"])


@given(
    st.lists(
        st.tuples(
            STATES,
            st.sampled_from(
                ["entered", "error", "attempt", "looked_up", "decision", "ended", "redriven"]
            ),
        ),
        max_size=30,
    )
)
@example([("PerformEffect", "entered")])
def test_whatever_was_recorded_is_told(recorded: list[tuple[str, str]]) -> None:
    details: dict[str, dict[str, Any]] = {
        "error": {"error": "E"},
        "attempt": {"number": 2},
        "looked_up": {"performed": False},
        "decision": {"decision": "retry", "note": ""},
        "ended": {"status": "FAILED"},
    }
    found = [Step(START, "", "started")]
    found += [Step(START, state, what, details.get(what, {})) for state, what in recorded]
    told = in_words(story_of(*found, status="RUNNING"))
    assert told
    assert all(sentence.endswith(".") for sentence in told)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((-3, "0 s"), (0, "0 s"), (0.04, "0 s"), (0.35, "0.3 s"), (2, "2 s"), (9.94, "9.9 s")),
        *((9.96, "10 s"), (119.4, "119 s"), (120, "2 min"), (725, "12 min 5 s")),
        *((7_199, "119 min 59 s"), (7_200, "2 h"), (90_000, "25 h"), (1_209_600, "14 d")),
        *((1_300_000, "15 d 1 h"),),
    ],
)
def test_a_duration_is_told_as_a_person_says_it(seconds: float, words: str) -> None:
    assert duration(timedelta(seconds=seconds)) == words
