"""That an audit of many files is at work, and how far it is."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from pipeline.audit.reading.listing import Listing

EVERY_SECONDS: Final = 10.0


@contextmanager
def told_how_far(
    spark: SparkSession, listing: Listing, say: Callable[[str], None] | None
) -> Iterator[None]:
    """Tell every ten seconds what is done of the stage that runs; a short audit tells nothing."""
    if say is None:
        yield
        return
    over = threading.Event()
    began = time.monotonic()

    def tell() -> None:
        files = f"{len(listing.files):,} files"
        while not over.wait(EVERY_SECONDS):
            say(f"reading {files}{_tasks(spark)}, {time.monotonic() - began:.0f} s so far")

    teller = threading.Thread(target=tell, name="audit-progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tasks(spark: SparkSession) -> str:
    """How much of the running stages is done; a client of Spark Connect is not told."""
    if is_remote():
        return ""
    tracker: Any = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    running = [stage for stage in stages if stage is not None]
    done, tasks = (
        sum(getattr(s, name) for s in running) for name in ("numCompletedTasks", "numTasks")
    )
    return f", {done:,} of {tasks:,} parts" if tasks else ""
