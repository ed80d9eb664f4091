"""A Lambda function that stands in for the service integrations that MiniStack does not have.

Runs on the embedded AWS only. It is called with a task's `resource` and `arguments`, answers as
the integration does, and fails with the integration's errors: an exception's class is the error's
name. What it cannot do it refuses.

- `emr-serverless:startJobRun.sync` runs the job by spark-submit on this machine, with nothing on
  its path but Spark and what --py-files names. Every `s3://` argument becomes a folder or a file:
  what lies there is fetched before, and what the job has changed there is put back after. An object
  that is as it was stays the same file, as it stays the same object for a job on AWS.
- `aws-sdk:s3:getObject` reads a text.
"""

import fcntl
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef, ObjectTypeDef

_SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    # A few records only: the JVM's better compiler would cost more than it saves.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
}
_URI = re.compile(r"s3://([^/]+)/(.*)")
_LAST_WORDS = 4000  # characters of what a failed job printed

State = list[int | str]
"""Of a file: when it and its entry were written (ns), its number and size. Of an object:
its ETag and the second of its making. Another state is another content."""


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
    with _mirror(s3) as mirror, tempfile.TemporaryDirectory() as home:
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


@contextmanager
def _mirror(s3: "S3Client") -> "Iterator[_Mirror]":
    """The buckets as files, for one job at a time."""
    folder = Path(os.environ["BUCKETS"])
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield _Mirror(s3, folder)


class _Mirror:
    """What was fetched of buckets, below a folder of each one's name.

    A file stands for an object as long as both are as they were when the one was made of the other.
    """

    def __init__(self, s3: "S3Client", folder: Path) -> None:
        self._s3, self._folder = s3, folder
        self._known = folder.with_suffix(".json")
        self._asked: list[str] = []
        self._pairs: dict[str, list[State]] = {}
        if self._known.exists():
            self._pairs = json.loads(self._known.read_text())

    def translated(self, words: list[str]) -> list[str]:
        """The words of a command line, with what lies in S3 fetched and named as it lies here."""
        translated = []
        for word in words:
            uri = _URI.fullmatch(word)
            translated.append(word if uri is None else str(self._fetched(uri[1], uri[2])))
        return translated

    def put_back(self) -> None:
        """Make the buckets what the files are now, where the job was shown any of them."""
        files = {f"{path.relative_to(self._folder)}": path for path in _files(self._folder)}
        for name in sorted(self._pairs.keys() | files.keys()):
            if not name.startswith(tuple(self._asked)):
                continue
            bucket, key = name.split("/", 1)
            if name not in files:
                self._s3.delete_object(Bucket=bucket, Key=key)
                del self._pairs[name]
            elif name not in self._pairs or self._pairs[name][0] != _state(files[name]):
                self._s3.upload_file(str(files[name]), bucket, key)
                found = self._s3.head_object(Bucket=bucket, Key=key)
                self._pairs[name] = [_state(files[name]), _state_of(found)]
        self._remember()

    def _fetched(self, bucket: str, prefix: str) -> Path:
        self._asked.append(f"{bucket}/{prefix}")
        place = self._folder / bucket / prefix
        place.parent.mkdir(parents=True, exist_ok=True)
        there = set()
        for page in self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix
        ):
            for found in page.get("Contents", []):
                name, file = f"{bucket}/{found['Key']}", self._folder / bucket / found["Key"]
                there.add(file)
                if file.exists() and self._pairs.get(name) == [_state(file), _state_of(found)]:
                    continue
                file.parent.mkdir(parents=True, exist_ok=True)
                file.unlink(missing_ok=True)
                self._s3.download_file(bucket, found["Key"], str(file))
                self._pairs[name] = [_state(file), _state_of(found)]
        self._forget(self._folder / bucket, prefix, there)
        self._remember()
        return place

    def _forget(self, top: Path, prefix: str, there: set[Path]) -> None:
        """Remove what is no object (any more), also Hadoop's checksums and empty folders."""
        for path in sorted(top.rglob("*"), reverse=True):  # what is in a folder before it
            if not f"{path.relative_to(top)}".startswith(prefix) or path in there:
                continue
            if path.is_dir():
                if not any(path.iterdir()):
                    path.rmdir()
            else:
                path.unlink()
                self._pairs.pop(f"{path.relative_to(self._folder)}", None)

    def _remember(self) -> None:
        new = self._known.with_suffix(".new")
        new.write_text(json.dumps(self._pairs))
        new.replace(self._known)


def _state(path: Path) -> State:
    status = path.stat()
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size]


def _state_of(found: "ObjectTypeDef | HeadObjectOutputTypeDef") -> State:
    # A listing tells fractions of the second, and the object's own header does not.
    return [found["ETag"], int(found["LastModified"].timestamp())]


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


def _files(folder: Path) -> list[Path]:
    # Hadoop's checksums begin with a dot; in S3 there are none.
    return [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]


def _error(name: str, message: str) -> Exception:
    error: Exception = type(name, (Exception,), {})(message)
    return error
