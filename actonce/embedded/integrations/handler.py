"""A Lambda function that stands in for the service integrations that MiniStack does not have.

Runs on the embedded AWS only. It is called with a task's `resource` and `arguments`, answers as
the integration does, and fails with the integration's errors: an exception's class is the error's
name. What it cannot do it refuses.

- `emr-serverless:startJobRun.sync` runs the job by spark-submit on this machine, with nothing on
  its path but Spark and what --py-files names. Every `s3://` argument becomes a folder or a file:
  what lies there is fetched before, and what the job has changed there is put back after. Each job
  has files of its own, so one that was killed has changed nothing, and none takes a day's records
  for those that an earlier one has read.
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
    return {"Body": answer["Body"].read().decode("utf-8", "replace"), "ETag": answer["ETag"]}


def _start_job_run(s3: "S3Client", arguments: dict[str, Any]) -> dict[str, Any]:
    job = arguments["JobDriver"]["SparkSubmit"]
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as objects:
        mirror = Mirror(s3, Path(objects))
        words = [
            *mirror.translated(job["SparkSubmitParameters"].split()),
            *mirror.translated([job["EntryPoint"], *job["EntryPointArguments"]]),
        ]
        answer = _spark_submit(words, Path(home))
        mirror.put_back()
    if answer.returncode != 0:
        # As EMR Serverless: whatever the status was, the job failed.
        raise _error("States.TaskFailed", answer.stderr[-_LAST_WORDS:])
    return {"JobRun": {"Name": arguments["Name"], "State": "SUCCESS"}}


class Mirror:
    """Objects as files, below a folder of each bucket's name."""

    def __init__(self, s3: "S3Client", folder: Path) -> None:
        self._s3, self._folder = s3, folder
        self._fetched: dict[str, tuple[int, ...]] = {}

    def translated(self, words: list[str]) -> list[str]:
        """The words of a command line, with what lies in S3 fetched and named as it lies here."""
        translated = []
        for word in words:
            uri = _URI.fullmatch(word)
            translated.append(word if uri is None else str(self._fetch(uri[1], uri[2])))
        return translated

    def put_back(self) -> None:
        """Make the buckets what the files are now."""
        # Hadoop's checksums begin with a dot; in S3 there are none.
        files = {
            f"{path.relative_to(self._folder)}": path
            for path in self._folder.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        }
        for name in self._fetched.keys() | files.keys():
            bucket, key = name.split("/", 1)
            if name not in files:
                self._s3.delete_object(Bucket=bucket, Key=key)
            elif self._fetched.get(name) != _state(files[name]):
                self._s3.upload_file(str(files[name]), bucket, key)

    def _fetch(self, bucket: str, prefix: str) -> Path:
        place = self._folder / bucket / prefix
        place.parent.mkdir(parents=True, exist_ok=True)
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        for page in pages:
            for found in page.get("Contents", []):
                file = self._folder / bucket / found["Key"]
                file.parent.mkdir(parents=True, exist_ok=True)
                self._s3.download_file(bucket, found["Key"], str(file))
                self._fetched[f"{bucket}/{found['Key']}"] = _state(file)
        return place


def _state(path: Path) -> tuple[int, ...]:
    """Another one for another content: when the file was written (ns), its number and its size."""
    status = path.stat()
    return status.st_mtime_ns, status.st_ino, status.st_size


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


def _error(name: str, message: str) -> Exception:
    error: Exception = type(name, (Exception,), {})(message)
    return error
