"""A second, independent count of the run: its records collected, and audited by the Spark job.

The demo's own count looks into queues, tables and executions; the audit reads what each part wrote
down. They share no code, so they agree or one of them is wrong.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from actonce.aws import Stack
from actonce.collect import Wanted, collect
from actonce.demo.outcome import Outcome
from actonce.embedded.paths import PROJECT
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


def java_is_missing() -> bool:
    """Whether Spark cannot run here."""
    java = shutil.which("java")
    if java is None:
        return True
    # macOS has a java command that only says where to get one.
    return subprocess.run([java, "-version"], capture_output=True, check=False).returncode != 0


def count_again(
    stack: Stack, folder: Path, sent: Path, since: datetime, outcome: Outcome
) -> SecondCount:
    """Collect the run's records and audit them.

    Args:
        stack: after everything has come to rest.
        folder: for the records, and the results in its folder `audit`.
        sent: where the `sent` stream was written.
        since: when the first record can have been written.
        outcome: the first count.

    Raises:
        Failed: the records could not be collected or judged.
    """
    now = datetime.now(UTC)
    days = [since.date() + timedelta(days=n) for n in range((now.date() - since.date()).days + 1)]
    collected = collect(stack, Wanted(days=days, root=folder, sent=sent))
    if collected.missing:
        raise Failed(f"The records are not complete: {' '.join(collected.missing)}")
    summary = _audit(folder, now)
    # Only here: what draws the page takes longer to import than most commands take to run.
    from actonce import report  # noqa: PLC0415

    page = folder / "audit" / "report.html"
    report.write(summary, page)
    return SecondCount(page, _differences(outcome, summary))


def _audit(folder: Path, now: datetime) -> dict[str, Any]:
    # All has come to rest, so nothing is in flight any more.
    command = [sys.executable, "-m", "pipeline.audit", str(folder), "--json"]
    command += ["--as-of", now.isoformat(), "--grace", "0"]
    answer = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if answer.returncode not in (0, 1) or not answer.stdout.strip():
        last = (answer.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise Failed(f"The audit of {folder} failed: {last}")
    summary: dict[str, Any] = json.loads(answer.stdout.strip().splitlines()[-1])
    return summary


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
