"""A Lambda function that stands in for the service integrations that MiniStack does not have.

Runs on the embedded AWS only. It is called with a task's `resource` and `arguments`, answers as
the integration does, and fails with the integration's errors: an exception's class is the error's
name. What it cannot do it refuses.

- `emr-serverless:startJobRun.sync` runs the job by spark-submit on this machine, with nothing on
  its path but Spark and what --py-files names. Every `s3://` argument becomes a folder or a file:
  what lies there is fetched before, and what the job has changed there is put back after.
- `aws-sdk:s3:getObject` reads a text.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    # A few records only: the JVM's better compiler would cost more than it saves.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
}
_URI = re.compile(r"s3://([^/]+)/(.*)")
_LAST_WORDS = 4000  # characters of what a failed job printed

Files = dict[Path, int]
"""The files of a folder, and when each was written (ns)."""


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Lambda's entry point; `event` is a task's resource and arguments."""
    integrations = {
        "arn:aws:states:::emr-serverless:startJobRun.sync": _start_job_run,
        "arn:aws:states:::aws-sdk:s3:getObject": _get_object,
    }
    s3 = boto3.client("s3")
    return integrations[event["resource"]](s3, event["arguments"])


def _get_object(s3: "S3Client", arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = s3.get_object(**arguments)
    except s3.exceptions.NoSuchKey as error:
        raise _error("S3.NoSuchKeyException", str(error)) from error
    return {"Body": answer["Body"].read().decode("utf-8", "replace")}


def _start_job_run(s3: "S3Client", arguments: dict[str, Any]) -> dict[str, Any]:
    job = arguments["JobDriver"]["SparkSubmit"]
    with tempfile.TemporaryDirectory() as folder:
        buckets = Path(folder, "buckets")
        words = [
            *_translated(s3, job["SparkSubmitParameters"].split(), buckets),
            *_translated(s3, [job["EntryPoint"], *job["EntryPointArguments"]], buckets),
        ]
        before = _files(buckets)
        answer = _spark_submit(words, Path(folder))
        _put_back(s3, buckets, before)
    if answer.returncode != 0:
        # As EMR Serverless: whatever the status was, the job failed.
        raise _error("States.TaskFailed", answer.stderr[-_LAST_WORDS:])
    return {"JobRun": {"Name": arguments["Name"], "State": "SUCCESS"}}


def _translated(s3: "S3Client", words: list[str], buckets: Path) -> list[str]:
    """The words of a command line, with what lies in S3 fetched and named as it lies here."""
    translated = []
    for word in words:
        uri = _URI.fullmatch(word)
        if uri is None:
            translated.append(word)
            continue
        place = buckets / uri[1] / uri[2]
        place.parent.mkdir(parents=True, exist_ok=True)
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=uri[1], Prefix=uri[2]):
            for found in page.get("Contents", []):
                file = buckets / uri[1] / found["Key"]
                file.parent.mkdir(parents=True, exist_ok=True)
                s3.download_file(uri[1], found["Key"], str(file))
        translated.append(str(place))
    return translated


def _spark_submit(words: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    # -S keeps the packages of the environment out, and with them the sources that are being worked
    # on: the job has what was packed.
    python = home / "python"
    python.write_text(f'#!/bin/sh\nexec "{os.environ["SPARK_PYTHON"]}" -S "$@"\n')
    python.chmod(0o755)
    spark = os.environ["SPARK_HOME"]
    settings = [word for item in _SPARK_SETTINGS.items() for word in ("--conf", "=".join(item))]
    names = ("PATH", "JAVA_HOME", "ACTONCE_PACKAGED_JAVA", "LANG")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return subprocess.run(
        [f"{spark}/bin/spark-submit", "--master", "local[2]", *settings, *words],
        cwd=home,
        env=kept
        | {
            "HOME": str(home),
            "SPARK_HOME": spark,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": str(python),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _files(buckets: Path) -> Files:
    # Hadoop's checksums begin with a dot; in S3 there are none.
    return {
        path: path.stat().st_mtime_ns
        for path in buckets.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def _put_back(s3: "S3Client", buckets: Path, before: Files) -> None:
    after = _files(buckets)
    for path in before.keys() | after.keys():
        bucket, key = path.relative_to(buckets).as_posix().split("/", 1)
        if path not in after:
            s3.delete_object(Bucket=bucket, Key=key)
        elif after[path] != before.get(path):
            s3.upload_file(str(path), bucket, key)


def _error(name: str, message: str) -> Exception:
    error: Exception = type(name, (Exception,), {})(message)
    return error
