"""The explorer finds, by itself, the bugs known of such consumers, and tells their steps."""

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lab.conformance.hazards import scenario
from lab.conformance.queues import Record
from lab.conformance.stage import CONSUMER_TIMEOUT, Handler, Stage, Way
from lab.conformance.trial import Trial, run_trial, told
from lab.conformance.verdict import Kind, Verdict


class InProgressError(Exception):
    """Somebody else is at work."""


def _request(record: Record) -> dict[str, Any]:
    body = json.loads(record["body"])
    return {"message_id": body["message_id"], "body": record["body"]}


def _naive_ledger(stage: Stage) -> Handler:
    """As it is often written: read, decide, write; status and time-out in the row."""
    dynamodb = stage.dynamodb

    def handle(record: Record) -> None:
        request = _request(record)
        key = {"message_id": {"S": request["message_id"]}}
        now = int(stage.world.wall().timestamp())
        row = dynamodb.get_item(TableName="ledger", Key=key, ConsistentRead=True).get("Item")
        if row is not None:
            is_running = now - int(row["updated"]["N"]) < CONSUMER_TIMEOUT // 1000
            if row["status"]["S"] == "COMPLETE" or is_running:
                return  # a duplicate: there is nothing to do
        started = {"status": {"S": "IN_PROGRESS"}, "updated": {"N": str(now)}}
        dynamodb.put_item(TableName="ledger", Item=key | started)
        try:
            stage.effect.perform(request)
        except Exception:
            dynamodb.delete_item(TableName="ledger", Key=key)  # so that it is tried again
            raise
        done = {"status": {"S": "COMPLETE"}, "updated": {"N": str(now)}}
        dynamodb.put_item(TableName="ledger", Item=key | done)

    return handle


def _releasing(*, only_its_own: bool) -> Way:
    """Claims conditionally, and releases in `finally` what is not complete, its own or not."""

    def build(stage: Stage) -> Handler:
        def handle(record: Record) -> None:
            request = _request(record)
            key = {"message_id": {"S": request["message_id"]}}
            mine = {"attempt_id": {"S": stage.world.new_id()}}
            has_performed = False
            try:
                _claim(stage, key | mine | {"status": {"S": "IN_PROGRESS"}})
                stage.effect.perform(request)
                has_performed = True
            finally:
                if not has_performed:
                    _release(stage, key, mine["attempt_id"] if only_its_own else None)
            stage.dynamodb.put_item(
                TableName="ledger", Item=key | mine | {"status": {"S": "COMPLETE"}}
            )

        return handle

    return Way("releasing", "a lock that is released", build)


def _claim(stage: Stage, item: dict[str, Any]) -> None:
    try:
        stage.dynamodb.put_item(
            TableName="ledger", Item=item, ConditionExpression="attribute_not_exists(message_id)"
        )
    except ClientError as error:
        raise InProgressError from error


def _release(stage: Stage, key: dict[str, Any], attempt_id: dict[str, Any] | None) -> None:
    condition: dict[str, Any] = {}
    if attempt_id is not None:
        condition = {
            "ConditionExpression": "attempt_id = :mine",
            "ExpressionAttributeValues": {":mine": attempt_id},
        }
    try:
        stage.dynamodb.delete_item(TableName="ledger", Key=key, **condition)
    except ClientError:
        return


NAIVE_LEDGER = Way("naive-ledger", "a ledger that reads and then writes", _naive_ledger)


def _trial(way: Way, hazard: str) -> Trial:
    found = scenario(hazard)
    assert found is not None
    return run_trial(way, found)


@pytest.mark.parametrize(
    ("way", "hazard", "kind", "steps"),
    [
        pytest.param(
            *(NAIVE_LEDGER, "twice-at-once", Kind.TWICE),
            [
                "consumer 1..: GetItem ledger",
                "consumer 1..: GetItem ledger.*done",
                "PutItem ledger.*IN_PROGRESS",
                "PERFORMS a",
                "PutItem ledger.*IN_PROGRESS",
                "PERFORMS a",
            ],
            id="both read that there is no row, then both write one",
        ),
        pytest.param(
            *(NAIVE_LEDGER, "clock-ahead", Kind.TWICE),
            [
                "0 s  consumer 1.1: PutItem ledger.*IN_PROGRESS, updated=1767603600",
                r"0 s  consumer 1.1: PERFORMS a \[effect late\]",
                "1 s  consumer 1.2: GetItem ledger.*IN_PROGRESS, updated=1767603600",
                "1 s  consumer 1.2: PutItem ledger.*IN_PROGRESS, updated=1767603901",
                "1 s  consumer 1.2: PERFORMS a",
                "PERFORMS a, late",
            ],
            id="one whose clock is ahead takes over from one that is at work",
        ),
        pytest.param(
            *(NAIVE_LEDGER, "crash", Kind.LOST),
            [
                "PutItem ledger.*IN_PROGRESS",
                "GetItem ledger.*IN_PROGRESS|: crashes",
                "acknowledges|: crashes",
            ],
            id="a duplicate of what is in progress is acknowledged, and that one crashes",
        ),
        pytest.param(
            *(_releasing(only_its_own=False), "resend-5-minutes", Kind.TWICE),
            [
                "consumer [12].1: PutItem ledger.*IN_PROGRESS.*done",
                "consumer [12].1: PutItem ledger.*ConditionalCheckFailedException",
                "consumer [12].1: DeleteItem ledger",
                "consumer .*PERFORMS a",
            ],
            id="the one that did not get the lock releases it",
        ),
    ],
)
def test_a_known_bug_is_found_and_told(way: Way, hazard: str, kind: Kind, steps: list[str]) -> None:
    trial = _trial(way, hazard)

    assert trial == _trial(way, hazard), "a story is the same each time"
    story = told(trial.stories[Verdict(kind)])
    lines = iter(story)
    for pattern in steps:
        assert any(re.search(pattern, line) for line in lines), (pattern, *story)
    assert any("PERFORMS a" in line for line in story) == (kind is Kind.TWICE)


def test_the_same_consumer_acts_once_if_it_releases_only_its_own() -> None:
    trial = _trial(_releasing(only_its_own=True), "resend-5-minutes")

    assert trial.is_promise_kept
