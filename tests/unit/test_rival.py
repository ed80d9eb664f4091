"""The rival that lab/bench/cost.py counts: Powertools' Idempotency around the example's effect."""

import importlib

import pytest
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from appointments import AppointmentBook
from tests.support.moto_aws import MotoAws


def test_it_performs_by_the_effects_own_contract(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = importlib.import_module("lab.bench.costing.powertools_consumer")  # wants a Region
    book = AppointmentBook(aws.dynamodb, aws.appointments_table)
    monkeypatch.setattr(rival, "_book", lambda: book)

    performed = rival._book_appointment.__wrapped__(
        record=SQSRecord({"body": '{"message_id": "m-1"}'})
    )

    assert performed["slot"] == 1
    assert book.find("m-1") is not None
