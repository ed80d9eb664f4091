"""The streams of some days, out of moto's log, tables and state machine, and a team's files."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actonce.records import collect as module
from actonce.records.collect import COLLECTED, CollectResult, collect
from actonce.records.day_files import file_of, over
from actonce.stack.clients import Stack
from actonce.terminal.errors import UsageError
from actonce_core.histories.reading import ExecutionRecords, ExecutionSummary
from tests.support import stacks
from tests.support.stacks import with_log, with_outputs
from tests.support.tables import make_table

NOW = datetime.now(UTC).replace(microsecond=0)
TIME = NOW.isoformat(timespec="milliseconds").replace("+00:00", "Z")
TODAY = NOW.date()
MIDNIGHT = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)
YESTERDAY = TODAY - timedelta(days=1)

Log = Callable[..., None]


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    """The starter's log, and another's beside it."""
    another = "starter-of-another-stack"
    moto_stack.logs.create_log_group(logGroupName=another)
    moto_stack.logs.put_retention_policy(logGroupName=another, retentionInDays=1)
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:none"
    return with_outputs(with_log(moto_stack), ProcessMessageArn=machine)


@pytest.fixture
def log(stack: Stack) -> Log:
    """Writes a line into the starter's log, now unless a time is named."""
    return lambda line, at=NOW: stacks.log(stack, line, at)


def delivery(message_id: str, at: datetime | str = TIME) -> dict[str, Any]:
    time = at if isinstance(at, str) else at.isoformat(timespec="milliseconds")
    return {"stream": "deliveries", "version": 1, "at": time, "message_id": message_id}


def run(
    stack: Stack, root: Path, *streams: str, days: Sequence[date] = (TODAY,), now: datetime = NOW
) -> CollectResult:
    return collect(stack, days, root, streams, now)


def read(root: Path, stream: str, day: date = TODAY) -> list[dict[str, Any]]:
    """The lines, but for whose they are."""
    content = gzip.decompress(file_of(root, stream, day).read_bytes())
    lines = [json.loads(line) for line in content.splitlines()]
    assert all(line.pop("source") for line in lines)
    return lines


def read_at(root: Path, stream: str, day: date = TODAY) -> datetime:
    """Up to when a file has its day's records: the audit goes by it."""
    return datetime.fromtimestamp(file_of(root, stream, day).stat().st_mtime, UTC)


def ids(root: Path, stream: str, day: date = TODAY) -> list[str]:
    return [line["message_id"] for line in read(root, stream, day)]


# --------------------------------------------------------------------------- deliveries


