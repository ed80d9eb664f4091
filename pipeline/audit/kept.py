"""What was read of each day's folder, and of which files: kept, so that it is read once.

Below the results' folder:

    kept/2026-01-31.json                                  what a day's rows are of, written last
    kept/rows/<attempt>/day=2026-01-31/part-*.parquet     the rows, as `keeping.COLUMNS` has them

Nothing is believed but by such a manifest: whole, of this version of the audit, of the very files
that are listed now, with rows in the very files that it names. Each attempt has a folder of its
own, so that whoever is killed, or works beside another, spoils nobody's rows.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from importlib import resources
from typing import Any, Final, Self

from pipeline.audit.layout import File, Found

FOLDER: Final = "kept"
"""Below the results' folder."""


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A file as it was listed; see `layout.File`.

    Attributes:
        path: of a file of records whole, of a file of rows from `FOLDER` on.
        size: bytes.
        stamp: empty: the file was so young that a change might not show.
    """

    path: str
    size: int
    stamp: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What the rows of a day are, so that many questions need none of them.

    Attributes:
        rows: how many, lines that could not be read among them.
        quarantined: how many such lines.
        first_at: the earliest time of a record (ms); None: there is none.
        last_at: the latest.
        seen_at: the latest of a delivery, an execution or a row that has an id.
        ids: how many messages, about.
        unknown_ids: records under a name that may stand for an id; see `reading.with_known_ids`.
    """

    rows: int = 0
    quarantined: int = 0
    first_at: int | None = None
    last_at: int | None = None
    seen_at: int | None = None
    ids: int = 0
    unknown_ids: int = 0

    def reaches(self, since: int, until: int | None) -> bool:
        """Whether a record may be of the time from `since` to before `until` (ms; None: ever)."""
        if self.first_at is None or self.last_at is None:
            return False
        return self.last_at >= since and (until is None or self.first_at < until)


@dataclass(frozen=True, slots=True)
class KeptDay:
    """A day's manifest.

    Attributes:
        day: whose folders' records they are, one for each stream.
        sources: the files of records.
        files: the files of rows.
        counted: what they hold.
        version: of the audit that read them.
    """

    day: date
    sources: tuple[Source, ...]
    files: tuple[Source, ...]
    counted: Counted
    version: str

    def text(self) -> str:
        """As it is written, with a checksum of itself."""
        told = {
            "day": self.day.isoformat(),
            "version": self.version,
            **asdict(self.counted),
            "files": _listed(self.files),
            "sources": _listed(self.sources),
        }
        return json.dumps(told | {"checksum": _checksum(told)}, ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, text: str) -> Self:
        """From what was written.

        Raises:
            ValueError: that is no whole manifest.
        """
        try:
            told = json.loads(text)
            if told.pop("checksum") != _checksum(told):
                raise ValueError("its checksum differs")
            return cls(
                date.fromisoformat(told["day"]),
                tuple(Source(*one) for one in told["sources"]),
                tuple(Source(*one) for one in told["files"]),
                Counted(**{field.name: told[field.name] for field in fields(Counted)}),
                told["version"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no manifest: {error!r}") from error


def _listed(sources: Iterable[Source]) -> list[tuple[str, int, str]]:
    return [(one.path, one.size, one.stamp) for one in sorted(sources)]


def _checksum(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def manifest_of(day: date) -> str:
    """The name of a day's manifest."""
    return f"{day.isoformat()}.json"


def version(of_spark: str) -> str:
    """Of everything that decides what a record says: the audit's own sources, and Spark.

    All sources, not those that read: who changes one has to remember no number, and the price is
    one night that reads everything again.
    """
    digest = hashlib.sha256()
    package = resources.files("pipeline")
    modules = [package / "session.py", *(package / "audit").iterdir()]
    for module in sorted(modules, key=lambda one: one.name):
        if module.name.endswith(".py"):
            digest.update(f"{module.name}\0".encode() + module.read_bytes() + b"\0")
    return f"{digest.hexdigest()} spark {of_spark}"


def sources_of(files: Iterable[File], began_ms: int) -> tuple[Source, ...]:
    """The files of records of what was read from a moment on."""
    return tuple(
        Source(file.path, file.size, file.stamp if file.settles < began_ms else "")
        for file in files
    )


def misfit(
    kept: KeptDay | None,
    files: Sequence[File],
    there: Mapping[str, Found],
    now_version: str,
) -> str | None:
    """Why a day has to be read again; None: what was kept of it is what its files say.

    Args:
        kept: its manifest.
        files: the day's files of records that are listed.
        there: what lies below `FOLDER`, by its path from there on.
        now_version: of this audit.
    """
    if kept is None:
        return "nothing was kept of it"
    if kept.version != now_version:
        return "another version of the audit has read it"
    for one in kept.files:
        found = there.get(one.path)
        if found is None or (found.size, found.stamp) != (one.size, one.stamp):
            return "what was kept of it is not whole"
    now = {file.path: (file.size, file.stamp) for file in files}
    then = {one.path: (one.size, one.stamp) for one in kept.sources}
    came, went = len(now.keys() - then.keys()), len(then.keys() - now.keys())
    changed = sum(now[path] != then[path] for path in now.keys() & then.keys())
    told = [
        f"{count:,} {'file' if count == 1 else 'files'} {what}"
        for count, what in ((came, "came"), (went, "went"), (changed, "changed"))
        if count
    ]
    return ", ".join(told) or None
