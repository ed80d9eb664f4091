"""The cheap look at a line and the careful one: whoever is asked, what is read is the same."""

import gzip
import json
import os
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lab.bench.records import generate, write_jsonl
from pipeline.audit import records
from pipeline.audit.reading import narrow
from pipeline.audit.records import text_records
from tests.pipeline.streams_on_disk import (
    DAY,
    STREAMS,
    at,
    dead_letter,
    delivery,
    line_of,
    own_effect,
    performed,
    row,
    sent,
)

Line = tuple[str, str]
"""A stream, and a line in one of its files."""

FOLDERS = (*STREAMS, "rows")
SHAPES = Path(__file__).parent / "shapes"
RECORDED = Path(__file__).parents[1] / "collect" / "fixtures"


def ordinary() -> list[Line]:
    """Lines as the parts and AWS write them; each is read by the cheap branch."""
    written = [
        *performed("m"), dead_letter("m", at(1)), dead_letter("m", at(2), "reject"),
        delivery("m", at(1), "refused", "conflict"), own_effect("m", at(1), "e"), row("m", at(1)),
    ]  # fmt: skip
    recorded = [
        ("executions", "eventbridge_running"), ("executions", "eventbridge_succeeded"),
        ("effects", "dynamodb_export_appointment"), ("effects", "dynamodb_export_book"),
    ]  # fmt: skip
    compact = [
        json.dumps(json.loads(line_of(*record)), separators=(",", ":")) for record in written
    ]
    batch = json.loads((SHAPES / "logs_data_message.json").read_text())
    return [
        *((stream, line_of(stream, record)) for stream, record in written),
        *((stream, line) for (stream, _), line in zip(written, compact, strict=True)),
        *((stream, json.dumps(_shape(name))) for stream, name in recorded),
        *((("deliveries"), event["message"].strip()) for event in batch["logEvents"]),
        ("sent", line_of(*sent("ü €", at(1))).replace(r"\u00fc", "ü").replace(r"\u20ac", "€")),
        ("sent", line_of(*sent('a "quoted" \\ id\n', at(1)))),
    ]


def _shape(name: str) -> object:
    return json.loads((SHAPES / f"{name}.json").read_text())


HOSTILE = (
    "{", "}", "[", "]", '"', ",", ":", "\\", " ", "\t", "\r", "\f", "\0", "\u00a0", "\ufeff",
    "}{", "} {", "}\t{", "},{", "}]", "} ]", "] [{", "}],[{", "{}", "[]", '{"a":1}', "null", "true",
    '"logEvents"', '"logEvents":', r'\"logEvents"', '"messageType": "CONTROL_MESSAGE"', "/*", "//",
    '"messageType": "DATA_MESSAGE", "logEvents": [{"message": "x"}]', '\\"stream": 5', '"at": 1',
    '"message_id": 7', '"message_id" : 7', '"message_id":  7', '"S": true', '"end": [1]', "NaN",
    '"status": {"a": 1}', '"detail": 5', '"detail-type": "x"', '"Item": "x"', '"Item": null', "-1",
    '"Keys": {"appointment_id": {"S": "book-x"}}', r"\u0041", r"\ud800", r"\uDFFF", r"\ud83d\ude00",
    r"\\ud800", r"\\\ud800", r"\n", r"\x", "\ud7ff", "?", "é", "\U0001f600", "9" * 400, "a" * 70,
    '"version": 2', '"version": "1"', '"version": 1.0', '"at": "2026-01-31T00:00:00Z"', "'", "1e9",
)  # fmt: skip


