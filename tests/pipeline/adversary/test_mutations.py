"""Healthy records, one change that hides or adds something: never clean if it is not well, and
nothing lost that is well."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipeline.audit.judging.verdict_names import ALARMS
from tests.pipeline.adversary.mutations import (
    MUTATIONS,
    UNPLACED,
    WRONG,
    World,
    days_named,
    touched,
)
from tests.pipeline.nights import audited, rows_of, said, settled

TOGETHER = 25
BATCHES = int(os.environ.get("ACTONCE_MUTATION_BATCHES", "1"))
"""Of `TOGETHER` mutations each, in the long run; 40 are a thousand."""


def worlds(unplaced: bool, number: int) -> st.SearchStrategy[list[World]]:
    """Worlds to be judged together. What may be of anybody makes nothing of others certain, so
    such worlds are judged apart."""
    names = sorted(UNPLACED if unplaced else MUTATIONS.keys() - UNPLACED)
    one = st.tuples(st.sampled_from(WRONG), st.sampled_from(names), st.integers(0, 2**32))
    return st.lists(one, min_size=number, max_size=number).map(
        lambda drawn: [World(n, *choices) for n, choices in enumerate(drawn)]
    )


def judge(spark: SparkSession, planted: list[World]) -> list[str]:
    """What is wrong with the audit's answer, a line for each world."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "records", Path(folder) / "out"
        for world in planted:
            world.plant(root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pipeline.audit.reading.quarantine.MAX_EXAMPLES", 10_000)
            summary = audited(spark, settled(root), out)
            rows = rows_of(out)
            again = audited(spark, root, out)
        unread = [example["file"] for example in summary["quarantine"]["examples"]]
        same = said(again) == said(summary) and rows_of(out) == rows
    wrong = [] if same else [f"by the cache: {again['sentence']}, else {summary['sentence']}"]
    for world in planted:
        told = _told(world, rows, summary, unread)
        if not world.is_well and not told:
            wrong.append(f"{world} is told to be clean")
        lost = {r["message_id"] for r in rows if r["verdict"] == "lost" and _is_of(world, r)}
        if not lost <= world.lost:
            wrong.append(f"{world} cries lost: {sorted(lost - world.lost)}")
    clean = summary["exit_status"] == 0
    if clean and any(not world.is_well for world in planted):
        wrong.append(f"clean: {summary['sentence']}")
    return wrong


def _is_of(world: World, row: dict[str, Any]) -> bool:
    return bool(row["message_id"].startswith(world.prefix))


def _told(
    world: World, rows: list[dict[str, Any]], summary: dict[str, Any], unread: list[str]
) -> bool:
    """Whether anything of the answer says that this world is not clean."""
    return (
        any(
            row["verdict"] in ALARMS or not row["judged"] or row["unsent"]
            for row in rows
            if _is_of(world, row)
        )
        or any(touched(world, path) for path in unread)
        or any(
            day.isoformat() in world.days
            for sentence in summary["cannot_judge"]
            for day in days_named(sentence)
            if "dead_letters" not in sentence
        )
    )


FOUND = (
    # The first day of all is gone, and with it everything that was wrong.
    World(0, "rejected, and an effect afterwards", "a day gone", 5621),
    # A path that names two streams.
    World(1, "an effect that nobody asked for", "moved", 30),
    # An effect whose asker may stand in what was not read.
    World(2, "an effect that nobody asked for", "renamed", 9),
)
"""What was once judged wrongly."""


@pytest.mark.long
def test_what_was_found(spark: SparkSession) -> None:
    assert judge(spark, list(FOUND)) == []


@seed(12)
@pytest.mark.long
@settings(
    max_examples=1,
    phases=[Phase.generate],
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(planted=worlds(unplaced=False, number=10))
def test_a_few_mutations(spark: SparkSession, planted: list[World]) -> None:
    assert judge(spark, planted) == []


@pytest.mark.long
@pytest.mark.parametrize("unplaced", [False, True], ids=["placed", "misplaced"])
def test_many_mutations(spark: SparkSession, unplaced: bool) -> None:
    wrong: list[str] = []

    @settings(
        max_examples=max(1, BATCHES // 8) if unplaced else BATCHES,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(planted=worlds(unplaced, TOGETHER))
    def run(planted: list[World]) -> None:
        wrong.extend(judge(spark, planted))

    run()
    assert wrong == []
