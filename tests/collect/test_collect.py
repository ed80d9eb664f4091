import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.records.collect import Collected, Wanted, collect
from actonce.records.day_files import day_folder
from actonce.stack.clients import Aws, Stack
from actonce.terminal.errors import WrongUse

NOW = datetime.now(UTC).replace(microsecond=0)
TODAY = NOW.date()
YESTERDAY = TODAY - timedelta(days=1)
LOG_GROUP = "/aws/lambda/starter"
LOG_STREAM = "2026/11/21/[$LATEST]0a1b"

Log = Callable[..., None]


@pytest.fixture
def stack(moto_aws: Aws) -> Stack:
    """The starter's log and the Appointments table."""
    outputs = {
        "ProcessMessageArn": "arn:aws:states:us-east-1:123456789012:stateMachine:none",
        "StarterLogGroupName": LOG_GROUP,
        "AppointmentsTableName": "appointments",
    }
    stack = Stack(moto_aws, "actonce", outputs)
    stack.logs.create_log_group(logGroupName=LOG_GROUP)
    stack.logs.create_log_group(logGroupName=f"{LOG_GROUP}-of-another-stack")
    stack.logs.put_retention_policy(logGroupName=f"{LOG_GROUP}-of-another-stack", retentionInDays=1)
    stack.logs.create_log_stream(logGroupName=LOG_GROUP, logStreamName=LOG_STREAM)
    stack.dynamodb.create_table(
        TableName="appointments",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "message_id", "AttributeType": "S"},
            {"AttributeName": "appointment_id", "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": "message_id", "KeyType": "HASH"},
            {"AttributeName": "appointment_id", "KeyType": "RANGE"},
        ],
    )
    return stack


@pytest.fixture
def log(stack: Stack) -> Log:
    """Writes into the starter's log: a text, or a line of the stream with its time."""

    def write(line: str | dict[str, Any], at: datetime = NOW) -> None:
        text = line if isinstance(line, str) else json.dumps(line)
        stack.logs.put_log_events(
            logGroupName=LOG_GROUP,
            logStreamName=LOG_STREAM,
            logEvents=[{"timestamp": int(at.timestamp() * 1000), "message": text}],
        )

    return write


def delivery(message_id: str, at: datetime | str) -> dict[str, Any]:
    time = at if isinstance(at, str) else at.isoformat(timespec="milliseconds")
    return {"stream": "deliveries", "version": 1, "at": time, "message_id": message_id}


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def run(stack: Stack, root: Path, stream: str, **wanted: Any) -> Collected:
    days = wanted.pop("days", [TODAY])
    return collect(stack, Wanted(days, root, streams=frozenset({stream}), **wanted), now=NOW)


def read(root: Path, stream: str, day: date = TODAY) -> list[dict[str, Any]]:
    file = day_folder(root, stream, day) / "collected.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


# --------------------------------------------------------------------------- deliveries


def test_only_lines_of_the_stream_are_deliveries(stack: Stack, log: Log, tmp_path: Path) -> None:
    log("START RequestId: 4711 about deliveries")
    log({"stream": "effects", "text": "deliveries"})
    log(delivery("m-1", NOW))

    collected = run(stack, tmp_path, "deliveries")

    assert read(tmp_path, "deliveries") == [delivery("m-1", NOW)]
    assert collected.lines == {TODAY: {"deliveries": 1}}
    assert collected.missing == []


