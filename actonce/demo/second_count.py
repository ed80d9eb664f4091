"""A second, independent count of the run: its records collected, and audited by the Spark job.

The demo's own count looks into queues, tables and executions; the audit reads what each part wrote
down. They share no code, so they agree or one of them is wrong.
"""

import contextlib
import importlib
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from actonce.demo.outcome import Outcome
from actonce.demo.own import OwnEffect
from actonce.messages.effect_store import find_effect_store
from actonce.records.collect import COLLECTED, collect
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SecondCount:
    """What the audit found.

    Attributes:
        page: the audit's page.
        differences: one sentence per number in which the two counts differ.
    """

    page: Path
    differences: list[str]


def rehearse(records: Path) -> Future[None]:
    """Audit what was sent, in a thread while its messages come to rest.

    Of a first audit four fifths are Java's start and what it compiles.
    """

    def audit() -> None:
        with contextlib.suppress(Failed):  # the audit meets it again
            _audited(records, datetime.now(UTC), last=False)

    return ThreadPoolExecutor(1, thread_name_prefix="spark").submit(audit)


def count_again(
    stack: Stack,
    records: Path,
    outcome: Outcome,
    say: Say,
    own: OwnEffect | None = None,
) -> SecondCount:
    """Collect a run's records, audit them, and compare the audit with the first count.

    Args:
        stack: on which it ran; nothing moves any more.
        records: the folder for its records, with its `sent` stream; the results go into `audit`.
        outcome: the first count.
        say: is called with each step.
        own: a team's own effect; None for the example.

    Raises:
        Failed: the records could not be collected or judged.
    """
    say("Collecting the records")
    effects = None if own is None else find_effect_store(stack)
    unseen = own is not None and (effects is None or effects.attributes.time is None)
    now = datetime.now(UTC)
    since = _first_sent(records)
    days = [since.date() + timedelta(days=n) for n in range((now.date() - since.date()).days + 1)]
    streams = frozenset(COLLECTED) - ({"effects"} if unseen else set())
    collected = collect(stack, days, records, streams)
    if collected.missing:
        raise Failed(f"The records are not complete: {' '.join(collected.missing)}")
    say("Auditing the records")
    # The rehearsal's, or with `--keep` an earlier run's, is of records that have changed since.
    shutil.rmtree(records / "audit", ignore_errors=True)
    summary = _audited(records, now, last=True)
    page = records / "audit" / "report.html"
    importlib.import_module("actonce.records.report.page").write(summary, page)
    return SecondCount(page, _differences(outcome, summary))


def _audited(records: Path, now: datetime, *, last: bool) -> dict[str, Any]:
    """The audit's summary of the records; nothing is in flight any more, as if the day was over.

    Spark ends with the `last`.
    """
    # Spark takes longer to import than all else of the demo.
    job = importlib.import_module("actonce_pipeline.audit.job")
    requests = importlib.import_module("actonce_pipeline.audit.request")
    session = importlib.import_module("actonce_pipeline.spark.session")
    tomorrow = datetime.combine(now.date() + timedelta(days=1), time(1), UTC)
    request = requests.Request(str(records), as_of=tomorrow)
    try:
        spark = session.spark_session("actonce-audit")
        summary: dict[str, Any] = job.audit(spark, request)
        if last:
            spark.stop()
    except Exception as error:
        reason = str(error).split("\n", 1)[0]
        raise Failed(f"The audit of the demo's records failed: {reason}") from error
    return summary


def _first_sent(folder: Path) -> datetime:
    """Midnight before the first record; `--keep` goes on from days ago."""
    days = [path.name.removeprefix("dt=") for path in (folder / "sent").glob("dt=*")]
    return datetime.fromisoformat(min(days)).replace(tzinfo=UTC) if days else datetime.now(UTC)


def _differences(outcome: Outcome, summary: dict[str, Any]) -> list[str]:
    verdicts = summary["verdicts"]
    # None where the stack names no table of effects.
    effects = summary["totals"]["effects"]
    pairs = {
        "effects": (outcome.effects, outcome.effects if effects is None else effects),
        "acted on twice": (outcome.acted_on_twice, verdicts["performed_again"]),
        "awaiting decision": (outcome.awaiting_decision, verdicts["awaiting_decision"]),
        "lost": (outcome.lost, verdicts["lost"]),
        "suppressed": (outcome.suppressed, summary["totals"]["suppressed"]),
    }
    return [
        f"{what}: {first:,} counted, {second:,} in the audit"
        for what, (first, second) in pairs.items()
        if first != second
    ]
