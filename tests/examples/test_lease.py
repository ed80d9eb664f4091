"""examples/lease on moto; tests/embedded/test_lease_example.py deploys it."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from actonce.stack.embedded_folder import PROJECT
from actonce_core.locking.lease import WORKING_SHARE, Host
from tests.support import template
from tests.support.tables import make_table

EXAMPLE = PROJECT / "examples" / "lease"
ORDER = {"order_id": "o-1", "amount": 5}


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The function's module; nothing it waits for takes time."""
    with mock_aws():
        queue = boto3.client("sqs").create_queue(
            QueueName="dead.fifo", Attributes={"FifoQueue": "true"}
        )
        variables = {"LEASE_TABLE": "lease", "CARDS_TABLE": "cards"}
        for name, value in (variables | {"DEAD_LETTERS_URL": queue["QueueUrl"]}).items():
            monkeypatch.setenv(name, value)
        make_table(boto3.client("dynamodb"), "lease", "message_id")
        make_table(boto3.client("dynamodb"), "cards", "order_id", "card_id")
        spec = importlib.util.spec_from_file_location("app", EXAMPLE / "cards" / "app.py")
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
        waited: list[float] = []
        beats: list[Callable[[], bool]] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            for beat in beats[-1:]:
                beat()

        def start_heartbeats(beat: Callable[[], bool], _seconds: float) -> Callable[[], None]:
            beats.append(beat)
            return beats.clear

        module._lease.host = Host(monotonic=lambda: sum(waited), sleep=sleep)
        module._lease._start_heartbeats = start_heartbeats
        yield module


def handle(app: ModuleType, body: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    record = {"messageId": "sqs-1", "body": text, "attributes": {"MessageGroupId": "g"}}
    app.handler({"Records": [record]}, None)


def cards(app: ModuleType) -> int:
    return len(app._dynamodb.scan(TableName="cards")["Items"])


def row(app: ModuleType) -> dict[str, Any]:
    key = {"message_id": {"S": "o-1"}}
    return dict(app._dynamodb.get_item(TableName="lease", Key=key)["Item"])


def handed_on(app: ModuleType) -> int:
    url = app.os.environ["DEAD_LETTERS_URL"]
    return len(app._sqs.receive_message(QueueUrl=url).get("Messages", []))


@pytest.mark.parametrize("is_written", [True, False])
def test_an_order_whose_attempt_crashed_gets_one_card(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch, *, is_written: bool
) -> None:
    write = app._dynamodb.transact_write_items

    def crash(**request: Any) -> None:
        if is_written:
            write(**request)
        raise ConnectionError("crashed")

    with monkeypatch.context() as crashing:
        crashing.setattr(app._dynamodb, "transact_write_items", crash)
        with pytest.raises(ConnectionError):
            handle(app, ORDER)
    for _ in range(2):
        handle(app, ORDER)
    assert (cards(app), handed_on(app), row(app)["status"]) == (1, 0, {"S": "COMPLETE"})


def test_an_attempt_that_was_taken_over_sends_nothing(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = app._dynamodb.transact_write_items

    def late(**request: Any) -> None:
        taken = row(app) | {"attempt_id": {"S": "another's"}, "version": {"S": "v"}}
        app._dynamodb.put_item(TableName="lease", Item=taken)
        write(**request)

    monkeypatch.setattr(app._dynamodb, "transact_write_items", late)
    with pytest.raises(Exception, match="is over"):
        handle(app, ORDER)
    assert (cards(app), row(app)["attempt_id"]) == (0, {"S": "another's"})


def test_a_transaction_that_only_conflicts_leaves_the_outcome_unknown(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK's repeat may conflict with the request that it repeats, and that comes through."""
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
    error = app._dynamodb.exceptions.TransactionCanceledException(
        {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}, "It"
    )

    def conflict(**_: Any) -> None:
        raise error

    monkeypatch.setattr(app._dynamodb, "transact_write_items", conflict)
    with pytest.raises(type(error)):
        handle(app, ORDER)
    assert "attempt_id" in row(app)


@pytest.mark.parametrize(
    "body",
    [
        *("no JSON", "[" * 200_000, "[]", "{}"),
        *({"order_id": one, "amount": 5} for one in (None, "", 7, "x" * 2049)),
        *({"order_id": "o-1", "amount": one} for one in (True, 0, "5", None)),
    ],
    ids=lambda body: str(body)[:30],
)
def test_what_no_delivery_can_mend_waits_for_a_person(app: ModuleType, body: Any) -> None:
    handle(app, body)
    assert (cards(app), handed_on(app)) == (0, 1)


def test_an_id_with_another_content_waits_for_a_person_and_a_fault_of_the_effect_comes_back(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(app, ORDER)
    handle(app, ORDER | {"amount": 6})
    assert (cards(app), handed_on(app)) == (1, 1)
    monkeypatch.setattr(app._dynamodb, "transact_write_items", lambda **_: json.loads("{"))
    with pytest.raises(ValueError, match="Expecting"):
        handle(app, ORDER | {"order_id": "o-2"})
    assert handed_on(app) == 0


def test_the_function_lives_for_a_takeover_and_may_do_what_it_does(app: ModuleType) -> None:
    resources = template.load(EXAMPLE / "template.yaml")["Resources"]
    function = resources["Cards"]["Properties"]
    takeover = app.LEASE_SECONDS * (1 + WORKING_SHARE) + app.STRAGGLER_SECONDS
    assert function["Timeout"] > takeover
    assert resources["Orders"]["Properties"]["VisibilityTimeout"] >= 6 * function["Timeout"]
    allowed = {
        one["Resource"]["Fn::GetAtt"][0]: one["Action"]
        for one in function["Policies"][0]["Statement"]
    }
    assert allowed == {
        "LeaseTable": ["dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"],
        "CardsTable": ["dynamodb:PutItem", "dynamodb:Query"],
        "DeadLetters": "sqs:SendMessage",
    }