def mutated(line: str, chance: random.Random) -> str:
    """One to three things done to a line."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        one, other = sorted(chance.randrange(len(line) + 1) for _ in range(2))
        piece = chance.choice(HOSTILE)
        match chance.randrange(7):
            case 0:
                line = line[:one] + piece + line[one:]
            case 1:  # where a token ends
                places = [n for n, char in enumerate(line) if char in '{}[]:,"'] or [0]
                place = chance.choice(places) + chance.randrange(2)
                line = line[:place] + piece + line[place:]
            case 2:
                line = line[:one] + line[one + 1 :]
            case 3:
                line = line[:one] + line[other:]
            case 4:
                line = line[:other] + line[one:]
            case 5:
                line = line.replace(chance.choice((": ", ", ", '"', "}", "null", "m")), piece, 1)
            case _:
                line = line + piece + chance.choice(ordinary())[1]
    return line


def hostile(count: int, seed: int) -> Iterator[Line]:
    chance = random.Random(seed)
    well = ordinary()
    for _ in range(count):
        stream, line = chance.choice(well)
        if chance.random() < 0.1:
            stream = chance.choice(FOLDERS)
        yield stream, mutated(line, chance)


def table(spark: SparkSession, root: Path, lines: list[Line]) -> DataFrame:
    """As both readers hand lines over: bytes that are no UTF-8 only Spark's does."""
    rows = [
        (f"/dt=x/{stream}/dt={DAY}/{number}", number, line.encode("utf-8", "surrogatepass"))
        for number, (stream, line) in enumerate(lines)
    ]
    path = root / "lines.parquet"
    path.parent.mkdir(exist_ok=True)
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = dict(zip(("file", "line", "bytes"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)
    return spark.read.parquet(str(path)).selectExpr(
        "file", "line", "CAST(bytes AS string) AS text", "CAST(NULL AS string) AS problem"
    )


def read(lines: DataFrame) -> list[tuple[object, ...]]:
    rows = text_records(lines).drop("file").collect()
    return sorted((tuple(row) for row in rows), key=repr)


def by_the_careful_one_alone(
    lines: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[object, ...]]:
    with monkeypatch.context() as context:
        context.setattr(records, "_PIECES", records._pieces(ordinary="false"))
        return read(lines)


def test_what_the_parts_and_aws_write_is_ordinary(spark: SparkSession, tmp_path: Path) -> None:
    lines = ordinary()
    write_jsonl(generate(40, seed=4), tmp_path / "generated")
    for file in (tmp_path / "generated").rglob("*.gz"):
        stream = file.parent.parent.name
        lines += [
            (stream, line) for line in gzip.decompress(file.read_bytes()).decode().split("\n")
        ]
    lines = [(stream, line) for stream, line in lines if line]
    odd = table(spark, tmp_path, lines).where(f"NOT ({records._ORDINARY})").select("text").collect()
    assert [one.text for one in odd] == []


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_every_line_is_read_as_the_careful_look_reads_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    lines = table(spark, tmp_path, [*ordinary(), *hostile(3_000, seed)])
    cheap = lines.where(records._ORDINARY).count()
    assert 300 < cheap < 2_700  # both have been asked
    assert read(lines) == by_the_careful_one_alone(lines, monkeypatch)


def test_each_hostile_piece_in_each_place_of_a_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"stream": "sent", "version": 1, "at": "2026-01-31T00:00:01Z", "message_id": "m?"}'
    places = [n for n, char in enumerate(line) if char in '{}:,"1?'] + [len(line)]
    lines = [
        ("sent", line[:place] + piece + line[place + cut :])
        for piece in HOSTILE
        for place in places
        for cut in (0, 1)
    ]
    rows = table(spark, tmp_path, lines)
    assert read(rows) == by_the_careful_one_alone(rows, monkeypatch)


def test_a_line_of_any_length_costs_no_stack(spark: SparkSession, tmp_path: Path) -> None:
    head = line_of(*sent("m", at(1)))[:-1]
    long = [
        head + "".join(f', "n{n}": "v"' for n in range(60_000)) + "}",
        head + ', "long": "' + 400_000 * "x" + '"}',
        head + ', "long": "' + 200_000 * r"\n" + '"}',
        head + ', "long": [' + ", ".join(60_000 * ['"x"']) + "]}",
    ]
    # The same, but that something stands at their ends of which the cheap look is not sure.
    odd = [one[:-1] + ', "a": {}}' for one in long]
    lines = table(spark, tmp_path, [("sent", one) for one in (*long, *odd)])
    assert lines.where(records._ORDINARY).count() == len(long)
    told = text_records(lines).select("problem", "message_id").collect()
    assert [tuple(row) for row in told] == [(None, "m")] * 8


def test_the_plan_parses_a_line_in_one_place(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever is filtered or asked for above, the parser stands below the generator, and nowhere
    else: once for the cheap branch, once for the careful one."""
    if os.environ.get("SPARK_REMOTE"):
        pytest.skip("a client of Spark Connect sees no plan")
    rows = text_records(table(spark, tmp_path, ordinary()))
    asked = rows.where("code != 25 AND message_id LIKE 'm%' AND at > 0").select("message_id", "at")
    for query in (rows, asked):
        plan = query._jdf.queryExecution().optimizedPlan().toString()
        above, below = plan.split("Generate inline", 1)
        assert "from_json(ArrayType" not in above
        assert below.count("from_json(ArrayType") == 2


def test_what_is_read_is_compiled_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Beyond the limit Spark copies each row once for every step."""
    if os.environ.get("SPARK_REMOTE"):
        pytest.skip("a client of Spark Connect sees no code")
    day = date.fromisoformat(DAY)
    names = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    before = [str(spark.conf.get(name)) for name in names]
    for name, value in zip(names, ("true", "FALLBACK"), strict=True):
        spark.conf.set(name, value)
    try:
        rows = text_records(table(spark, tmp_path, ordinary()), STREAMS)
        plan = narrow(rows, day, day)._jdf.queryExecution().executedPlan()
        debug = spark._jvm.org.apache.spark.sql.execution.debug  # type: ignore[union-attr]
        stages = getattr(getattr(debug, "package$"), "MODULE$").codegenStringSeq(plan)
        longest = [stages.apply(n)._3().maxMethodCodeSize() for n in range(stages.size())]
    finally:
        for name, value in zip(names, before, strict=True):
            spark.conf.set(name, value)
    limit = int(str(spark.conf.get("spark.sql.codegen.hugeMethodLimit")))
    assert len(longest) == 2
    assert 0 < max(longest) < limit
