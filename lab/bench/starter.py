"""The starter on the share of a core that its memory gives it: its batches, cold and warm.

    python -m lab.bench.starter

As root on Linux, whose cgroups (version 1) hold the process to its share. It is initialized before
that, without a limit, and then handles batches; a stub of DynamoDB and Step Functions answers over
TLS, without a limit, after so many milliseconds. A row has the medians of all rounds.
"""

import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from actonce.stack.clients import EMBEDDED_CREDENTIALS
from actonce.stack.embedded_folder import PROJECT
from lab.bench.cost import PRICES
from lab.bench.machine import machine

_MB_OF_A_CORE = 1769
_PERIOD = 20_000  # microseconds, in which the share is used up and given anew
_MEMORIES = (128, 256, 512, 1024, _MB_OF_A_CORE)
_STARTER = """
import json, os, sys, time
from pathlib import Path
from types import SimpleNamespace
began = time.perf_counter(), time.process_time()
import starter
init = time.perf_counter() - began[0], time.process_time() - began[1]
Path(sys.argv[1]).write_text(str(os.getpid()))
batches, size, took = int(sys.argv[2]), int(sys.argv[3]), []
(one,) = json.loads(Path(sys.argv[4]).read_text())["Records"]
for batch in range(batches):
    ids = [f"request-{batch}-{number}" for number in range(size)]
    records = [one | {"messageId": id_, "body": json.dumps({"message_id": id_})} for id_ in ids]
    time.sleep(0.1)  # Lambda's share is whole again when a call comes
    began = time.perf_counter(), time.process_time()
    answer = starter.handler({"Records": records}, SimpleNamespace(function_name="starter"))
    took.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    assert answer == {"batchItemFailures": []}, answer
sys.stderr.write("\\n" + json.dumps([init, *took]))
"""


_VARIABLES = {
    "PYTHONPATH": str(PROJECT / "functions"),
    "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
    "AWS_DEFAULT_REGION": "us-east-1",
    **EMBEDDED_CREDENTIALS,
    "STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:m",
    "FINGERPRINTS_TABLE": "fingerprints",
    **dict.fromkeys(("UNSTARTED_QUEUE_URL", "REQUESTS_QUEUE_URL"), "https://localhost/1/q"),
    "MESSAGE_ID_FROM": "body:message_id",
    "CONTENT_FROM": "",
    "NAMES_REMEMBERED_DAYS": "25",
    "STACK_NAME": "actonce",
    "POWERTOOLS_METRICS_NAMESPACE": "ActOnce",
    "MALLOC_ARENA_MAX": "1",
}


class Stub(BaseHTTPRequestHandler):
    """Answers as DynamoDB and Step Functions do for a message that is new."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seconds = 0.0

    def do_POST(self) -> None:
        """Answer after the seconds that the services take."""
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.seconds)
        starts = self.headers["X-Amz-Target"].endswith("StartExecution")
        body = json.dumps({"executionArn": "e", "startDate": time.time()} if starts else {})
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


@contextmanager
def services(seconds: float) -> Iterator[dict[str, str]]:
    """The stub, as the variables by which boto3 finds and trusts it."""
    with tempfile.TemporaryDirectory() as folder:
        key, public = f"{folder}/key.pem", f"{folder}/public.pem"
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names]
        subprocess.run([*new, "-keyout", key, "-out", public], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(public, key)
        Stub.seconds = seconds
        server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
        own = server.socket
        server.socket = context.wrap_socket(own, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_port}"
        yield {"AWS_ENDPOINT_URL": url, "AWS_CA_BUNDLE": public}
        server.shutdown()


def measure(memory: int, size: int, variables: dict[str, str]) -> list[Any]:
    """Seconds, by the clock and of CPU, of the init and of each batch."""
    group = Path(f"/sys/fs/cgroup/cpu/actonce-bench-{os.getpid()}")
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
        quota = max(1000, round(_PERIOD * memory / _MB_OF_A_CORE))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
        (group / "cpu.shares").write_text("200000")  # so that other work takes nothing of it
        place, event = str(group / "cgroup.procs"), str(PROJECT / "events/one_message.json")
        words = [sys.executable, "-c", _STARTER, place, "12", str(size), event]
        ran = subprocess.run(words, env=_VARIABLES | variables, capture_output=True, check=True)
    finally:
        group.rmdir()
    return [tuple(one) for one in json.loads(ran.stderr.splitlines()[-1])]


def main(rounds: Annotated[int, typer.Option(min=1)] = 3) -> None:
    """Print a table: what a batch takes with each memory, and what a million messages cost."""
    second = json.loads(PRICES.read_text())["prices"]["lambda_gb_second"]["dollars_per_million"]
    print(machine("boto3"))
    print("| answers after | batch of | MB | init, CPU | first | next | CPU | GB-s a million | $ |")
    for milliseconds in (0, 10):
        for size in (10, 1):
            taken: dict[int, list[Any]] = {memory: [] for memory in _MEMORIES}
            with services(milliseconds / 1000) as variables:
                for _ in range(rounds):
                    for memory, runs in taken.items():
                        runs.append(measure(memory, size, variables))
            for memory, runs in taken.items():
                init, first = median(run[0][1] for run in runs), median(run[1][0] for run in runs)
                clock, cpu = map(
                    median, zip(*(one for run in runs for one in run[2:]), strict=True)
                )
                billed = clock * memory / 1024 * 1e6 / size
                cells = [f"{milliseconds} ms", size, memory]
                cells += [f"{one * 1000:.0f} ms" for one in (init, first, clock, cpu)]
                cells += [f"{billed:,.0f}", f"{billed * second / 1e6:.2f}"]
                print(f"| {' | '.join(map(str, cells))} |")
    print(machine())


if __name__ == "__main__":
    typer.run(main)
