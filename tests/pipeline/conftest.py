import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipeline.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session per process: on SPARK_REMOTE if that is set, else Spark here."""
    if not os.environ.get("SPARK_REMOTE"):
        if shutil.which("java") is None:
            pytest.skip("NO JAVA ON THIS MACHINE: nothing of the audit was tested with Spark")
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )
    session = spark_session("tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()
