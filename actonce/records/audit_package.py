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


def pack() -> dict[str, bytes]:
    """Each file's content, by its name; the same bytes for the same sources, on any machine."""
    zipped = io.BytesIO()
    # Stored: what is compressed depends on the version of zlib.
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_STORED) as archive:
        for package in _PACKAGES:
            for source in sorted(package.rglob("*.py")):
                # An entry has a time and rights of its own: none of this machine's.
                entry = zipfile.ZipInfo(source.relative_to(package.parent).as_posix())
                archive.writestr(entry, source.read_bytes())
    started = _PACKAGES[-1] / "audit" / "__main__.py"
    return {ENTRY_POINT: started.read_bytes(), MODULES: zipped.getvalue()}


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write the files into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def upload(files: dict[str, bytes], s3: "S3Client", bucket: str, prefix: str) -> None:
    """Put the files into a bucket; the entry point last, so that it never meets older modules."""
    for name in reversed(files):
        s3.put_object(Bucket=bucket, Key=prefix + name, Body=files[name])
