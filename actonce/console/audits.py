"""What an audit said, of a day and of a message, where its results are at hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from actonce.records import audit_summary
from actonce.stack.clients import Stack
from actonce.stack.extras import install
from actonce.terminal.errors import Failed

_NOT_ENDED: Final = "The audit has not come to its end."


@dataclass(frozen=True, slots=True)
class Verdict:
    """An audit's verdict of a message.

    Attributes:
        verdict: its name, or None: not judged, or it cannot be looked up.
        said: one sentence.
    """

    verdict: str | None
    said: str


class Audits:
    """The results of the last audit.

    Args:
        stack: whose.
        folder: of results that are of this stack; None: what its daily audit left counts.
    """

    def __init__(self, stack: Stack, folder: Path | None) -> None:
        self._stack = stack
        self._folder = folder

    @property
    def place(self) -> str | None:
        """Where the results are; None: there are none at hand."""
        if self._folder is not None:
            return str(self._folder)
        bucket = self._stack.outputs.get("AuditBucketName")
        return None if bucket is None else f"s3://{bucket}/audit/"

    def summary(self) -> dict[str, Any] | None:
        """The audit's `summary.json`; None: there is none.

        Raises:
            Failed: there is one that cannot be read.
            ClientError: AWS says no.
        """
        place = self.place
        if place is None:
            return None
        if self._folder is not None:
            return audit_summary.of_folder(self._folder)
        return audit_summary.of_bucket(self._stack.aws.client("s3"), place)

    def of_message(self, stored_id: str) -> Verdict:
        """The verdict of a message.

        Args:
            stored_id: the id as the audit knows it.

        Raises:
            Failed: see `summary`.
            ClientError: AWS says no.
        """
        told = self.summary()
        if told is None:
            return Verdict(None, "No audit's results are at hand.")
        if not audit_summary.has_ended(told):
            return Verdict(None, str(told.get("sentence") or _NOT_ENDED))
        days = f"{told.get('from')} to {told.get('to')}"
        for alarm in told.get("alarms", []):
            if alarm.get("message_id") == stored_id:
                return Verdict(str(alarm["verdict"]), f"The audit of {days} raised an alarm of it.")
        listed: Mapping[str, Any] = told.get("listed", {})
        for verdict, ids in listed.items():
            if stored_id in ids:
                return Verdict(verdict, f"The audit of {days} says so.")
        if self._folder is None:
            return Verdict(
                None,
                f"The audit of {days} does not name it among its alarms; its verdict is in the "
                f"table below {self.place}messages/, which this page does not read.",
            )
        return self._of_table(self._folder, stored_id, days)

    def _of_table(self, folder: Path, stored_id: str, days: str) -> Verdict:
        if find_spec("pyarrow") is None:
            return Verdict(
                None,
                f"The audit of {days} does not name it among its alarms. To have each message's "
                f"verdict looked up: {install('pipeline')}.",
            )
        import pyarrow as pa  # noqa: PLC0415 - an extra of 150 MB that is mostly not there
        import pyarrow.dataset as ds  # noqa: PLC0415

        try:
            table = ds.dataset(folder / "messages", partitioning="hive")
            rows = table.to_table(
                columns=["verdict"], filter=ds.field("message_id") == stored_id
            ).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise Failed(f"{folder}/messages cannot be read: {error}") from error
        if not rows:
            return Verdict(
                None, f"Not judged: the audit of {days} has no record of it; it may be younger."
            )
        return Verdict(str(rows[0]["verdict"]), f"The audit of {days} says so.")
