"""What an audit vouches for: that the files of days it has judged are still what they were."""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

from pyspark.sql import SparkSession

from pipeline.audit.cache import Manifest
from pipeline.audit.reading.listing import from_root
from pipeline.audit.reading.places import files_below, place
from pipeline.audit.results import digests
from pipeline.audit.results.digests import NAME, Chain, Files, chain_of, differences, has_expired


@dataclass(slots=True)
class Seal:
    """The chain of digests in a results' folder; see `digests`.

    Attributes:
        spark: the session.
        out: the results' folder.
        chain: as it was read, and is after `add`.
    """

    spark: SparkSession
    out: str
    chain: Chain

    @classmethod
    def of(cls, spark: SparkSession, out: str, head: object) -> Self:
        """Read the chain.

        Args:
            spark: the session.
            out: the results' folder.
            head: what the last summary said of it; None: nothing.

        Raises:
            BrokenChain: it is not what was written.
        """
        folder = f"{out}/{digests.FOLDER}"
        names = [one.below for one in files_below(spark, folder) if NAME.fullmatch(one.below)]
        here = place(spark, folder)
        with ThreadPoolExecutor() as pool:
            texts = pool.map(lambda name: here.read(name) or "", names)
            chain = chain_of(dict(zip(names, texts, strict=True)))
        chain.check_has(head)
        return cls(spark, out, chain)

    def changed(
        self, days: Mapping[date, Manifest], there: Collection[date], since: date
    ) -> list[dict[str, Any]]:
        """Files of judged days that are others now, or are gone.

        Args:
            days: what was read just now.
            there: all days that have any file.
            since: of days before, nothing was read.

        Returns:
            Each `file`, from the root on, `what` became of it, and the number of the `digest`.
        """
        return [
            {"file": path, "what": what, "digest": number}
            for day, (number, told) in sorted(self.chain.days.items())
            if day >= since
            for path, what in sorted(differences(told, _files(days.get(day))).items())
            if what == "changed" or (what == "removed" and not has_expired(day, there))
        ]

    def add(
        self,
        days: Mapping[date, Manifest],
        verdicts: Mapping[date, Mapping[str, int]],
        at: str,
        records: str,
    ) -> dict[str, Any] | None:
        """Write a digest of the days that the chain does not have, or has with fewer files.

        Not of one in which a line could not be read: it is to be mended.

        Args:
            days: what to vouch for, of which nothing has changed.
            verdicts: of the days' messages, if they were judged.
            at: the time.
            records: the root of the records.

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
            if not manifest.counted.quarantined
            and all(one.sha256 for one in manifest.sources)
            and _files(manifest).keys() - self.chain.days.get(day, (0, {}))[1].keys()
        }
        if not new:
            return self.chain.head()
        name, text, head = digests.following(self.chain, at, records, new)
        place(self.spark, self.out).create(name, text)
        return head


def _files(manifest: Manifest | None) -> Files:
    return {from_root(one.path): one.sha256 for one in manifest.sources} if manifest else {}
