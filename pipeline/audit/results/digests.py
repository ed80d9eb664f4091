"""The chain of digests: by which files each day was judged, so that a later change of them shows.

    digests/000018.json
    {"version": 1, "number": 18, "at": time, "records": root, "previous": SHA-256 of 000017.json,
     "days": {"2026-01-31": {"files": [{"path", "size", "sha256"}, …], "verdicts": {…}}}}

A path is from the root of the records on. `previous` is null in the first. `days` are those that
are new in the chain or have other files than it said, each with all of its files; `verdicts` is
null where no message was judged by them as yet. Hashes are SHA-256 of a file's bytes, in hex.

Invariant: a digest is never written again, and each vouches for the one before it, so that whoever
holds the last one's hash can tell a change of any. The beginning of a chain may be gone, for it
expires with the results.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from pipeline.audit.reading.places import Readable, files_below
from pipeline.errors import CannotAudit

FOLDER: Final = "digests"
VERSION: Final = 1
_NAME: Final = re.compile(r"(\d{6})\.json")

_EXPIRES: Final = timedelta(days=30)
"""A file younger than that, beside the newest, was removed by somebody: no retention is shorter."""

Files = Mapping[str, str]
"""The hash of each file, by its path from the root of the records on."""


class BrokenChain(CannotAudit):
    """A digest was changed or is missing, so that the chain vouches for nothing."""


@dataclass(frozen=True, slots=True)
class Chain:
    """What a whole chain says.

    Attributes:
        hashes: of each digest, by its number.
        days: the files of each day, by the newest digest that has it, and the number of that.
        records: the root, as the last digest has it; None: there is no digest.
    """

    hashes: Mapping[int, str] = field(default_factory=dict)
    days: Mapping[date, tuple[int, Files]] = field(default_factory=dict)
    records: str | None = None

    def head(self) -> dict[str, Any] | None:
        """Number and hash of the last digest, as the summary has them; None: there is none."""
        number = max(self.hashes, default=0)
        return {"number": number, "sha256": self.hashes[number]} if number else None

    def compared(
        self, now: Mapping[date, Files], there: Collection[date]
    ) -> Iterator[tuple[date, dict[str, str]]]:
        """Each day, and what became of its files; see `differences`. `expired` are not `removed`.

        Args:
            now: the files of the chain's days.
            there: all days that have any file.
        """
        for day, (_, files) in sorted(self.days.items()):
            found = differences(files, now.get(day, {}))
            if has_expired(day, there):
                gone = [path for path, what in found.items() if what == "removed"]
                found |= dict.fromkeys(gone, "expired")
            yield day, found

    def check_has(self, head: object) -> None:
        """Check that what was the chain's head once is still in it; None: there was none.

        Raises:
            BrokenChain: it is not.
        """
        heads = [{"number": number, "sha256": sha256} for number, sha256 in self.hashes.items()]
        if head is not None and head not in heads:
            raise BrokenChain(f"{FOLDER}/ lacks the digest that summary.json names. {_WHAT_TO_DO}")


_WHAT_TO_DO: Final = (
    "Put back what was there (S3 keeps older versions), or begin another chain: audit into another "
    "folder with --out."
)


def name_of(number: int) -> str:
    """Where a digest is, in the results' folder."""
    return f"{FOLDER}/{number:06}.json"


def read_chain(folder: Readable, head: object) -> Chain:
    """The chain of digests in a folder.

    Args:
        folder: `FOLDER` of the results.
        head: of the chain, by the last summary; None: it names none.

    Raises:
        BrokenChain: it is not what was written.
    """
    names = [one.below for one in files_below(folder) if _NAME.fullmatch(one.below)]
    with ThreadPoolExecutor() as pool:
        texts = pool.map(lambda name: folder.read(name) or "", names)
        chain = chain_of(dict(zip(names, texts, strict=True)))
    chain.check_has(head)
    return chain


def chain_of(texts: Mapping[str, str]) -> Chain:
    """The chain of digests, each of which fits the next.

    Args:
        texts: of the digests, by the names of their files. A digest is ASCII, so that a text stands
            for its bytes.

    Raises:
        BrokenChain: one was changed, or is missing between others.
    """
    hashes: dict[int, str] = {}
    days: dict[date, tuple[int, Files]] = {}
    records = previous = None
    for name in sorted(texts):
        digest = _parsed(name, texts[name])
        number = int(name.removesuffix(".json"))
        if hashes and digest["previous"] != previous:
            raise BrokenChain(
                f"{name_of(number - 1)} is missing, or not what {FOLDER}/{name} says that it was. "
                + _WHAT_TO_DO
            )
        if digest["number"] != number:
            raise BrokenChain(f"{FOLDER}/{name} was changed. {_WHAT_TO_DO}")
        hashes[number] = previous = _sha256(texts[name])
        days |= {day: (number, files) for day, files in digest["days"].items()}
        records = digest["records"]
    return Chain(hashes, days, records)


def _parsed(name: str, text: str) -> dict[str, Any]:
    """A digest, its days as `Chain.days` has their files."""
    try:
        digest: dict[str, Any] = json.loads(text)
        if digest["version"] != VERSION:
            raise BrokenChain(f"{FOLDER}/{name} is of another version of the audit.")
        days = {
            date.fromisoformat(day): {str(one["path"]): str(one["sha256"]) for one in told["files"]}
            for day, told in digest["days"].items()
        }
        return {one: digest[one] for one in ("number", "previous", "records")} | {"days": days}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenChain(f"{FOLDER}/{name} is no digest. {_WHAT_TO_DO}") from error


def following(
    chain: Chain, at: str, records: str, days: Mapping[date, Mapping[str, Any]]
) -> tuple[str, str, dict[str, Any]]:
    """The digest that comes next.

    Args:
        days: each with `files` (`path`, `size`, `sha256`) and `verdicts`.

    Returns:
        Its place in the results' folder, its text, and the head that it makes.
    """
    head = chain.head() or {"number": 0, "sha256": None}
    number = head["number"] + 1
    told = {
        "version": VERSION,
        "number": number,
        "at": at,
        "records": records,
        "previous": head["sha256"],
        "days": {day.isoformat(): days[day] for day in sorted(days)},
    }
    text = json.dumps(told, indent=1) + "\n"
    return name_of(number), text, {"number": number, "sha256": _sha256(text)}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def differences(told: Files, now: Files) -> dict[str, str]:
    """What became of files: `changed`, `removed` or `added`, by their paths; others stayed."""
    found = {path: "removed" for path in told if path not in now}
    found |= {path: "added" for path in now if path not in told}
    return found | {path: "changed" for path in told if path in now and now[path] != told[path]}


def has_expired(day: date, there: Iterable[date]) -> bool:
    """Whether it is no wonder that files of a day are gone: it is older than all that are there.

    Of the oldest day that is there, a part may have expired: files do, and not days.
    """
    oldest, newest = min(there, default=day), max(there, default=day)
    return day < oldest or (day == oldest and newest - day >= _EXPIRES)
