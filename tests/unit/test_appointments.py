import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from botocore.stub import Stubber

from actonce_core.effect import NotPerformed, OutcomeUnknown, Rejected, answer
from appointments import AppointmentBook, book_key
from tests.support.moto_aws import MotoAws


def request(message_id: str = "m-1", body: Any = None) -> dict[str, Any]:
    said = {"message_id": message_id} if body is None else body
    return {"message_id": message_id, "body": json.dumps(said, ensure_ascii=False)}


def appointments(aws: MotoAws) -> list[dict[str, Any]]:
    items = aws.dynamodb.scan(TableName=aws.appointments_table)["Items"]
    return [item for item in items if item["appointment_id"]["S"].startswith("appointment-")]


def set_closed(aws: MotoAws, practice: str, closed: bool) -> None:
    aws.dynamodb.update_item(
        TableName=aws.appointments_table,
        Key=book_key(practice),
        UpdateExpression="SET closed = :closed",
        ExpressionAttributeValues={":closed": {"BOOL": closed}},
    )


@pytest.fixture
def book(aws: MotoAws) -> AppointmentBook:
    return AppointmentBook(aws.dynamodb, aws.appointments_table)


class TestPerform:
    def test_it_takes_the_first_slot_and_writes_one_appointment(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        body = {"message_id": "m-1", "patient": "é", "age": 62.5}
        done = book.perform(request(body=body))
        (written,) = appointments(aws)
        assert done == {
            "appointment_id": written["appointment_id"]["S"],
            "practice": "main",
            "slot": 1,
        }
        assert written["message_id"] == {"S": "m-1"}
        assert written["slot"] == {"N": "1"}
        assert written["booked_at"]["S"].endswith("Z")
        assert json.loads(written["request"]["S"]) == body

    def test_it_cannot_be_repeated_without_a_trace(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        slots = [book.perform(request())["slot"] for _ in range(2)]
        assert slots == [1, 2]
        assert len(appointments(aws)) == 2

    def test_every_practice_has_a_book_of_its_own(self, book: AppointmentBook) -> None:
        taken = [
            book.perform(request("m-1", {"practice": "north"})),
            book.perform(request("m-2", {"practice": "south"})),
            book.perform(request("m-3", {"practice": "north"})),
        ]
        assert [(done["practice"], done["slot"]) for done in taken] == [
            ("north", 1),
            ("south", 1),
            ("north", 2),
        ]

    @pytest.mark.parametrize("body", [{"practice": None}, "text", [{"practice": "a"}]])
    def test_a_request_that_names_no_practice_goes_to_main(
        self, book: AppointmentBook, body: Any
    ) -> None:
        assert book.perform(request(body=body))["practice"] == "main"

    @pytest.mark.parametrize("practice", ["", 1, ["main"], "x" * 201])
    def test_a_practice_that_is_no_name_is_rejected(
        self, aws: MotoAws, book: AppointmentBook, practice: Any
    ) -> None:
        with pytest.raises(Rejected, match="practice"):
            book.perform(request(body={"practice": practice}))
        assert appointments(aws) == []

    def test_while_its_book_is_closed_nothing_is_performed(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        set_closed(aws, "main", closed=True)
        with pytest.raises(NotPerformed):
            book.perform(request())
        assert appointments(aws) == []
        assert book.perform(request("m-2", {"practice": "north"}))["slot"] == 1
        set_closed(aws, "main", closed=False)
        assert book.perform(request())["slot"] == 1

    def test_a_message_named_like_the_books_key_disturbs_no_book(
        self, book: AppointmentBook
    ) -> None:
        assert book.find("#book") is None
        assert book.perform(request("#book"))["slot"] == 1
        assert book.perform(request("#book"))["slot"] == 2
        found = book.find("#book")
        assert found is not None
        assert found["appointments"] == 2

    def test_the_largest_request_that_an_execution_takes_can_be_written(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        # One digit and one comma each: the form that grows most when it is written with blanks.
        body = {"message_id": "x" * 2048, "numbers": [1] * 128_000}
        assert len(json.dumps(body, separators=(",", ":"))) > 256_000
        book.perform(request("x" * 2048, body))
        assert len(appointments(aws)) == 1


class TestFailures:
    @pytest.mark.parametrize(
        "code", ["ProvisionedThroughputExceededException", "InternalServerError", "AccessDenied"]
    )
    def test_an_error_at_the_counter_proves_that_nothing_was_performed(
        self, aws: MotoAws, book: AppointmentBook, code: str
    ) -> None:
        with Stubber(aws.dynamodb) as stubber:
            stubber.add_client_error("update_item", code)
            with pytest.raises(NotPerformed, match=code):
                book.perform(request())
        assert appointments(aws) == []

    def test_so_does_an_answer_that_never_came(self, aws: MotoAws, book: AppointmentBook) -> None:
        def lose_the_answer(**_: Any) -> None:
            raise ConnectTimeoutError(endpoint_url="https://dynamodb")

        event = "after-call.dynamodb.UpdateItem"
        aws.dynamodb.meta.events.register_first(event, lose_the_answer)
        with pytest.raises(NotPerformed, match="ConnectTimeoutError"):
            book.perform(request())
        aws.dynamodb.meta.events.unregister(event, lose_the_answer)
        assert appointments(aws) == []
        assert book.perform(request())["slot"] == 2  # the slot was lost, the message was not

    def test_an_error_at_the_write_leaves_the_outcome_unknown(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        with Stubber(aws.dynamodb) as stubber:
            stubber.add_response("update_item", {"Attributes": {"next_slot": {"N": "1"}}})
            stubber.add_client_error("put_item", "InternalServerError")
            with pytest.raises(ClientError):
                book.perform(request())

    def test_a_lost_answer_to_the_write_is_an_unknown_outcome_that_find_resolves(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        def lose_the_answer(**_: Any) -> None:
            raise ConnectTimeoutError(endpoint_url="https://dynamodb")

        event = "after-call.dynamodb.PutItem"
        aws.dynamodb.meta.events.register_first(event, lose_the_answer)
        with pytest.raises(OutcomeUnknown):
            answer(book, {"operation": "perform", "message": request()})
        aws.dynamodb.meta.events.unregister(event, lose_the_answer)
        found = answer(book, {"operation": "find", "message": request()})
        assert found["performed"] is True
        assert found["effect"]["slot"] == 1


class TestFind:
    def test_it_finds_what_was_performed(self, book: AppointmentBook) -> None:
        done = book.perform(request())
        assert book.find("m-1") == done | {"appointments": 1}

    def test_it_finds_nothing_where_nothing_was_performed(self, book: AppointmentBook) -> None:
        book.perform(request("m-10"))
        assert book.find("m-1") is None
        assert book.find("m-1" * 1000) is None

    @pytest.mark.parametrize("message_id", ["x" * 2048, "\x00", "sha256-" + "0" * 64])
    def test_it_finds_messages_whose_id_is_no_key(
        self, book: AppointmentBook, message_id: str
    ) -> None:
        done = book.perform(request(message_id))
        found = book.find(message_id)
        assert found is not None
        assert found["appointment_id"] == done["appointment_id"]

    def test_it_reads_consistently(self, aws: MotoAws, book: AppointmentBook) -> None:
        asked: list[dict[str, Any]] = []

        def remember(params: dict[str, Any], **_: Any) -> None:
            asked.append(json.loads(params["body"]))

        event = "before-call.dynamodb.Query"
        aws.dynamodb.meta.events.register(event, remember)
        book.find("m-1")
        aws.dynamodb.meta.events.unregister(event, remember)
        assert [query["ConsistentRead"] for query in asked] == [True]

    def test_an_error_is_raised_and_never_taken_for_nothing(
        self, aws: MotoAws, book: AppointmentBook
    ) -> None:
        with Stubber(aws.dynamodb) as stubber:
            stubber.add_client_error("query", "InternalServerError")
            with pytest.raises(ClientError):
                book.find("m-1")


@pytest.mark.parametrize("practice", ["secret" * 100, ["secret"], {"secret": "secret"}])
def test_what_the_effect_raises_never_quotes_the_message(aws: MotoAws, practice: Any) -> None:
    # Lambda logs the text of an unhandled exception, and puts it into the trace.
    book = AppointmentBook(aws.dynamodb, aws.appointments_table)
    message = request(body={"practice": practice, "secret": "secret"})
    with pytest.raises(Rejected) as rejected:
        answer(book, {"operation": "perform", "message": message})
    assert "secret" not in str(rejected.value)
