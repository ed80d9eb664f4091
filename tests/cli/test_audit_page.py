"""`actonce audit page` and `audit package`: of an audit that runs elsewhere."""

import ast
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from tests.cli.conftest import Run
from tests.records.report import summaries
from tests.support.moto_stack import Actonce

SHIPPED_WITH_SPARK = {"pyspark", "py4j"}

# --------------------------------------------------------------------------- the page


@pytest.mark.parametrize(
    "place", [".", "s3://records/audit/", "s3a://records/audit"], ids=["folder", "s3", "s3a"]
)
def test_results_in_a_folder_or_a_bucket_become_a_page(
    stack: Stack, run: Run, tmp_path: Path, place: str
) -> None:
    summary = json.dumps(summaries.all_good())
    (tmp_path / "summary.json").write_text(summary)
    s3 = stack.aws.client("s3")
    s3.create_bucket(Bucket="records")
    s3.put_object(Bucket="records", Key="audit/summary.json", Body=summary)
    answer = "Each of the 200 messages was acted on at most once, and none was lost.\n"
    for to in ("here.html", "no-folder/page.html"):
        header = "" if place == "." else "On AWS: account 123456789012, Region us-east-1\n"
        assert run(f"audit page {place} --to {to}", stack) == (0, f"{answer}{to}\n", header)
        page = (tmp_path / to).read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "Each of the 200" in page


@pytest.mark.parametrize("place", ["results", "s3://records/other/", "s3://no-such-bucket/audit/"])
def test_where_no_summary_is_it_is_wrong_use(stack: Stack, run: Run, place: str) -> None:
    stack.aws.client("s3").create_bucket(Bucket="records")
    ended = run(f"audit page {place}", stack)
    assert (ended.status, ended.out) == (2, "")
    sentence = f"actonce: {place} holds no summary.json: name the folder that an audit wrote.\n"
    assert ended.err.endswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "summary.json of results is no JSON (Expecting property name enclosed in double"),
        ("[]", "summary.json of results is no summary: run the audit again."),
        ('{"version": 2}', "The page of results cannot be drawn: The summary has no verdicts."),
        ('{"version": 0}', "cannot be drawn: The summary has version 0, and this page is for ver"),
    ],
)
def test_what_is_no_summary_is_told_and_drawn_as_no_page(
    run: Run, tmp_path: Path, content: str, sentence: str
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "summary.json").write_text(content)
    ended = run("audit page results")
    assert (ended.status, ended.out, sentence in ended.err) == (1, "", True), ended.err
    assert [str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*.*")] == [
        "results/summary.json"
    ]


# --------------------------------------------------------------------------- the package


def test_the_same_sources_give_the_same_bytes_in_a_folder_or_a_bucket(
    moto_stack: Stack, actonce: Actonce, tmp_path: Path
) -> None:
    printed = actonce("audit", "package", "--to", "one").out
    digests = json.loads(actonce("audit", "package", "--to", "two", "--json").out)
    s3 = moto_stack.aws.client("s3")
    s3.create_bucket(Bucket="bucket")
    for to in ("s3://bucket", "s3://bucket/code"):
        assert not actonce("audit", "package", "--to", to, "--yes", stack=moto_stack).status
    for name, one in digests.items():
        content = (tmp_path / "two" / name).read_bytes()
        assert content == (tmp_path / "one" / name).read_bytes()
        assert f"{one['sha256']}  one/{name}\n" in printed
        for key in (name, f"code/{name}"):
            assert s3.get_object(Bucket="bucket", Key=key)["Body"].read() == content
    assert digests.keys() == {"audit.py", "pipeline.zip"}
    with zipfile.ZipFile(io.BytesIO((tmp_path / "one" / "pipeline.zip").read_bytes())) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert "actonce_pipeline/__init__.py" in {entry.filename for entry in entries}
    # Nothing of the machine is in it.
    assert {(one.date_time, one.create_system, one.external_attr >> 16) for one in entries} == {
        ((1980, 1, 1, 0, 0, 0), 3, 0o600)
    }


def test_the_audit_imports_and_needs_nothing_that_spark_does_not_bring() -> None:
    def below(module: str) -> Iterator[str]:
        path = PROJECT / "pipeline" / Path(*module.split("."))
        if module.startswith("actonce_core"):  # packed beside it
            path = PROJECT / "functions" / Path(*module.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)

    seen: set[str] = set()
    waiting = ["actonce_pipeline.audit.__main__"]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += (
                below(module) if module.startswith(("actonce_pipeline.", "actonce_core")) else ()
            )
    ours = {"actonce_pipeline", "actonce_core"}
    others = {name.split(".")[0] for name in seen} - sys.stdlib_module_names - ours
    assert others == SHIPPED_WITH_SPARK
    assert not [name for name in seen if name.startswith("actonce_pipeline.backfill")]
