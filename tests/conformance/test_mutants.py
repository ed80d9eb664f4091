"""The mutants: that the tool makes them, judges them and puts back what it changed."""

import copy
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actonce.conformance.mutants import definition, page
from actonce.conformance.mutants.code import mutants_of, probed
from actonce.conformance.mutants.definition import mutants_of_definition
from actonce.conformance.mutants.explained import EXPLAINED
from actonce.conformance.mutants.judging import (
    TAKES_LONGEST,
    TRIED,
    Cell,
    Judge,
    Judged,
    all_cells,
    all_mutants,
)
from actonce.conformance.mutants.kept import Kept
from actonce.conformance.mutants.mutant import Mutant
from actonce.conformance.stage import process_message
from locking import rows


def _named(mutants: Sequence[Mutant], where: str, change: str) -> Mutant:
    (found,) = (one for one in mutants if one.where == where and one.change == change)
    return found


def _judged(mutant: Mutant, *cells: Cell) -> Judged:
    return Judge(cells=cells).judge(mutant)


@pytest.mark.parametrize(
    ("module", "where", "change", "cell", "how"),
    [
        (
            "locking.rows",
            "ProcessingTable.claim",
            "`ID_IS_NEW` always holds",
            ("ledger", "twice-at-once"),
            "twice",
        ),
        (
            "locking.rows",
            "told",
            "`row['status']['S'] == COMPLETE` negated",
            ("ledger", "again-later"),
            "parked",
        ),
        (
            "locking.consumer",
            "Consumer._act",
            "`self.locks.release_processing_lock(attempt, waited=(attem…` left out",
            ("ledger", "given-up"),
            "leaves something else behind",
        ),
        (
            "deduplication.unstarted",
            "unstarted_attributes",
            "`own` negated",
            ("ledger", "poison"),
            "breaks: AttributeError",
        ),
    ],
)
def test_a_mutant_of_code_is_noticed_and_gone_afterwards(
    module: str, where: str, change: str, cell: Cell, how: str
) -> None:
    code = rows.ProcessingTable.claim.__code__, rows.told.__code__

    judged = _judged(_named(mutants_of(module), where, change), cell)

    assert judged.is_noticed
    assert judged.how == how
    assert judged.cell == cell
    assert (rows.ProcessingTable.claim.__code__, rows.told.__code__) == code


@pytest.mark.parametrize(
    ("where", "change", "hazard", "how"),
    [
        (
            "AwaitStraggler",
            "leads to PerformEffect instead of FindEffect",
            "crash-after-effect",
            "twice",
        ),
        (
            "PerformEffect, Retry of NotPerformed, Lambda.TooManyRequestsException",
            "left out",
            "provider-down",
            "parked",
        ),
        (
            "Decision, choice `$states.input.decision = 'resolve'`",
            "leads to AwaitStraggler instead of Done",
            "closed",
            "breaks: Untrue",
        ),
    ],
)
def test_a_mutant_of_the_definition_is_noticed(
    where: str, change: str, hazard: str, how: str
) -> None:
    judged = _judged(_named(mutants_of_definition(), where, change), ("step-functions", hazard))

    assert judged.is_noticed
    assert judged.how == how


def test_what_only_names_an_answer_is_not_noticed_and_is_explained() -> None:
    """`Starter` against `Suppressed` is a label; see the docstring of `Executions.start`."""
    mutants = mutants_of("deduplication.executions")
    judged = _judged(
        _named(mutants, "Executions._start", "`answer['startDate'] < asked_at` left out"),
        ("step-functions", "twice-at-once"),
    )

    assert not judged.is_noticed
    assert EXPLAINED[judged.name].is_equivalent


def test_a_mutant_is_walked_only_where_what_it_changes_is_run() -> None:
    mutant = _named(mutants_of("locking.rows"), "told", "`return OtherMemory(written_by)` left out")

    assert _judged(mutant, ("ledger", "twice-at-once")).cells == 0


def test_what_is_run_is_seen_and_the_probes_are_gone_afterwards() -> None:
    code = rows.told.__code__
    row: Any = {"fingerprint": {"S": "one"}}
    with probed(["locking.rows"]) as run:
        rows.told(row, "other", "ledger")

    assert {where for _, where, _ in run} == {"told"}
    assert len(run) == 3  # the docstring, the `if`, and its `return`
    assert rows.told.__code__ is code


def test_no_two_mutants_share_a_name_and_each_explanation_is_of_one() -> None:
    names = Counter(one.name for one in all_mutants())

    assert [name for name, number in names.items() if number > 1] == []
    assert page.stale(names) == []


def test_an_explanation_of_what_is_no_mutant_any_more_is_told() -> None:
    gone = next(iter(EXPLAINED))

    assert page.stale(set(EXPLAINED) - {gone}) == [gone]


def test_a_mutant_of_the_definition_keeps_its_name_when_others_come_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {one.name for one in mutants_of_definition()}
    changed: Any = copy.deepcopy(dict(process_message()))
    first = changed["States"]["DeadLetter"]["Retry"][0]
    more = {**first, "ErrorEquals": ["Lambda.Another"], "MaxAttempts": 1}
    changed["States"]["DeadLetter"]["Retry"].insert(0, more)
    monkeypatch.setattr(definition, "process_message", lambda: changed)

    assert before < {one.name for one in mutants_of_definition()}


def test_all_but_what_takes_longest_is_walked() -> None:
    walked = {hazard for _, hazard in all_cells()}

    assert "any-two" in TAKES_LONGEST
    assert not walked & TAKES_LONGEST
    assert {"texts", "given-up", "any-and-memory"} <= walked
    assert "locking.rows" in TRIED


def test_a_page_has_the_counts_and_each_survivor_with_its_reason() -> None:
    first, second, third = mutants_of("locking.ledger")[:3]
    cell = ("ledger", "crash")
    judged = [
        Judged(one.name, one.file, one.where, one.change, found, how)
        for one, found, how in ((first, cell, "twice"), (second, None, ""), (third, cell, "lost"))
    ]

    text = page.render(page.Run("2026-01-31", 3, judged, 7))

    assert "of 3 mutants all were judged, and 2 noticed: 66.7 % of all" in text
    assert "| `functions/locking/ledger.py` | 3 | 2 | 66.7 % |  | 66.7 % |" in text
    assert "It took 7 minutes" in text
    assert text.count(second.change.replace("|", "")) == 1


def test_every_survivor_of_the_published_run_is_explained() -> None:
    assert "not looked into" not in page.PAGE.read_text()


def test_a_run_that_was_broken_off_goes_on_and_of_other_code_begins_anew(tmp_path: Path) -> None:
    first, second = (
        Judged(f"mutant {number}", "effect.py", "answer", "negated", cell, "twice")
        for number, cell in ((1, ("ledger", "crash")), (2, None))
    )
    file = tmp_path / "judged"
    Kept(file, "this code").keep(first)
    Kept(file, "this code").keep(second)
    with file.open("a") as broken_off:
        broken_off.write('{"name": "mutant 3", "fi')

    assert Kept(file, "this code").judged == {"mutant 1": first, "mutant 2": second}
    assert Kept(file, "other code").judged == {}
    assert len(file.read_text().splitlines()) == 1
