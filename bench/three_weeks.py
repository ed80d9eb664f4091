"""Nights of the daily audit on the embedded AWS, one after another, beside judgements from raw.

    python -m bench.three_weeks [--nights 21] [--messages 100] [--seed 1] [--json]

Brings up an embedded AWS of its own with `examples/audited`, and plays the nights: what
`bench.records` makes of each day is put into the records' bucket, some of it nights late, some in
another day's folder, some twice; then the audit's state machine is started as the schedule starts
it. Its job uses what the nights before have kept, but for the nights of Sundays. Beside it the same
records are judged from raw, into a folder of its own. Exit status 1 if any night says other than
that, in a
row or in its summary.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Annotated, Any

import pyarrow.dataset as ds
import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from actonce.embedded import lifecycle
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from bench.machine import machine
from bench.records import FIRST_DAY, generate, write_jsonl
from pipeline.audit.job import audit
from pipeline.audit.request import requested
from pipeline.spark.session import spark_session

LATE, MISPLACED, TWICE = 0.03, 0.003, 0.03
"""Shares of the lines that arrive in a later day's folder, nights late in their own, or again."""
_STREAMS = ("sent", "deliveries", "executions", "effects", "dead_letters")
_MOST_SECONDS = 900.0
_SAY = Console(stderr=True)

Key = str
Arrivals = dict[int, dict[Key, list[str]]]
"""By night, the objects that are put then: their keys and their lines."""


@dataclass(frozen=True, slots=True)
class Night:
    """One night, and what was judged beside it.

    Attributes:
        day: the audited one.
        ended: how its execution ended.
        days_kept: of how many days what was kept was used.
        days_read: of how many the records were read.
        rows: of all days judged so far.
        alarms: as its summary counts them.
        same: it says what the judgement from raw says.
    """

    day: str
    ended: str
    days_kept: int
    days_read: int
    rows: int
    alarms: int
    same: bool


def arrivals(messages: int, nights: int, seed: int, folder: Path) -> Arrivals:
    """Which lines come in which night, and where.

    Args:
        messages: that begin on a day.
        nights: and days.
        seed: of every choice.
        folder: to make the records in.
    """
    write_jsonl(generate(messages * nights, seed, nights), folder)
    chance = Random(seed)
    found: Arrivals = {night: {} for night in range(nights)}
    for number in range(nights):
        for stream in _STREAMS:
            found[number][_key(stream, number, "lines")] = []
    for file in sorted(folder.rglob("*.jsonl.gz")):
        stream, of_day = file.parent.parent.name, file.parent.name.removeprefix("dt=")
        own = (date.fromisoformat(of_day) - FIRST_DAY.date()).days
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            for night, key in _places(chance, stream, own):
                if night < nights:
                    found[night].setdefault(key, []).append(line)
    return found


def _places(chance: Random, stream: str, own: int) -> Iterator[tuple[int, Key]]:
    drawn, later = chance.random(), own + chance.randint(1, 3)
    if drawn < LATE:
        yield later, _key(stream, later, "late")
    elif drawn < LATE + MISPLACED:
        yield later, _key(stream, own, f"put-{later}")
    else:
        yield own, _key(stream, own, "lines")
        if drawn < LATE + MISPLACED + TWICE:
            yield later, _key(stream, later, "again")


def _day(number: int) -> str:
    return (FIRST_DAY.date() + timedelta(days=number)).isoformat()


