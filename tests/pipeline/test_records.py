"""From a file to rows: whatever it holds is read, or set aside with its place and a reason."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.events import records
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.records import rows_of
from actonce_pipeline.audit.reading.row import COLUMNS
from tests.pipeline.streams_on_disk import (
    DAY,
    EFFECTS,
    FINGERPRINTS,
    at,
    dead_letter,
    delivery,
    effect,
    line_of,
    own_effect,
    performed,
    sent,
    write,
)

FIXTURES = Path(__file__).parents[1] / "records" / "fixtures"
Outcomes = list[tuple[str | None, str | None]]
"""Of each row, the message id and what is wrong with it."""
NAMED = Attributes.of_output(EFFECTS)
LINE = line_of(*delivery("m", at(1)))
PACKED = gzip.compress(
    b"".join(line_of(*delivery(f"m{n}", at(n))).encode() + b"\n" for n in range(500)), mtime=0
)


def rows(
    content: str | bytes,
    stream: str = "deliveries",
    name: str = "a",
    attributes: Attributes | None = NAMED,
) -> list[dict[str, Any]]:
    content = content.encode() if isinstance(content, str) else content
    found = rows_of(f"s3://r/{stream}/dt={DAY}/{name}", content, attributes=attributes)
    return [dict(zip(COLUMNS, one, strict=True)) for one in found]


def outcomes(content: str | bytes, stream: str = "deliveries", name: str = "a") -> Outcomes:
    return [(one["message_id"], one["problem"]) for one in rows(content, stream, name)]


def batch(*lines: str | None) -> str:
    """A Logs subscription's, as CloudWatch writes it."""
    events = [{"id": "1"} if line is None else {"message": line + "\n"} for line in lines]
    told_by = {"messageType": "DATA_MESSAGE", "logGroup": "/aws/starter"}
    return json.dumps(told_by | {"logEvents": events})


def event(**detail: Any) -> str:
    began = {"name": "m", "status": "RUNNING", "startDate": 1_769_817_600_000}
    return json.dumps({"detail-type": "x", "detail": began | detail})


def spoiled(**fields: Any) -> str:
    return json.dumps(json.loads(LINE) | fields)


# ------------------------------------------------------------------------------- files


def test_a_line_that_cannot_be_read_is_named_with_its_place_and_costs_itself_only() -> None:
    content = b"\xef\xbb\xbf" + LINE.encode() + b"\n\n \r\n\xff\nno record\n" + LINE.encode()
    good, not_utf8, corrupt, last = rows(content, name="odd name")
    assert (good["message_id"], good["folder"], good["file"]) == ("m", DAY, None)
    assert last == good
    places = [(one["file"], one["line"], one["problem"]) for one in (not_utf8, corrupt)]
    name = f"s3://r/deliveries/dt={DAY}/odd name"
    assert places == [(name, 4, "not_utf8"), (name, 5, "corrupt_line")]


def test_a_file_is_unpacked_as_often_as_firehose_packed_it() -> None:
    twice = gzip.compress(PACKED)
    assert outcomes(twice) == outcomes(PACKED, name="a.gz") == [(f"m{n}", None) for n in range(500)]
    assert outcomes(PACKED + PACKED) == 2 * outcomes(PACKED)
    assert outcomes(gzip.compress(b""), name="a.gz") == outcomes(b"") == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *((PACKED[:length], "truncated_gzip") for length in (3, 9, 20, len(PACKED) // 2, -1)),
        (PACKED[:-8] + b"\0" * 8, "corrupt_gzip"),
        (PACKED + b"more", "corrupt_gzip"),
        (gzip.compress(PACKED, mtime=0)[:-4], "truncated_gzip"),
        (LINE.encode(), "not_gzip"),
    ],
)  # fmt: skip
def test_a_file_that_is_broken_is_set_aside_whole(content: bytes, problem: str) -> None:
    assert outcomes(content, name="a.gz") == [(None, problem)]


def test_the_rows_are_those_of_each_file(spark: SparkSession, tmp_path: Path) -> None:
    listing = list_records(spark, str(write(tmp_path, performed("m"))))
    expected = [
        tuple(one) for file in listing.files for one in rows_of(file.path, attributes=NAMED)
    ]
    assert sorted(map(str, map(tuple, records(spark, listing.files, NAMED).collect()))) == sorted(
        map(str, expected)
    )
    # As in a bucket: by Spark's reader.
    elsewhere = [replace(one, path=one.path.replace("file://", "file:")) for one in listing.files]
    assert records(spark, tuple(elsewhere), NAMED).count() == len(expected)


