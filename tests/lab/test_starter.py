import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab.bench.starter", "--runs", "2", "--latency-ms", "2", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("limit", "status"), [("1000", 0), ("0", 1)])
def test_the_exit_status_says_whether_a_batch_kept_the_limit(limit: str, status: int) -> None:
    done = bench("--json", "--records", "3", "--limit", limit)
    assert (done.returncode, done.stderr) == (status, "")
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["inputs"] == {
        "records": 3,
        "latency_ms": 2.0,
        "runs": 2,
        "limit": float(limit),
    }
    assert report["machine"].keys() >= {"cores", "platform", "python", "boto3"}
    result = report["result"]
    assert result["within_limit"] is (status == 0)
    # Two calls a record: three batches to warm up, then each run's one record, batch and loop.
    assert result["calls"] == 2 * (3 * 3 + 2 * (1 + 3 + 3))
    for name in ("one_record_ms", "batch_ms", "plain_loop_ms"):
        assert result[name] >= 2 * 2, "two calls, each with its latency"
    assert result["batch_to_one_record"] > 0
    assert result["plain_loop_to_one_record"] > 0


def test_for_a_person_it_prints_a_table_with_its_inputs_and_versions() -> None:
    done = bench("--limit", "1000")
    assert done.returncode == 0
    for words in ("records 10", "latency_ms 2.0", "cores", "boto3", "a plain loop"):
        assert words in done.stdout
    assert "A batch takes at most 1000 times what one record takes." in done.stdout
    assert "bench-0" not in done.stdout, "the starter's log lines are no part of the report"