def test_deliveries_are_the_lines_of_the_stream_as_they_are(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    to_come = delivery("m-1") | {"version": 2, "news": [1]}
    log("START RequestId: 4711 about deliveries")
    log({"stream": "effects", "text": "deliveries"})
    log(to_come)
    log(delivery("m-2", "yesterday"))
    log(delivery("m-3", "2026-11-21T10:00:00"))  # of which zone?

    collected = run(stack, tmp_path, "deliveries")

    assert ids(tmp_path, "deliveries") == ["m-1", "m-2", "m-3"], "an audit names the others"
    assert read(tmp_path, "deliveries")[0] == to_come
    assert collected.lines == {TODAY: {"deliveries": 3}}
    (sentence,) = collected.missing
    assert "2 have no time that can be read" in sentence
    assert "m-2" in sentence


def test_a_delivery_belongs_to_the_day_of_its_own_time(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    logged = MIDNIGHT + timedelta(seconds=2)
    log(delivery("last", MIDNIGHT - timedelta(milliseconds=1)), at=logged)
    log(delivery("first", MIDNIGHT), at=logged)
    for day, message_id in ((YESTERDAY, "last"), (TODAY, "first")):
        run(stack, tmp_path, "deliveries", days=[day])
        assert ids(tmp_path, "deliveries", day) == [message_id]
    assert ids(tmp_path, "deliveries", YESTERDAY) == ["last"]


def test_a_day_that_is_forgotten_keeps_the_file_it_has(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    at = MIDNIGHT - timedelta(days=1)
    log(delivery("m-1", at), at=at)
    run(stack, tmp_path, "deliveries", days=[YESTERDAY], now=MIDNIGHT)
    stack.logs.put_retention_policy(logGroupName="starter", retentionInDays=1)
    collected = run(stack, tmp_path, "deliveries", days=[YESTERDAY, TODAY])
    assert collected.lines == {YESTERDAY: {"deliveries": None}, TODAY: {"deliveries": 0}}
    assert ids(tmp_path, "deliveries", YESTERDAY) == ["m-1"]
    (sentence,) = collected.missing
    assert sentence.startswith(f"deliveries before {TODAY}: ")

    long_ago = TODAY - timedelta(days=91)
    collected = run(stack, tmp_path / "new", "executions", "dead_letters", days=[long_ago])
    assert collected.lines == {long_ago: {"executions": None, "dead_letters": None}}
    assert len(collected.missing) == 1


def executions_collected(monkeypatch: pytest.MonkeyPatch, *names: str, gone: str = "") -> None:
    """Step Functions has executions of these messages left, by their records."""
    told = [{"stream": "executions", "at": TIME, "message_id": name} for name in names]
    monkeypatch.setattr(module, "executions_between", lambda *_, **__: [])
    listed = ExecutionSummary("arn", gone, NOW, NOW)
    found = [ExecutionRecords(listed, [one]) for one in told]
    found += [ExecutionRecords(listed, None)] * bool(gone)
    monkeypatch.setattr(module, "read_histories", lambda *_: found)


def test_a_file_that_was_read_when_its_day_was_over_stays_until_somebody_removes_it(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step Functions forgets executions, and an audit may vouch for the file's bytes."""
    end, file = over(TODAY), file_of(tmp_path, "executions", TODAY)
    executions_collected(monkeypatch, "m-1")
    collected = run(stack, tmp_path, "executions", now=end - timedelta(seconds=1))
    assert [note[:10] for note in collected.notes] == [TODAY.isoformat()]
    os.utime(file, (end.timestamp() + 1,) * 2)  # as a copy of it would be: newer
    executions_collected(monkeypatch, "m-1", "m-2")
    assert run(stack, tmp_path, "executions", now=end).notes == []
    monkeypatch.setattr(module, "read_histories", None)  # nothing is to be read
    later = end + timedelta(days=1)
    (note,) = run(stack, tmp_path, "executions", now=later).notes
    assert note == f"{file} stays: it was read when its day was over. To have it anew, remove it."
    executions_collected(monkeypatch, "m-2", gone="m-4")
    days, streams = [YESTERDAY, TODAY], ("executions", "dead_letters")
    collected = run(stack, tmp_path, *streams, days=days, now=later)
    assert collected.lines[TODAY] == {"executions": None, "dead_letters": 0}
    assert ids(tmp_path, "executions") == ["m-1", "m-2"]
    both = run(stack, tmp_path, "executions", days=days, now=later)
    assert "collected.jsonl.gz stays, as do 1 more of executions: " in both.notes[0]
    file.unlink()
    collected = run(stack, tmp_path, "executions", now=later)
    assert collected.lines == {TODAY: {"executions": 1}}
    assert collected.missing == ["Step Functions forgot the execution m-4 while it was read."]


def test_a_partial_file_is_refused_once_step_functions_may_have_forgotten_what_it_lacks(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account may keep histories for 30 days only: files of other streams would vouch for it."""
    executions_collected(monkeypatch, "m-1")
    run(stack, tmp_path, "executions")  # the day is not over
    file, last = file_of(tmp_path, "executions", TODAY), MIDNIGHT + timedelta(days=30)
    for days in ([TODAY], [TODAY + timedelta(days=1)]):
        with pytest.raises(UsageError, match=f"{file} was not read when its day was over"):
            run(stack, tmp_path, "deliveries", days=days, now=last + timedelta(seconds=1))
    assert ids(tmp_path, "executions") == ["m-1"]
    assert run(stack, tmp_path, "executions", now=last).lines == {TODAY: {"executions": 1}}
    assert run(stack, tmp_path, "executions", now=last + timedelta(days=1)).missing == []


# --------------------------------------------------------------------------- effects


def effect(message_id: str, effect_id: str | None = None) -> dict[str, Any]:
    identity = {} if effect_id is None else {"effect_id": effect_id}
    return {"stream": "effects", "version": 1, "at": TIME, "message_id": message_id, **identity}


def card(message_id: str, **more: str) -> dict[str, Any]:
    texts = {"message_id": message_id, "sent_at": TIME, "secret": "4711", **more}
    return {name: {"S": text} for name, text in texts.items()}


def test_the_effects_are_those_of_the_table_that_the_stack_names(
    stack: Stack, tmp_path: Path
) -> None:
    key = "order"
    stack.outputs.update(EffectsTableName="orders", EffectsAttributes=f"{key},done_at")
    items = [
        {key: {"S": name}, "line": {"S": line}} | {n: {"S": text} for n, text in more.items()}
        for name, line, more in (
            ("#counter", "all", {}),  # of another kind
            ("m-1", "1", {"done_at": TIME}),
            ("m-1", "2", {"done_at": TIME}),
            ("by hand", "3", {"done_at": "yesterday"}),
        )
    ]
    make_table(stack.dynamodb, "orders", key, "line", items=items)
    collected = run(stack, tmp_path, "effects")
    good, unread = [effect("m-1", "1"), effect("m-1", "2")], effect("by hand", "3") | {"at": None}
    found = sorted(read(tmp_path, "effects"), key=lambda one: str(one["effect_id"]))
    assert found == [*good, unread], "an audit names the last"
    (sentence,) = collected.missing
    assert "by hand" in sentence
    note = "effects: 1 in the effects table have no done_at, and are not counted as effects."
    assert note in collected.notes

    items = [card("m-1", pk="1"), card("", pk="2") | {"message_id": {"B": b"m-1"}}]
    make_table(stack.dynamodb, "odd", "pk", items=items)
    stack.outputs.update(EffectsTableName="odd", EffectsAttributes="message_id,sent_at")
    collected = run(stack, tmp_path, "effects")
    assert sorted(ids(tmp_path, "effects"), key=str) == [None, "m-1"], "an audit names the first"
    assert any("1 in the effects table have no message_id" in one for one in collected.notes)

    stack.outputs.update(EffectsTableName="cards")
    make_table(stack.dynamodb, "cards", "message_id", items=[card("m-1")])
    collected = run(stack, tmp_path, "effects")
    assert read(tmp_path, "effects") == [effect("m-1")]
    assert any("second effect" in note for note in collected.notes)


@pytest.mark.parametrize(
    ("items", "attributes"),
    [
        ([card("m-1", order="o-1")], "message_id"),
        ([card("m-1", order="o-1")], "message_id,done_at"),
        ([{"order": {"S": "settings"}}], "message_id,sent_at"),
    ],
)
def test_without_an_effect_that_can_be_read_there_is_no_file(
    stack: Stack, tmp_path: Path, items: list[Any], attributes: str
) -> None:
    """An empty one would make every message a lost one."""
    make_table(stack.dynamodb, "cards", "order", items=items)
    stack.outputs.update(EffectsTableName="cards", EffectsAttributes=attributes)
    (sentence,) = run(stack, tmp_path, "effects").missing
    assert "EffectsAttributes" in sentence
    assert not file_of(tmp_path, "effects", TODAY).exists()


# --------------------------------------------------------------------------- how far they are whole


def test_a_file_is_as_new_as_the_moment_at_which_reading_began(
    stack: Stack, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(delivery("m-1"))
    executions_collected(monkeypatch, "m-1")
    run(stack, tmp_path, *COLLECTED, days=[YESTERDAY, TODAY])
    for stream in ("deliveries", "executions", "dead_letters"):
        assert {read_at(tmp_path, stream, day) for day in (YESTERDAY, TODAY)} == {NOW}
    assert not run(stack, tmp_path, *COLLECTED[:2]).missing


def test_a_day_collected_before_it_was_over_is_collected_again_with_the_next(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    """Else the next day's file would vouch for what this one's lacks."""
    noon = MIDNIGHT + timedelta(hours=12)  # logs of yesterday may come for an hour
    log(delivery("before", MIDNIGHT - timedelta(minutes=9)), MIDNIGHT - timedelta(minutes=9))
    before = MIDNIGHT - timedelta(minutes=5)
    run(stack, tmp_path, "deliveries", days=[YESTERDAY], now=before)
    log(delivery("after", MIDNIGHT - timedelta(minutes=1)), MIDNIGHT - timedelta(minutes=1))
    for days in ([YESTERDAY, TODAY], [TODAY]):
        collected = run(stack, tmp_path, "deliveries", now=noon)
        assert list(collected.lines) == days
        assert ids(tmp_path, "deliveries", YESTERDAY) == ["before", "after"]
        assert read_at(tmp_path, "deliveries", TODAY) == noon


def test_a_stream_that_is_not_whole_is_collected_with_those_that_are_asked_for(
    stack: Stack, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else their files would vouch for what its lacks."""
    executions_collected(monkeypatch, "m-1")
    run(stack, tmp_path, "executions")
    executions_collected(monkeypatch, "m-1", "m-2")
    log(delivery("m-2"))
    for days in ([TODAY], [TODAY + timedelta(days=1)]):
        collected = run(stack, tmp_path, "deliveries", days=days)
        assert collected.lines[TODAY] == {"deliveries": 1, "executions": 2}
    run(stack, tmp_path, "executions", days=[TODAY, days[0]], now=over(days[0]))
    collected = run(stack, tmp_path, "deliveries", now=over(days[0]))
    assert list(collected.lines[TODAY]) == ["deliveries"]


def test_the_moment_is_aws_s_whatever_clock_this_machine_has(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"ResponseMetadata": {"HTTPHeaders": {"date": "Sat, 21 Nov 2026 14:20:31 GMT"}}}
    sts = SimpleNamespace(get_caller_identity=lambda: told)
    client = stack.aws.client
    monkeypatch.setattr(
        type(stack.aws), "client", lambda _, name: sts if name == "sts" else client(name)
    )
    day = date(2026, 11, 21)
    collect(stack, [day], tmp_path, ["deliveries"])
    assert read_at(tmp_path, "deliveries", day) == datetime(2026, 11, 21, 14, 20, 31, tzinfo=UTC)


# --------------------------------------------------------------------------- as a whole


def test_records_that_came_another_way_are_never_counted_twice(
    stack: Stack, tmp_path: Path
) -> None:
    folder = file_of(tmp_path, "effects", TODAY).parent
    folder.mkdir(parents=True)
    (folder / "from-s3.gz").write_bytes(b"")
    with pytest.raises(UsageError, match=r"from-s3\.gz was not written by actonce collect"):
        run(stack, tmp_path, "effects")


def test_a_stream_that_cannot_be_got_leaves_the_others_alone(
    stack: Stack, log: Log, tmp_path: Path
) -> None:
    log(delivery("m-1"))
    for outputs, message in (
        ({}, "names no table of effects"),
        ({"EffectsTableName": "none", "EffectsAttributes": "m,at"}, "Table: none not found"),
    ):
        stack.outputs.update(outputs)
        collected = run(stack, tmp_path, "deliveries", "effects")
        assert collected.lines == {TODAY: {"deliveries": 1, "effects": None}}
        (sentence,) = collected.missing
        assert sentence.startswith("effects: ")
        assert message in sentence
        assert not file_of(tmp_path, "effects", TODAY).exists()
    # Once it can, it is, though the others are final.
    run(stack, tmp_path, "deliveries", now=over(TODAY))
    make_table(stack.dynamodb, "none", "m", items=[{"m": {"S": "m-1"}, "at": {"S": TIME}}])
    collected = run(stack, tmp_path, "deliveries", "effects", now=over(TODAY))
    assert collected.lines == {TODAY: {"deliveries": None, "effects": 1}}
