"""The example effect: an appointment each time it is performed, and none where it says so."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from botocore.stub import Stubber

from actonce_core.effect import NotPerformed, OutcomeUnknown, Rejected, answer
from appointments import AppointmentBook
from tests.support.moto_aws import MotoAws


def request(message_id: str = "m-1", /, **body: Any) -> dict[str, Any]:
    return {"message_id": message_id, "body": json.dumps(body, ensure_ascii=False)}


@contextmanager
def answers_lost(aws: MotoAws, operation: str) -> Iterator[None]:
    """DynamoDB does what it is asked, and its answer never comes."""

    def lose(**_: Any) -> None:
        raise ConnectTimeoutError(endpoint_url="https://dynamodb")

    events, event = aws.dynamodb.meta.events, f"after-call.dynamodb.{operation}"
    events.register_first(event, lose)
    yield
    events.unregister(event, lose)


@pytest.fixture
def book(aws: MotoAws) -> AppointmentBook:
    return AppointmentBook(aws.dynamodb, aws.appointments_table)


def test_it_takes_the_first_slot_and_writes_an_appointment_that_is_found(
    aws: MotoAws, book: AppointmentBook
) -> None:
    body = {"message_id": "m-1", "patient": "é", "age": 62.5}
    done = book.perform(request(**body))
    (written,) = aws.appointments()
    appointment_id = written["appointment_id"]["S"]
    assert done == {"appointment_id": appointment_id, "practice": "main", "slot": 1}
    assert (written["message_id"], written["slot"]) == ({"S": "m-1"}, {"N": "1"})
    assert written["booked_at"]["S"].endswith("Z")
    assert json.loads(written["request"]["S"]) == body
    assert book.find("m-1") == done | {"appointments": 1}
    # It cannot be repeated without a trace.
    assert book.perform(request())["slot"] == 2
    found = book.find("m-1")
    assert found is not None
    assert (found["appointments"], len(aws.appointments())) == (2, 2)


def test_every_practice_has_a_book_of_its_own_and_main_is_the_default(
    book: AppointmentBook,
) -> None:
    taken = [
        book.perform(request(practice=practice))["slot"]
        for practice in ("north", "main", "south", "north")
    ]
    assert taken == [1, 1, 1, 2]
    for number, body in enumerate(('"text"', "{}", '{"practice": null}'), 2):
        done = book.perform({"message_id": "m-1", "body": body})
        assert (done["practice"], done["slot"]) == ("main", number)


@pytest.mark.parametrize("practice", ["", 1, "secret" * 34, {"secret": "secret"}])
def test_a_practice_that_is_no_name_is_rejected_and_not_quoted(
    aws: MotoAws, book: AppointmentBook, practice: Any
) -> None:
    # Lambda logs the text of an unhandled exception, and puts it into the trace.
    message = request(practice=practice, secret="secret")
    with pytest.raises(Rejected, match="practice") as rejected:
        answer(book, {"operation": "perform", "message": message})
    assert "secret" not in str(rejected.value)
    assert aws.appointments() == []


def test_an_error_at_the_counter_proves_that_nothing_was_performed(
    aws: MotoAws, book: AppointmentBook
) -> None:
    with Stubber(aws.dynamodb) as stubber:
        stubber.add_client_error("update_item", "AccessDenied")
        with pytest.raises(NotPerformed, match="AccessDenied"):
            book.perform(request())
    with answers_lost(aws, "UpdateItem"), pytest.raises(NotPerformed, match="ConnectTimeoutError"):
        book.perform(request())
    assert aws.appointments() == []
    assert book.perform(request())["slot"] == 2  # the slot was lost, the message was not


def test_a_lost_answer_to_the_write_is_an_unknown_outcome_that_find_resolves(
    aws: MotoAws, book: AppointmentBook
) -> None:
    with answers_lost(aws, "PutItem"), pytest.raises(OutcomeUnknown):
        answer(book, {"operation": "perform", "message": request()})
    found = answer(book, {"operation": "find", "message": request()})
    assert (found["performed"], found["effect"]["slot"]) == (True, 1)


def test_it_finds_a_message_whatever_its_id_and_nothing_of_others(book: AppointmentBook) -> None:
    message_id = "#book"
    book.perform(request("m-10"))
    assert book.find("m-1") is None
    assert book.find(message_id) is None
    done = book.perform(request(message_id))
    assert book.find(message_id) == done | {"appointments": 1}
    assert done["slot"] == 2


def test_it_reads_consistently_and_takes_no_error_for_nothing(
    aws: MotoAws, book: AppointmentBook
) -> None:
    with Stubber(aws.dynamodb) as stubber:
        stubber.add_client_error("query", "InternalServerError")
        with pytest.raises(ClientError):
            book.find("m-1")
    requests: list[Any] = []
    aws.dynamodb.meta.events.register(
        "before-call.dynamodb.Query",
        lambda params, **_: requests.append(json.loads(params["body"])),
    )
    book.find("m-1")
    assert [query["ConsistentRead"] for query in requests] == [True]
