from datetime import UTC, datetime, timedelta, timezone

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core.fingerprints import (
    Fingerprint,
    FingerprintTable,
    refusal_of,
    timestamp,
)
from actonce_core.memory import Lock, Memories, Names
from actonce_core.message import Message
from actonce_core.refusal import Reason, Refusal
from tests.unit.moto_aws import NAMES_REMEMBERED, NOW, STACK, MotoAws

OWN = Names("arn:own", STACK)
MEMORIES = Memories(OWN, (), NAMES_REMEMBERED)


def refused(known: Fingerprint, now: datetime = NOW) -> Refusal | None:
    return refusal_of(message(), known, now, MEMORIES)


def message(message_id: str = "m-1", fingerprint: str = "a" * 64) -> Message:
    return Message(message_id, fingerprint, "{}")


@pytest.fixture
def table(aws: MotoAws) -> FingerprintTable:
    return FingerprintTable(aws.dynamodb, aws.fingerprints_table, OWN)


def test_the_first_delivery_writes_the_row_and_is_told_nothing_was_there(
    aws: MotoAws, table: FingerprintTable
) -> None:
    assert table.remember(message(), NOW) is None
    assert aws.fingerprint_row("m-1") == {
        "message_id": {"S": "m-1"},
        "fingerprint": {"S": "a" * 64},
        "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        "memory": {"S": "arn:own"},
        "memory_stack": {"S": STACK},
    }


def test_every_later_delivery_is_given_the_row_and_changes_nothing(
    aws: MotoAws, table: FingerprintTable
) -> None:
    table.remember(message(), NOW)
    for later in (message(), message(fingerprint="b" * 64)):
        known = table.remember(later, NOW + timedelta(days=1))
        assert known == Fingerprint("a" * 64, NOW, OWN)
    row = aws.fingerprint_row("m-1")
    assert row is not None
    assert row["fingerprint"] == {"S": "a" * 64}


def test_an_id_too_long_for_a_key_is_remembered_under_its_hash(
    aws: MotoAws, table: FingerprintTable
) -> None:
    long = message("x" * 2049)
    assert table.remember(long, NOW) is None
    assert table.remember(long, NOW) is not None
    assert aws.fingerprint_row(long.stored_message_id) is not None


@pytest.mark.parametrize("message_id", ["é" * 1024, "\x00", "#book", "a\nb", "\U0001f600"])
def test_ids_of_any_characters_are_remembered(table: FingerprintTable, message_id: str) -> None:
    assert table.remember(message(message_id), NOW) is None
    assert table.remember(message(message_id), NOW) == Fingerprint("a" * 64, NOW, OWN)


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "AccessDeniedException"]
)
def test_any_other_answer_of_dynamodb_is_raised(
    aws: MotoAws, table: FingerprintTable, code: str
) -> None:
    with Stubber(aws.dynamodb) as stubber:
        stubber.add_client_error("put_item", code)
        with pytest.raises(ClientError, match=code):
            table.remember(message(), NOW)


def test_the_same_content_again_is_not_refused() -> None:
    assert refused(Fingerprint("a" * 64, NOW, OWN)) is None


def test_another_content_is_a_conflict() -> None:
    refusal = refused(Fingerprint("b" * 64, NOW, OWN))
    assert refusal == Refusal(
        Reason.CONFLICT,
        "The message id was first seen at 2026-01-31T09:30:00.000Z with another content "
        "(fingerprint bbbbbbbbbbbb…, now aaaaaaaaaaaa…).",
        "m-1",
    )


def test_a_fingerprint_that_differs_only_at_its_end_is_a_conflict() -> None:
    refusal = refused(Fingerprint("a" * 63 + "b", NOW, OWN))
    assert refusal is not None
    assert refusal.reason == Reason.CONFLICT


