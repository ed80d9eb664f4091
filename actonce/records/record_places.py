"""Files of records and of audits, in a folder here or in a bucket, without Spark."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from actonce.stack.clients import Aws
from actonce.terminal.s3_uri import bucket_and_prefix
from actonce_core.transient import error_code
from pipeline.audit.reading import places
from pipeline.audit.reading.places import ListedFile, is_uri

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is below `s3://<bucket>/<prefix>`, with as much of a `places.Place` as is used here."""

    s3: "S3Client"
    bucket: str
    prefix: str

    def files(self) -> list[ListedFile]:
        """All files below."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=self.prefix
        )
        return [
            ListedFile(
                f"s3://{self.bucket}/{one['Key']}",
                one["Key"].removeprefix(self.prefix),
                one["Size"],
            )
            for page in pages
            for one in page.get("Contents", [])
        ]

    def read(self, path: str) -> str | None:
        """A text file; None: there is none."""
        try:
            answer = self.s3.get_object(Bucket=self.bucket, Key=self.prefix + path)
        except ClientError as error:
            if error_code(error) in {"NoSuchKey", "NoSuchBucket"}:
                return None
            raise
        return answer["Body"].read().decode("utf-8", "replace")

    def create(self, path: str, text: str) -> None:
        """Write a file; S3 refuses it if the file is there."""
        self.s3.put_object(
            Bucket=self.bucket, Key=self.prefix + path, Body=text.encode(), IfNoneMatch="*"
        )

    def hashes(self, paths: Sequence[str]) -> dict[str, str]:
        """SHA-256 of files, in hex, by their paths as they are listed."""

        def sha256(path: str) -> str:
            key = path.removeprefix(f"s3://{self.bucket}/")
            digest = hashlib.sha256()
            for piece in self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].iter_chunks(2**20):
                digest.update(piece)
            return digest.hexdigest()

        with ThreadPoolExecutor(8) as pool:
            return dict(zip(paths, pool.map(sha256, paths), strict=True))


Place = places.Place | Bucket


def place(name: str, aws: Aws | None) -> Place:
    """A folder here, or what an `s3://` URI names.

    Args:
        aws: where the bucket is; None: there is none.
    """
    if aws is None or not is_uri(name):
        return places.place(None, name)
    return Bucket(aws.client("s3"), *bucket_and_prefix(name))
