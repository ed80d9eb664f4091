"""What bench/adopting.py counts stands, and does what bench/README.md says of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from bench import adopting
from bench.adopting import SOURCES, WAYS, Way

RUN = """
import importlib, json, os, sys, types
import boto3
from moto import mock_aws

with mock_aws():
    for name, keys in (("gift-cards", ["order_id", "card"]), ("idempotency", ["id"])):
        boto3.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[
                {"AttributeName": key, "KeyType": kind}
                for key, kind in zip(keys, ("HASH", "RANGE"))
            ],
        )
    import gift_cards

    context = types.SimpleNamespace(get_remaining_time_in_millis=lambda: 10_000)
    answers = [gift_cards.handler(event, context) for event in json.load(sys.stdin)]
    print(json.dumps([answers, gift_cards.table.scan()["Count"]]))
"""


def run(folder: str, *events: Any) -> tuple[list[Any], int]:
    """What the way's own handler answers, and how many cards there are then."""
    answer = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=SOURCES / folder,
        env={
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_LAMBDA_FUNCTION_NAME": "gift-cards",
            "GIFT_CARDS_TABLE": "gift-cards",
            "IDEMPOTENCY_TABLE": "idempotency",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        input=json.dumps(events),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    answers, cards = json.loads(answer.stdout)
    return answers, cards


ORDER = {"order_id": "o-1", "amount": 20}
BATCH = {"Records": [{"messageId": "m", "body": json.dumps(ORDER), "eventSource": "aws:sqs"}]}


@pytest.mark.long
def test_before_an_order_that_came_twice_was_sent_twice() -> None:
    assert run("before", BATCH, BATCH)[1] == 2


@pytest.mark.long
def test_behind_powertools_it_is_sent_once() -> None:
    answers, cards = run("powertools", BATCH, BATCH)
    assert (answers, cards) == ([{"batchItemFailures": []}] * 2, 1)


@pytest.mark.long
def test_behind_actonce_it_performs_and_finds() -> None:
    message = {"message_id": "o-1", "body": ORDER}
    find = {"operation": "find", "message": message}
    answers, cards = run("actonce", find, {"operation": "perform", "message": message}, find)
    assert answers[0] == {"performed": False, "effect": None}
    assert answers[1] == answers[2]
    assert (answers[1]["performed"], cards) == (True, 1)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.folder)
def test_every_source_stands(way: Way) -> None:
    assert adopting.check(way).startswith(("imported", "not imported: "))


def test_the_page_has_what_is_counted() -> None:
    assert adopting.table() in (PROJECT / "bench" / "README.md").read_text()


def test_only_what_is_code_counts(tmp_path: Path) -> None:
    page = '"""Page.\n\nTwo."""\n\n# one\nx = 1  # two\n\n\n'
    function = 'def f():\n    """Says."""\n    return """a\n\nb"""\n'
    (tmp_path / "a.py").write_text(page + function)
    assert [one.strip() for one in adopting.counted(tmp_path / "a.py")] == [
        "x = 1  # two",
        "def f():",
        'return """a',
        "",
        'b"""',
    ]
    (tmp_path / "a.yaml").write_text("# one\n\na: 1 # two\n")
    assert adopting.counted(tmp_path / "a.yaml") == ["a: 1 # two"]
