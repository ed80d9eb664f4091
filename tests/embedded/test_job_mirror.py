"""What a job of the embedded AWS is shown of S3 as files, and what of it is put back."""

import importlib.util
import uuid
from pathlib import Path

from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT

_SOURCE = PROJECT / "actonce" / "embedded" / "integrations" / "integrations.py"


def test_what_a_job_changes_writes_and_removes_is_changed_in_s3(
    stack: Stack, tmp_path: Path
) -> None:
    spec = importlib.util.spec_from_file_location("integrations", _SOURCE)  # it is in no package
    assert spec is not None
    assert spec.loader is not None
    integrations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(integrations)
    s3, bucket = stack.aws.client("s3"), f"mirrored-{uuid.uuid4()}"
    s3.create_bucket(Bucket=bucket)
    for key in ("audit/changed", "audit/day=1/gone", "audit/kept", "records/other"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"1")
    kept = s3.head_object(Bucket=bucket, Key="audit/kept")["LastModified"]

    mirror = integrations.Mirror(s3, tmp_path)
    option, place = mirror.translated(["--out", f"s3://{bucket}/audit"])
    shown = Path(place)
    assert option == "--out"
    assert {file.name for file in shown.rglob("*") if file.is_file()} == {"changed", "gone", "kept"}
    (shown / "changed").write_text("2")
    (shown / "day=1" / "gone").unlink()
    (shown / "made").write_text("3")
    (shown / ".made.crc").write_text("of Hadoop")
    mirror.put_back()

    contents = {
        one["Key"]: s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        for one in s3.list_objects_v2(Bucket=bucket)["Contents"]
    }
    assert contents == {
        "audit/changed": b"2",
        "audit/kept": b"1",
        "audit/made": b"3",
        "records/other": b"1",
    }
    assert s3.head_object(Bucket=bucket, Key="audit/kept")["LastModified"] == kept
