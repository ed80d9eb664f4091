"""The Spark session: classic Spark here, spark-submit's own, or a Spark Connect server."""

import os
import sys

from pyspark.sql import SparkSession

from pipeline.errors import CannotAudit
from pipeline.java import NONE_FOUND, use_java

BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of two compilers the JVM has, the quick one, and no threads that collect garbage: they pay off
after minutes."""


def spark_session(name: str, *, brief: bool = False) -> SparkSession:
    """The session to work in.

    `SPARK_REMOTE` set: that Spark Connect server. Under spark-submit: what it was told. Otherwise
    `local[*]`.

    Args:
        name: of the application.
        brief: there is little to do, so starting is most of it.

    Raises:
        CannotAudit: Spark would have to start here and there is no Java.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    remote = os.environ.get("SPARK_REMOTE")
    # Java names files by the locale, and in that of C it can open none with an umlaut.
    os.environ["LC_ALL"] = "C.UTF-8"
    if remote:
        if remote.startswith("local"):
            _require_java()
        spark = builder.remote(remote).getOrCreate()
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM
        spark = builder.getOrCreate()
    else:
        _require_java()
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = (
            builder.master("local[*]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            # Else each column that is built tells where in Python: five calls of the JVM for one,
            # and half of a plan's time.
            .config("spark.python.sql.dataFrameDebugging.enabled", "false")
            # Many, so that a task's table of messages stays near the CPU; adaptive execution
            # puts together those that are small.
            .config("spark.sql.shuffle.partitions", str(16 * (os.cpu_count() or 1)))
            .config("spark.sql.adaptive.advisoryPartitionSizeInBytes", "16m")
        )
        if brief:
            builder = builder.config("spark.driver.defaultJavaOptions", BRIEF)
        spark = builder.getOrCreate()
        # A file that cannot be read is reported by the audit, not by a stack trace.
        spark.sparkContext.setLogLevel("OFF")
    return configured(spark)


def configured(spark: SparkSession) -> SparkSession:
    """The session with what the audit's answer depends on."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # Set, a truncated gzip would lose its rest in silence.
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "false")
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "false")
    # Spark lists many small files by ten thousand tasks, and reads forty of them in one: to start
    # tasks was most of the work.
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "64")
    spark.conf.set("spark.sql.files.openCostInBytes", "1048576")
    # A time of before 1900 is no record's, and is told as that.
    for kind in ("datetime", "int96"):
        spark.conf.set(f"spark.sql.parquet.{kind}RebaseModeInRead", "CORRECTED")
    # HotSpot compiles no longer method; beyond, Spark makes smaller ones. Its default is 65535.
    spark.conf.set("spark.sql.codegen.hugeMethodLimit", "8000")
    # What Parquet has for times; Spark's default is an old form of 12 bytes that costs a division.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return spark


def _require_java() -> None:
    if not use_java():
        raise CannotAudit(NONE_FOUND)
