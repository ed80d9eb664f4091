"""What a person waits for in the console, on a stack with 10,000 executions.

    python -m lab.bench.console [--messages 10000] [--runs 5] [--json]

Runs a demo on an embedded AWS of its own, taken down at the end, then asks a console for its views
as a browser does, several times each; the worst counts. Exit status 1 if the first screen took more
than 300 ms, or a message more than 500.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from lab.bench.report import figures, machine, tell

_ACTONCE = [sys.executable, "-m", "actonce.cli.app"]


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of the best and the worst of some looks at a view; None: no aim is set."""

    view: str
    best: float
    worst: float
    kilobytes: float
    at_most: int | None = None

    @property
    def is_missed(self) -> bool:
        """Whether it took longer than it should."""
        return self.at_most is not None and self.worst > self.at_most


def measure(messages: int, runs: int) -> tuple[list[Took], dict[str, Any]]:
    """Time each view, and tell what there was on the stack."""
    with tempfile.TemporaryDirectory(prefix="actonce-console-") as folder:
        environment = {n: v for n, v in os.environ.items() if not n.startswith("AWS_")}
        environment["ACTONCE_DIR"] = folder
        demo = ["demo", "--messages", str(messages), "--no-audit", "--json"]
        with Path(folder, "told.json").open("w") as told:
            subprocess.run([*_ACTONCE, *demo], env=environment, check=True, stdout=told)
        try:
            with _console(environment) as get:
                return _looks(get, runs), json.loads(Path(folder, "told.json").read_text())
        finally:
            subprocess.run(
                [*_ACTONCE, "down"], env=environment, check=False, stdout=subprocess.DEVNULL
            )


def _looks(get: "Get", runs: int) -> list[Took]:
    listed = json.loads(get("/messages?format=json"))["messages"]
    waiting = json.loads(get("/dead-letters?format=json"))["dead_letters"]
    usual = quote(listed[len(listed) // 2]["id"])
    letter = quote(waiting[0]["execution_name"]) if waiting else usual
    day = listed[0]["since"][:10]
    views: list[tuple[str, str, int | None]] = [
        ("first screen", "/", 300),
        ("its column of the stack, which comes after it", "/stack", None),
        ("dead letters", "/dead-letters", None),
        ("messages", "/messages", None),
        ("messages of a day and status", f"/messages?status=succeeded&day={day}", None),
        ("a message", f"/message?id={usual}", 500),
        ("a message that waits for a decision", f"/message?id={letter}", 500),
        ("its deliveries, which come after it", f"/message/log?id={usual}", None),
        ("a message that nobody knows", "/message?id=nobody-knows-it", 500),
    ]
    return [_took(get, name, path, at_most, runs) for name, path, at_most in views]


def _took(get: "Get", name: str, path: str, at_most: int | None, runs: int) -> Took:
    seconds, size = [], 0
    for _ in range(runs):
        began = time.perf_counter()
        size = len(get(path))
        seconds.append(time.perf_counter() - began)
    return Took(name, 1000 * min(seconds), 1000 * max(seconds), size / 1000, at_most)


class Get:
    """Asks a console, with its cookie."""

    def __init__(self, address: str) -> None:
        self._base = address.partition("/?")[0]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self._opener.open(address, timeout=60).close()

    def __call__(self, path: str) -> bytes:
        """The answer's body."""
        with self._opener.open(self._base + path, timeout=60) as answer:
            body: bytes = answer.read()
            return body


@contextmanager
def _console(environment: Mapping[str, str]) -> Iterator[Get]:
    process = subprocess.Popen(
        [*_ACTONCE, "console", "--no-browser"],
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the console says nothing")
        found = re.search(r"http://\S+token=\S+", process.stdout.readline())
        if found is None:
            raise RuntimeError("the console has not said where it is")
        yield Get(found[0])
    finally:
        process.terminate()
        process.wait()


def main(
    messages: Annotated[int, typer.Option(min=50, help="Of the demo before.")] = 10_000,
    runs: Annotated[int, typer.Option(min=1, help="Of each view.")] = 5,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure and print."""
    took, demo = measure(messages, runs)
    inputs: dict[str, Any] = {"messages": messages, "runs": runs}
    inputs |= {name: demo[name] for name in ("started", "suppressed", "awaiting_decision")}
    table = figures("view", "best ms", "worst ms", "kB", "at most ms")
    for one in took:
        aim = "" if one.at_most is None else f"{one.at_most}"
        missed = " missed" if one.is_missed else ""
        size = f"{one.kilobytes:.0f}"
        table.add_row(one.view, f"{one.best:.0f}", f"{one.worst:.0f}", size, aim + missed)
    report = {"inputs": inputs, "machine": machine("ministack", "boto3")}
    tell(report | {"took": [asdict(one) for one in took]}, table, as_json=json_)
    raise typer.Exit(int(any(one.is_missed for one in took)))


if __name__ == "__main__":
    typer.run(main)