@pytest.mark.parametrize(
    ("age", "is_refused"),
    [
        (timedelta(0), False),
        (timedelta(days=24), False),
        (timedelta(days=25), False),
        (timedelta(days=25, milliseconds=1), True),
        (timedelta(days=400), True),
        (timedelta(minutes=-5), False),  # the clock of whoever wrote the row was ahead
    ],
)
def test_beyond_what_names_are_remembered_for_nobody_can_tell(
    age: timedelta, is_refused: bool
) -> None:
    refusal = refused(Fingerprint("a" * 64, NOW, OWN), NOW + age)
    assert (refusal is not None) is is_refused
    if refusal is not None:
        assert refusal.reason == Reason.TOO_OLD_TO_TELL
        assert "more than 25 days ago" in refusal.detail


@pytest.mark.parametrize(("days", "is_refused"), [(30, True), (31, False)])
def test_how_long_names_are_remembered_is_the_stacks_to_say(days: int, is_refused: bool) -> None:
    known = Fingerprint("a" * 64, NOW - timedelta(days=30, seconds=1), OWN)
    memories = Memories(OWN, (), timedelta(days=days))
    assert (refusal_of(message(), known, NOW, memories) is not None) is is_refused


@pytest.mark.parametrize(
    ("memory", "former"),
    [
        (OWN, ()),
        (OWN, ("arn:former",)),
        (Names("arn:former", "another stack"), ("arn:first", "arn:former")),
        (None, ()),  # written before rows said whose memory they are
        (None, ("arn:former",)),
        # Made by a stack that the operator has moved it out of, and vouched for.
        (Names("arn:own", "another stack"), ("arn:own",)),
        (Lock("ledger", is_complete=True), ()),
    ],
)
def test_what_a_memory_knows_that_can_be_asked_is_not_refused(
    memory: Names | Lock | None, former: tuple[str, ...]
) -> None:
    known = Fingerprint("a" * 64, NOW, memory)
    assert refusal_of(message(), known, NOW, Memories(OWN, former, NAMES_REMEMBERED)) is None


@pytest.mark.parametrize(
    ("memory", "detail"),
    [
        (Names("arn:other", STACK), "by another state machine, which this stack does not ask"),
        # Deleted and made again under its old name, it remembers nothing.
        (Names("arn:own", "another stack"), "by another state machine, which this stack does not"),
        (
            Lock("ledger", is_complete=False),
            "A ledger took the message at 2026-01-31T09:30:00.000Z",
        ),
        (Lock("lease", is_complete=False), "A lease took the message"),
    ],
)
def test_what_another_memory_knows_is_refused(memory: Names | Lock, detail: str) -> None:
    refusal = refused(Fingerprint("a" * 64, NOW, memory))
    assert refusal is not None
    assert refusal.reason == Reason.OTHER_MEMORY
    assert detail in refusal.detail


def test_what_a_ledger_completed_is_done_however_old() -> None:
    known = Fingerprint("a" * 64, NOW - timedelta(days=400), Lock("ledger", is_complete=True))
    assert refused(known) is None


def test_a_row_that_says_nothing_is_the_oldest_state_machines() -> None:
    assert MEMORIES.to_ask(None) == "arn:own"
    following = Memories(OWN, ("arn:first", "arn:second"), NAMES_REMEMBERED)
    assert following.to_ask(None) == "arn:first"


def test_another_content_is_a_conflict_however_old() -> None:
    refusal = refused(Fingerprint("b" * 64, NOW, OWN), NOW + timedelta(days=400))
    assert refusal is not None
    assert refusal.reason == Reason.CONFLICT


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 31, 9, 30, tzinfo=UTC), "2026-01-31T09:30:00.000Z"),
        (datetime(2026, 1, 31, 9, 30, 1, 999_999, UTC), "2026-01-31T09:30:01.999Z"),
        (datetime(2026, 1, 31, 1, tzinfo=timezone(timedelta(hours=2))), "2026-01-30T23:00:00.000Z"),
    ],
)
def test_times_are_iso_8601_in_utc_with_milliseconds(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text


def test_a_time_can_be_read_back(table: FingerprintTable) -> None:
    moment = datetime(2026, 1, 31, 9, 30, 1, 234_000, UTC)
    table.remember(message(), moment)
    assert table.remember(message(), NOW) == Fingerprint("a" * 64, moment, OWN)
