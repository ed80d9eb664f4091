"""The Spark session: one that starts here, or spark-submit's own."""

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from actonce_pipeline.errors import CannotAudit
from actonce_pipeline.spark.java import NONE_FOUND, use_java

BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of two compilers the JVM has, the quick one, and no threads that collect garbage: of most audits
starting is most of the work, and they pay off after minutes. Who audits more here sets
PYSPARK_SUBMIT_ARGS="--driver-java-options -XX:TieredStopAtLevel=4 pyspark-shell"."""


def spark_session(name: str) -> SparkSession:
    """The session to work in: under spark-submit what it was told, otherwise `local[*]`.

    Raises:
        CannotAudit: Spark would have to start here and there is no Java, or it does not start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Java names files by the locale, and in that of C it can open none with an umlaut.
    os.environ["LC_ALL"] = "C.UTF-8"
    builder = SparkSession.builder.appName(name).config(map=_CONFIGURATION)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM
        return builder.getOrCreate()
    if not use_java():
        raise CannotAudit(NONE_FOUND)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = builder.master("local[*]").config(map=_HERE)
    # In the main thread Spark would put a handler of its own in Ctrl-C's place, which calls the
    # JVM in the middle of whatever was being asked of it. So Ctrl-C waits until Spark is there.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_started, builder).result()


_CONFIGURATION: Final[dict[str, Any]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # Set, a truncated gzip would lose its rest in silence.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Spark lists many small files by ten thousand tasks, and reads forty of them in one: to start
    # tasks was most of the work.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
    "spark.sql.files.openCostInBytes": "1048576",
    # Times that a warehouse unloads: one without a zone is UTC's, and one in nanoseconds a number.
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # A time of before 1900 is no record's, and is told as that.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # HotSpot compiles no longer method; beyond, Spark makes smaller ones. Its default is 65535.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # What Parquet has for times; Spark's default is an old form of 12 bytes that costs a division.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""What the answer depends on."""
_HERE: Final[dict[str, Any]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    # Else each column that is built tells where in Python: five calls of the JVM for one, and half
    # of a plan's time.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Many, so that a task's table of messages stays near the CPU; adaptive execution puts together
    # those that are small.
    "spark.sql.shuffle.partitions": str(16 * (os.cpu_count() or 1)),
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
}


def _started(builder: Any) -> SparkSession:
    if SparkContext._active_spark_context is None:  # noqa: SLF001 - it has no public name
        _start_jvm()
    spark: SparkSession = builder.getOrCreate()
    # A file that cannot be read is reported by the audit, not by a stack trace.
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _start_jvm() -> None:
    """Start the JVM; what it says of itself goes into a file, for nobody can do anything about it.

    It ends with this process, which closes its standard input.

    Raises:
        CannotAudit: it does not start.
    """
    # py4j tells of an interrupted call by the root logger, which without this prints it.
    logging.getLogger().addHandler(logging.NullHandler())
    with tempfile.TemporaryFile() as output:
        how = {"stdout": output, "stderr": subprocess.STDOUT}
        try:
            launch: Callable[..., Any] = launch_gateway
            gateway = launch(SparkConf().set("spark.driver.defaultJavaOptions", BRIEF), how)
        except PySparkRuntimeError as error:
            output.seek(0)
            words = " ".join(output.read().decode(errors="replace").split())
            raise CannotAudit(f"Spark did not start: {words[:500] or error}") from error
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - as above
