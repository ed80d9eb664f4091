from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.spark.java import NONE_FOUND, find_java
from actonce_pipeline.spark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session per process."""
    if find_java() is None:
        pytest.skip(f"the audit and the backfill. {NONE_FOUND}")
    session = spark_session("tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    # For a handful of rows code is not worth compiling; the demo's and the night's audits do it.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield session
    session.stop()