def test_a_delivery_belongs_to_the_day_of_its_own_time(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    last_moment = midnight(TODAY) - timedelta(milliseconds=1)
    log(delivery("last", last_moment), at=midnight(TODAY) + timedelta(seconds=2))
    log(delivery("first", midnight(TODAY)), at=midnight(TODAY) + timedelta(seconds=2))

    run(stack, tmp_path, "deliveries", days=[YESTERDAY])
    assert [line["message_id"] for line in read(tmp_path, "deliveries", YESTERDAY)] == ["last"]

    run(stack, tmp_path, "deliveries", days=[TODAY])
    assert [line["message_id"] for line in read(tmp_path, "deliveries")] == ["first"]
    assert [line["message_id"] for line in read(tmp_path, "deliveries", YESTERDAY)] == ["last"]


def test_a_delivery_of_a_version_to_come_is_kept_for_the_reader_to_judge(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    line = delivery("m-1", NOW) | {"version": 2, "news": [1]}
    log(line)

    run(stack, tmp_path, "deliveries")

    assert read(tmp_path, "deliveries") == [line]


def test_a_delivery_without_a_readable_time_is_told_of(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    log(delivery("m-1", "yesterday"))
    log(delivery("m-2", "2026-11-21T10:00:00"))

    collected = run(stack, tmp_path, "deliveries")

    assert read(tmp_path, "deliveries") == []
    (sentence,) = collected.missing
    assert "2 line(s)" in sentence


def test_a_day_that_the_log_has_forgotten_keeps_the_file_it_has(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    log(delivery("m-1", midnight(YESTERDAY)), at=midnight(YESTERDAY))
    run(stack, tmp_path, "deliveries", days=[YESTERDAY])
    stack.logs.put_retention_policy(logGroupName=LOG_GROUP, retentionInDays=1)

    collected = run(stack, tmp_path, "deliveries", days=[YESTERDAY, TODAY])

    assert collected.lines == {YESTERDAY: {"deliveries": None}, TODAY: {"deliveries": 0}}
    assert [line["message_id"] for line in read(tmp_path, "deliveries", YESTERDAY)] == ["m-1"]
    assert collected.missing == [
        f"deliveries of {YESTERDAY}: the starter's log keeps 1 day(s) (LogRetentionDays)."
    ]


def test_executions_older_than_step_functions_remembers_are_told_of(
    stack: Stack, tmp_path: Path
) -> None:
    long_ago = TODAY - timedelta(days=91)

    collected = collect(
        stack, Wanted([long_ago], tmp_path, streams=frozenset({"executions", "dead_letters"}))
    )

    assert collected.lines == {long_ago: {"executions": None, "dead_letters": None}}
    assert "forgets executions 90 days" in collected.missing[0]
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------- effects


def put(stack: Stack, message_id: str, appointment_id: str, **attributes: Any) -> None:
    key = {"message_id": {"S": message_id}, "appointment_id": {"S": appointment_id}}
    stack.dynamodb.put_item(TableName="appointments", Item=key | attributes)


def test_effects_are_the_appointments_without_what_was_asked_for(
    stack: Stack, tmp_path: Path
) -> None:
    booked = {"S": NOW.isoformat()}
    put(stack, "#book", "book-main", next_slot={"N": "2"}, booked_at=booked)
    put(stack, "m-1", "appointment-1", booked_at=booked, slot={"N": "1"}, request={"S": "{}"})
    put(stack, "m-1", "appointment-2", booked_at=booked, slot={"N": "2"})

    run(stack, tmp_path, "effects")

    assert sorted(line["Item"]["slot"]["N"] for line in read(tmp_path, "effects")) == ["1", "2"]
    assert {tuple(sorted(line["Item"])) for line in read(tmp_path, "effects")} == {
        ("appointment_id", "booked_at", "message_id", "slot")
    }


def test_an_effect_written_by_hand_without_a_time_is_told_of(stack: Stack, tmp_path: Path) -> None:
    put(stack, "m-1", "appointment-1")
    put(stack, "m-2", "appointment-2", booked_at={"N": "5"})

    collected = run(stack, tmp_path, "effects")

    assert read(tmp_path, "effects") == []
    (sentence,) = collected.missing
    assert "2 appointment(s)" in sentence


# --------------------------------------------------------------------------- sent


def recorded(root: Path, name: str, *ids: str, day: date = TODAY) -> Path:
    """A file as `actonce send --record` writes it: a gzip member for each batch."""
    folder = day_folder(root, "sent", day)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.jsonl.gz"
    lines = [json.dumps({"stream": "sent", "message_id": one}) + "\n" for one in ids]
    file.write_bytes(b"".join(gzip.compress(line.encode()) for line in lines))
    return file


def test_sent_records_of_several_runs_become_one_file(stack: Stack, tmp_path: Path) -> None:
    recorded(tmp_path / "sent", "run-1", "m-1", "m-2")
    recorded(tmp_path / "sent", "run-2", "m-3")

    for _ in range(2):
        collected = run(stack, tmp_path / "to", "sent", sent=tmp_path / "sent")

    assert collected.lines == {TODAY: {"sent": 3}}
    assert [line["message_id"] for line in read(tmp_path / "to", "sent")] == ["m-1", "m-2", "m-3"]


def test_sent_records_that_are_in_place_are_counted_and_left(stack: Stack, tmp_path: Path) -> None:
    file = recorded(tmp_path, "run-1", "m-1", "m-2")

    with_option = run(stack, tmp_path, "sent", sent=tmp_path)
    without = run(stack, tmp_path, "sent")

    assert with_option.lines == without.lines == {TODAY: {"sent": 2}}
    assert list(day_folder(tmp_path, "sent", TODAY).iterdir()) == [file]


def test_where_nothing_recorded_what_was_sent_is_a_note_and_no_empty_file(
    stack: Stack, tmp_path: Path
) -> None:
    recorded(tmp_path / "sent", "run-1", "m-1", day=YESTERDAY)

    collected = run(stack, tmp_path / "to", "sent", sent=tmp_path / "sent")

    assert collected.lines == {TODAY: {"sent": None}}
    assert collected.missing == []
    assert any(note.startswith(f"sent of {TODAY}: nothing") for note in collected.notes)
    assert not day_folder(tmp_path / "to", "sent", TODAY).exists()


def test_a_folder_without_sent_records_is_wrong_use(stack: Stack, tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="--sent"):
        run(stack, tmp_path, "sent", sent=tmp_path)


# --------------------------------------------------------------------------- as a whole


@pytest.mark.parametrize("stream", ["deliveries", "executions", "effects", "dead_letters"])
def test_records_that_came_another_way_are_never_counted_twice(
    stack: Stack, tmp_path: Path, stream: str
) -> None:
    folder = day_folder(tmp_path, stream, TODAY)
    folder.mkdir(parents=True)
    (folder / "from-s3.gz").write_bytes(b"")

    with pytest.raises(WrongUse, match=r"from-s3\.gz was not written by actonce collect"):
        run(stack, tmp_path, stream)


def test_a_day_that_is_not_over_is_noted(stack: Stack, tmp_path: Path) -> None:
    wanted = Wanted([TODAY], tmp_path, streams=frozenset({"effects"}))

    before, at_midnight = (
        collect(stack, wanted, now=midnight(TODAY) + timedelta(days=1, seconds=seconds))
        for seconds in (-1, 0)
    )

    assert before.notes == [f"{TODAY} is not over (UTC); collect it again when it is."]
    assert at_midnight.notes == []


def test_a_stream_that_aws_does_not_give_leaves_the_others_alone(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    log(delivery("m-1", NOW))
    stack.dynamodb.delete_table(TableName="appointments")

    collected = collect(
        stack, Wanted([TODAY], tmp_path, streams=frozenset({"deliveries", "effects"}))
    )

    assert collected.lines == {TODAY: {"deliveries": 1, "effects": None}}
    (sentence,) = collected.missing
    assert sentence.startswith("effects: ")
    assert "ResourceNotFoundException" in sentence
    assert not (day_folder(tmp_path, "effects", TODAY) / "collected.jsonl.gz").exists()
