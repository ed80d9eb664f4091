"""What an audit vouches for: that the files of days it has judged are still what they were."""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from pipeline.audit.cache import Manifest
from pipeline.audit.reading.listing import from_root
from pipeline.audit.reading.places import Place
from pipeline.audit.results.digests import Chain, Files, following


def changed_files(
    chain: Chain, days: Mapping[date, Manifest], there: Collection[date], since: date
) -> list[dict[str, Any]]:
    """Files of judged days that were changed or removed since.

    Args:
        days: what was read just now.
        there: all days that have any file.
        since: of days before, nothing was read.

    Returns:
        Each `file`, from the root on, `what` became of it, and the number of the `digest`.
    """
    now = {day: _files(manifest) for day, manifest in days.items()}
    return [
        {"file": path, "what": what, "digest": chain.days[day][0]}
        for day, became in chain.compared(now, there)
        if day >= since
        for path, what in sorted(became.items())
        if what in {"changed", "removed"}
    ]


def seal(
    results: Place,
    chain: Chain,
    days: Mapping[date, Manifest],
    verdicts: Mapping[date, Mapping[str, int]],
    at: str,
    records: str,
) -> dict[str, Any] | None:
    """Write a digest of the days that the chain does not have, or has with fewer files.

    A day with a line that could not be read is left out: it is to be mended.

    Args:
        days: what to vouch for, of which nothing has changed.
        verdicts: of the days' messages, if they were judged.

    Returns:
        The head of the chain, as the summary has it; None: it is empty.
    """
    new = {
        day: {
            "files": [
                {"path": from_root(one.path), "size": one.size, "sha256": one.sha256}
                for one in sorted(manifest.sources)
            ],
            "verdicts": verdicts.get(day),
        }
        for day, manifest in days.items()
        if not manifest.counts.quarantined
        and all(one.sha256 for one in manifest.sources)
        and _files(manifest).keys() - chain.days.get(day, (0, {}))[1].keys()
    }
    if not new:
        return chain.head()
    name, text, head = following(chain, at, records, new)
    results.create(name, text)
    return head


def _files(manifest: Manifest) -> Files:
    return {from_root(one.path): one.sha256 for one in manifest.sources}
