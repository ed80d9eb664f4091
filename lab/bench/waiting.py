"""What a person waits for: commands from their start to their end, and the console's views.

    python -m lab.bench.waiting [--messages 40] [--runs 5] [--json]

Runs a demo on an embedded AWS of its own, taken down at the end, then each command and each view
several times, one after another: of commands the best counts, of views the worst. Beside them the
least that a Python program with boto3 can take for one answer of that AWS, and sam, which people
know. Exit status 1 if one took longer than its aim. The console's table was measured with
`--messages 10000`.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from actonce.embedded import lifecycle
from actonce.stack.clients import embedded_variables
from actonce.stack.embedded_folder import Paths
from lab.bench.report import machine, tell

_SCRIPTS = Path(sysconfig.get_path("scripts"))
_ACTONCE = str(_SCRIPTS / "actonce")
_LEAST = "import boto3; boto3.client('stepfunctions').list_state_machines()"

Variables = Mapping[str, str]
Get = Callable[[str], bytes]
"""Asks the console for a path."""


Row = dict[str, Any]
"""Milliseconds of a command or a view, and at most how many they should be, if an aim is set."""

_HEADINGS = {"what": "what", "best": "best ms", "worst": "worst ms", "at_most": "at most ms"}


def _took(what: str, act: Callable[[], object], runs: int, at_most: int | None = None) -> Row:
    """Do it several times; of a view, which begins with `/`, the worst counts."""
    each = []
    for _ in range(runs):
        began = time.perf_counter()
        act()
        each.append(round(1000 * (time.perf_counter() - began)))
    counts = max(each) if what.startswith("/") else min(each)
    row = {"what": what, "best": min(each), "worst": max(each), "at_most": at_most}
    return row | {"good": at_most is None or counts <= at_most}


def measure(messages: int, runs: int) -> list[Row]:
    """Time each command and view on a stack with a demo's messages, and take the stack down."""
    with tempfile.TemporaryDirectory(prefix="actonce-waiting-") as folder:
        variables = {n: v for n, v in os.environ.items() if not n.startswith("AWS_")}
        variables["ACTONCE_DIR"] = folder
        _run([_ACTONCE, "demo", "--messages", str(messages), "--no-audit", "--json"], variables)
        try:
            state = lifecycle.running(Paths(Path(folder)))
            if state is None:
                raise RuntimeError("the embedded AWS has gone")
            least = variables | embedded_variables(state.endpoint_url)
            with _console(variables) as get:
                waited_for = [*_commands(variables, least), *_views(variables, get)]
                return [_took(what, act, runs, at_most) for what, act, at_most in waited_for]
        finally:
            _run([_ACTONCE, "down"], variables)


Waited = tuple[str, Callable[[], object], int | None]
"""What is waited for, as it is told; how to do it; and milliseconds that it should take at most."""


def _commands(variables: Variables, least: Variables) -> Iterator[Waited]:
    newest = json.loads(_run([_ACTONCE, "list", "--json"], variables))["messages"][0]["id"]
    for name, command, its_own in (
        ("python -c pass", [sys.executable, "-c", "pass"], variables),
        ("boto3, one answer", [sys.executable, "-c", _LEAST], least),
        ("sam --help", [str(_SCRIPTS / "sam"), "--help"], variables),
    ):
        yield name, partial(_run, command, its_own), None
    for arguments, at_most in (
        (["--help"], 200),
        (["status"], 1000),
        (["list"], 1000),
        (["where", newest], 1000),
        (["dead-letters", "list"], 1000),
        (["unstarted", "list"], 1000),
    ):
        command = [_ACTONCE, *arguments]
        yield " ".join(["actonce", *arguments]), partial(_run, command, variables), at_most


def _views(variables: Variables, get: Get) -> Iterator[Waited]:
    newest = json.loads(_run([_ACTONCE, "list", "--json"], variables))["messages"][0]
    letters = json.loads(_run([_ACTONCE, "dead-letters", "list", "--json"], variables))
    for path, at_most in (
        ("/", 300),
        ("/stack", None),
        ("/dead-letters", None),
        ("/messages", None),
        (f"/messages?status=succeeded&day={newest['since'][:10]}", None),
        (f"/message?id={quote(newest['id'])}", 500),
        *((f"/message?id={quote(one['message_id'])}", 500) for one in letters["dead_letters"][:1]),
        (f"/message/log?id={quote(newest['id'])}", None),
        ("/message?id=nobody-knows-it", 500),
    ):
        yield path, partial(get, path), at_most


def _run(command: Sequence[str], variables: Variables) -> str:
    return subprocess.run(
        command,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@contextmanager
def _console(variables: Variables) -> Iterator[Get]:
    process = subprocess.Popen(
        [_ACTONCE, "console", "--no-browser"],
        env=dict(variables),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said = process.stdout.readline() if process.stdout else ""
        found = re.search(r"http://\S+token=\S+", said)
        if found is None:
            raise RuntimeError("the console has not said where it is")
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(found[0], timeout=60).close()
        base = found[0].partition("/?")[0]

        def get(path: str) -> bytes:
            with opener.open(base + path, timeout=60) as answer:
                body: bytes = answer.read()
                return body

        yield get
    finally:
        process.terminate()
        process.wait()


def main(
    messages: Annotated[int, typer.Option(min=40, help="Of the demo before.")] = 40,
    runs: Annotated[int, typer.Option(min=1, help="Of each command and view.")] = 5,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure and print."""
    took = measure(messages, runs)
    inputs = {"messages": messages, "runs": runs}
    report = {"inputs": inputs, "machine": machine("ministack", "boto3"), "rows": took}
    tell(report, _HEADINGS, as_json=json_)
    raise typer.Exit(int(not all(one["good"] for one in took)))


if __name__ == "__main__":
    typer.run(main)
