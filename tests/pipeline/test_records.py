"""From lines to records: whatever a line holds is read, or quarantined."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from pipeline.audit.reading.lines import LINES
from pipeline.audit.reading.records import text_records
from tests.pipeline.streams_on_disk import DAY, at, delivery, effect, line_of

ITEM = line_of(*effect("m", at(1)))
EVENT = json.dumps({"detail-type": "x", "detail": {
    "name": "m", "status": "RUNNING", "startDate": 1_769_817_600_000,
    "input": json.dumps({"message_id": "m"}),
}})  # fmt: skip
Told = list[tuple[str | None, str | None]]
"""Of each row of a line, the message id and what is wrong with it."""


def told(spark: SparkSession, texts: Sequence[str], stream: str = "deliveries") -> list[Told]:
    """What is told of each line, all in one job."""
    found: list[Told] = [[] for _ in texts]
    for row in rows_of(spark, texts, stream):
        found[row["line"]].append((row["message_id"], row["problem"]))
    return [sorted(rows, key=str) for rows in found]


def rows_of(spark: SparkSession, texts: Sequence[str], stream: str) -> list[Row]:
    """The rows of lines of a stream."""
    lines = [(f"/r/{stream}/dt={DAY}/a", n, text, None) for n, text in enumerate(texts)]
    return text_records(spark.createDataFrame(lines, LINES)).collect()


def batch(*message_ids: str | None) -> str:
    """A Logs subscription's, as CloudWatch writes it."""
    events = [
        {"id": "1"} if name is None else {"message": line_of(*delivery(name, at(1)))}
        for name in message_ids
    ]
    return json.dumps({"messageType": "DATA_MESSAGE", "logEvents": events})


CONTROL = '{"messageType": "CONTROL_MESSAGE", "logEvents": [{"message": "CWL CONTROL MESSAGE"}]}'
APART = {"nothing": "", "a blank": " ", "a form feed": "\f"}
JOINED = APART | {
    "a comma": ",", "a comma and a blank": ", ", "a semicolon": ";", "brackets": "],[",
    "a bracket": "]", "a brace": "}", "a no-break space": "\u00a0", "a NUL": "\0", "text": " x ",
    "a name": ',"x":', "a closed object": '},"x":',
}  # fmt: skip


RECORDS = [line_of(*delivery(name, at(1))) for name in "ab"]


@pytest.mark.parametrize(
    ("first", "second"),
    [RECORDS, (RECORDS[0], batch("b")), (batch("a"), batch("b")), (CONTROL, batch("b"))],
    ids=["records", "a record and a batch", "batches", "a control message and a batch"],
)
def test_of_two_objects_on_a_line_none_is_lost(
    spark: SparkSession, first: str, second: str
) -> None:
    """Each is read, or the line is quarantined, whatever lies between them and around."""
    lines = {name: first + between + second for name, between in JOINED.items()}
    lines |= {
        "an array": f"[{first},{second}]",
        "text before": f"x {first}{second}",
        "text after": f"{first}{second} x",
        "text around one": f"x {second}",
        "text after one": f"{second} x",
        "an array of one": f"[{second}]",
    }
    found = dict(zip(lines, told(spark, list(lines.values())), strict=True))
    lost = {
        name: rows
        for name, rows in found.items()
        if ("b", None) not in rows and not any(problem for _, problem in rows)
    }
    assert lost == {}
    both: Told = [("b", None)] if first == CONTROL else [("a", None), ("b", None)]
    assert [found[name] for name in APART] == [both] * len(APART)


def test_of_a_batch_each_line_is_read_or_quarantined(spark: SparkSession) -> None:
    assert told(spark, [batch("a", None, "b"), CONTROL, batch()]) == [
        [("a", None), ("b", None), (None, "not_a_record")], [], [],
    ]  # fmt: skip


PIECES = (
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\\",
    r"\ud83d",
    r"\u00e4",
    "null",
    "7",
    "\r",
    "}{",
    "\u20ac",
)


def mutated(line: str, random: Random) -> str:
    """A line with something put in, left out or in another's place, up to three times."""
    for _ in range(random.randint(0, 3)):
        place = random.randrange(len(line))
        line = line[:place] + random.choice(("", *PIECES)) + line[place + random.randint(0, 2) :]
    return line


@pytest.mark.parametrize(
    ("stream", "line"),
    [("deliveries", line_of(*delivery("m", at(1)))), ("effects", ITEM), ("executions", EVENT)],
)
def test_a_line_is_told_the_same_by_either_way(spark: SparkSession, stream: str, line: str) -> None:
    """One that is an object by a first look goes the short way; behind a blank, the long one."""
    random = Random(7)
    lines = [mutated(line, random) for _ in range(500)]
    short = [row.asDict() for row in rows_of(spark, lines, stream)]
    long = [row.asDict() for row in rows_of(spark, [f" {one}" for one in lines], stream)]

    def comparable(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(str(row | {"text": row["text"].strip(" \t\r\n")}) for row in rows)

    assert comparable(short) == comparable(long)
    assert {row["problem"] for row in short} > {None, "corrupt_line"}