# ------------------------------------------------------------------------------- lines

CONTROL = '{"messageType": "CONTROL_MESSAGE", "logEvents": [{"message": "CWL CONTROL MESSAGE"}]}'
PAIR = [line_of(*delivery(name, at(1))) for name in "ab"]


@pytest.mark.parametrize(
    ("first", "second"),
    [PAIR, (PAIR[0], batch(PAIR[1])), tuple(map(batch, PAIR)), (CONTROL, batch(PAIR[1]))],
    ids=["records", "a record and a batch", "batches", "a control message and a batch"],
)
def test_of_two_objects_on_a_line_none_is_lost(first: str, second: str) -> None:
    both: Outcomes = [("b", None)] if first == CONTROL else [("a", None), ("b", None)]
    for between in ("", " ", "\f"):
        assert outcomes(first + between + second) == both


def test_of_a_batch_each_line_is_read_or_set_aside() -> None:
    assert outcomes(batch(PAIR[0], None, PAIR[1])) == [
        ("a", None),
        (None, "not_a_record"),
        ("b", None),
    ]
    assert outcomes(f"{CONTROL}\n{batch()}") == []


# ------------------------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("stream", "line", "problem"),
    [
        ("deliveries", LINE[:-9], "corrupt_line"),
        ("deliveries", LINE[:-1] + ', "end": "failed"}', "corrupt_line"),
        ("deliveries", LINE.replace('"m"', r'"\ud800"'), "corrupt_line"),
        ("deliveries", "7", "corrupt_line"),
        ("deliveries", spoiled(version=2), "unknown_version"),
        ("deliveries", spoiled(stream="sent"), "not_a_record"),
        ("deliveries", spoiled(message_id=5), "wrong_type"),
        ("deliveries", spoiled(fingerprint=None), "missing_field"),
        ("deliveries", spoiled(end="swallowed"), "unknown_value"),
        ("deliveries", spoiled(end=None), "missing_field"),
        ("deliveries", spoiled(end="refused", reason="mood"), "unknown_value"),
        ("deliveries", spoiled(at=None), "missing_field"),
        ("deliveries", spoiled(at="soon"), "wrong_type"),
        ("deliveries", spoiled(at=at(1).replace("Z", "+02:00")), "wrong_type"),
        ("deliveries", spoiled(at="1999-12-31T23:59:59Z"), "impossible_time"),
        ("deliveries", spoiled(at=at(3_601, "2026-02-01")), "impossible_time"),
        ("executions", event(startDate=1_769_817_600_000_000), "impossible_time"),
        ("executions", event(input=r'{"message_id": "\ud800"}'), "corrupt_line"),
        ("executions", event(status="ASLEEP", stopDate=1_769_817_600_000), "unknown_value"),
        ("dead_letters", line_of(*dead_letter("m", at(1), "shrug")), "unknown_value"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_record_is_told(stream: str, line: str, problem: str) -> None:
    assert outcomes(line, stream) == [(None, problem)]


def test_an_output_that_nobody_can_read_tells_no_outcome() -> None:
    ended = {"status": "SUCCEEDED", "stopDate": 1_769_817_600_000, "output": "[" * 200_000}
    (one,) = rows(event(**ended), "executions")
    assert (one["message_id"], one["description"], one["problem"]) == ("m", "SUCCEEDED", None)
    ended["output"] = r'{"outcome": "\ud800"}'
    assert outcomes(event(**ended), "executions") == [(None, "corrupt_line")]


def test_an_execution_s_record_is_of_when_its_status_changed() -> None:
    began, again, ended = (1_769_817_600_000 + hours * 3_600_000 for hours in range(3))
    times = {"startDate": began, "redriveDate": None, "stopDate": None}
    for changed, moment in (
        ({}, began),
        ({"status": "FAILED", "stopDate": ended}, ended),
        ({"redriveDate": again}, again),
        ({"status": "SUCCEEDED", "redriveDate": again, "stopDate": ended}, ended),
    ):
        (one,) = rows(event(**times | changed), "executions")
        assert one["at"] == moment


HASHED = "sha256-" + "0" * 64


@pytest.mark.parametrize(
    ("stream", "line", "message_id", "what"),
    [
        ("sent", line_of(*sent(None, at(1))), "sqs:q-1", "accepted by SQS"),
        ("deliveries", spoiled(end="failed", message_id=None), "sqs:q-1", "failed"),
        ("executions", event(), "m", "RUNNING"),
        ("executions", event(input="[]"), None, "RUNNING"),
        ("executions", event(name="sha256-1", input=None), "sha256-1", "RUNNING"),
        ("executions", event(input=json.dumps({"message_id": HASHED})),
         HASHED, "RUNNING"),
        ("effects", line_of(*own_effect("m", at(1))), "m", "an effect"),
        ("effects", line_of(*effect("m", at(1), "appointment-7")), "m", "appointment-7"),
        ("dead_letters", line_of(*dead_letter("m", at(1), "retry")), "m",
         "decided retry rejected Rejected"),
    ],
)  # fmt: skip
def test_what_a_record_says_is_told(
    stream: str, line: str, message_id: str | None, what: str
) -> None:
    (one,) = rows(line, stream)
    assert (one["message_id"], one["description"], one["problem"]) == (message_id, what, None)


ARN = "arn:aws:dynamodb:us-east-1:1:table/t"


@pytest.mark.parametrize(
    ("stream", "line", "source"),
    [
        ("executions", event(stateMachineArn="arn:1"), "stack arn:1"),
        ("executions", event(stateMachineArn="arn:1", source="arn:2"), "stack arn:1"),
        *((one[0], line_of(one[0], one[1] | {"source": "arn:1"}), "stack arn:1")
          for one in (*performed("m")[:3], dead_letter("m", at(1)), own_effect("m", at(1)))),
        ("deliveries", LINE, None),
        ("deliveries", batch(LINE), "log group /aws/starter"),
        ("effects", line_of(*effect("m", at(1))), None),
    ],
)  # fmt: skip
def test_whose_a_record_is_is_told(stream: str, line: str, source: str | None) -> None:
    (one,) = rows(line, stream)
    assert (one["source"], one["problem"]) == (source, None)


@pytest.mark.parametrize(
    ("name", "content", "describe_error"),
    [
        ("summary", json.dumps({"tableArn": ARN, "itemCount": 2}), [(f"table {ARN}", None)]),
        ("files", '{"dataFileS3Key": "a"}\n{"dataFileS3Key": "b"}', []),
        ("files", line_of(*own_effect("m", at(1))), [(None, "not_a_record")]),
        ("files", '{"dataFileS3Key": "a", "Item": {}}', [(None, "not_a_record")]),
        ("summary", '{"version": "2020-06-30"}', []),
        ("summary", '{"tableArn": 7}', [(None, "wrong_type")]),
        ("summary", "x", [(None, "not_a_record")]),
    ],
)
def test_what_an_export_says_of_itself_is_read(
    name: str, content: str, describe_error: list[tuple[str | None, str | None]]
) -> None:
    found = rows(content, "effects", f"AWSDynamoDB/1/manifest-{name}.json")
    assert [(one["source"], one["problem"]) for one in found] == describe_error


def test_no_record_is_taken_for_a_control_message() -> None:
    for lines in ([LINE], ["CWL CONTROL MESSAGE", LINE], [f"CWL CONTROL MESSAGE {LINE}"], None):
        events = None if lines is None else [{"message": line} for line in lines]
        one = {"messageType": "CONTROL_MESSAGE", "logEvents": events}
        assert outcomes(json.dumps(one)) == [(None, "not_a_record")]


def test_an_incremental_export_tells_what_changed() -> None:
    data = FIXTURES / "incremental-export" / "AWSDynamoDB" / "data"
    files = ((data / f"{name}.json").read_bytes() for name in ("x7k2m5n3", "q1w2e3r4"))
    first, second = (
        outcomes(content.replace(b"2026-11-20", DAY.encode()), "effects") for content in files
    )
    assert first == [("request-1", None), (None, None), ("request-2", None)]
    # Nobody deletes an effect but behind the system's back, so it is said.
    assert second == [(None, "deleted_effect")]


def test_contents_and_effects_are_told_apart_by_each_of_their_characters() -> None:
    numbers = {
        one["identity"]
        for place in range(64)
        for one in rows(spoiled(fingerprint="0" * place + "1" + "0" * (63 - place)))
    }
    assert len(numbers) == 64
    (first,), (again,) = rows(LINE), rows(spoiled(fingerprint=FINGERPRINTS[0]))
    assert first["identity"] == again["identity"]
    of_effects = [
        rows(line_of(*effect("m", at(1), name)), "effects")[0]["identity"] for name in "aab"
    ]
    assert of_effects[0] == of_effects[1] != of_effects[2]
