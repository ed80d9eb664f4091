"""The mutants: that the tool makes them, judges them and puts back what it changed."""

import pytest

from actonce.conformance.mutants import page
from actonce.conformance.mutants.code import mutants_of
from actonce.conformance.mutants.definition import mutants_of_definition
from actonce.conformance.mutants.explained import EXPLAINED
from actonce.conformance.mutants.judging import Judged, all_mutants, judge
from actonce.conformance.mutants.mutant import Mutant
from locking import rows


def _named(mutants: list[Mutant], where: str, change: str) -> Mutant:
    (found,) = (one for one in mutants if one.where == where and one.change == change)
    return found


def _judged(mutant: Mutant) -> Judged:
    (judged,) = judge([mutant])
    return judged


@pytest.mark.parametrize(
    ("where", "change", "how"),
    [
        ("ProcessingTable.claim", "`ID_IS_NEW` always holds", "twice"),
        ("told", "`row['status']['S'] == COMPLETE` negated", "parked"),
    ],
)
def test_a_mutant_of_code_is_noticed_and_gone_afterwards(where: str, change: str, how: str) -> None:
    code = rows.ProcessingTable.claim.__code__, rows.told.__code__

    judged = _judged(_named(mutants_of("locking.rows"), where, change))

    assert judged.is_noticed
    assert judged.how == how
    assert (rows.ProcessingTable.claim.__code__, rows.told.__code__) == code


@pytest.mark.parametrize(
    ("where", "change", "how"),
    [
        ("AwaitStraggler", "leads to PerformEffect instead of FindEffect", "twice"),
        ("PerformEffect, Catch 2", "leads to DeadLetter instead of AwaitProvider", "parked"),
        ("Decision, choice 3", "leads to AwaitStraggler instead of Done", "breaks: Untrue"),
    ],
)
def test_a_mutant_of_the_definition_is_noticed(where: str, change: str, how: str) -> None:
    judged = _judged(_named(mutants_of_definition(), where, change))

    assert judged.is_noticed
    assert judged.how == how


def test_what_only_names_an_answer_is_not_noticed_and_is_explained() -> None:
    """`Starter` against `Suppressed` is a label; see the docstring of `Executions.start`."""
    mutants = mutants_of("deduplication.executions")
    judged = _judged(
        _named(mutants, "Executions._start", "`answer['startDate'] < asked_at` left out")
    )

    assert not judged.is_noticed
    assert EXPLAINED[judged.mutant.name].is_equivalent


def test_each_explanation_is_of_a_mutant() -> None:
    assert set(EXPLAINED) <= {one.name for one in all_mutants()}


def test_a_page_has_the_counts_and_each_survivor_with_its_reason() -> None:
    first, second, third = mutants_of("locking.ledger")[:3]
    judged = [Judged(first, "ledger, crash", "twice"), Judged(second, "", "")]

    text = page.render(page.Run("2026-01-31", 3, [*judged, Judged(third, "ledger, crash", "lost")]))

    assert "of 3 mutants all were judged, and 2 noticed (66.7 %)" in text
    assert "| `functions/locking/ledger.py` | 3 | 2 | 66.7 % |" in text
    assert text.count(second.change) == 1


def test_every_survivor_of_the_published_run_is_explained() -> None:
    assert "not looked into" not in page.PAGE.read_text()