def _key(stream: str, number: int, name: str) -> Key:
    return f"{stream}/dt={_day(number)}/{name}.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Weeks:
    """Where the nights are played, and where they are judged from raw.

    Attributes:
        stack: of the embedded AWS.
        spark: for the judgements from raw.
        folder: for what is fetched and judged there.
    """

    stack: Stack
    spark: SparkSession
    folder: Path

    def night(self, number: int, objects: dict[Key, list[str]]) -> Night:
        """Put what arrives, audit the day, and judge the same from raw."""
        s3, bucket = self.stack.aws.client("s3"), self.stack.outputs["RecordsBucketName"]
        for key, lines in objects.items():
            body = gzip.compress("".join(f"{line}\n" for line in lines).encode())
            s3.put_object(Bucket=bucket, Key=key, Body=body)
        day = _day(number)
        ended = self._audited(day)
        self._fetch(bucket, "", "records")
        self._fetch(self.stack.outputs["AuditBucketName"], "audit/", "night")
        request = requested(
            str(self.folder / "records"),
            since=_day(number - 1),
            until=day,
            as_of=f"{_day(number + 1)}T00:00:00Z",
            reach=100,
            out=str(self.folder / "raw"),
            from_raw=True,
        )
        from_raw = audit(self.spark, request)
        told = json.loads((self.folder / "night" / "audit" / "summary.json").read_text())
        rows = _rows(self.folder / "night" / "audit")
        return Night(
            day,
            ended,
            told["read"]["days_kept"],
            told["read"]["days_read"],
            len(rows),
            len(told["alarms"]),
            rows == _rows(self.folder / "raw") and _said(told) == _said(from_raw),
        )

    def _audited(self, day: str) -> str:
        functions = self.stack.stepfunctions
        arn = functions.start_execution(
            stateMachineArn=self.stack.outputs["AuditStateMachineArn"],
            name=f"audit-{day}",
            input=json.dumps({"day": day}),
        )["executionArn"]
        deadline = time.monotonic() + _MOST_SECONDS
        while (ended := functions.describe_execution(executionArn=arn))["status"] == "RUNNING":
            if time.monotonic() > deadline:
                raise SystemExit(f"The night after {day} did not end in {_MOST_SECONDS:g} s.")
            time.sleep(0.5)
        if ended["status"] == "FAILED" and ended["error"] not in {"Alarms", "NotWhole"}:
            raise SystemExit(f"The night after {day}: {ended['error']}: {ended['cause']}")
        return str(ended.get("error", "nothing to do"))

    def _fetch(self, bucket: str, prefix: str, name: str) -> None:
        """What lies in a bucket, as a new folder."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        s3 = self.stack.aws.client("s3")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in page.get("Contents", []):
                file = folder / found["Key"]
                file.parent.mkdir(parents=True, exist_ok=True)
                s3.download_file(bucket, found["Key"], str(file))
        place = self.folder / name
        if place.exists():
            place.rename(folder.with_suffix(".before"))
        folder.rename(place)


def _rows(out: Path) -> list[dict[str, Any]]:
    rows = ds.dataset(out / "messages", partitioning="hive", exclude_invalid_files=True)
    return sorted(rows.to_table().to_pylist(), key=lambda row: (str(row["day"]), row["message_id"]))


def _said(summary: dict[str, Any]) -> dict[str, Any]:
    """What it says of the records; where they lie, when and how they were read, beside."""
    beside = {"generated_at", "read", "records"}
    return {name: told for name, told in summary.items() if name not in beside}


def main(
    nights: Annotated[int, typer.Option(min=2)] = 21,
    messages: Annotated[int, typer.Option(min=15, help="That begin on a day.")] = 100,
    seed: int = 1,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Play the nights, compare and print."""
    played: list[Night] = []
    with tempfile.TemporaryDirectory(prefix="actonce-weeks-") as temporary:
        folder = Path(temporary).resolve()
        audited = PROJECT / "examples" / "audited"
        paths = Paths(folder / "embedded", audited, is_project=True)
        arriving = arrivals(messages, nights, seed, folder / "made")
        try:
            _, stack = lifecycle.up(paths, _SAY.print, parameters={})
            _package(paths, stack)
            weeks = Weeks(stack, spark_session("three weeks", brief=True), folder)
            for number, objects in arriving.items():
                played.append(weeks.night(number, objects))
                _SAY.print(f"{played[-1]}", markup=False, highlight=False)
            weeks.spark.stop()
        finally:
            lifecycle.down(paths)
    inputs = {
        "nights": nights,
        "messages_a_day": messages,
        "lines": sum(len(lines) for objects in arriving.values() for lines in objects.values()),
        "seed": seed,
    }
    if json_:
        told = {"inputs": inputs, "machine": machine(), "nights": [asdict(n) for n in played]}
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        _print(inputs, played)
    raise typer.Exit(int(not all(night.same for night in played)))


def _package(paths: Paths, stack: Stack) -> None:
    """Put the audit's code where the night's job takes it from."""
    actonce = str(Path(sys.executable).with_name("actonce"))
    target = f"s3://{stack.outputs['AuditBucketName']}/code/"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    packed = subprocess.run(
        [actonce, "audit", "package", "--to", target],
        env=environment | {"ACTONCE_DIR": str(paths.home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if packed.returncode:
        raise SystemExit(packed.stderr)


def _print(inputs: dict[str, int], nights: list[Night]) -> None:
    console = Console(width=140)
    console.print(inputs)
    console.print(machine())
    table = Table("night after", "ended as", "days kept", "days read", "rows", "alarms", "the same",
                  box=None)  # fmt: skip
    for one in nights:
        numbers = (f"{number}" for number in (one.days_kept, one.days_read, one.rows, one.alarms))
        table.add_row(one.day, one.ended, *numbers, "yes" if one.same else "NO")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
