import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.spark.java import NONE_FOUND, find_java
from actonce_pipeline.spark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session per process: on SPARK_REMOTE if that is set, else Spark here."""
    if not os.environ.get("SPARK_REMOTE") and find_java() is None:
        pytest.skip(f"the audit and the backfill. {NONE_FOUND}")
    with pytest.MonkeyPatch.context() as patch:
        # It runs for minutes, so its second compiler pays off.
        options = "--driver-java-options -XX:TieredStopAtLevel=4 pyspark-shell"
        patch.setenv("PYSPARK_SUBMIT_ARGS", options)
        session = spark_session("tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    if not os.environ.get("SPARK_REMOTE"):
        # For a handful of rows code is not worth compiling. The run on Spark Connect, the demo's
        # audit and the night's compile it.
        session.conf.set("spark.sql.codegen.wholeStage", "false")
        session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield session
    session.stop()
