import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.histories.dead_letters import dead_letter_records
from tests.support.histories import Kind, answered, history_of, posted, started


def lines_of(*kinds: Kind) -> list[dict[str, Any]]:
    return dead_letter_records("m-1", history_of(*kinds))


def test_a_dead_letter_that_waits_is_posted_and_not_decided() -> None:
    assert lines_of(started(), posted()) == [
        {
            "stream": "dead_letters",
            "version": 1,
            "at": "2026-01-31T23:59:59.000Z",
            "message_id": "m-1",
            "execution_name": "m-1",
            "event": "posted",
            "reason": "rounds_used_up",
            "error": "States.Timeout",
            "decision": None,
            "note": None,
            "decided_by": None,
        }
    ]


@pytest.mark.parametrize("decision", ["retry", "perform", "resolve", "reject"])
def test_a_decision_is_a_line_at_its_own_time(decision: str) -> None:
    lines = lines_of(started(), posted(), *answered(decision, "By telephone."))

    assert [line["event"] for line in lines] == ["posted", "decided"]
    assert lines[1] | {"decision": None, "note": None, "decided_by": None} == lines[0] | {
        "event": "decided",
        "at": "2026-02-01T00:00:01.000Z",
    }
    assert lines[1]["decision"] == decision
    assert lines[1]["note"] == "By telephone."
    assert lines[1]["decided_by"] == "arn:aws:iam::1:user/ann"


def test_an_answer_that_is_no_decision_is_only_posted_again() -> None:
    lines = lines_of(started(), posted(), *answered("perhaps"), posted())

    assert [line["event"] for line in lines] == ["posted", "posted"]


def test_one_that_nobody_answered_is_not_decided_and_posted_again_by_a_redrive() -> None:
    lines = lines_of(
        started(),
        posted(),
        ("ExecutionFailed", {"error": "States.Timeout"}),
        ("ExecutionRedriven", {}),
        *answered("resolve"),
    )

    assert [line["event"] for line in lines] == ["posted", "posted", "decided"]


def test_one_that_was_rejected_is_not_posted_again_by_a_redrive() -> None:
    lines = lines_of(
        started(),
        posted(),
        *answered("reject"),
        ("ExecutionFailed", {"error": "RejectedByOperator"}),
        ("ExecutionRedriven", {}),
        ("ExecutionFailed", {"error": "RejectedByOperator"}),
    )

    assert [line["event"] for line in lines] == ["posted", "decided"]


@given(st.lists(st.sampled_from(["retry", "perform", "resolve", "reject", "perhaps"]), max_size=6))
def test_every_decision_follows_its_post_and_none_is_lost(decisions: list[str]) -> None:
    kinds = itertools.chain.from_iterable((posted(), *answered(one)) for one in decisions)
    lines = lines_of(started(), *kinds)

    real = [one for one in decisions if one != "perhaps"]
    assert [line["decision"] for line in lines if line["event"] == "decided"] == real
    assert sum(line["event"] == "posted" for line in lines) == len(decisions)
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
