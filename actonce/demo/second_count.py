"""A second, independent count of the run: its records collected, and audited by the Spark job.

The demo's own count looks into queues, tables and executions; the audit reads what each part wrote
down. They share no code, so they agree or one of them is wrong.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from actonce.aws import Stack
from actonce.collect import Wanted, collect
from actonce.demo.outcome import Outcome
from actonce.demo.ready_audit import ReadyAudit
from actonce.demo.timings import Say
from actonce.errors import Failed


@dataclass(frozen=True, slots=True)
class SecondCount:
    """What the audit found.

    Attributes:
        page: the audit's page.
        differences: one sentence per number in which the two counts differ.
    """

    page: Path
    differences: list[str]


def begin(stack: Stack, records: Path, sent: Path, audit: ReadyAudit) -> None:
    """Collect a run's records, and have them audited.

    Args:
        stack: it ran on; everything has come to rest.
        records: the folder for its records, and for the results in its folder `audit`.
        sent: where the `sent` stream was written.
        audit: that judges the records.

    Raises:
        Failed: the records could not be collected.
    """
    now = datetime.now(UTC)
    since = _first_sent(sent)
    days = [since.date() + timedelta(days=n) for n in range((now.date() - since.date()).days + 1)]
    collected = collect(stack, Wanted(days=days, root=records, sent=sent))
    if collected.missing:
        raise Failed(f"The records are not complete: {' '.join(collected.missing)}")
    audit.begin(records, now)


def finish(records: Path, outcome: Outcome, audit: ReadyAudit, say: Say) -> SecondCount:
    """Hold what the audit found against the first count, and draw its page.

    Raises:
        Failed: the records could not be judged.
    """
    # Here, while the audit is at work: it takes longer to import than most commands take to run.
    from actonce import report  # noqa: PLC0415

    summary = audit.summary()
    say("Drawing the page")
    page = records / "audit" / "report.html"
    report.write(summary, page)
    return SecondCount(page, _differences(outcome, summary))


def _first_sent(folder: Path) -> datetime:
    """Midnight before the first record; `--keep` goes on from days ago."""
    days = [path.name.removeprefix("dt=") for path in (folder / "sent").glob("dt=*")]
    return datetime.fromisoformat(min(days)).replace(tzinfo=UTC) if days else datetime.now(UTC)


def _differences(outcome: Outcome, summary: dict[str, Any]) -> list[str]:
    verdicts = summary["verdicts"]
    pairs = {
        "effects": (outcome.effects, summary["totals"]["effects"]),
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
