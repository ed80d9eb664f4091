"""How long a batch takes the starter, beside one record.

    python -m lab.bench.starter [--json]

Every call to AWS is answered by a server on 127.0.0.1, in a process of its own, after a given
latency. The starter is the real one with its real clients, so connections, pools and threads are
real; only what AWS would do in that time is not done. Exit status 1 if a batch takes more than
`--limit` times what one record takes.
"""

import contextlib
import hashlib
import itertools
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import typer

from lab.bench.report import machine, tell
from lab.faults.proxy import Answered, Request, proxy_before

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"

# Batches before the clock starts: they open the connections that a warm environment has.
WARM_UP = 3


# ------------------------------------------------------------------ the server


def serve(latency: float, ready: Connection) -> None:
    """Answer PutItem, StartExecution and SendMessage after `latency` seconds, until killed.

    Sends its URL, and later, whenever asked, the number of calls that it answered.
    """
    calls = itertools.count()

    def meet(request: Request) -> Answered:
        time.sleep(latency)
        next(calls)
        return Answered(200, _answer(request))

    with proxy_before("http://nowhere", meet) as url, contextlib.suppress(EOFError):
        ready.send(url)
        while ready.recv():
            ready.send(next(calls))


def _answer(request: Request) -> bytes:
    asked, operation = json.loads(request.body), request.target.rpartition(".")[2]
    answer: dict[str, Any] = {}
    if operation == "StartExecution":
        answer = {"executionArn": asked["name"], "startDate": time.time()}
    elif operation == "SendMessage":
        digest = hashlib.md5(asked["MessageBody"].encode()).hexdigest()  # noqa: S324
        answer = {"MessageId": "1", "MD5OfMessageBody": digest}
    return json.dumps(answer).encode()


@contextlib.contextmanager
def aws_with(latency: float) -> Iterator[Connection]:
    """Run the server, and point the usual AWS variables at it."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=serve, args=(latency, theirs), daemon=True)
    server.start()
    theirs.close()
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL": ours.recv(),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:bench",
            "FINGERPRINTS_TABLE": "fingerprints",
            "MESSAGE_ID_FROM": "body:message_id",
            "CONTENT_FROM": "",
            "NAMES_REMEMBERED_DAYS": "25",
            "STACK_NAME": "actonce",
            "REQUESTS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/requests",
            "UNSTARTED_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/unstarted",
            "POWERTOOLS_METRICS_NAMESPACE": "ActOnce",
            "POWERTOOLS_SERVICE_NAME": "bench",
        }
        yield ours
    finally:
        server.terminate()
        server.join()
        ours.close()


# ------------------------------------------------------------------ what is measured


def measure(records: int, latency: float, runs: int) -> tuple[float, float, int]:
    """Measure one record and a batch, in turns, so that both see the same machine.

    Returns:
        Their medians in milliseconds, and how many calls of AWS there were.
    """
    with (
        aws_with(latency) as server,
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),  # log lines are made and written, as in Lambda
    ):
        sys.path.insert(0, str(FUNCTIONS))
        # Only now: the logger takes its output, and the clients their endpoint, when imported.
        from starter import handler  # noqa: PLC0415

        numbers = itertools.count()

        def handle(size: int) -> float:
            event = event_of(_body(next(numbers)) for _ in range(size))
            begin = time.perf_counter()
            answer = handler(event, None)
            if answer != {"batchItemFailures": []}:
                raise RuntimeError(f"The starter failed, so its times say nothing: {answer}")
            return (time.perf_counter() - begin) * 1000

        for _ in range(WARM_UP):
            handle(records)
        times = [(handle(1), handle(records)) for _ in range(runs)]
        server.send("how many?")
        calls: int = server.recv()
    one, batch = (statistics.median(each) for each in zip(*times, strict=True))
    return one, batch, calls


def _body(number: int) -> str:
    body = {"message_id": f"bench-{number}", "practice": "main", "patient": number, "age": 62}
    return json.dumps(body)


def event_of(bodies: Iterable[str]) -> dict[str, Any]:
    """What Lambda hands over of a batch."""
    return {
        "Records": [
            {
                "messageId": f"sqs-{number}",
                "receiptHandle": "bench",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1767225600000"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for number, body in enumerate(bodies)
        ]
    }


# ------------------------------------------------------------------ the command


def main(
    *,
    records: Annotated[int, typer.Option(min=1, max=10, help="Records in a batch.")] = 10,
    latency: Annotated[
        float, typer.Option("--latency-ms", min=0, help="Put on every AWS call.")
    ] = 30,
    runs: Annotated[int, typer.Option(min=1, help="Measured runs; their medians count.")] = 25,
    limit: Annotated[
        float, typer.Option(help="How many times one record's time a batch may take.")
    ] = 1.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure the starter; exit 1 if a batch takes more than the limit."""
    one, batch, calls = measure(records, latency / 1000, runs)
    is_within = batch <= limit * one
    report = {
        "inputs": {"records": records, "latency_ms": latency, "runs": runs, "limit": limit},
        "machine": machine("boto3", "aws-lambda-powertools"),
        "result": {"calls": calls, "within_limit": is_within},
        "rows": [
            {"what": what, "median_ms": round(took, 1), "times": round(took / one, 2)}
            for what, took in (("one record", one), ("a batch, side by side", batch))
        ],
    }
    word = "at most" if is_within else "MORE THAN"
    said = f"A batch takes {word} {limit:g} times what one record takes."
    headings = {"what": "what", "median_ms": "median, ms", "times": "times one record"}
    tell(report, headings, as_json=as_json, notes=[said])
    raise typer.Exit(0 if is_within else 1)


if __name__ == "__main__":
    typer.run(main)
