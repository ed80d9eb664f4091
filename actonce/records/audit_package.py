"""The audit as `spark-submit` takes it: an entry point, and a zip of the modules that it imports.

For EMR Serverless' Spark 4.0 (release emr-spark-8.0.0: Spark 4.0.2, Python 3.11 to 3.13). The
pipeline imports nothing but the rules of messages (`actonce_core`), the standard library and
what Spark brings along, so nothing else is packed.
"""

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import actonce_core
import actonce_pipeline

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ENTRY_POINT: Final = "audit.py"
MODULES: Final = "pipeline.zip"
_PACKAGES: Final = tuple(Path(str(one.__file__)).parent for one in (actonce_core, actonce_pipeline))
_STARTED: Final = _PACKAGES[-1] / "audit" / "__main__.py"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can hold
_UNIX: Final = 3
_READABLE_FILE: Final = 0o100644


def pack() -> dict[str, bytes]:
    """Each file's content, by its name; the same bytes for the same sources, on any machine."""
    return {ENTRY_POINT: _STARTED.read_bytes(), MODULES: _zip_of_modules()}


def _zip_of_modules() -> bytes:
    zipped = io.BytesIO()
    # Stored: what is compressed depends on the version of zlib.
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_STORED) as archive:
        for package in _PACKAGES:
            for source in sorted(package.rglob("*.py")):
                name = source.relative_to(package.parent).as_posix()
                entry = zipfile.ZipInfo(name, _EARLIEST)
                entry.create_system = _UNIX
                entry.external_attr = _READABLE_FILE << 16
                archive.writestr(entry, source.read_bytes())
    return zipped.getvalue()


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write the files into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def upload(files: dict[str, bytes], s3: "S3Client", bucket: str, prefix: str) -> None:
    """Put the files into a bucket; the entry point last, so that it never meets older modules."""
    for name in reversed(files):
        s3.put_object(Bucket=bucket, Key=prefix + name, Body=files[name])
