"""The audit against a judge that shares no code with it, and against planted truth."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce.stack.embedded_folder import PROJECT
from actonce_pipeline.audit.horizon import horizon_of
from actonce_pipeline.audit.job import message_rows
from actonce_pipeline.audit.judging.verdict_names import VERDICTS
from actonce_pipeline.audit.judging.verdicts import (
    _CODE_BITS,
    Coverage,
    doubts,
    facts_of,
    per_message,
    rules,
)
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.events import narrow, records
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.streams import REFUSED, Code
from actonce_pipeline.audit.request import Request
from lab.bench.records import truth_of
from lab.bench.records import write as write_planted
from tests.pipeline.judge import Record, judge
from tests.pipeline.nights import audited, verdicts_of
from tests.pipeline.streams_on_disk import (
    DAY,
    EFFECTS,
    KINDS,
    STREAMS,
    at,
    dead_letter,
    delivery,
    effect,
    execution,
    file_of,
    performed,
    sent,
    with_ids,
    write,
)

PLANTED = 1000
GRACE = timedelta(minutes=15)
NEXT_DAY = "2026-02-01"
NOW = datetime(2026, 2, 1, tzinfo=UTC)


def histories(random: Random) -> Iterator[tuple[str, list[Record]]]:
    """Messages with any records in any order, often of one millisecond, some within the grace, some
    of a day that is not over."""
    seconds = (0, 0.001, 1, 299.999, 300, 300.001, 900)
    times = [*(at(86_400 - 1200 + one) for one in seconds), at(86_399)]
    times += [at(0, NEXT_DAY), at(900, NEXT_DAY)]
    for number in range(1500):
        streams = random.choices(STREAMS, k=random.randint(1, 7))
        kinds = [random.choice([one for one in KINDS if one[0] == stream]) for stream in streams]
        records = [(stream, one | {"at": random.choice(times)}) for stream, one in kinds]
        yield f"m-{number}", records


class Judged(NamedTuple):
    """What the audit says of the examples, and of any histories.

    Attributes:
        rows: of each message, as `messages/` has it.
        held: of each message, whether each rule holds.
        doubted: likewise each doubt.
    """

    histories: Mapping[str, list[Record]]
    rows: dict[str, dict[str, Any]]
    held: dict[str, list[Any]]
    doubted: dict[str, list[Any]]


@pytest.fixture(scope="module")
def judged_histories(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    every = EXAMPLES | dict(histories(Random(8)))
    root = planted(tmp_path_factory.mktemp("records"), every)
    listing = list_records(spark, str(root))
    request = Request(str(root), as_of=NOW)
    horizon = horizon_of(request, listing)
    lines = records(spark, listing.files, Attributes.of_output(EFFECTS)).cache()
    rows = message_rows(lines, request, listing, horizon).collect()
    coverage = Coverage.of(listing, {})
    facts = facts_of(per_message(narrow(lines, None), None), coverage, horizon).select(
        "message_id",
        F.array(*(rule.condition for rule in rules())).alias("rules"),
        F.array(*doubts().values()).alias("doubts"),
    )
    found = facts.collect()
    return Judged(
        every,
        {row["message_id"]: row.asDict() for row in rows},
        {row["message_id"]: row["rules"] for row in found},
        {row["message_id"]: row["doubts"] for row in found},
    )


def planted(root: Path, histories: Mapping[str, Iterable[Record]]) -> Path:
    """The histories' records, each under its message's id; every stream has the next day, too."""
    write(root, with_ids(histories))
    for stream in STREAMS:
        file_of(root, stream, NEXT_DAY).parent.mkdir(parents=True, exist_ok=True)
        file_of(root, stream, NEXT_DAY).touch()
    return root


_ONCE = performed("", 0)
_RESOLVED = (
    execution("", at(9), "RUNNING"),
    dead_letter("", at(9)),
    dead_letter("", at(20), "resolve"),
)
EXAMPLES: dict[str, list[Record]] = {
    "again": [*_ONCE, effect("", at(9), "appointment-2")],
    "lost": [sent("", at(0)), delivery("", at(0)), execution("", at(9), "FAILED")],
    "rejected, performed": [*_ONCE, dead_letter("", at(0)), dead_letter("", at(20), "reject")],
    "resolved, then performed": [*_RESOLVED, effect("", at(21))],
    "performed twice": [*_ONCE, execution("", at(0.6), "SUCCEEDED", "performed")],
    "unasked": [effect("", at(1))],
    "conflict": [*_ONCE, delivery("", at(9), "refused", "conflict", None)],
    "unasked as yet": [effect("", at(0, NEXT_DAY))],
    "waits": [delivery("", at(0)), dead_letter("", at(9))],
    "once": _ONCE,
    "rejected": [delivery("", at(0)), execution("", at(9), "FAILED", None, "RejectedByOperator")],
    "resolved": [delivery("", at(0)), *_RESOLVED],
    "refused": [sent("", at(0)), delivery("", at(0), "refused", "not_json", None)],
    "in flight": [delivery("", at(0)), execution("", at(0), "RUNNING")],
}
"""A message for each of the rules, in their order; and at last one of which none holds."""


def test_each_rule_is_the_first_that_holds_of_its_example(judged_histories: Judged) -> None:
    all_rules = rules()
    first = {key: (*judged_histories.held[key], True).index(True) for key in EXAMPLES}
    assert first == {key: number for number, key in enumerate(EXAMPLES)}
    assert len(EXAMPLES) == len(all_rules) + 1
    assert {rule.verdict for rule in all_rules} == {*VERDICTS}
    verdicts = [*(rule.verdict for rule in all_rules), "in_flight"]
    assert [judged_histories.rows[key]["verdict"] for key in EXAMPLES] == verdicts


def test_the_records_page_has_the_rules(spark: SparkSession) -> None:  # noqa: ARG001 - of columns
    page = (PROJECT / "docs" / "records.md").read_text()
    table = [f"| `{rule.verdict}` | {rule.sentence} |" for rule in rules()]
    assert "\n".join([*table, "| `in_flight` | none of these, yet |"]) in page


def test_agrees_with_a_plain_judge_on_any_history(judged_histories: Judged) -> None:
    differ = {
        message_id: (found, expected, history)
        for message_id, history in judged_histories.histories.items()
        if (
            found := (
                judged_histories.rows[message_id]["verdict"],
                judged_histories.rows[message_id]["judged"],
            )
        )
        != (expected := judge(with_ids({message_id: history}), NOW, GRACE))
    }
    assert dict(list(differ.items())[:1]) == {}
    assert judged_histories.rows.keys() == judged_histories.histories.keys()


def test_each_state_and_reason_has_a_code_of_its_own_that_fits_below_a_time() -> None:
    codes = [*map(int, Code), *REFUSED.values()]
    assert sorted(codes) == list(range(len(codes)))
    assert max(codes) < 2**_CODE_BITS


def test_no_rule_and_no_doubt_is_null(judged_histories: Judged) -> None:
    for facts in (*judged_histories.held.values(), *judged_histories.doubted.values()):
        assert None not in facts


def _objects(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def test_finds_each_planted_case_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "records"
    write_planted(root, PLANTED, seed=7)
    summary = audited(spark, root, tmp_path / "audit")
    found = verdicts_of(tmp_path / "audit")
    truth = {one["message_id"]: one["verdict"] for one in _objects(truth_of(root).read_bytes())}
    assert {
        key: (found.get(key), truth[key]) for key in truth if found.get(key) != truth[key]
    } == {}
    assert found.keys() == truth.keys()
    planted_for = set(truth.values())
    assert min(summary["verdicts"][name] for name in planted_for) >= PLANTED // 1000
    assert summary["alarms_total"] == sum(
        summary["verdicts"][name]
        for name in ("performed_again", "lost", "contradiction", "conflict")
    )
    assert summary["exit_status"] == 1
    (came,), (put,) = (root.glob(f"{stream}/*/*.gz") for stream in ("sent", "deliveries"))
    assert summary["totals"]["sent"] == len(_objects(gzip.decompress(came.read_bytes())))
    deliveries = _objects(gzip.decompress(put.read_bytes()))
    assert summary["totals"]["deliveries"] == len(deliveries)


def test_a_night_is_one_shuffle_of_what_the_aggregate_needs(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = list_records(spark, str(write(tmp_path, performed("m"))))
    day = date.fromisoformat(DAY)
    limited = Request(str(tmp_path), str(tmp_path / "audit"), (day, day))
    rows = records(spark, listing.files, Attributes.of_output(EFFECTS))
    message_rows(rows, limited, listing, horizon_of(limited, listing)).explain()
    output = capsys.readouterr().out
    assert output.count("Exchange") == 1, output
    assert output.count("HashAggregate") == 2, output  # partial and final, both after it
    assert "SortAggregate" not in output
    assert "ObjectHashAggregate" not in output
