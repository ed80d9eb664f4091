import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from actonce.records import audit_package
from actonce.stack.embedded_folder import PROJECT
from actonce.terminal.errors import WrongUse
from actonce.terminal.s3_uri import bucket_and_prefix
from tests.actonce_server import run_actonce

SHIPPED_WITH_SPARK = {"pyspark", "py4j"}
ONLY_WHERE_IT_IS_NEEDED = {
    "pyarrow",  # to take a broken file apart
    "boto3",  # to write into S3 where a Spark Connect server does the work
}


def package(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ACTONCE_DIR": str(folder)}
    return run_actonce(("audit", "package", *arguments), environment, folder=folder)


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    first = package(tmp_path, "--to", "one")
    second = package(tmp_path, "--to", "two", "--json")

    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    for name, told in json.loads(second.stdout).items():
        content = (tmp_path / "two" / name).read_bytes()
        assert content == (tmp_path / "one" / name).read_bytes()
        assert f"{told['sha256']}  one/{name}\n" in first.stdout
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"audit.py", "pipeline.zip"}


def test_nothing_of_the_machine_is_in_the_zip() -> None:
    _, modules = audit_package.pack()

    with zipfile.ZipFile(io.BytesIO(modules.content)) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert "pipeline/__init__.py" in {entry.filename for entry in entries}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {(entry.create_system, entry.external_attr >> 16) for entry in entries} == {
        (3, 0o100644)
    }


def imported(module: str, seen: dict[str, set[str]]) -> dict[str, set[str]]:
    """What each module of the pipeline imports, by the audit's entry point."""
    if module in seen:
        return seen
    path = PROJECT / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(file.read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    seen[module] = names
    for name in names:
        if name.startswith("pipeline."):
            imported(name, seen)
    return seen


def test_the_audit_imports_nothing_that_spark_does_not_bring() -> None:
    modules = imported("pipeline.audit.__main__", {})

    others = {
        name.split(".")[0]
        for names in modules.values()
        for name in names
        if name.split(".")[0] not in sys.stdlib_module_names | {"pipeline"} | SHIPPED_WITH_SPARK
    }
    assert others == ONLY_WHERE_IT_IS_NEEDED
    assert not [name for name in modules if name.startswith("pipeline.backfill")]


def test_it_starts_where_there_is_nothing_but_spark() -> None:
    absent = "".join(f"sys.modules[{name!r}] = None; " for name in sorted(ONLY_WHERE_IT_IS_NEEDED))
    subprocess.run(
        [sys.executable, "-c", f"import sys; {absent}import pipeline.audit.__main__"],
        cwd=PROJECT,
        check=True,
    )


@pytest.mark.parametrize(("prefix", "key"), [("", ""), ("code", "code/"), ("a/b/", "a/b/")])
def test_it_is_put_into_a_bucket(monkeypatch: pytest.MonkeyPatch, prefix: str, key: str) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    files = audit_package.pack()
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket="bucket")

        audit_package.upload(files, s3, *bucket_and_prefix(f"s3://bucket/{prefix}"))

        for file in files:
            found = s3.get_object(Bucket="bucket", Key=key + file.name)
            assert found["Body"].read() == file.content


@pytest.mark.parametrize("uri", ["s3://", "s3:///code/", "https://bucket/code/"])
def test_what_names_no_bucket_is_refused(uri: str) -> None:
    with pytest.raises(WrongUse, match="names no bucket"):
        bucket_and_prefix(uri)
