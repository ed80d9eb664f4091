"""`actonce audit page`: the page of an audit that ran elsewhere."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.actonce_server import run_actonce
from tests.report import summaries


def draw(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    return run_actonce(("audit", "page", *arguments), inherited | environment, folder=folder)


def test_a_folder_of_results_becomes_a_page(tmp_path: Path) -> None:
    summary = summaries.all_good()
    (tmp_path / "summary.json").write_text(json.dumps(summary))

    answer = draw(tmp_path, ".", "--to", "here.html")

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == [summary["sentence"], "here.html"]
    page = (tmp_path / "here.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert summary["sentence"] in page


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    yield f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    server.stop()


def test_a_bucket_of_results_becomes_a_page(tmp_path: Path, s3_endpoint: str) -> None:
    access = {
        "AWS_ENDPOINT_URL": s3_endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    s3 = boto3.client(
        "s3",
        endpoint_url=s3_endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    s3.create_bucket(Bucket="records")
    summary = summaries.alarms_of_each_kind()
    s3.put_object(Bucket="records", Key="audit/summary.json", Body=json.dumps(summary).encode())

    for uri in ("s3://records/audit/", "s3a://records/audit"):
        answer = draw(tmp_path, uri, **access)

        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.splitlines() == [summary["sentence"], "report.html"]
        assert "<!DOCTYPE html>" in (tmp_path / "report.html").read_text()
        (tmp_path / "report.html").unlink()

    for nothing in ("s3://records/other/", "s3://no-such-bucket/audit/"):
        answer = draw(tmp_path, nothing, **access)

        assert answer.returncode == 2
        assert f"{nothing} holds no summary.json" in answer.stderr


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (None, 2, "results holds no summary.json: name the folder that an audit wrote."),
        ("{", 1, "summary.json of results is no JSON"),
        ("[]", 1, "summary.json of results is no summary: run the audit again."),
        ('{"version": 1}', 1, "cannot be drawn: The summary has no verdicts."),
        ('{"version": 0}', 1, "The page of results cannot be drawn: The summary has version 0"),
    ],
)
def test_what_is_no_summary_is_said(
    tmp_path: Path, text: str | None, status: int, said: str
) -> None:
    (tmp_path / "results").mkdir()
    if text is not None:
        (tmp_path / "results" / "summary.json").write_text(text)

    answer = draw(tmp_path, "results")

    assert answer.returncode == status
    assert said in " ".join(answer.stderr.split())
    assert not (tmp_path / "report.html").exists()


def test_a_place_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(summaries.all_good()))

    answer = draw(tmp_path, ".", "--to", "no-folder/page.html")

    assert answer.returncode == 2
    assert "no-folder/page.html cannot be written: No such file or directory." in " ".join(
        answer.stderr.split()
    )
