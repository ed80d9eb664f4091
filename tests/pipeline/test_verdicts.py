"""The audit against a judge that shares no code with it, and against planted truth."""

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce.stack.embedded_folder import PROJECT
from actonce_pipeline.audit.horizon import horizon_of
from actonce_pipeline.audit.job import message_rows
from actonce_pipeline.audit.judging.verdict_names import VERDICTS
from actonce_pipeline.audit.judging.verdicts import Coverage, doubts, facts_of, per_message, rules
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.events import before, narrow, records
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.request import Request
from actonce_pipeline.audit.times import in_ms
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
    named,
    performed,
    sent,
    write,
)

PLANTED = int(os.environ.get("ACTONCE_PLANTED_MESSAGES", "5000"))
"""Set it to 100000 for the long run, which takes minutes."""

GRACE = timedelta(minutes=15)
NEXT_DAY = "2026-02-01"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 2, 1, tzinfo=UTC)


def histories() -> st.SearchStrategy[list[list[Record]]]:
    """Messages with any records in any order, often of one millisecond, some within the grace, some
    of a day that is not over."""
    seconds = (0, 0.001, 1, 299.999, 300, 300.001, 900)
    times = st.sampled_from(
        [
            *(at(86_400 - 1200 + one) for one in seconds),
            at(86_399),
            at(0, NEXT_DAY),
            at(900, NEXT_DAY),
        ]
    )
    kinds = st.one_of(
        [st.sampled_from([kind for kind in KINDS if kind[0] == stream]) for stream in STREAMS]
    )
    event = st.builds(lambda kind, time: (kind[0], kind[1] | {"at": time}), kinds, times)
    return st.lists(st.lists(event, min_size=1, max_size=7), min_size=150, max_size=300)


def rows_of(spark: SparkSession, root: Path, as_of: datetime = NOW) -> dict[str, dict[str, Any]]:
    listing = list_records(spark, str(root))
    request = Request(str(root), str(root / "audit"), as_of=as_of)
    horizon = horizon_of(request, listing, 0)
    rows = message_rows(
        records(spark, listing.files, Attributes.of_output(EFFECTS)), request, listing, horizon
    )
    return {row["message_id"]: row.asDict() for row in rows.collect() if row["message_id"]}


def rules_of(spark: SparkSession, root: Path) -> dict[str, tuple[list[Any], list[Any]]]:
    """Of each message, whether each rule holds, and each doubt."""
    listing = list_records(spark, str(root))
    horizon = horizon_of(Request(str(root), "", as_of=NOW), listing, 0)
    coverage = Coverage.of(listing, {}, by_executions=False)
    effects = Attributes.of_output(EFFECTS)
    numbers = per_message(narrow(records(spark, listing.files, effects), None), None)
    found = facts_of(numbers, coverage, horizon, in_ms(EPOCH + GRACE)).select(
        "message_id",
        F.array(*(rule.condition for rule in rules())).alias("rules"),
        F.array(*doubts().values()).alias("doubts"),
    )
    return {row["message_id"]: (row["rules"], row["doubts"]) for row in found.collect()}


def planted(root: Path, histories: Mapping[str, Iterable[Record]]) -> Path:
    """The histories' records, each under its message's id; every stream has the next day, too."""
    write(root, named(histories))
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
    "actonce-check-1": [effect("", at(1)), effect("", at(2), "appointment-2")],
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


def test_each_rule_is_the_first_that_holds_of_its_example(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = planted(tmp_path, EXAMPLES)
    found = rules_of(spark, root)
    all_rules = rules()
    first = {key: (*found[key][0], True).index(True) for key in EXAMPLES}
    assert first == {key: number for number, key in enumerate(EXAMPLES)}
    assert len(EXAMPLES) == len(all_rules) + 1
    assert {rule.verdict for rule in all_rules} == {*VERDICTS}
    judged = {key: judge(named({key: one}), NOW, GRACE) for key, one in EXAMPLES.items()}
    verdicts = [*(rule.verdict for rule in all_rules), "in_flight"]
    assert {key: told for key, (told, _) in judged.items()} == dict(
        zip(EXAMPLES, verdicts, strict=True)
    )


def test_the_records_page_has_the_rules(spark: SparkSession) -> None:  # noqa: ARG001 - of columns
    page = (PROJECT / "docs" / "records.md").read_text()
    table = [f"| `{rule.verdict}` | {rule.sentence} |" for rule in rules()]
    assert "\n".join([*table, "| `in_flight` | none of these, yet |"]) in page


@settings(
    max_examples=4,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a small message is in there anyway
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
@given(messages=histories())
@example(messages=[performed("")])
def test_agrees_with_a_plain_judge_on_any_history(
    spark: SparkSession, messages: list[list[Record]]
) -> None:
    ids = [f"{'my-' * (n % 2)}actonce-check-{n}" for n in range(len(messages))]
    histories_of = dict(zip(ids, messages, strict=True))
    with TemporaryDirectory() as folder:
        root = planted(Path(folder), histories_of)
        rows, found = rows_of(spark, root), rules_of(spark, root)
    verdicts = [rule.verdict for rule in rules()]
    for message_id, (held, doubted) in found.items():
        assert None not in (*held, *doubted), histories_of[message_id]
        verdict = next(
            (one for one, holds in zip(verdicts, held, strict=True) if holds), "in_flight"
        )
        assert rows[message_id]["verdict"] == verdict
    differ = {
        message_id: (told, expected, history)
        for message_id, history in histories_of.items()
        if (told := (rows[message_id]["verdict"], rows[message_id]["judged"]))
        != (expected := judge(named({message_id: history}), NOW, GRACE))
    }
    assert dict(list(differ.items())[:1]) == {}
    assert rows.keys() == found.keys() == histories_of.keys()


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
    rows = before(records(spark, listing.files, Attributes.of_output(EFFECTS)), in_ms(NOW))
    message_rows(rows, limited, listing, horizon_of(limited, listing, 0)).explain()
    judged = capsys.readouterr().out
    assert judged.count("Exchange") == 1, judged
    assert judged.count("HashAggregate") == 2, judged  # partial and final, both after it
    assert "SortAggregate" not in judged
    assert "ObjectHashAggregate" not in judged
