"""An audit that is ready when the demo is: its Spark starts while messages come to rest.

    python -m actonce.demo.ready_audit SENT    reads {"records": …, "as_of": …}, prints a summary

Starting a JVM, and having it load and compile what an audit runs, is most of what a small audit
takes. So it audits what was sent, to get warm, before it is told what to audit.
"""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actonce.terminal.errors import Failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ReadyAudit:
    """A process with a Spark session that has not been told yet what to audit."""

    process: subprocess.Popen[str]

    def begin(self, records: Path, as_of: datetime, *, by_word: bool = False) -> None:
        """Have it audit a folder of records; nothing is in flight any more.

        `by_word`: executions are believed, because nobody tells the effects.
        """
        by = "executions" if by_word else "effects"
        told = {"records": str(records), "as_of": as_of.isoformat(), "effects_by": by}
        asked = json.dumps(told)
        assert self.process.stdin is not None  # noqa: S101 - for the type checker
        # If it has ended, `summary` says why.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(asked + "\n")
            self.process.stdin.flush()

    def summary(self) -> dict[str, Any]:
        """What the audit found.

        Raises:
            Failed: it could not be audited; with the last that was said.
        """
        out, said = self.process.communicate()
        if self.process.returncode != 0 or not out.strip():
            last = (said.strip().splitlines() or ["nothing was said"])[-1]
            raise Failed(f"The audit of the demo's records failed: {last}")
        summary: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        return summary


@contextlib.contextmanager
def starting(sent: Path) -> Iterator[ReadyAudit]:
    """Begin to start one; it ends with this context, used or not.

    Args:
        sent: the root of a `sent` stream.
    """
    with subprocess.Popen(
        # -P: the folder that a person is in may have a `pipeline` of its own.
        [sys.executable, "-P", "-m", "actonce.demo.ready_audit", str(sent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield ReadyAudit(process)
        finally:
            process.terminate()


def main() -> None:
    """Start Spark, then audit what standard input names."""
    # Here, for Spark takes longer to import than all else of the demo.
    from pipeline.errors import CannotAudit  # noqa: PLC0415
    from pipeline.spark.session import ended_together, spark_session  # noqa: PLC0415

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with its JVM
    try:
        with ended_together():
            _audit(spark_session("actonce-audit", brief=True))
    except CannotAudit as error:
        sys.exit(str(error))


def _audit(spark: "SparkSession") -> None:
    from pipeline.audit.job import audit  # noqa: PLC0415 - as above
    from pipeline.audit.request import requested  # noqa: PLC0415 - as above
    from pipeline.errors import CannotAudit  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as nowhere, contextlib.suppress(CannotAudit):
        audit(spark, requested(sys.argv[1], out=nowhere))
    if not (line := sys.stdin.readline()):
        return  # the demo ended without an audit
    asked = json.loads(line)
    request = requested(
        asked["records"], as_of=asked["as_of"], grace=0.0, effects_by=asked["effects_by"]
    )
    sys.stdout.write(json.dumps(audit(spark, request), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
