"""What a job of the embedded AWS is shown of S3 as files, from one job to the next."""

import importlib.util
import uuid
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT

_SOURCE = PROJECT / "actonce" / "embedded" / "integrations" / "integrations.py"


@pytest.fixture(scope="module")
def integrations() -> ModuleType:
    """The function's module, which is in no package."""
    spec = importlib.util.spec_from_file_location("integrations", _SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def s3(stack: Stack) -> Any:
    return stack.aws.client("s3")


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"mirrored-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def job(
    integrations: ModuleType, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Runs a job: shown the URI's place, and killed before the end if it is asked for."""
    monkeypatch.setenv("BUCKETS", str(tmp_path / "buckets"))

    def run(
        uri: str, work: Callable[[Path], object] = lambda _: None, *, killed: bool = False
    ) -> Path:
        with integrations._mirror(s3) as mirror:
            _, place = mirror.translated(["--out", uri])
            work(Path(place))
            if not killed:
                mirror.put_back()
        return Path(place)

    return run


def keys(s3: Any, bucket: str) -> set[str]:
    return {one["Key"] for one in s3.list_objects_v2(Bucket=bucket).get("Contents", [])}


def test_an_object_that_is_as_it_was_stays_the_same_file(
    s3: Any, bucket: str, job: Callable[..., Path]
) -> None:
    s3.put_object(Bucket=bucket, Key="audit/found", Body=b"1")
    uri = f"s3://{bucket}/audit"
    place = job(uri, lambda place: (place / "made").write_text("2"))
    before = {name: (place / name).stat() for name in ("found", "made")}

    job(uri)

    for name, status in before.items():
        now = (place / name).stat()
        assert (now.st_ino, now.st_ctime_ns) == (status.st_ino, status.st_ctime_ns), name
    assert s3.get_object(Bucket=bucket, Key="audit/made")["Body"].read() == b"2"


def test_what_changed_in_s3_is_fetched_and_what_went_goes(
    s3: Any, bucket: str, job: Callable[..., Path]
) -> None:
    for key in ("changed", "gone", "folder/gone"):
        s3.put_object(Bucket=bucket, Key=f"audit/{key}", Body=b"1")
    uri = f"s3://{bucket}/audit"
    place = job(uri, lambda place: (place / "folder" / ".gone.crc").write_text("of Hadoop"))
    assert ".gone.crc" not in "".join(keys(s3, bucket))

    s3.put_object(Bucket=bucket, Key="audit/changed", Body=b"other")
    for key in ("gone", "folder/gone"):
        s3.delete_object(Bucket=bucket, Key=f"audit/{key}")
    job(uri)

    assert (place / "changed").read_text() == "other"
    assert [path.name for path in place.iterdir()] == ["changed"]


def test_what_a_killed_job_has_done_is_undone(
    s3: Any, bucket: str, job: Callable[..., Path]
) -> None:
    for key in ("kept", "spoiled"):
        s3.put_object(Bucket=bucket, Key=f"audit/{key}", Body=b"1")

    def half(place: Path) -> None:
        (place / "kept").unlink()
        (place / "spoiled").write_text("half")
        (place / "made").write_text("half")

    uri = f"s3://{bucket}/audit"
    place = job(uri, half, killed=True)
    job(f"s3://{bucket}/elsewhere/")  # a job that is not shown any of it
    assert keys(s3, bucket) == {"audit/kept", "audit/spoiled"}

    job(uri)

    assert {path.name: path.read_text() for path in place.iterdir()} == {
        "kept": "1",
        "spoiled": "1",
    }
    assert keys(s3, bucket) == {"audit/kept", "audit/spoiled"}


def test_what_a_job_removes_is_removed_in_s3(
    s3: Any, bucket: str, job: Callable[..., Path]
) -> None:
    for key in ("audit/old", "records/old"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"1")

    job(f"s3://{bucket}/audit", lambda place: (place / "old").rename(place / "new"))

    assert keys(s3, bucket) == {"audit/new", "records/old"}
