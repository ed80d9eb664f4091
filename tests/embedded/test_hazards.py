"""The real level of the conformance suite; this file has the Step Functions way."""

import pytest

from actonce.embedded.functions import warm
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.conformance.hazards import SCENARIOS
from lab.conformance.page import PAGE
from lab.conformance.verdict import FinalState, Kind, Verdict
from tests.embedded.hazards import CAUSES, REAL_WAYS, cause_all, disagreement, verdict_of


def test_the_page_says_how_many_ways_and_hazards_are_real() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"deploys {len(REAL_WAYS)} ways on the embedded AWS" in text
    assert f"causes {len(CAUSES)} of the {len(SCENARIOS)} hazards" in text
    assert set(CAUSES) <= {hazard.name for hazard in SCENARIOS}


@pytest.mark.parametrize(
    ("way", "hazard", "verdict", "is_found"),
    [
        ("step-functions", "crash", Verdict(Kind.SURVIVED), True),
        ("step-functions", "crash", Verdict(Kind.TWICE), False),
        ("on-trouble", "conflict", Verdict(Kind.SURVIVED), False),
    ],
)
def test_what_the_walk_did_not_find_is_a_disagreement(
    way: str, hazard: str, verdict: Verdict, is_found: bool
) -> None:
    assert (disagreement(way, hazard, verdict) == "") is is_found


@pytest.fixture(scope="module")
def ends(stack: Stack, embedded_paths: Paths) -> dict[str, FinalState]:
    ends = cause_all(stack, embedded_paths.faults)
    warm(stack)  # the faults took the processes along, and the tests after this file load them
    return ends


@pytest.mark.long
@pytest.mark.parametrize("hazard", CAUSES)
def test_it_ends_as_the_table_says(ends: dict[str, FinalState], hazard: str) -> None:
    assert not disagreement("step-functions", hazard, verdict_of(ends[hazard], hazard))
