"""Whether the files that audits have judged are still what they were, by the chain of digests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from actonce.records.audit_summary import summary_in
from actonce.records.record_places import Bucket, Place, place
from actonce.stack.clients import Aws
from actonce.terminal.errors import Failed, WrongUse
from actonce_core.records import timestamp
from actonce_core.transient import error_code
from pipeline.audit.reading import places
from pipeline.audit.reading.listing import from_root, listed
from pipeline.audit.reading.places import is_uri
from pipeline.audit.results import digests
from pipeline.audit.results.digests import FOLDER, BrokenChain, Chain, following


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of the files of the judged days.

    Attributes:
        chain: without digests, where it is broken.
        broken: what is wrong with the chain; None: nothing.
        files: how many are what they were.
        became: what became of the others, `changed`, `removed` or `added`, by their paths from the
            root on.
        expired: the oldest days, whose files have expired in part or all.
        there: the files of each of the chain's days that are there now, as a digest has them.
    """

    chain: Chain = field(default_factory=Chain)
    broken: str | None = None
    files: int = 0
    became: Mapping[str, str] = field(default_factory=dict)
    expired: Sequence[date] = ()
    there: Mapping[date, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def is_as_judged(self) -> bool:
        """Whether nothing was changed or removed."""
        return self.broken is None and not self.changed_days()

    def changed_days(self) -> set[date]:
        """The days of which a file was changed or removed."""
        return {
            day
            for day, (_, told) in self.chain.days.items()
            if any(self.became.get(path) in {"changed", "removed"} for path in told)
        }

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "as_judged": self.is_as_judged,
            "broken": self.broken,
            "digest": self.chain.head(),
            "days": len(self.chain.days),
            "files": self.files,
            **{
                what: sorted(path for path in self.became if self.became[path] == what)
                for what in ("changed", "removed", "added")
            },
            "expired": [day.isoformat() for day in self.expired],
        }


def read_chain(results: str, aws: Aws | None, head: str | None) -> Chain:
    """The chain of digests in a results' folder.

    Args:
        head: the hash of a digest that has to be in it; None: none has.

    Raises:
        WrongUse: there is none.
        Failed: the summary cannot be read, so that the chain may lack its end.
        BrokenChain: it is not what was written.
    """
    last = (summary_in(results, aws) or {}).get("digest")
    chain = digests.read_chain(place(f"{results.rstrip('/')}/{FOLDER}", aws), last)
    if not chain.hashes:
        raise WrongUse(f"{results} holds no {FOLDER}: an audit of days that are over writes them.")
    if head is not None and head not in chain.hashes.values():
        raise BrokenChain(f"No digest of {results} is {head}: the chain is not the one of then.")
    return chain


def verify(chain: Chain, records: Place, root: str, results: str) -> Verification:
    """Look at each file of the days that a chain vouches for."""
    listing = listed(records.files(), root, results)
    there: dict[date, list[dict[str, Any]]] = {}
    by_day = listing.by_day()
    for day in chain.days:
        of_day = by_day.get(day, [])
        hashes = _hashes(records, [file.path for file in of_day])
        there[day] = [
            {"path": from_root(file.path), "size": file.size, "sha256": hashes.get(file.path, "")}
            for file in of_day
        ]
    now = {day: {one["path"]: one["sha256"] for one in files} for day, files in there.items()}
    became: dict[str, str] = {}
    expired: list[date] = []
    files = 0
    for day, found in chain.compared(now, listing.days()):
        if "expired" in found.values():
            expired.append(day)
        files += len(chain.days[day][1].keys() - found.keys())
        became |= {path: what for path, what in found.items() if what != "expired"}
    return Verification(chain, None, files, became, expired, there)


def accept(verified: Verification, results: str, aws: Aws | None, root: str) -> dict[str, Any]:
    """Vouch, in a digest, for the files that changed days were seen to have.

    Args:
        verified: what was there, and was shown.

    Returns:
        The head of the chain, with the digest that says so.

    Raises:
        Failed: another has written a digest at the same time.
        CannotAudit: an audit is at work there.
    """
    days = {
        day: {"files": verified.there[day], "verdicts": None} for day in verified.changed_days()
    }
    at = timestamp(datetime.now(UTC))
    root = root if is_uri(root) else str(Path(root).absolute())
    name, text, head = following(verified.chain, at, root, days)
    try:
        with places.alone_in(results):
            place(results, aws).create(name, text)
    except (FileExistsError, ClientError) as error:
        if isinstance(error, ClientError) and error_code(error) != "PreconditionFailed":
            raise
        raise Failed(f"{name} is there by now: an audit has written it. Verify again.") from error
    return head


def _hashes(records: Place, paths: Sequence[str]) -> dict[str, str]:
    return records.hashes(paths) if isinstance(records, Bucket) else places.hashes(None, paths)
