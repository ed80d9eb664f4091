"""What the last audit said, of its days and of a message, where its results are at hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actonce.records import audit_summary
from actonce.stack.clients import Stack


@dataclass(frozen=True, slots=True)
class Verdict:
    """An audit's verdict of a message: its name, None if the summary has none; and one sentence."""

    verdict: str | None
    said: str


@dataclass(frozen=True, slots=True)
class Audits:
    """The results of the last audit.

    Attributes:
        stack: whose.
        folder: of results that are of this stack; None: what its daily audit left counts.
    """

    stack: Stack
    folder: Path | None

    @property
    def place(self) -> str | None:
        """Where the results are; None: there are none at hand."""
        if self.folder is not None:
            return f"{self.folder}/"
        bucket = self.stack.outputs.get("AuditBucketName")
        return None if bucket is None else f"s3://{bucket}/audit/"

    def summary(self) -> dict[str, Any] | None:
        """The audit's `summary.json`; None: there is none.

        Raises:
            Failed: there is one that cannot be read.
            ClientError: AWS says no.
        """
        if self.folder is not None:
            return audit_summary.of_folder(self.folder)
        if self.place is None:
            return None
        return audit_summary.of_bucket(self.stack.aws.client("s3"), self.place)

    def of_message(self, stored_id: str) -> Verdict:
        """The verdict of a message.

        Args:
            stored_id: the id as the audit knows it.

        Raises:
            Failed, ClientError: see `summary`.
        """
        summary = self.summary()
        if summary is None:
            return Verdict(None, "No audit's results are at hand.")
        if not audit_summary.has_ended(summary):
            why = summary.get("sentence") or "The audit has not come to its end."
            return Verdict(None, str(why))
        audit = f"The audit of {summary.get('from')} to {summary.get('to')}"
        for alarm in summary.get("alarms", []):
            if alarm.get("message_id") == stored_id:
                return Verdict(str(alarm["verdict"]), f"{audit} raised an alarm of it.")
        for verdict, ids in summary.get("listed", {}).items():
            if stored_id in ids:
                return Verdict(verdict, f"{audit} says so.")
        return Verdict(
            None,
            f"{audit} does not name it among its alarms; its verdict is in the table below "
            f"{self.place}messages/, which this page does not read.",
        )
