"""Whether the files that audits have judged are still what they were, by the chain of digests."""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce.records.audit_summary import of_bucket, of_folder
from actonce.stack.clients import Aws
from actonce.terminal.errors import Failed, WrongUse
from actonce.terminal.s3_uri import bucket_and_prefix
from actonce_core.records import timestamp
from actonce_core.transient import error_code
from pipeline.audit.reading import places
from pipeline.audit.reading.listing import from_root, listed
from pipeline.audit.reading.places import ListedFile, is_uri
from pipeline.audit.results import digests
from pipeline.audit.results.digests import FOLDER, BrokenChain, Chain, following

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class _Bucket:
    """`s3://<bucket>/<prefix>`, read and written without Spark as a `places.Place` is."""

    s3: "S3Client"
    bucket: str
    prefix: str

    def files(self) -> list[ListedFile]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=self.prefix
        )
        return [
            ListedFile(
                f"s3://{self.bucket}/{one['Key']}",
                one["Key"].removeprefix(self.prefix),
                one["Size"],
            )
            for page in pages
            for one in page.get("Contents", [])
        ]

    def read(self, path: str) -> str | None:
        try:
            answer = self.s3.get_object(Bucket=self.bucket, Key=self.prefix + path)
        except ClientError as error:
            if error_code(error) in {"NoSuchKey", "NoSuchBucket"}:
                return None
            raise
        return answer["Body"].read().decode("utf-8", "replace")

    def create(self, path: str, text: str) -> None:
        self.s3.put_object(
            Bucket=self.bucket, Key=self.prefix + path, Body=text.encode(), IfNoneMatch="*"
        )

    def hashes(self, paths: Sequence[str]) -> dict[str, str]:
        """SHA-256 of objects, by their paths as they are listed."""

        def one(path: str) -> str:
            key = path.removeprefix(f"s3://{self.bucket}/")
            told = hashlib.sha256()
            for piece in self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].iter_chunks(2**20):
                told.update(piece)
            return told.hexdigest()

        with ThreadPoolExecutor(8) as pool:
            return dict(zip(paths, pool.map(one, paths), strict=True))


Place = places.Place | _Bucket


def place(name: str, aws: Aws | None) -> Place:
    """A folder here, or what an `s3://` URI names.

    Args:
        aws: where the bucket is; None: there is none.
    """
    if aws is None or not is_uri(name):
        return places.place(None, name)
    return _Bucket(aws.client("s3"), *bucket_and_prefix(name))


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of the files of the judged days.

    Attributes:
        chain: as it is; without digests, where it is broken.
        broken: what is wrong with it; None: nothing.
        files: those that are still what they were.
        became: others: `changed`, `removed`, or `added`; by their paths from the root on.
        expired: days that are gone whole, or are going, at the old end.
        there: the files of each of the chain's days that are there now, as a digest has them.
    """

    chain: Chain
    broken: str | None
    files: int
    became: Mapping[str, str]
    expired: Sequence[date]
    there: Mapping[date, Sequence[Mapping[str, Any]]]

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
    if aws is not None and is_uri(results):
        summary = of_bucket(aws.client("s3"), results)
    else:
        summary = of_folder(Path(results))
    last = (summary or {}).get("digest")
    chain = digests.read_chain(place(f"{results.rstrip('/')}/{FOLDER}", aws), last)
    if not chain.hashes:
        raise WrongUse(f"{results} holds no {FOLDER}: an audit of days that are over writes them.")
    if head is not None and head not in chain.hashes.values():
        raise BrokenChain(f"No digest of {results} is {head}: the chain is not the one of then.")
    return chain


def verify(chain: Chain, records: Place, root: str, results: str) -> Verified:
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
    return Verified(chain, None, files, became, expired, there)


def accept(verified: Verified, results: str, aws: Aws | None, root: str) -> dict[str, Any]:
    """Take what was verified for what is true of the days that have changed.

    Args:
        verified: what was there then, and was shown.

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
    return records.hashes(paths) if isinstance(records, _Bucket) else places.hashes(None, paths)
