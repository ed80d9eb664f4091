"""Files of audits, in a folder here or in a bucket, without Spark."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from actonce.stack.clients import Aws
from actonce.terminal.s3_uri import bucket_and_prefix
from actonce_core.transient import error_code
from pipeline.audit.reading import places
from pipeline.audit.reading.places import Readable, is_uri

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is below `s3://<bucket>/<prefix>`."""

    s3: "S3Client"
    bucket: str
    prefix: str

    def read(self, path: str) -> str | None:
        """A text file, by its path from there on; None: there is none."""
        try:
            answer = self.s3.get_object(Bucket=self.bucket, Key=self.prefix + path)
        except ClientError as error:
            if error_code(error) in {"NoSuchKey", "NoSuchBucket"}:
                return None
            raise
        return answer["Body"].read().decode("utf-8", "replace")


def place(name: str, aws: Aws | None) -> Readable:
    """A folder here, or what an `s3://` URI names.

    Args:
        aws: where the bucket is; None: there is none.
    """
    if aws is None or not is_uri(name):
        return places.place(None, name)
    return Bucket(aws.client("s3"), *bucket_and_prefix(name))
