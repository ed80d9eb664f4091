"""The lines of a history's dead letters: one per post, and one per decision at its own time."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.histories.dead_letters import dead_letter_records
from tests.support.histories import Kind, answered, history_of, posted, started

REDRIVEN: Kind = ("ExecutionRedriven", {})


def failed(error: str) -> Kind:
    return "ExecutionFailed", {"error": error}


def lines_of(*kinds: Kind) -> list[dict[str, Any]]:
    return dead_letter_records("m-1", history_of(started(), *kinds))


def test_a_dead_letter_is_a_line_and_so_is_its_decision_at_its_own_time() -> None:
    post = {
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
    decision = {
        "event": "decided",
        "at": "2026-02-01T00:00:01.000Z",
        "decision": "resolve",
        "note": "By telephone.",
        "decided_by": "arn:aws:iam::1:user/ann",
    }
    assert lines_of(posted()) == [post]
    assert lines_of(posted(), *answered("resolve", "By telephone.")) == [post, post | decision]


@pytest.mark.parametrize(
    ("kinds", "events"),
    [
        # Nobody answered it, so a redrive posts it again.
        (
            [posted(), failed("States.Timeout"), REDRIVEN, *answered("resolve")],
            ["posted", "posted", "decided"],
        ),
        # It was rejected, so a redrive only fails again.
        (
            [
                *(posted(), *answered("reject"), failed("RejectedByOperator")),
                *(REDRIVEN, failed("RejectedByOperator")),
            ],
            ["posted", "decided"],
        ),
    ],
)
def test_a_redrive_posts_again_what_nobody_answered(kinds: list[Kind], events: list[str]) -> None:
    assert [line["event"] for line in lines_of(*kinds)] == events


@given(st.lists(st.sampled_from(["retry", "perform", "resolve", "reject", "perhaps"]), max_size=6))
def test_every_decision_follows_its_post_and_what_is_none_is_only_posted_again(
    decisions: list[str],
) -> None:
    kinds = itertools.chain.from_iterable((posted(), *answered(one)) for one in decisions)
    lines = lines_of(*kinds)

    real = [one for one in decisions if one != "perhaps"]
    assert [line["decision"] for line in lines if line["event"] == "decided"] == real
    assert sum(line["event"] == "posted" for line in lines) == len(decisions)
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
