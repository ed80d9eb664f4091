"""A backfill, run as a person runs it, killed in the middle included."""

import json
import os
import signal
import subprocess
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded.lifecycle import State
from actonce.messages.delivery_log import delivery_lines
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from pipeline.backfill.send import SENDERS
from pipeline.backfill.work import ConfirmationCount
from pipeline.sqs import MAX_BATCH
from tests import java
from tests.actonce_server import ACTONCE
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_until

pytestmark = java.needed

ENDS = ("rows", "sent", "already_sent", "not_sent", "duplicates", "conflicts", "quarantined")


def ends_of(summary: Mapping[str, Any]) -> list[int]:
    numbers = [summary[name] for name in ENDS]
    assert numbers[0] == sum(numbers[1:])
    return numbers


def made(folder: Path) -> tuple[list[str], list[str], int]:
    """An archive's arguments, its message ids, and how many duplicates it has."""
    name = uuid.uuid4()
    ids = [f"{name}-{number}" for number in range(200)]
    (folder / "a.csv").write_text("id\n" + "".join(f"{one}\n" for one in ids + ids[:20]))
    return [str(folder / "a.csv"), "--message-id", "id"], ids, 20


@pytest.mark.long
def test_a_killed_backfill_goes_on_and_every_message_is_acted_on_once(
    state: State, stack: Stack, tmp_path: Path
) -> None:
    options, messages, duplicates = made(tmp_path)
    work = tmp_path / "work"
    arguments = ["backfill", *options, "--work", str(work)]
    environment = EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": state.endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "PATH": os.environ["PATH"],
    }
    with subprocess.Popen(
        [str(ACTONCE), *arguments, "--rate", "40"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as killed:
        confirmed = ConfirmationCount(work)
        wait_until(lambda: killed.poll() is not None or confirmed() >= 60, 240)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL, "it ended before it could be killed"

    summary = run_json(state, *arguments, "--rate", "400")
    assert summary["already_sent"] >= 60
    already = summary["already_sent"]
    assert ends_of(summary) == [
        *(len(messages) + duplicates, len(messages) - already, already, 0),
        *(duplicates, 0, 0),
    ]
    lines = [
        json.loads(line)
        for path in work.glob("sent/dt=*/*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert Counter(line["message_id"] for line in lines) == Counter(messages)

    def effects() -> Counter[str]:
        pages = stack.dynamodb.get_paginator("scan").paginate(
            TableName=stack.appointments_table, ConsistentRead=True
        )
        return Counter(
            item["message_id"]["S"]
            for page in pages
            for item in page["Items"]
            if item["message_id"]["S"] in messages
        )

    wait_until(lambda: len(effects()) == len(messages), 240)
    wait_until(lambda: _is_empty(stack), 240)
    assert effects() == Counter(messages)
    # What was sent twice was suppressed, and is not more than was in flight when it was killed.
    confirmed_ids = {line["sqs_message_id"] for line in lines}
    wait_until(lambda: confirmed_ids <= _delivered(stack, messages))
    assert len(_delivered(stack, messages)) <= len(messages) + SENDERS * MAX_BATCH


def _is_empty(stack: Stack) -> bool:
    attributes = stack.sqs.get_queue_attributes(
        QueueUrl=stack.requests_queue, AttributeNames=["All"]
    )["Attributes"]
    visible = attributes["ApproximateNumberOfMessages"]
    return visible == attributes["ApproximateNumberOfMessagesNotVisible"] == "0"


def _delivered(stack: Stack, messages: list[str]) -> set[str]:
    return {
        line["sqs_message_id"]
        for line in delivery_lines(stack)
        if line.get("message_id") in messages
    }


def test_a_dry_run_counts_lists_and_sends_nothing(state: State, tmp_path: Path) -> None:
    archive = tmp_path / "a.jsonl"
    archive.write_text('{"id":1,"x":1}\n{"id":1,"x":2}\n{"id":1,"x":1}\n{"id":2}\nnonsense\n')
    arguments = ["backfill", str(archive), "--message-id", "id", "--dry-run"]
    answer = run(state, *arguments, "--json")
    assert answer.returncode == 1
    assert ends_of(json.loads(answer.stdout)) == [5, 0, 0, 2, 1, 1, 1]
    assert "1 conflicts, listed in" in answer.stderr.splitlines()[-1]
    work = tmp_path / "a.jsonl.backfill"
    (conflict,) = map(json.loads, (work / "conflicts.jsonl").read_text().splitlines())
    assert conflict == {
        "file": "a.jsonl",
        "line": 2,
        "message_id": "1",
        "first_file": "a.jsonl",
        "first_line": 1,
        "body": {"id": 1, "message_id": "1", "x": 2},
    }
    (bad,) = map(json.loads, (work / "quarantine.jsonl").read_text().splitlines())
    assert (bad["file"], bad["line"]) == ("a.jsonl", 5)
    assert "not JSON" in bad["reason"]
    assert not (work / "sent").exists()


@pytest.mark.parametrize(
    ("archive", "options", "sentence"),
    [
        ("gone.csv", ["--message-id", "id"], "There is no file or folder"),
        ("a.csv", ["--message-id", "no"], "a.csv has no column 'no'"),
        ("a.csv", ["--message-id", "id", "--content", "x", "--leave-out", "x"], "would not see it"),
    ],
)
def test_wrong_use_is_told_in_one_sentence(
    state: State, tmp_path: Path, archive: str, options: list[str], sentence: str
) -> None:
    (tmp_path / "a.csv").write_text("id,x\n1,2\n")
    answer = run(state, "backfill", str(tmp_path / archive), *options)
    assert answer.returncode == 2
    assert sentence in answer.stderr.splitlines()[-1]
    assert answer.stdout == ""
