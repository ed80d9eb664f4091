"""The explorer finds, by itself, the bugs known of such consumers, and tells their steps."""

import json
import re

import pytest

from lab.conformance.hazards import scenario
from lab.conformance.queues import Record
from lab.conformance.stage import CONSUMER_TIMEOUT, Handler, Stage, Way
from lab.conformance.trial import run_trial, told
from lab.conformance.verdict import Kind, Verdict


def _naive_ledger(stage: Stage) -> Handler:
    """As it is often written: read, decide, write; status and time-out in the row."""
    dynamodb = stage.dynamodb

    def handle(record: Record) -> None:
        message_id = json.loads(record["body"])["message_id"]
        request = {"message_id": message_id, "body": record["body"]}
        key = {"message_id": {"S": message_id}}
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


NAIVE_LEDGER = Way("naive-ledger", "a ledger that reads and then writes", _naive_ledger)


@pytest.mark.parametrize(
    ("hazard", "kind", "steps"),
    [
        pytest.param(
            *("twice-at-once", Kind.TWICE),
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
            *("clock-ahead", Kind.TWICE),
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
            *("crash", Kind.LOST),
            [
                "PutItem ledger.*IN_PROGRESS",
                "GetItem ledger.*IN_PROGRESS|: crashes",
                "acknowledges|: crashes",
            ],
            id="a duplicate of what is in progress is acknowledged, and that one crashes",
        ),
    ],
)
def test_a_known_bug_is_found_and_told(hazard: str, kind: Kind, steps: list[str]) -> None:
    found = scenario(hazard)

    trial = run_trial(NAIVE_LEDGER, found)

    assert trial == run_trial(NAIVE_LEDGER, found), "a story is the same each time"
    story = told(trial.stories[Verdict(kind)])
    lines = iter(story)
    for pattern in steps:
        assert any(re.search(pattern, line) for line in lines), (pattern, *story)
    assert any("PERFORMS a" in line for line in story) == (kind is Kind.TWICE)
